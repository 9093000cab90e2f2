package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
)

type input struct {
	path      string      // to open it, and for messages
	id        string      // of the document, if the file is one
	number    int         // in corpus order
	sizeBytes int64       // as stored
	info      fs.FileInfo // of a file of a folder
	format    *format
	listed    bool  // found in a folder; a format of nil is detected when the file is opened
	piped     bool  // can be read only once: standard input, a named pipe
	err       error // why the file cannot be read, if that is known already
}

type reader struct {
	opts    Options
	inputs  []input // those not yet begun
	total   int64
	read    atomic.Int64
	summary summary

	stream  *stream // at hand; nil between files
	current splitter
}

var _ Reader = (*reader)(nil)

// Open returns a Reader of files and folders (by name), "-" for standard input, in this order.
//
// It lists folders and looks at the start of named files, but not at standard input and pipes,
// which can be read only once. Missing or unreadable paths and unrecognised formats are errors
// of Open; an unreadable file below a folder is a bad record. With several paths the ids of
// files start with the path, so that equal names stay apart.
func Open(paths []string, opts Options) (Reader, error) {
	opts = opts.withDefaults()
	f, err := findFormat(opts.Format)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no path was given to read documents from: %w", base.ErrBadInput)
	}
	r := &reader{opts: opts}
	for _, path := range paths {
		if err := r.add(path, f, len(paths) > 1); err != nil {
			return nil, err
		}
	}
	for i := range r.inputs {
		r.total += r.inputs[i].sizeBytes
	}
	for i := range r.inputs {
		if r.inputs[i].piped {
			r.total = 0 // unknown
		}
	}
	return r, nil
}

func (r *reader) append(in input) {
	in.number = len(r.inputs)
	r.inputs = append(r.inputs, in)
}

func (r *reader) add(path string, f *format, prefixed bool) error {
	if path == stdinPath {
		if f.name == formatFolder {
			return fmt.Errorf("standard input is no folder: %w", base.ErrBadInput)
		}
		r.addPipe(input{path: path, id: path, format: f})
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return r.addFolder(path, f, prefixed)
	}
	in := input{path: path, id: filepath.Base(path), sizeBytes: info.Size(), format: f}
	if prefixed {
		in.id = filepath.ToSlash(filepath.Clean(path))
	}
	if !info.Mode().IsRegular() {
		r.addPipe(in)
		return nil
	}
	if f.name == formatAuto || f.name == formatCSV {
		if in.format, err = r.inspect(path, f); err != nil {
			return err
		}
	}
	r.append(in)
	return nil
}

func (r *reader) addPipe(in input) {
	in.piped, in.sizeBytes = true, 0
	if in.format.name == formatAuto {
		in.format = nil
	}
	r.append(in)
}

// inspect returns the format of a file that the user named, and an error if a header row lacks a field that the options name.
func (r *reader) inspect(path string, f *format) (*format, error) {
	s, err := openStream(path, nil, new(atomic.Int64)) // not counted as progress
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head, note := s.head(), ""
	if f.name == formatAuto {
		var name string
		name, note, err = detect(path, head, &r.opts, false /* piped */)
		if err == nil {
			f, err = findFormat(name)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.Close())
		}
	}
	if f.name == formatCSV {
		err = checkHeader(path, head, &r.opts)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if note != "" {
		r.summary.note(note)
	}
	return f, nil
}

// checkHeader: without a field that the options name, all rows would be bad. Other errors of the header row are those of a
// record.
func checkHeader(path string, head []byte, opts *Options) error {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	if len(head) == 0 {
		return nil
	}
	_, rec := newTable(head, path, opts)
	if rec == nil || !errors.Is(rec.Err, errNamedField) {
		return nil
	}
	rec.Location = Location{File: path, Line: 1}
	if extension(path) == ".tsv" {
		rec.Err = fmt.Errorf("%s (read it as format %s if it has no header row): %w", base.Message(rec.Err), formatTSV, errNamedField)
	}
	return rec
}

func (r *reader) Next() (*Batch, error) {
	for {
		if r.current != nil {
			batch, err := r.current.next()
			if err == nil {
				return r.summary.counted(batch, r.stream.into), nil
			}
			if rec := r.ended(err); rec != nil {
				return badBatch(rec), nil
			}
		}
		if len(r.inputs) == 0 {
			return nil, io.EOF
		}
		if r.inputs[0].isReadByParse() {
			return r.nextFiles(), nil
		}
		if in := &r.inputs[0]; in.listed && in.err == nil {
			r.detectListed(in)
			continue
		}
		in := r.inputs[0]
		r.inputs = r.inputs[1:]
		if err := r.begin(in); err != nil {
			if errors.Is(err, errUndetected) {
				return nil, err // a pipe, at which Open did not look
			}
			return badBatch(&RecordError{Location: Location{File: in.path}, Err: err}), nil
		}
	}
}

// ended closes the current stream, which err ended, and returns the error to report, if any.
func (r *reader) ended(err error) *RecordError {
	at := Location{File: r.stream.name}
	closeErr := r.closeStream()
	if errors.Is(err, io.EOF) {
		err = closeErr
	}
	var rec *RecordError
	if err == nil || errors.As(err, &rec) {
		return rec
	}
	return &RecordError{Location: at, Err: err}
}

func (r *reader) begin(in input) error {
	if in.err != nil {
		return in.err
	}
	s, err := openStream(in.path, r.opts.Stdin, &r.read)
	if err != nil {
		return err
	}
	if in.format == nil {
		name, _, err := detect(in.path, s.head(), &r.opts, in.piped)
		if err == nil {
			in.format, err = findFormat(name)
		}
		if err != nil {
			return errors.Join(err, s.Close())
		}
	}
	s.id, s.into = printableID(in.id), r.summary.collection(in, in.format.name)
	r.stream, r.current = s, in.format.split(s, r)
	return nil
}

// detectListed sets the next folder file's format, or removes it.
func (r *reader) detectListed(in *input) {
	in.listed = false
	s, err := openStream(in.path, nil, new(atomic.Int64)) // not counted as progress
	if err != nil {
		in.err = err
		return
	}
	f, skipped := r.listedFormat(*in, s)
	in.err = s.Close()
	if in.format = f; f == nil {
		r.summary.skip(in.path, skipped)
		r.read.Add(in.sizeBytes)
		r.inputs = r.inputs[1:]
	}
}

func (r *reader) Progress() (read, total int64) { return r.read.Load(), r.total }

func (r *reader) Skipped() int64 { return r.summary.total() }

func (r *reader) Summary() Summary { return r.summary.result() }

func (r *reader) Close() error {
	r.inputs = nil
	return r.closeStream()
}

func (r *reader) closeStream() error {
	if r.stream == nil {
		return nil
	}
	err := r.stream.Close()
	r.stream, r.current = nil, nil
	return err
}
