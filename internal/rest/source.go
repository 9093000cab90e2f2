package rest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/mapping"
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
	if fault := faultOf(raw); fault != nil {
		return fail(fault.Error())
	}
	if !isObject(string(raw[:min(len(raw), 64)])) && !isObject(string(raw)) {
		return fail("the document is not a JSON object")
	}
	return nil
}

// document sets the document of a write to JSON that checkSource accepts, and the fields that it
// declares. Texts share the memory of source where they can.
func (x *Index) document(to *griffin.Write, id, source string) *Error {
	m := x.meta()
	w := walker{scanner: scanner{text: source}, id: id, fields: m.fields, dynamic: m.Dynamic, detection: m.Detection}
	w.next()
	if err := w.object("", 0); err != nil {
		return err
	}
	to.Document = griffin.Document{ID: id, Title: w.joinTitle(), Text: joined(w.texts)}
	to.Document.Fields = append(w.values, griffin.Field{Name: sourceField, Value: source})
	if len(w.added) == 0 {
		return nil
	}
	added, err := declared(mapping.NewUpdate("", w.added)) // a template can copy to fields of the index
	if err != nil {
		return err
	}
	var publicErr error
	if to.AddMapping, publicErr = public(added); publicErr != nil {
		return badMapping(publicErr)
	}
	return nil
}

func joined(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return strings.Join(texts, "\n")
}

// walker collects the values of a document.
type walker struct {
	scanner
	id           string
	fields       *mapping.Mapping
	dynamic      string
	detection    *mapping.Detection
	added        []mapping.Field // that are not declared, but for dynamicFalse
	title, texts []string
	values       []griffin.Field
}

// joinTitle returns the title. Values of a field that does not only have their words are apart.
func (w *walker) joinTitle() string {
	targets := w.fields.Targets(titleField)
	if len(w.title) > 1 && (len(targets) != 1 || targets[0].Field.Type != mapping.Text) {
		for _, text := range w.title[1:] {
			w.texts = append(w.texts, text)
			w.values = append(w.values, griffin.Field{Name: titleField, Value: text})
		}
		w.title = w.title[:1]
	}
	return joined(w.title)
}

// dynamicFields returns the fields of an index that a document makes.
func dynamicFields(source string) *mapping.Mapping {
	none, _ := declare(nil)
	w := walker{scanner: scanner{text: source}, fields: none}
	if source == "" || w.next() != '{' || w.object("", 0) != nil {
		return none
	}
	if m, err := declare(w.added); err == nil {
		return m
	}
	return none // the write of the document fails
}

const titleField = "title"

// metadataFields are names that OpenSearch reserves for its metadata of a document.
var metadataFields = []string{"_id", "_index", "_routing", "_source", "_field_names", "_ignored", "_seq_no", "_version", "_primary_term"}

var fieldName = regexp.MustCompile(`^[\pL\d.-][\pL\d_.-]*$`)

func canBeField(name string) bool {
	return len(name) <= mapping.MaxNameBytes && fieldName.MatchString(name)
}

// fail is the error of a document.
func (w *walker) fail(format string, args ...any) *Error {
	return badRequest(typeMapperParsing, "failed to parse document with id '%s': %s", w.id, fmt.Sprintf(format, args...))
}

// isField reports whether the values of a name are a field of its own, which may be new: kind and text are of
// its first value.
func (w *walker) isField(name string, kind byte, text string) (bool, *Error) {
	if _, declared := w.fields.Field(name); declared || slices.ContainsFunc(w.added, func(f mapping.Field) bool { return f.Name == name }) {
		return true, nil
	}
	if around := w.fields.Around(name); around != nil {
		return false, badRequest(typeMapperParsing, "Could not dynamically add mapping for field [%s]. Existing mapping for [%s] must be of type object but found [%s].", name, around.Name, around.Type)
	}
	switch {
	case w.dynamic == dynamicStrict:
		return false, strict(name)
	case w.dynamic == dynamicFalse || !canBeField(name):
		return false, nil
	}
	fields, err := w.detection.Scalar(name, kind, text)
	if err != nil {
		return false, badMapping(err)
	}
	w.added = append(w.added, fields...)
	return true, nil
}

// whole returns the field that the document adds for a name that is not declared, if it takes objects and lists as values; nil:
// there is none.
func (w *walker) whole(name string) *mapping.Field {
	if w.detection == nil || w.dynamic != "" || !canBeField(name) || w.fields.Around(name) != nil {
		return nil
	}
	at := slices.IndexFunc(w.added, func(f mapping.Field) bool { return f.Name == name })
	if at >= 0 {
		return &w.added[at]
	}
	if c := w.next(); c != '{' && c != '[' {
		return nil
	}
	fields, ok, err := w.detection.Whole(name)
	if err != nil || !ok {
		return nil // an object, whose fields have templates of their own
	}
	at = len(w.added)
	w.added = append(w.added, fields...)
	return &w.added[at]
}

func (w *walker) object(name string, depth int) *Error {
	if depth == maxDepth {
		return w.fail("objects and lists are nested more than %d deep at [%s]", maxDepth, name)
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
		switch {
		case key == "":
			return w.fail("a field name cannot be an empty string")
		case name != "":
			key = name + "." + key
		case slices.Contains(metadataFields, key):
			return w.fail("Field [%s] is a metadata field and cannot be added inside a document. Use the index API request parameters.", key)
		}
		if err := w.leaf(key, depth); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

func (w *walker) leaf(name string, depth int) *Error {
	declared, ok := w.fields.Field(name)
	if ok && declared.Of != "" {
		w.next()
		return w.misplaced(declared, w.value())
	}
	whole := declared
	if !ok {
		whole = w.whole(name)
	}
	if whole != nil && (whole.Type == mapping.GeoPoint || whole.Type.Vector()) {
		if whole.Type == mapping.GeoPoint {
			return w.points(whole)
		}
		return w.vector(whole)
	}
	switch c := w.next(); c {
	case '{':
		if ok && declared.Type != mapping.Object {
			return w.misplaced(declared, w.value())
		}
		return w.object(name, depth+1)
	case '[':
		return w.list(name, depth+1)
	case '"':
		return w.scalarOf(name, '"', unquote(w.rawString()))
	case 't', 'f', 'n':
		return w.scalarOf(name, c, w.value())
	}
	return w.scalarOf(name, '0', w.value())
}

// misplaced is the error of a value that a field cannot hold.
func (w *walker) misplaced(f *mapping.Field, value string) *Error {
	e := mapping.ValueError{Field: f.Name, Type: f.Type, Value: value}
	if isObject(value) {
		e.Err = errors.New("it is an object")
	}
	return badValue(&e, w.id)
}

func badValue(e *mapping.ValueError, id string) *Error {
	if e.Type == mapping.Object {
		return badRequest(typeMapperParsing, "object mapping for [%s] tried to parse field [%s] as object, but found a concrete value", e.Field, e.Field)
	}
	why := ""
	if e.Err != nil {
		why = fmt.Sprintf(": %v", e.Err)
	}
	return badRequest(typeMapperParsing, "failed to parse field [%s] of type [%s] in document with id '%s'. Preview of field's value: '%s'%s", e.Field, e.Type, id, e.Preview(), why)
}

// points adds the points of a value, which can be an object or a list.
func (w *walker) points(f *mapping.Field) *Error {
	w.next()
	raw := w.value()
	points, err := f.Points([]byte(raw))
	if err != nil {
		return badValue(&mapping.ValueError{Field: f.Name, Type: f.Type, Value: raw, Err: err}, w.id)
	}
	for _, p := range points {
		w.values = append(w.values, griffin.Field{Name: f.Name, Value: p})
	}
	return nil
}

// vector adds the tokens and weights of an object.
func (w *walker) vector(f *mapping.Field) *Error {
	w.next()
	raw := w.value()
	vectors, err := mapping.Vectors([]byte(raw))
	if err != nil {
		return badValue(&mapping.ValueError{Field: f.Name, Type: f.Type, Value: raw, Err: err}, w.id)
	}
	for _, v := range vectors {
		w.values = append(w.values, griffin.Field{Name: f.Name, Value: v})
	}
	return nil
}

// scalarOf adds a value: kind is the first byte of its JSON, '0' for a number. Strings are also in the
// default field.
func (w *walker) scalarOf(name string, kind byte, text string) *Error {
	if kind == 'n' {
		if f, ok := w.fields.Field(name); ok && f.NullValue != nil {
			w.values = append(w.values, griffin.Field{Name: name, Value: *f.NullValue})
		}
		return nil
	}
	if w.fields.IsObject(name) {
		return badValue(&mapping.ValueError{Field: name, Type: mapping.Object}, w.id)
	}
	isField, err := w.isField(name, kind, text)
	switch {
	case err != nil:
		return err
	case text == "":
	case kind == '"' && name == titleField:
		w.title = append(w.title, text)
	default:
		if kind == '"' {
			w.texts = append(w.texts, text)
		}
		if isField {
			w.values = append(w.values, griffin.Field{Name: name, Value: text})
		}
	}
	return nil
}

func (w *walker) list(name string, depth int) *Error {
	if depth == maxDepth {
		return w.fail("objects and lists are nested more than %d deep at [%s]", maxDepth, name)
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
