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

// checkSource reports what is wrong with a document's JSON, nil if nothing is.
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

// document makes a document of JSON that checkSource accepts. Texts share the memory of source where
// they can.
func (x *Index) document(id, source string) (griffin.Document, *Error) {
	w := walker{scanner: scanner{text: source}, declared: x.fields}
	w.next()
	if err := w.object("", 0); err != nil {
		return griffin.Document{}, badRequest(typeMapperParsing, "failed to parse document with id '%s': %v", id, err)
	}
	doc := griffin.Document{ID: id, Title: joined(w.title), Text: joined(w.texts)}
	doc.Fields = append(w.fields, griffin.Field{Name: sourceField, Value: source})
	return doc, nil
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
	names        map[string]bool // if not nil: gets the names of all strings
	title, texts []string
	fields       []griffin.Field
}

// maxDynamicFields are declared for a document that makes an index; an index has at most 64.
const maxDynamicFields = 50

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
		if fieldName.MatchString(name) {
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
		switch {
		case text == "":
		case name == titleField:
			w.title = append(w.title, text)
		default:
			w.texts = append(w.texts, text)
			if w.declared[name] {
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
