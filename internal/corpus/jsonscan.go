package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/griffin-search/griffin/internal/base"
)

// jsonScanner splits one JSON object into its members. Its memory is reused:
// the fields are valid until the next call.
type jsonScanner struct {
	fields []jsonField
	text   []byte // backs the values that had to be unescaped
	input  bytes.Buffer
	dec    *jsontext.Decoder
}

// reset makes the library read line from its start.
func (s *jsonScanner) reset(line []byte) {
	s.input = *bytes.NewBuffer(line) // of a bytes.Buffer, the decoder makes no copy
	if s.dec == nil {
		s.dec = jsontext.NewDecoder(&s.input)
	} else {
		s.dec.Reset(&s.input)
	}
}

// object returns the members of the object that line holds, in order. It
// accepts what RFC 8259 does with the restrictions of RFC 7493: no duplicate
// names, valid UTF-8. The error has no location yet.
func (s *jsonScanner) object(line []byte) ([]jsonField, *RecordError) {
	s.reset(line)
	s.fields = s.fields[:0]
	// An unescaped string is not longer than its escaped form, so text is
	// never moved while the fields point into it.
	if cap(s.text) < len(line) {
		s.text = make([]byte, 0, len(line))
	}
	s.text = s.text[:0]

	open, err := s.dec.ReadToken()
	if err != nil {
		return nil, syntaxError(err)
	}
	if open.Kind() != '{' {
		return nil, notAnObject(open.Kind())
	}
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadValue()
		if err != nil {
			return nil, syntaxError(err)
		}
		f := jsonField{name: s.unquote(name)}
		value, err := s.dec.ReadValue()
		if err != nil {
			return nil, syntaxError(err)
		}
		if f.kind = byte(value.Kind()); f.kind == '"' {
			f.value = s.unquote(value)
		} else {
			f.value = value
		}
		s.fields = append(s.fields, f)
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	if _, err := s.dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("more than one value on the line: %w", base.ErrBadInput)
		}
		return nil, syntaxError(err)
	}
	return s.fields, nil
}

// unquote returns the text of a valid JSON string: part of the line or, if it
// had to be unescaped, of s.text.
func (s *jsonScanner) unquote(quoted jsontext.Value) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	start := len(s.text)
	s.text, _ = jsontext.AppendUnquote(s.text, quoted) // valid: the decoder read it
	return s.text[start:len(s.text):len(s.text)]
}

// notAnObject is the error for a line that is some other JSON value.
func notAnObject(kind jsontext.Kind) *RecordError {
	err := fmt.Errorf("a record must be an object, this is %s: %w", kindName(byte(kind)), base.ErrBadInput)
	if kind == '[' {
		err = fmt.Errorf("a record must be an object, this is a list; "+
			"one JSON value for the whole file can be converted with: jq -c '.[]': %w", base.ErrBadInput)
	}
	return &RecordError{Err: err}
}

// maxFieldBytes bounds the field names in errors.
const maxFieldBytes = 100

// syntaxError translates an error of the JSON library: where in the line, in which field.
func syntaxError(err error) *RecordError {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return &RecordError{Err: err}
	}
	rec := &RecordError{}
	if pointer := string(syntax.JSONPointer); pointer != "" {
		rec.Field, _, _ = strings.Cut(pointer[1:], "/")
		rec.Field = strings.NewReplacer("~1", "/", "~0", "~").Replace(rec.Field)
		if len(rec.Field) > maxFieldBytes {
			rec.Field = validUTF8(rec.Field[:maxFieldBytes]) + "…"
		}
	}
	cause := syntax.Err
	switch {
	case errors.Is(cause, io.ErrUnexpectedEOF):
		cause = errors.New("the object does not end on its line")
	case errors.Is(cause, jsontext.ErrDuplicateName):
		cause = errors.New("the field occurs twice")
	}
	rec.Err = fmt.Errorf("invalid JSON at byte %d of the line: %w: %w", syntax.ByteOffset, cause, base.ErrBadInput)
	return rec
}
