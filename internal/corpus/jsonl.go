package corpus

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Names tried for the parts of a document, best first, where the options name none.
var (
	idNames    = []string{"_id", "id", "docid", "docno"}
	titleNames = []string{"title"}
	textNames  = []string{"text", "contents", "body", "content"}
)

// jsonField is one member of a JSON object.
type jsonField struct {
	name []byte // unescaped
	// value is the unescaped text of a string, the JSON text of any other value.
	value []byte
	kind  byte // '"' string, '0' number, 't', 'f', 'n' null, '{', '['
}

// jsonParser parses JSON Lines. It implements lineParser.
type jsonParser struct {
	opts    *Options
	scanner jsonScanner
	vectors jsonScanner // of Options.Weights
	names   []string    // names of extra fields met so far, each allocated once
	chosen  []jsonField // fields that go to Extra, of the record at hand
}

// parse implements lineParser. It allocates the document, its id, and one
// string that Title, Text and the values of Extra share.
func (p *jsonParser) parse(line []byte, at Location) (*Document, *RecordError) {
	fields, rec := p.scanner.object(line)
	if rec != nil {
		rec.Location = at
		return nil, rec
	}
	id, err := pick(fields, p.opts.IDField, idNames)
	if err == nil {
		err = checkID(fields[id])
	}
	if err != nil {
		return nil, fieldError(at, p.opts.IDField, idNames, fields, id, err)
	}
	title, err := pick(fields, p.opts.TitleField, titleNames)
	if err == nil {
		err = checkText(fields[title])
	} else if p.opts.TitleField == "" {
		err = nil // a title that was not asked for may be absent
	}
	if err != nil {
		return nil, fieldError(at, p.opts.TitleField, titleNames, fields, title, err)
	}
	text, err := pick(fields, p.opts.TextField, textNames)
	if err == nil {
		err = checkText(fields[text])
	} else if p.opts.Weights && p.opts.TextField == "" {
		err = nil // it is the vector that is indexed
	}
	if err != nil {
		if vector, none := pick(fields, vectorField, nil); none == nil && fields[vector].kind == '{' && text < 0 {
			return nil, &RecordError{Location: at, Field: vectorField, Err: errOnlyVector}
		}
		return nil, fieldError(at, p.opts.TextField, textNames, fields, text, err)
	}
	d := p.document(fields, id, title, text, at)
	if p.opts.Weights {
		if d.Vector, rec = p.vector(fields); rec != nil {
			rec.Location = at
			return nil, rec
		}
	}
	return d, nil
}

// document builds the document from the fields with the given indexes; title
// and text may be -1.
func (p *jsonParser) document(fields []jsonField, id, title, text int, at Location) *Document {
	// A title or text that is no string is null, which checkText let pass as empty.
	titleText, bodyText := []byte(nil), []byte(nil)
	if title >= 0 && fields[title].kind == '"' {
		titleText = fields[title].value
	}
	if text >= 0 && fields[text].kind == '"' {
		bodyText = fields[text].value
	}
	size := len(titleText) + len(bodyText)
	p.chosen = p.chosen[:0]
	for i, f := range fields {
		if i != id && i != title && i != text && p.isExtra(f) && (!p.opts.Weights || string(f.name) != vectorField) {
			size += len(f.value)
			p.chosen = append(p.chosen, f)
		}
	}
	var build strings.Builder
	build.Grow(size)
	build.Write(titleText)
	build.Write(bodyText)
	for _, f := range p.chosen {
		build.Write(f.value)
	}
	shared := build.String()
	d := &Document{ID: string(fields[id].value), Source: at}
	d.Title, shared = shared[:len(titleText)], shared[len(titleText):]
	d.Text, shared = shared[:len(bodyText)], shared[len(bodyText):]
	if len(p.chosen) > 0 {
		d.Extra = make([]Field, len(p.chosen))
		for i, f := range p.chosen {
			d.Extra[i] = Field{p.name(f.name), shared[:len(f.value)]}
			shared = shared[len(f.value):]
		}
	}
	return d
}

// isExtra tells whether a field goes to Extra.
func (p *jsonParser) isExtra(f jsonField) bool {
	if p.opts.DropExtra || len(f.value) == 0 || f.kind == 'n' {
		return false
	}
	if p.opts.ExtraFields == nil {
		return f.kind != '{' && f.kind != '['
	}
	return slices.ContainsFunc(p.opts.ExtraFields, func(name string) bool { return name == string(f.name) })
}

// name returns a field name as a string without allocating it twice.
func (p *jsonParser) name(name []byte) string {
	for _, s := range p.names {
		if s == string(name) {
			return s
		}
	}
	s := string(name)
	if len(p.names) < 64 {
		p.names = append(p.names, s)
	}
	return s
}

var (
	errMissing = fmt.Errorf("missing: %w", base.ErrBadInput)
	errEmptyID = fmt.Errorf("the id is empty: %w", base.ErrBadInput)
	// errOnlyVector is for who takes the output of a learned model for texts.
	errOnlyVector = fmt.Errorf("terms with weights, and no text: index it as weights: %w", base.ErrBadInput)
	errNotString  = errors.New("not a string")
)

// pick returns the index of the field with the given name or, if that is
// empty, of the first of names that there is; -1 and errMissing if there is none.
func pick(fields []jsonField, name string, names []string) (int, error) {
	if name != "" {
		names = []string{name}
	}
	for _, name := range names {
		for i := range fields {
			if string(fields[i].name) == name {
				return i, nil
			}
		}
	}
	return -1, errMissing
}

// checkID accepts strings and integers.
func checkID(f jsonField) error {
	switch f.kind {
	case '"':
		if len(f.value) == 0 {
			return errEmptyID
		}
		return nil
	case '0':
		for i, c := range f.value {
			if (c < '0' || c > '9') && (c != '-' || i > 0) {
				return fmt.Errorf("the number %.40s is no integer: %w", f.value, base.ErrBadInput)
			}
		}
		return nil
	}
	return fmt.Errorf("%w nor an integer but %s: %w", errNotString, kindName(f.kind), base.ErrBadInput)
}

// checkText accepts strings, and null as the empty text.
func checkText(f jsonField) error {
	if f.kind == '"' || f.kind == 'n' {
		return nil
	}
	return fmt.Errorf("%w but %s: %w", errNotString, kindName(f.kind), base.ErrBadInput)
}

// fieldError says what is wrong with the field that pick chose, or did not find.
func fieldError(at Location, name string, names []string, fields []jsonField, i int, err error) *RecordError {
	switch {
	case i >= 0:
		name = string(fields[i].name)
	case name == "":
		name = names[0]
		if len(names) > 1 {
			err = fmt.Errorf("none of the fields %q is there: %w", names, base.ErrBadInput)
		}
	}
	return &RecordError{Location: at, Field: name, Err: err}
}

func kindName(kind byte) string {
	switch kind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a truth value"
	case 'n':
		return "null"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "no JSON value"
}
