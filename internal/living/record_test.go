package living

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// encode encodes a document without escapes in another string.
func encode(number uint64, d *corpus.Document) []byte {
	b, _ := appendBody(binary.AppendUvarint(nil, number), d, new(corpus.Shared))
	return b
}

func encodeAny(number uint64, d *corpus.Document) (payload []byte, kind byte) {
	b, marked := appendBody(binary.AppendUvarint(nil, number), d, new(corpus.Shared))
	if marked {
		return b, recordMarked
	}
	return b, recordIndex
}

func TestRecords(t *testing.T) {
	source := `{"title":"Moby Dick","text":"Call me Ishmael.","author":"Herman"}`
	part := func(of, s string) string { return of[strings.Index(of, s):][:len(s)] }
	unquoted := strings.Clone(`Call me "Ishmael".`)
	for name, d := range map[string]*corpus.Document{
		"no strings": {ID: "1"},
		"plain":      {ID: "1", Title: "a", Text: "bb", Extra: []corpus.Field{{Name: "x", Value: ""}, {Name: "y", Value: "ccc"}}},
		"equal":      {ID: "a string of some length", Title: "a string of some length", Text: "a string of some length"},
		"parts of the longest": {
			ID: "1", Title: part(source, "Moby Dick"), Text: part(source, "Call me Ishmael."),
			Extra: []corpus.Field{{Name: "author", Value: part(source, "Herman")}, {Name: "_source", Value: source}},
		},
		"parts of the second": {
			ID: part(unquoted, "me"), Text: unquoted,
			Extra: []corpus.Field{{Name: "text", Value: unquoted}, {Name: "text", Value: strings.Clone(unquoted)}, {Name: "_source", Value: source}},
		},
		"escaped parts": {
			ID: "1", Title: "a title of some length", Text: "a title of some length \"and\nmore",
			Extra: []corpus.Field{{Name: "_source", Value: `{"text":"a title of some length \"and\nmore"}`}},
		},
		"weights": {ID: "1", Vector: []corpus.TermWeight{{Term: "a", Weight: 1.5}, {Term: "b", Weight: -2}}},
	} {
		payload, kind := encodeAny(7, d)
		number, got, err := decodeRecord(kind, payload)
		if err != nil || number != 7 || !reflect.DeepEqual(got, d) {
			t.Errorf("%s: %d, %v, %v, want %v", name, number, got, err, d)
		}
		if (kind == recordMarked) != (name == "escaped parts") {
			t.Errorf("%s: type %d", name, kind)
		}
		if number, id, err := decodeID(kind, payload); number != 7 || string(id) != d.ID || err != nil {
			t.Errorf("%s: %d, id %q, %v", name, number, id, err)
		}
	}
}

// Strings that are parts of others are in the log once.
func TestRecordsShareTexts(t *testing.T) {
	text := strings.Repeat("word ", 1000)
	source := `{"text":"` + text + `"}`
	inner := source[len(`{"text":"`):][:len(text)]
	d := &corpus.Document{ID: "1", Text: inner, Extra: []corpus.Field{{Name: "text", Value: inner}, {Name: "_source", Value: source}}}
	if n := len(encode(1, d)); n > len(source)+60 {
		t.Errorf("%d bytes for a source of %d", n, len(source))
	}
	other := &corpus.Document{ID: "1", Text: text, Extra: []corpus.Field{{Name: "text", Value: strings.Clone(text)}, {Name: "_source", Value: source}}}
	if n := len(encode(1, other)); n > len(source)+len(text)+60 {
		t.Errorf("%d bytes for a source of %d and a text of %d", n, len(source), len(text))
	}
}

// Logs of earlier versions have records of another type.
func TestPlainRecords(t *testing.T) {
	payload := []byte("\x05\x011\x01a\x02bb\x01\x01x\x01y\x00")
	want := &corpus.Document{ID: "1", Title: "a", Text: "bb", Extra: []corpus.Field{{Name: "x", Value: "y"}}}
	if number, d, err := decodeRecord(recordPlain, payload); number != 5 || err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("%d, %v, %v", number, d, err)
	}
}

// The example of docs/formats/records.md, which lists all types.
func TestRecordsPage(t *testing.T) {
	d := &corpus.Document{ID: "7", Text: "red ink", Extra: []corpus.Field{{Name: "tag", Value: "ink"}}}
	payload := append(encodeTexts([]string{"tag"}), encode(2, d)...)
	page, err := os.ReadFile("../../docs/formats/records.md")
	check(t, err)
	if dump := hex.Dump(payload); !strings.Contains(string(page), dump) {
		t.Errorf("docs/formats/records.md has not the dump\n%s", dump)
	}
	typed := append(encodeTyped(t), encode(2, d)...)
	for kind := range 256 {
		payload := payload
		if kind == recordTyped || kind == recordTypedIndex || kind == recordTypedMarked || kind == recordRevised {
			payload = typed
		}
		_, rest, body, err := cutFields(byte(kind), payload)
		if err == nil && rest != 0 {
			_, _, err = decodeRecord(rest, body)
		}
		known := strings.Contains(string(page), fmt.Sprintf("\n| %d | ", kind))
		if known == errors.Is(err, base.ErrVersion) {
			t.Errorf("type %d: on the page: %v, %v", kind, known, err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(byte(recordIndex), encode(1, &corpus.Document{ID: "1", Text: "text", Extra: []corpus.Field{{Name: "a", Value: "text"}}, Vector: []corpus.TermWeight{{Term: "a", Weight: 1}}}))
	f.Add(byte(recordPlain), []byte("\x05\x011\x01a\x02bb\x01\x01x\x01y\x00"))
	f.Add(byte(recordDelete), []byte("\x05\x011"))
	f.Add(byte(12), []byte{})
	escaped, _ := encodeAny(1, &corpus.Document{ID: "1", Text: "a text of some \"length", Extra: []corpus.Field{{Name: "a", Value: `a text of some \"length`}}})
	f.Add(byte(recordMarked), escaped)
	f.Add(byte(recordFieldsIndex), append(encodeTexts([]string{"a", "b"}), encode(1, &corpus.Document{ID: "1", Text: "text"})...))
	f.Add(byte(recordTypedIndex), append(encodeTyped(f), encode(1, &corpus.Document{ID: "1", Text: "text"})...))
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		_, kind, payload, err := cutFields(kind, payload)
		if err == nil && kind == 0 {
			return
		}
		var number uint64
		var d *corpus.Document
		if err == nil {
			number, d, err = decodeRecord(kind, payload)
		}
		if err != nil {
			if !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		if kind == recordDelete {
			return
		}
		encoded, kind := encodeAny(number, d)
		again, copied, err := decodeRecord(kind, encoded)
		if err != nil || again != number || len(copied.Text) != len(d.Text) || copied.ID != d.ID || len(copied.Extra) != len(d.Extra) {
			t.Fatalf("%d %v: %d %v, %v", number, d, again, copied, err)
		}
	})
}
