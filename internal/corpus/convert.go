package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// converted is the text of a file that is one document.
type converted struct {
	title, text string
	extra       []Field
	// skipped are parts of the file that have no text, such as attachments.
	skipped []SkippedFile
}

// A converter reads the text of a file that is not text, or not only. The error is about the file; a
// *skipError says that it is left out.
type converter func(r *reader, in input, content []byte) (converted, error)

// skipError is the reason to leave out a file.
type skipError struct{ reason string }

func (e *skipError) Error() string { return e.reason }

var converterByExtension = map[string]converter{
	".docx": convertOffice, ".docm": convertOffice, ".xlsx": convertOffice, ".xlsm": convertOffice, ".pptx": convertOffice, ".pptm": convertOffice,
	".odt": convertOffice, ".ods": convertOffice, ".odp": convertOffice,
	".ipynb": convertNotebook,
	".eml":   convertMail,
}

// converterOf returns nil for a file that is read as text.
func converterOf(path string, head []byte) converter {
	if bytes.HasPrefix(head, []byte("%PDF-")) {
		return convertPDF
	}
	ext := extension(path)
	convert := converterByExtension[ext]
	if isOffice := ext[min(len(ext), 1):]; convert != nil && strings.Contains("docx docm xlsx xlsm pptx pptm odt ods odp", isOffice) && !bytes.HasPrefix(head, []byte("PK")) {
		return nil // a file of another kind, which only has the name
	}
	return convert
}

// parseConverted reads one document with a converter.
func (r *reader) parseConverted(in input, s *stream, convert converter) (d *Document, sizeBytes int64, skipped string, rec *RecordError) {
	at := Location{File: in.path}
	content, err := s.readAll(int64(r.opts.MaxRecordBytes))
	if err != nil {
		if !errors.As(err, &rec) {
			rec = &RecordError{Location: at, Err: err}
		}
		return nil, 0, "", rec
	}
	in.id = s.id
	c, err := convert(r, in, content)
	var skip *skipError
	switch {
	case errors.As(err, &skip):
		return nil, 0, skip.reason, nil
	case err != nil:
		return nil, 0, "", &RecordError{Location: at, Err: err}
	}
	for _, part := range c.skipped {
		r.summary.skip(part.File, part.Reason)
	}
	c.title, c.text = cleanText(c.title), strings.TrimSpace(cleanText(c.text))
	if c.text == "" && c.title == "" {
		return nil, 0, skippedNoText, nil
	}
	if c.title = strings.TrimSpace(c.title); c.title == "" {
		c.title = in.id
	}
	d = &Document{ID: in.id, Title: c.title, Text: c.text, Extra: r.opts.extra(nil, "path", in.id), Source: at}
	for _, f := range c.extra {
		d.Extra = r.opts.extra(d.Extra, f.Name, cleanText(f.Value))
	}
	return d, int64(len(content)), "", nil
}

// cleanText is UTF-8.
func cleanText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// damaged is the error of a file that is not of its format.
func damaged(format string, err error) error {
	return fmt.Errorf("not a readable %s file: %w: %w", format, err, base.ErrBadInput)
}

var errTooLarge = errors.New("its text is longer than the limit")
