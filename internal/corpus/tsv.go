package corpus

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// tsvParser parses MS MARCO passages (id, text) and documents (id, url, title, body), by the
// number of columns. A quote is a part of the text.
type tsvParser struct{ opts *Options }

func (p *tsvParser) end() {}

func (p *tsvParser) parse(line []byte, at Location) (*Document, *RecordError) {
	if !utf8.Valid(line) {
		return nil, &RecordError{Location: at, Err: fmt.Errorf("invalid UTF-8: %w", base.ErrBadInput)}
	}
	id, text, _ := bytes.Cut(line, []byte{'\t'})
	var url, title []byte
	switch tabs := bytes.Count(line, []byte{'\t'}); tabs {
	case 1:
	case 3:
		url, text, _ = bytes.Cut(text, []byte{'\t'})
		title, text, _ = bytes.Cut(text, []byte{'\t'})
	default:
		return nil, &RecordError{Location: at, Err: fmt.Errorf("%d columns, neither 2 (id, text) nor 4 (id, url, title, body): %w", tabs+1, base.ErrBadInput)}
	}
	if len(id) == 0 {
		return nil, &RecordError{Location: at, Field: "id", Err: errEmptyID}
	}
	return &Document{
		ID: string(id), Title: string(title), Text: string(text),
		Extra: p.opts.extra(nil, "url", string(url)), Source: at,
	}, nil
}
