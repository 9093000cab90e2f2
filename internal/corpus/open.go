package corpus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
)

// input is one file of a corpus.
type input struct {
	path      string  // to open it, and for messages
	id        string  // of the document, if the file is one
	sizeBytes int64   // as stored
	format    *format // nil: told when the stream is opened
	piped     bool    // can be read only once: standard input, a named pipe
	err       error   // why the file cannot be read, if that is known already
}

// reader implements Reader over the files of a corpus, in order.
type reader struct {
	opts    Options
	inputs  []input // those not yet begun
	total   int64
	read    atomic.Int64
	skipped atomic.Int64

	stream  *stream // at hand; nil between files
	current splitter
}

var _ Reader = (*reader)(nil)

// Open returns a Reader of the given files and folders, "-" being standard
// input, in this order; the files of a folder in order of their names.
//
// It lists folders and looks at the start of files, so that a path that does
// not exist or cannot be read, or a format that cannot be told, is an error of
// Open; below a folder, what cannot be read is a bad record. What can be
// read only once (standard input, pipes) is not looked at before Next. With several
// paths the ids of files that are documents start with the path, so that equal
// names in two folders stay apart.
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

// add appends the files of one path to the inputs.
func (r *reader) add(path string, f *format, prefixed bool) error {
	if path == stdinPath {
		if f.name == formatFolder {
			return fmt.Errorf("standard input is no folder: %w", base.ErrBadInput)
		}
		r.addPipe(input{path: path, format: f})
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
	if f.name == formatAuto {
		if in.format, err = r.detectFile(path); err != nil {
			return err
		}
	}
	r.inputs = append(r.inputs, in)
	return nil
}

// addPipe appends an input that can be read only once.
func (r *reader) addPipe(in input) {
	in.piped, in.sizeBytes = true, 0
	if in.format.name == formatAuto {
		in.format = nil
	}
	r.inputs = append(r.inputs, in)
}

// detectFile tells the format of a file that the user named.
func (r *reader) detectFile(path string) (*format, error) {
	var unread atomic.Int64 // this look is no progress
	s, err := openStream(path, nil, &unread)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	name, err := detect(path, s, false /* piped */)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	f, err := findFormat(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Next implements Reader.
func (r *reader) Next() (*Batch, error) {
	for {
		if r.current != nil {
			batch, err := r.current.next()
			if err == nil {
				return batch, nil
			}
			if rec := r.ended(err); rec != nil {
				return badBatch(rec), nil
			}
		}
		if len(r.inputs) == 0 {
			return nil, io.EOF
		}
		in := r.inputs[0]
		if in.format != nil && in.format.split == nil && in.err == nil {
			return r.nextDocuments(), nil
		}
		r.inputs = r.inputs[1:]
		if err := r.begin(in); err != nil {
			if errors.Is(err, errUndetected) {
				return nil, err // a pipe, of which Open knew nothing
			}
			return badBatch(&RecordError{Location: Location{File: in.path}, Err: err}), nil
		}
	}
}

// ended closes the current stream, which err ended; it returns what is to be
// said about that.
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

// begin opens one input as the current stream.
func (r *reader) begin(in input) error {
	if in.err != nil {
		return in.err
	}
	s, err := openStream(in.path, r.opts.Stdin, &r.read)
	if err != nil {
		return err
	}
	if in.format == nil {
		name, err := detect(in.path, s, in.piped)
		if err == nil {
			in.format, err = findFormat(name)
		}
		if err != nil {
			return errors.Join(err, s.Close())
		}
	}
	r.stream, r.current = s, in.format.split(s, r)
	return nil
}

// Progress implements Reader.
func (r *reader) Progress() (read, total int64) { return r.read.Load(), r.total }

// Skipped implements Reader.
func (r *reader) Skipped() int64 { return r.skipped.Load() }

// Close implements Reader.
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
