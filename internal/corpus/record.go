package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Default names of the fields, best first. A record without textNames takes its text from
// otherTextNames; one with neither title nor text its title from otherTitleNames. These stay
// fields of their own too, to be searched by name.
var (
	idNames         = []string{"_id", "id", "docid", "docno"}
	titleNames      = []string{"title"}
	textNames       = []string{"text", "contents", "body", "content"}
	otherTitleNames = []string{"name", "headline", "subject", "heading", "label"}
	otherTextNames  = []string{"description", "abstract", "summary", "passage", "message", "comment"}
)

// roles are the names of the fields that become parts of a document; nil for none.
type roles struct {
	id, title, text []byte
	// keepTitle and keepText keep the part as a field, too.
	keepTitle, keepText bool
}

type builder struct {
	opts   *Options
	fileID string            // with which ids of records without one begin
	into   *collection       // of the file; nil for none
	tally  roleTally         // goes to into at the end
	names  map[string]string // of extra fields met, each allocated once
	chosen []field           // fields of the record at hand that go to Extra
}

// With fold, the case of names does not matter, unless the options give them.
func (b *builder) choose(fields []field, fold bool) (r roles, rec *RecordError) {
	find := func(names []string) []byte {
		for _, name := range names {
			for i := range fields {
				if (string(fields[i].name) == name || fold && strings.EqualFold(string(fields[i].name), name)) && !b.opts.Mapped.isWhole(fields[i].name) {
					return fields[i].name
				}
			}
		}
		return nil
	}
	named := func(option string, names []string) []byte {
		if option == "" {
			return find(names)
		}
		for i := range fields {
			if string(fields[i].name) == option {
				return fields[i].name
			}
		}
		return nil
	}
	if r.id = named(b.opts.IDField, idNames); r.id == nil && b.opts.IDField != "" {
		return r, missing(fields, b.opts.IDField)
	}
	if r.title = named(b.opts.TitleField, titleNames); r.title == nil && b.opts.TitleField != "" {
		return r, missing(fields, b.opts.TitleField)
	}
	if r.text = named(b.opts.TextField, textNames); r.text == nil && b.opts.TextField != "" {
		return r, missing(fields, b.opts.TextField)
	}
	if b.opts.Weights {
		return r, nil // the vector is indexed, a text may be absent
	}
	if r.title == nil && r.text == nil {
		r.title = find(otherTitleNames)
		r.keepTitle = r.title != nil
	}
	if r.text == nil {
		r.text = find(otherTextNames)
		r.keepText = r.text != nil
	}
	if r.title == nil && r.text == nil && !b.opts.Mapped.has(fields, r.id) {
		return r, withoutText(fields)
	}
	return r, nil
}

// missing is the error of a record without a field that the options name.
func missing(fields []field, name string) *RecordError {
	err := fmt.Errorf("missing; there are %s: %w", listNames(fields), errNamedField)
	for i := range fields {
		if strings.HasPrefix(string(fields[i].name), name+".") {
			err = fmt.Errorf("an object, with the field %q for example: %w", shortName(string(fields[i].name)), errNamedField)
			break
		}
	}
	return &RecordError{Field: name, Err: err}
}

func withoutText(fields []field) *RecordError {
	for i := range fields {
		if string(fields[i].name) == vectorField || strings.HasPrefix(string(fields[i].name), vectorField+".") {
			return &RecordError{Field: vectorField, Err: errOnlyVector}
		}
	}
	return &RecordError{Err: fmt.Errorf("%w: none of the fields %q is there, but %s: %w",
		errWithoutText, slices.Concat(titleNames, textNames), listNames(fields), base.ErrBadInput)}
}

// maxListed bounds the names in a message.
const maxListed = 12

func listNames(fields []field) string {
	var names []string
	for i := range fields {
		name := strconv.Quote(shortName(string(fields[i].name)))
		if !slices.Contains(names, name) {
			if len(names) == maxListed {
				return strings.Join(names, " ") + " …"
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "no field"
	}
	return strings.Join(names, " ")
}

// build makes a document of fields. Without an id, it is file:number, by line or place in a
// list. build allocates the document, its id, and one string that Title, Text and Extra's
// values share. The error has no location yet.
func (b *builder) build(fields []field, r *roles, at Location) (*Document, *RecordError) {
	number := at.Line
	if at.Record > 0 {
		number = at.Record
	}
	id, rec := b.id(fields, r.id, number)
	if rec != nil {
		return nil, rec
	}
	var build strings.Builder
	build.Grow(b.chooseExtra(fields, r))
	titleBytes := appendValues(&build, fields, r.title, ' ')
	textBytes := appendValues(&build, fields, r.text, '\n')
	for i := range b.chosen {
		build.Write(b.chosen[i].value)
	}
	shared := build.String()
	d := &Document{ID: id, Source: at}
	d.Title, shared = shared[:titleBytes], shared[titleBytes:]
	d.Text, shared = shared[:textBytes], shared[textBytes:]
	if len(b.chosen) > 0 {
		d.Extra = make([]Field, len(b.chosen))
		for i := range b.chosen {
			n := len(b.chosen[i].value)
			d.Extra[i] = Field{b.name(b.chosen[i].name), shared[:n]}
			shared = shared[n:]
		}
		if b.opts.Kinds {
			d.Kinds = make([]Kind, len(b.chosen))
			for i := range b.chosen {
				d.Kinds[i] = kindOf(b.chosen[i].kind)
			}
		}
	}
	b.tally.add(r)
	return d, nil
}

func kindOf(kind byte) Kind {
	switch kind {
	case '0':
		return KindNumber
	case 't', 'f':
		return KindBoolean
	case '{', '[':
		return KindObject
	case cellKind:
		return KindCell
	}
	return KindText
}

func (b *builder) end() {
	if b.into != nil {
		b.into.addRoles(&b.tally)
	}
}

func (b *builder) chooseExtra(fields []field, r *roles) int {
	size := 0
	b.chosen = b.chosen[:0]
	for i := range fields {
		f := &fields[i]
		if !f.hasValue() {
			continue
		}
		isTitle := r.title != nil && bytes.Equal(f.name, r.title)
		isText := r.text != nil && bytes.Equal(f.name, r.text)
		if isTitle || isText {
			size += len(f.value) + 1
		}
		mapped := b.opts.Mapped.keeps(f.name)
		isPart := isTitle && !r.keepTitle || isText && !r.keepText || r.id != nil && bytes.Equal(f.name, r.id)
		if isPart && (!mapped || isTitle && string(f.name) == titleNames[0]) {
			continue
		}
		if len(f.value) > 0 && (mapped || b.keeps(f.name)) {
			size += len(f.value)
			b.chosen = append(b.chosen, *f)
		}
	}
	return size
}

func (b *builder) keeps(name []byte) bool {
	if b.opts.DropExtra {
		return false
	}
	if b.opts.ExtraFields == nil {
		return true
	}
	return slices.ContainsFunc(b.opts.ExtraFields, func(wanted string) bool {
		return bytes.HasPrefix(name, []byte(wanted)) && (len(name) == len(wanted) || name[len(wanted)] == '.')
	})
}

func (b *builder) id(fields []field, name []byte, number int64) (string, *RecordError) {
	if name == nil {
		b.tally.numbered++
		return b.fileID + ":" + strconv.FormatInt(number, 10), nil
	}
	var found *field
	for i := range fields {
		if !bytes.Equal(fields[i].name, name) {
			continue
		}
		if found != nil {
			return "", &RecordError{Field: string(name), Err: fmt.Errorf("the id has more than one value: %w", base.ErrBadInput)}
		}
		found = &fields[i]
	}
	if err := checkID(found); err != nil {
		return "", &RecordError{Field: string(name), Err: err}
	}
	return string(found.value), nil
}

// name allocates each name once.
func (b *builder) name(name []byte) string {
	const maxNames = 4096
	if s, ok := b.names[string(name)]; ok {
		return s
	}
	s := string(name)
	if b.names == nil {
		b.names = map[string]string{}
	}
	if len(b.names) < maxNames {
		b.names[s] = s
	}
	return s
}

func appendValues(to *strings.Builder, fields []field, name []byte, separator byte) int {
	if name == nil {
		return 0
	}
	start := to.Len()
	for i := range fields {
		if !bytes.Equal(fields[i].name, name) || !fields[i].hasValue() {
			continue
		}
		if to.Len() > start {
			to.WriteByte(separator)
		}
		to.Write(fields[i].value)
	}
	return to.Len() - start
}

func checkID(f *field) error {
	switch f.kind {
	case '"', cellKind:
		if len(f.value) == 0 {
			return errEmptyID
		}
		return nil
	case '0':
		for i, c := range f.value {
			if (c < '0' || c > '9') && (c != '-' || i > 0) {
				return fmt.Errorf("the number %.40s is not an integer: %w", f.value, base.ErrBadInput)
			}
		}
		return nil
	}
	return fmt.Errorf("neither a string nor an integer but %s: %w", kindName(f.kind), base.ErrBadInput)
}

var (
	errMissing = fmt.Errorf("missing: %w", base.ErrBadInput)
	// errNamedField: the options name a field that is not there.
	errNamedField = fmt.Errorf("%w", base.ErrBadInput)
	// Errors around it list the fields.
	errWithoutText = errors.New("neither a title nor a text")
	errEmptyID     = fmt.Errorf("the id is empty: %w", base.ErrBadInput)
	// errOnlyVector is for a learned model's output read as texts.
	errOnlyVector = fmt.Errorf("terms with weights, and no text: index it as weights: %w", base.ErrBadInput)
)

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
	return "not a JSON value"
}
