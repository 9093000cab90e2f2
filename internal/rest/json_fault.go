package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// checkBody returns an error unless a body is a JSON object in UTF-8, and it and the objects in it have each key once.
func checkBody(body []byte) *Error {
	fault := faultOf(body)
	if fault == nil && !isObject(string(body[:min(len(body), 64)])) && !isObject(string(body)) {
		fault = &jsonFault{reason: fmt.Sprintf("want an object, have %.60s", bytes.TrimSpace(body))}
	}
	if fault != nil {
		return badRequest(typeParsing, "the body: %s", fault)
	}
	return nil
}

// jsonFault is an error in JSON, and where it is.
type jsonFault struct {
	place
	reason string
}

func (f *jsonFault) Error() string { return f.place.String() + ": " + f.reason }

// place is a byte of JSON, from 0, and the path of the value around it; "": the whole.
type place struct {
	offset int
	line   int // 0: the JSON is one line
	path   string
}

func (p place) String() string {
	text := "byte " + strconv.Itoa(p.offset)
	if p.line > 0 {
		text += fmt.Sprintf(" (line %d)", p.line)
	}
	if p.path != "" {
		text += ", in " + p.path
	}
	return text
}

func placeAt(text []byte, offset int, path string) place {
	p := place{offset: offset, path: path}
	if bytes.IndexByte(bytes.TrimSpace(text), '\n') >= 0 {
		p.line = 1 + bytes.Count(text[:min(offset, len(text))], []byte("\n"))
	}
	return p
}

// faultOf returns the first syntax error, key that an object has twice or byte that is not UTF-8; nil: there is none.
func faultOf(text []byte) *jsonFault {
	if validJSON(text) {
		return nil
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return &jsonFault{reason: "no JSON, want an object"}
	}
	outside := invalidUTF8(text)
	d := newDecoder(text)
	for {
		_, err := d.ReadToken()
		switch {
		case err == nil && int(d.InputOffset()) > outside:
			return &jsonFault{placeAt(text, outside, pathOf(d, d.StackPointer())), "invalid UTF-8"}
		case err != nil:
			return syntaxFault(text, d, err)
		case d.StackDepth() > 0:
		default:
			end := int(d.InputOffset())
			rest := bytes.TrimLeft(text[end:], " \n\t\r")
			if len(rest) == 0 {
				return nil // two keys have the same hash
			}
			return &jsonFault{placeAt(text, len(text)-len(rest), ""), fmt.Sprintf("%q after the JSON, want its end", rest[:min(len(rest), 1)])}
		}
	}
}

func newDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true))
}

// invalidUTF8 returns the first byte that is not UTF-8, or len(text).
func invalidUTF8(text []byte) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

func syntaxFault(text []byte, d *jsontext.Decoder, err error) *jsonFault {
	var at *jsontext.SyntacticError
	switch {
	case !errors.As(err, &at):
		return &jsonFault{placeAt(text, len(text), pathOf(d, d.StackPointer())), "the JSON ends too early"}
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &jsonFault{placeAt(text, int(at.ByteOffset), pathOf(d, at.JSONPointer.Parent())), fmt.Sprintf("duplicate key [%s]", at.JSONPointer.LastToken())}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &jsonFault{placeAt(text, len(text), pathOf(d, at.JSONPointer)), "the JSON ends too early"}
	}
	reason := at.Err.Error()
	if strings.HasSuffix(reason, "at start of value") {
		want := "a string, a number, an object, a list, true, false or null"
		if kind, read := d.StackIndex(d.StackDepth()); kind == '{' && read%2 == 0 {
			want = "a key in double quotes"
		}
		reason += " (expecting " + want + ")"
	}
	return &jsonFault{placeAt(text, int(at.ByteOffset), pathOf(d, at.JSONPointer)), reason}
}

// placeOf returns the place of a value that shares the memory of text; false: it does not.
func placeOf(text, value []byte) (place, bool) {
	if len(value) == 0 {
		return place{}, false
	}
	offset := 0
	for offset < len(text) && &text[offset] != &value[0] {
		offset++
	}
	d := newDecoder(text)
	for offset < len(text) && int(d.InputOffset()) <= offset {
		if _, err := d.ReadToken(); err != nil {
			return place{}, false
		}
	}
	return placeAt(text, offset, pathOf(d, d.StackPointer())), offset < len(text)
}

// decodeMembers reads an object, which is a part of text, into the values of its keys. It returns the fault of another key, or of a
// value of another type. null changes nothing.
func decodeMembers(text, object []byte, to map[string]any) *jsonFault {
	members, err := decodeObject(object)
	if err != nil || members == nil {
		return valueFault(text, object, fmt.Sprintf("want an object, have %.60s", object))
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		target, known := to[key]
		if !known {
			return valueFault(text, members[key], fmt.Sprintf("unknown key [%s]: there are %s", key, strings.Join(slices.Sorted(maps.Keys(to)), ", ")))
		}
		if err := json.Unmarshal(members[key], target); err != nil {
			return valueFault(text, members[key], jsonReason(err))
		}
	}
	return nil
}

func valueFault(text, value []byte, reason string) *jsonFault {
	p, _ := placeOf(text, value)
	return &jsonFault{p, reason}
}

// maxPathBytes bounds the paths in errors.
const maxPathBytes = 300

// pathOf writes a pointer as in query.bool.filter[1]. The tokens before it have been read.
func pathOf(d *jsontext.Decoder, pointer jsontext.Pointer) string {
	var path []byte
	depth := 0
	for token := range pointer.Tokens() {
		depth++
		kind := jsontext.Kind('{')
		if depth <= d.StackDepth() {
			kind, _ = d.StackIndex(depth)
		}
		switch {
		case kind == '[':
			path = append(append(append(path, '['), token...), ']')
		case depth > 1:
			path = append(append(path, '.'), token...)
		default:
			path = append(path, token...)
		}
	}
	if len(path) > maxPathBytes {
		return string(path[:maxPathBytes]) + "…"
	}
	return string(path)
}
