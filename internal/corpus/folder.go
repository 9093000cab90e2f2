package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

const maxBatchFiles = 256

// smallFileBytes bounds the files that Batch.Parse opens, so that they are read in parallel.
// Records of a larger file are cut by Next and parsed in parallel.
const smallFileBytes = 256 << 10

// addFolder appends a folder's files. In format auto, each is a collection or a document by its
// content; in another, files that cannot be of it are skipped. The error is about the folder
// itself; what cannot be read below it is a bad record.
func (r *reader) addFolder(path string, f *format, prefixed bool) error {
	files, skipped := walk(path)
	if len(files) > 0 && files[0].id == "" { // the root: the user named it
		return files[0].err
	}
	for _, s := range skipped {
		r.summary.skip(s.File, s.Reason)
	}
	if f.name == formatAuto {
		f = nil
		isOther := func(in input) bool { return extension(in.path) != ".ciff" }
		if len(files) > 0 && !slices.ContainsFunc(files, isOther) {
			_, err := findFormat(formatCIFF)
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, in := range files {
		in.format, in.listed = f, true
		if prefixed {
			in.id = prefixedID(path, in.id)
		}
		r.append(in)
	}
	return nil
}

// prefixedID is the id of a folder's file if there are several paths.
func prefixedID(folder, rel string) string { return filepath.ToSlash(filepath.Join(folder, rel)) }

// listedFormat returns the format of a folder's file, or the reason to skip it.
func (r *reader) listedFormat(in input, s *stream) (f *format, skipped string) {
	head := s.head()
	name, note := formatFolder, ""
	switch {
	case in.format != nil && in.format.split == nil:
		return in.format, ""
	case in.format != nil && in.format.mayBe(in.path, head):
		return in.format, ""
	case in.format != nil:
		return nil, notOfFormat(in.format.name)
	default:
		found, text, lacks := classify(in.path, head, &r.opts)
		switch {
		case found != "":
			name = found
		case lacks != "" && lacks != formatJSON: // files *.json of a folder are often no collections
			name = lacks
		default:
			note = text
		}
	}
	if name == formatCIFF {
		return nil, skippedCIFF
	}
	if note != "" {
		r.summary.note(note)
	}
	f, _ = findFormat(name) // one of ours
	return f, ""
}

func (in *input) isReadByParse() bool {
	return in.err == nil && (in.format != nil && in.format.split == nil || in.listed && in.sizeBytes <= smallFileBytes)
}

func (r *reader) nextFiles() *Batch {
	n, size := 0, int64(0)
	for i := range r.inputs {
		in := &r.inputs[i]
		if !in.isReadByParse() || n > 0 && (size+in.sizeBytes > batchBytes || n == maxBatchFiles) {
			break
		}
		n++
		size += in.sizeBytes
	}
	files := r.inputs[:n:n]
	r.inputs = r.inputs[n:]
	b := &Batch{SizeBytes: size}
	b.Parse = func(doc func(*Document) error, bad func(*RecordError) error) error {
		read := int64(0)
		for _, in := range files {
			sizeBytes, err := r.parseFile(in, doc, bad)
			if read += sizeBytes; err != nil {
				return err
			}
		}
		b.SizeBytes = read
		return nil
	}
	return b
}

// parseFile reads one file of a folder, as records or as a document. An unreadable file
// is a bad record, a binary one is skipped.
func (r *reader) parseFile(in input, doc func(*Document) error, bad func(*RecordError) error) (sizeBytes int64, err error) {
	at := Location{File: in.path}
	defer r.read.Add(in.sizeBytes) // even if only a part of it was read
	s, err := openStream(in.path, nil, new(atomic.Int64))
	if err != nil {
		return 0, bad(&RecordError{Location: at, Err: err})
	}
	s.id = printableID(in.id)
	f, skipped := r.listedFormat(in, s)
	if f != nil && f.split != nil {
		sizeBytes, err = r.parseRecords(in, f, s, doc, bad)
		if closeErr := s.Close(); err == nil && closeErr != nil {
			err = bad(&RecordError{Location: at, Err: closeErr})
		}
		return sizeBytes, err
	}
	var d *Document
	var rec *RecordError
	if skipped == "" {
		d, sizeBytes, skipped, rec = r.parseText(in, s)
	}
	if err := s.Close(); err != nil && rec == nil {
		rec = &RecordError{Location: at, Err: err}
	}
	switch {
	case rec != nil:
		return 0, bad(rec)
	case d == nil:
		r.summary.skip(in.path, skipped)
		return 0, nil
	}
	var t tally
	t.add(d)
	r.summary.merge(&t, nil)
	return sizeBytes, doc(d)
}

func (r *reader) parseRecords(in input, f *format, s *stream, doc func(*Document) error, bad func(*RecordError) error) (sizeBytes int64, err error) {
	s.into = r.summary.collection(in, f.name)
	for split := f.split(s, r); ; {
		b, err := split.next()
		var rec *RecordError
		switch {
		case errors.Is(err, io.EOF):
			return sizeBytes, nil
		case errors.As(err, &rec):
			return sizeBytes, bad(rec)
		case err != nil:
			return sizeBytes, bad(&RecordError{Location: Location{File: in.path}, Err: err})
		}
		sizeBytes += b.SizeBytes
		if err := r.summary.counted(b, s.into).Parse(doc, bad); err != nil {
			return sizeBytes, err
		}
	}
}

// parseText reads one document and the size of its text, or the reason why there is none.
func (r *reader) parseText(in input, s *stream) (d *Document, sizeBytes int64, skipped string, rec *RecordError) {
	if convert := converterOf(in.path, s.head()); convert != nil {
		return r.parseConverted(in, s, convert)
	}
	at := Location{File: in.path}
	content, err := s.readFile(int64(r.opts.MaxRecordBytes))
	if err != nil {
		if !errors.As(err, &rec) {
			rec = &RecordError{Location: at, Err: err}
		}
		return nil, 0, "", rec
	}
	if content == nil {
		return nil, 0, skippedBinary, nil
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, 0, skippedEmpty, nil
	}
	in.id = s.id
	title, text, ok := fileText(in, content)
	if !ok {
		return nil, 0, skippedBinary, nil
	}
	d = &Document{ID: in.id, Title: title, Text: text, Extra: r.opts.extra(nil, "path", in.id), Source: at}
	return d, int64(len(content)), "", nil
}

// printableID replaces invalid UTF-8 by \xNN, so that different names stay different.
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

// readFile returns nil for a binary file.
func (s *stream) readFile(limit int64) ([]byte, error) {
	if head, _ := s.Peek(textSniffBytes); isBinary(head) {
		return nil, nil
	}
	return s.readAll(limit)
}

// readAll never returns nil without an error.
func (s *stream) readAll(limit int64) ([]byte, error) {
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
