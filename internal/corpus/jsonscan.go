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

// maxDepth counts nested lists and objects, the record included.
const maxDepth = 64

type field struct {
	// name is unescaped; a nested value's is its path, joined with dots.
	name []byte
	// value is a string's unescaped text, or another value's JSON text; empty for an empty list
	// or object.
	value []byte
	kind  byte // '"' string, '0' number, 't', 'f', 'n' null, '{', '[', cellKind
}

// cellKind is of a value of CSV.
const cellKind = 'c'

// null and empty lists and objects have no value.
func (f *field) hasValue() bool { return f.kind != 'n' && f.kind != '[' && f.kind != '{' }

// jsonScanner splits a JSON object into fields, valid until the next call.
type jsonScanner struct {
	// raw is a member that record does not flatten.
	raw string
	// whole are names that record does not flatten either, at any depth.
	whole map[string]func([]byte) ([]string, error)

	flat   bool // flatten nested values
	limit  int  // highest number of fields
	fields []field
	text   []byte // backs the values that had to be unescaped
	paths  []byte // backs the names of nested values
	input  bytes.Buffer
	dec    *jsontext.Decoder
}

// object returns the members of the object in line, in order; lists and objects as JSON text.
// It accepts RFC 8259 with the restrictions of RFC 7493: no duplicate names, valid UTF-8. It
// stops at the first member beyond limit. The error has no location yet.
func (s *jsonScanner) object(line []byte, limit int) ([]field, *RecordError) {
	s.flat = false
	rec := s.scan(line, limit)
	return s.fields, rec
}

// record is object with nested values flattened: member "b" of "a" becomes "a.b"; a list
// becomes a field for each element, with its name; an empty list or object a field without a
// value. Each counts towards limit.
func (s *jsonScanner) record(line []byte, limit int) ([]field, *RecordError) {
	s.flat = true
	rec := s.scan(line, limit)
	return s.fields, rec
}

func (s *jsonScanner) scan(line []byte, limit int) *RecordError {
	s.input = *bytes.NewBuffer(line) // the decoder does not copy a bytes.Buffer
	if s.dec == nil {
		s.dec = jsontext.NewDecoder(&s.input)
	} else {
		s.dec.Reset(&s.input)
	}
	s.fields, s.paths, s.limit = s.fields[:0], s.paths[:0], limit
	// An unescaped string is not longer than its escaped form, so text never moves.
	if cap(s.text) < len(line) {
		s.text = make([]byte, 0, len(line))
	}
	s.text = s.text[:0]

	if kind := s.dec.PeekKind(); strings.IndexByte(`"0tfn[`, byte(kind)) >= 0 {
		return s.notAnObject(kind)
	}
	if rec := s.members(nil, 1); rec != nil {
		return rec
	}
	if _, err := s.dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("more than one value on the line: %w", base.ErrBadInput)
		}
		return syntaxError(err)
	}
	return nil
}

// path is the object's name, nil for the record.
func (s *jsonScanner) members(path []byte, depth int) *RecordError {
	if _, err := s.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	empty := true
	for ; s.dec.PeekKind() != '}'; empty = false {
		quoted, err := s.dec.ReadValue()
		if err != nil {
			return syntaxError(err)
		}
		name := s.unquote(quoted)
		if path != nil {
			start := len(s.paths)
			s.paths = append(append(append(s.paths, path...), '.'), name...)
			name = s.paths[start:len(s.paths):len(s.paths)] // stays valid when s.paths moves
		}
		if rec := s.value(name, depth); rec != nil {
			return rec
		}
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	if empty && path != nil {
		return s.add(field{name: path, kind: '{'})
	}
	return nil
}

func (s *jsonScanner) elements(name []byte, depth int) *RecordError {
	if _, err := s.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	empty := true
	for ; s.dec.PeekKind() != ']'; empty = false {
		if rec := s.value(name, depth); rec != nil {
			return rec
		}
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return syntaxError(err)
	}
	if empty {
		return s.add(field{name: name, kind: '['})
	}
	return nil
}

// depth is the number of lists and objects around.
func (s *jsonScanner) value(name []byte, depth int) *RecordError {
	if s.flat && (depth > 1 || s.raw == "" || string(name) != s.raw) && (s.whole == nil || s.whole[string(name)] == nil) {
		switch kind := s.dec.PeekKind(); {
		case (kind == '{' || kind == '[') && depth == maxDepth:
			return &RecordError{
				Field: shortName(string(name)),
				Err:   fmt.Errorf("more than %d lists and objects within one another: %w", maxDepth, base.ErrBadInput),
			}
		case kind == '{':
			return s.members(name, depth+1)
		case kind == '[':
			return s.elements(name, depth+1)
		}
	}
	if len(s.fields) == s.limit {
		return tooManyFields(name, s.limit)
	}
	value, err := s.dec.ReadValue()
	if err != nil {
		return syntaxError(err)
	}
	f := field{name: name, value: value, kind: byte(value.Kind())}
	if f.kind == '"' {
		f.value = s.unquote(value)
	}
	s.fields = append(s.fields, f)
	return nil
}

func (s *jsonScanner) add(f field) *RecordError {
	if len(s.fields) == s.limit {
		return tooManyFields(f.name, s.limit)
	}
	s.fields = append(s.fields, f)
	return nil
}

// unquote returns the text of a valid JSON string: a part of the line or, if unescaped,
// of s.text.
func (s *jsonScanner) unquote(quoted jsontext.Value) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	start := len(s.text)
	s.text, _ = jsontext.AppendUnquote(s.text, quoted) // valid: the decoder read it
	return s.text[start:len(s.text):len(s.text)]
}

func tooManyFields(name []byte, limit int) *RecordError {
	return &RecordError{
		Field: shortName(string(name)),
		Err:   fmt.Errorf("the record has more than %d values: %w", limit, base.ErrBadInput),
	}
}

// For field names in errors.
const maxNameBytes = 100

func shortName(name string) string {
	if len(name) > maxNameBytes {
		return validUTF8(name[:maxNameBytes]) + "…"
	}
	return name
}

// notAnObject reads the value: a line of text may begin as JSON does.
func (s *jsonScanner) notAnObject(kind jsontext.Kind) *RecordError {
	_, err := s.dec.ReadValue()
	for err == nil {
		_, err = s.dec.ReadToken()
	}
	part := kind == '[' && errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, jsontext.ErrDuplicateName)
	if !part && err != io.EOF { //nolint:errorlint // others wrap it
		rec := syntaxError(err)
		rec.Field = "" // there is no record
		return rec
	}
	err = fmt.Errorf("a record must be an object, this is %s: %w", kindName(byte(kind)), base.ErrBadInput)
	if kind == '[' {
		err = fmt.Errorf("a record must be an object, this is a list; read a file that holds one list of records as format %s: %w", formatJSON, base.ErrBadInput)
	}
	return &RecordError{Err: err}
}

// Joins the parts of a JSON pointer with dots.
var unescapePointer = strings.NewReplacer("/", ".", "~1", "/", "~0", "~")

// syntaxError keeps the JSON library's byte offset and field path.
func syntaxError(err error) *RecordError {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("no JSON value: %w", base.ErrBadInput)
		}
		return &RecordError{Err: err}
	}
	rec := &RecordError{}
	if pointer := string(syntax.JSONPointer); pointer != "" {
		rec.Field = shortName(unescapePointer.Replace(pointer[1:]))
	}
	cause := syntax.Err
	switch {
	case errors.Is(cause, io.ErrUnexpectedEOF):
		cause = errors.New("the object does not end")
	case errors.Is(cause, jsontext.ErrDuplicateName):
		cause = errors.New("the field occurs twice")
	}
	rec.Err = fmt.Errorf("invalid JSON at byte %d: %w: %w", syntax.ByteOffset, cause, base.ErrBadInput)
	return rec
}
