package corpus

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// maxBatchFiles bounds the number of small files of one batch.
const maxBatchFiles = 256

// addFolder appends the files of a folder. In format auto, a folder of which
// most files are of one collection format is read as such and its other files
// are skipped; any other folder is one of documents. The error is that of
// listing the folder itself; what cannot be read below it is a bad record.
func (r *reader) addFolder(path string, f *format, prefixed bool) error {
	files, skipped := walk(path)
	if len(files) > 0 && files[0].id == "" { // the root: the user named it
		return files[0].err
	}
	r.skipped.Add(skipped)
	if f.name == formatAuto {
		name := r.detectFolder(files)
		var err error
		if f, err = findFormat(name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if name != formatFolder {
			files = r.onlyFormat(files, name)
		}
	}
	for _, in := range files {
		in.format = f
		if prefixed {
			in.id = filepath.ToSlash(filepath.Join(path, in.id))
		}
		r.inputs = append(r.inputs, in)
	}
	return nil
}

// detectFolder tells the format of a folder: that of more than half of its
// files by their names or, of the files whose names say nothing, by the content
// of a sample.
func (r *reader) detectFolder(files []input) string {
	const maxSample = 16
	named := map[string]int{}
	var unnamed []input
	readable := 0
	for _, in := range files {
		if in.err != nil {
			continue
		}
		readable++
		if name := formatByExtension[extension(in.path)]; name != "" {
			named[name]++
		} else {
			unnamed = append(unnamed, in)
		}
	}
	if name := majority(named, readable); name != "" {
		return name
	}
	if 2*len(unnamed) <= readable {
		return formatFolder
	}
	sampled := map[string]int{}
	stride := (len(unnamed) + maxSample - 1) / maxSample
	samples := 0
	for i := 0; i < len(unnamed); i += stride {
		samples++
		sampled[r.contentFormat(unnamed[i].path)]++
	}
	if name := majority(sampled, samples); name != "" {
		return name
	}
	return formatFolder
}

// majority returns the name that more than half of total are of, "" if none is.
func majority(counts map[string]int, total int) string {
	for name, n := range counts {
		if 2*n > total {
			return name
		}
	}
	return ""
}

// contentFormat tells by its content whether a file is a collection; "" if it
// is a document, or cannot be read. JSON must make a document to count.
func (r *reader) contentFormat(path string) string {
	var unread atomic.Int64 // this look is no progress
	s, err := openStream(path, nil, &unread)
	if err != nil {
		return ""
	}
	head, _ := s.Peek(sniffBytes) // what could not be read tells nothing
	name := detectContent(head)
	if name == formatJSONL {
		parser := jsonParser{opts: &r.opts}
		if _, rec := parser.parse(firstLine(head), Location{}); rec != nil {
			name = ""
		}
	}
	if s.Close() != nil {
		return ""
	}
	return name
}

// onlyFormat returns the files of a collection and counts the others as skipped.
func (r *reader) onlyFormat(files []input, name string) []input {
	var kept []input
	for _, in := range files {
		found := formatByExtension[extension(in.path)]
		if found == "" && in.err == nil {
			found = r.contentFormat(in.path)
		}
		if in.err == nil && found != name {
			r.skipped.Add(1)
			continue
		}
		kept = append(kept, in)
	}
	return kept
}

// nextDocuments returns a batch of the next files that are documents. They are
// read by Parse, so that reading small files is parallel, too.
func (r *reader) nextDocuments() *Batch {
	n, size := 0, int64(0)
	for _, in := range r.inputs {
		if in.err != nil || in.format == nil || in.format.split != nil || n > 0 && (size+in.sizeBytes > batchBytes || n == maxBatchFiles) {
			break
		}
		n++
		size += in.sizeBytes
	}
	files := r.inputs[:n:n]
	r.inputs = r.inputs[n:]
	return &Batch{
		SizeBytes: size,
		Parse: func(doc func(*Document) error, bad func(*RecordError) error) error {
			for _, in := range files {
				d, rec := r.parseFile(in)
				var err error
				switch {
				case rec != nil:
					err = bad(rec)
				case d != nil:
					err = doc(d)
				default:
					r.skipped.Add(1)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// parseFile reads one file as a document; both results are nil if it holds no text.
func (r *reader) parseFile(in input) (*Document, *RecordError) {
	at := Location{File: in.path}
	defer r.read.Add(in.sizeBytes) // done with it, however much of it was read
	s, err := openStream(in.path, nil, new(atomic.Int64))
	if err != nil {
		return nil, &RecordError{Location: at, Err: err}
	}
	content, err := s.readFile(int64(r.opts.MaxRecordBytes))
	if err := errors.Join(err, s.Close()); err != nil {
		var rec *RecordError
		if !errors.As(err, &rec) {
			rec = &RecordError{Location: at, Err: err}
		}
		return nil, rec
	}
	if content == nil {
		return nil, nil
	}
	in.id = printableID(in.id)
	title, text, ok := fileText(in, content)
	if !ok {
		return nil, nil
	}
	return &Document{ID: in.id, Title: title, Text: text, Extra: r.opts.extra(nil, "path", in.id), Source: at}, nil
}

// printableID returns a path as UTF-8: bytes that are none become \xNN, so that
// different names stay different.
func printableID(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	var id strings.Builder
	for len(path) > 0 {
		r, size := utf8.DecodeRuneInString(path)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&id, `\x%02x`, path[0])
		} else {
			id.WriteString(path[:size])
		}
		path = path[size:]
	}
	return id.String()
}

// readFile returns the content of a stream, nil if its start shows that it is
// no text.
func (s *stream) readFile(limit int64) ([]byte, error) {
	if head, _ := s.Peek(textSniffBytes); isBinary(head) {
		return nil, nil
	}
	content, err := io.ReadAll(io.LimitReader(s, limit+1))
	switch {
	case err != nil:
		return nil, s.failed(int64(len(content)), err)
	case int64(len(content)) > limit:
		return nil, fmt.Errorf("the file is larger than the limit of %d bytes: %w", limit, base.ErrBadInput)
	}
	if content == nil {
		content = []byte{}
	}
	return content, nil
}
