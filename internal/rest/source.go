package rest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
)

// sourceField is the stored field of a document's JSON.
const sourceField = "_source"

const (
	// maxDepth bounds nested objects and lists, as OpenSearch does for objects.
	maxDepth = 20
	// maxIDBytes is the limit of OpenSearch.
	maxIDBytes = 512
)

// checkSource reports an error of a document's JSON, or nil.
func checkSource(id string, raw []byte) *Error {
	fail := func(reason string) *Error {
		return badRequest(typeMapperParsing, "failed to parse document with id '%s': %s", id, reason)
	}
	switch {
	case !validJSON(raw):
		var v any
		return fail(fmt.Sprint(json.Unmarshal(raw, &v)))
	case !isObject(string(raw[:min(len(raw), 64)])) && !isObject(string(raw)):
		return fail("the document is not a JSON object")
	case !utf8.Valid(raw):
		return fail("the JSON is not valid UTF-8")
	}
	return nil
}

// document sets the document of a write to JSON that checkSource accepts, and the fields that it
// declares. Texts share the memory of source where they can.
func (x *Index) document(to *griffin.Write, id, source string) *Error {
	m := x.meta()
	w := walker{scanner: scanner{text: source}, declared: m.declared, dynamic: m.Dynamic}
	w.next()
	if err := w.object("", 0); err != nil {
		return badRequest(typeMapperParsing, "failed to parse document with id '%s': %v", id, err)
	}
	if len(w.added) > 0 && m.Dynamic == dynamicStrict {
		return strict(w.added[0])
	}
	to.Document = griffin.Document{ID: id, Title: joined(w.title), Text: joined(w.texts)}
	to.Document.Fields = append(w.fields, griffin.Field{Name: sourceField, Value: source})
	to.AddFields = w.added
	return nil
}

func joined(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return strings.Join(texts, "\n")
}

// walker collects the strings of a document.
type walker struct {
	scanner
	declared     map[string]bool
	dynamic      string
	added        []string        // names that are not declared, but for dynamicFalse
	names        map[string]bool // if not nil: gets the names of all strings
	title, texts []string
	fields       []griffin.Field
}

// maxDynamicFields are declared, besides the title, for a document that makes an index.
const maxDynamicFields = 999

// dynamicFields returns the fields of an index that a document makes: "title" and the document's
// strings, sorted. Names that a query cannot have are left out, and what exceeds the limit.
func dynamicFields(source string) []string {
	w := walker{scanner: scanner{text: source}, names: map[string]bool{}}
	if w.next() != '{' || w.object("", 0) != nil {
		return []string{titleField}
	}
	delete(w.names, titleField)
	var names []string
	for name := range w.names {
		if canBeField(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = append(names[:min(len(names), maxDynamicFields)], titleField)
	slices.Sort(names)
	return names
}

const titleField = "title"

var fieldName = regexp.MustCompile(`^[\pL\d.-][\pL\d_.-]*$`)

// maxFieldName bounds the name of a field, in bytes.
const maxFieldName = 1 << 10

func canBeField(name string) bool { return len(name) <= maxFieldName && fieldName.MatchString(name) }

// field reports whether the strings of a name are a field of its own, which may be new.
func (w *walker) field(name string) bool {
	if w.declared[name] || slices.Contains(w.added, name) {
		return true
	}
	if w.names != nil || w.dynamic == dynamicFalse || !canBeField(name) {
		return false
	}
	w.added = append(w.added, name)
	return true
}

func (w *walker) object(name string, depth int) error {
	if depth == maxDepth {
		return fmt.Errorf("objects and lists are nested more than %d deep at [%s]", maxDepth, name)
	}
	w.at++
	for w.next() != '}' {
		if w.text[w.at] == ',' {
			w.at++
			w.space()
		}
		key := unquote(w.rawString())
		w.space()
		w.at++ // the colon
		if name != "" {
			key = name + "." + key
		}
		if err := w.leaf(key, depth); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

func (w *walker) leaf(name string, depth int) error {
	switch w.next() {
	case '{':
		return w.object(name, depth+1)
	case '[':
		return w.list(name, depth+1)
	case '"':
		text := unquote(w.rawString())
		if w.names != nil {
			w.names[name] = true
		}
		isField := w.field(name)
		switch {
		case text == "":
		case name == titleField:
			w.title = append(w.title, text)
		default:
			w.texts = append(w.texts, text)
			if isField {
				w.fields = append(w.fields, griffin.Field{Name: name, Value: text})
			}
		}
	default:
		w.scalar()
	}
	return nil
}

func (w *walker) list(name string, depth int) error {
	if depth == maxDepth {
		return fmt.Errorf("objects and lists are nested more than %d deep at [%s]", maxDepth, name)
	}
	w.at++
	for w.next() != ']' {
		if w.text[w.at] == ',' {
			w.at++
		}
		if err := w.leaf(name, depth); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

// sourceOf returns the JSON of a stored document; of one that this API did not write, an object of its
// texts.
func sourceOf(title, text string, fields []griffin.Field) []byte {
	for i := len(fields) - 1; i >= 0; i-- {
		if fields[i].Name == sourceField {
			return []byte(fields[i].Value)
		}
	}
	out := append(appendString([]byte(`{"title":`), title), `,"text":`...)
	out = appendString(out, text)
	for i, f := range fields {
		if i > 0 && fields[i-1].Name == f.Name {
			continue // in the list of the first
		}
		out = appendString(append(out, ','), f.Name)
		out = append(out, ':', '[')
		for j := i; j < len(fields) && fields[j].Name == f.Name; j++ {
			if j > i {
				out = append(out, ',')
			}
			out = appendString(out, fields[j].Value)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}
