package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// Dynamic is what becomes of fields that are not declared.
type Dynamic string

// The values, as in the JSON of a mapping. "" is DynamicTrue where documents are written one by one, and
// DynamicFalse where an index is built.
const (
	DynamicTrue   Dynamic = "true"
	DynamicFalse  Dynamic = "false"
	DynamicStrict Dynamic = "strict"
)

// MaxFields bounds the fields of a mapping, as OpenSearch does by default.
const MaxFields = base.MaxFields - 1

// MaxNameBytes bounds the name of a field.
const MaxNameBytes = 1 << 10

// Mapping is the fields of an index. Its encoding with encoding/json keeps the order of declaration;
// AppendJSON writes OpenSearch's.
type Mapping struct {
	dynamic  Dynamic
	revision uint64  // counts the changes of fields
	shape    uint64  // the revision of the last change of what of documents is indexed; 0: none
	fields   []Field // in the order of declaration
	byName   map[string]int
	subs     map[string][]int    // multi-fields of a field
	targets  map[string][]Target // by name of a value
	objects  map[string]bool     // what fields are within
	update   bool                // fields may copy to others
}

// Target is a field that gets the values of a name.
type Target struct {
	Field *Field
	// Number is its place in Fields. Since is the place of the last field that must be declared so that it
	// gets them: it, or the one that copies to it.
	Number, Since int
}

// New returns a mapping with fields in the order of declaration. The error wraps base.ErrBadInput and
// names the field.
func New(dynamic Dynamic, fields []Field) (*Mapping, error) {
	return newMapping(dynamic, fields, false)
}

// NewUpdate is New for an update of another mapping (Updated), whose fields may copy to fields of that one.
func NewUpdate(dynamic Dynamic, fields []Field) (*Mapping, error) {
	return newMapping(dynamic, fields, true)
}

// Complete returns an error if a field copies to one that the mapping does not have. Only an update may.
func (m *Mapping) Complete() error {
	if !m.update {
		return nil
	}
	_, err := New(m.dynamic, m.fields)
	return err
}

func newMapping(dynamic Dynamic, fields []Field, update bool) (*Mapping, error) {
	m := &Mapping{dynamic: dynamic, fields: slices.Clone(fields), byName: make(map[string]int, len(fields)), subs: map[string][]int{}, update: update}
	switch dynamic {
	case "", DynamicTrue, DynamicFalse, DynamicStrict:
	default:
		return nil, bad("[dynamic] is %.40q: want true, false or strict", dynamic)
	}
	if len(fields) > MaxFields {
		return nil, base.ErrTooManyFields
	}
	for i := range m.fields {
		f := &m.fields[i]
		if _, twice := m.byName[f.Name]; twice {
			return nil, bad("field [%s] is declared twice", f.Name)
		}
		m.byName[f.Name] = i
		if f.Of != "" {
			m.subs[f.Of] = append(m.subs[f.Of], i)
		}
	}
	for i := range m.fields {
		if err := m.check(&m.fields[i]); err != nil {
			return nil, err
		}
	}
	m.connect()
	return m, nil
}

// connect sets targets and objects.
func (m *Mapping) connect() {
	m.targets, m.objects = make(map[string][]Target, len(m.fields)), map[string]bool{}
	for i := range m.fields {
		f := &m.fields[i]
		if f.Of != "" {
			continue
		}
		name := f.Name
		if f.Type == Object {
			m.objects[name] = true
			continue
		}
		for at := strings.LastIndexByte(name, '.'); at >= 0; at = strings.LastIndexByte(name[:at], '.') {
			m.objects[name[:at]] = true
		}
		targets := m.withSubs(nil, i, i)
		for _, to := range f.CopyTo {
			if at, ok := m.byName[to]; ok { // not of an update
				targets = m.withSubs(targets, at, i)
			}
		}
		m.targets[name] = targets
	}
	for i := range m.fields { // texts within texts
		delete(m.objects, m.fields[i].Name)
		if m.fields[i].Type == Object {
			m.objects[m.fields[i].Name] = true
		}
	}
}

// withSubs appends a field and its multi-fields.
func (m *Mapping) withSubs(targets []Target, field, since int) []Target {
	for _, n := range append([]int{field}, m.subs[m.fields[field].Name]...) {
		targets = append(targets, Target{Field: &m.fields[n], Number: n, Since: max(n, since)})
	}
	return targets
}

// Targets returns the fields that get the values of a name: the field itself, its multi-fields, and the
// fields that it copies to, with their multi-fields. None if the name is not declared.
func (m *Mapping) Targets(name string) []Target { return m.targets[name] }

// Sources returns the names whose values a field gets, in the order of declaration: its own, its parent's, and the
// names that are copied to it.
func (m *Mapping) Sources(name string) []string {
	names := []string{}
	for i := range m.fields {
		from := m.fields[i].Name
		if slices.ContainsFunc(m.targets[from], func(t Target) bool { return t.Field.Name == name }) {
			names = append(names, from)
		}
	}
	return names
}

// Texts returns fields of type text with the defaults.
func Texts(names []string) []Field {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i].Name = name
	}
	return fields
}

// Plain reports whether all fields are texts with the defaults.
func Plain(fields []Field) bool {
	return !slices.ContainsFunc(fields, func(f Field) bool { return !f.plain() })
}

// Dynamic returns what becomes of fields that are not declared.
func (m *Mapping) Dynamic() Dynamic { return m.dynamic }

// Fields returns the fields in the order of declaration, not to be changed.
func (m *Mapping) Fields() []Field { return m.fields }

// Field returns the field of a name.
func (m *Mapping) Field(name string) (*Field, bool) {
	i, ok := m.byName[name]
	if !ok {
		return nil, false
	}
	return &m.fields[i], true
}

// Number returns the place of a field in Fields.
func (m *Mapping) Number(name string) (int, bool) {
	i, ok := m.byName[name]
	return i, ok
}

// Subs returns the places in Fields of the multi-fields of a field.
func (m *Mapping) Subs(name string) []int { return m.subs[name] }

// TermFields returns the names of the fields with posting lists, in the order of declaration.
func (m *Mapping) TermFields() []string {
	names := []string{}
	for i := range m.fields {
		if m.fields[i].HasTerms() {
			names = append(names, m.fields[i].Name)
		}
	}
	return names
}

// IsObject reports whether a name is an object, in which fields are, and has no values.
func (m *Mapping) IsObject(name string) bool { return m.objects[name] }

// Around returns the field that a name is in, such as "a" of "a.b" if "a" is not an object; nil: none.
func (m *Mapping) Around(name string) *Field {
	for at := strings.IndexByte(name, '.'); at >= 0; {
		if f, ok := m.Field(name[:at]); ok && f.Type != Object {
			return f
		}
		next := strings.IndexByte(name[at+1:], '.')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return nil
}

// Check returns an error if the fields cannot hold a value of a name: a *ValueError, or one that wraps
// base.ErrBadInput if the name is not declared and an object or within a field, or DynamicStrict
// excludes it. declared, if not 0, counts the fields, with the default one, that count.
func (m *Mapping) Check(name, value string, declared int) error {
	targets, ok := m.targets[name]
	if !ok {
		return m.checkUndeclared(name, value)
	}
	for i := range targets {
		if t := &targets[i]; declared == 0 || t.Since+1 < declared {
			if err := t.Field.Check(value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Mapping) checkUndeclared(name, value string) error {
	switch around := m.Around(name); {
	case m.objects[name]:
		return &ValueError{Field: name, Type: Object, Value: value, Err: errors.New("want an object")}
	case around != nil && !around.plain():
		return &ValueError{Field: around.Name, Type: around.Type, Value: value, Err: fmt.Errorf("it is in an object, as %s", name)}
	case m.dynamic == DynamicStrict:
		return bad("field %q is not declared, and the mapping is strict", name)
	}
	return nil
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), base.ErrBadInput)
}

// CheckName returns an error that wraps base.ErrBadInput unless a field can have the name.
func CheckName(name string) error {
	switch {
	case name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}):
		return fmt.Errorf("field name %.80q: want letters, digits, '_', '-' or '.': %w", name, base.ErrBadInput)
	case len(name) > MaxNameBytes:
		return fmt.Errorf("field name %.80q of %d bytes, at most %d: %w", name, len(name), MaxNameBytes, base.ErrBadInput)
	}
	return nil
}

func (m *Mapping) check(f *Field) error {
	if err := CheckName(f.Name); err != nil {
		return err
	}
	if f.Type >= numTypes {
		return bad("field [%s] has %s", f.Name, f.Type)
	}
	if err := m.checkPlace(f); err != nil {
		return err
	}
	if err := f.checkParameters(); err != nil {
		return err
	}
	for _, name := range f.CopyTo {
		to, ok := m.Field(name)
		switch {
		case f.Of != "":
			return bad("[copy_to] of the multi-field [%s] is not supported", f.Name)
		case !ok && m.update: // the other mapping may have it
		case !ok:
			return bad("[copy_to] of field [%s]: there is no field [%s]", f.Name, name)
		case to.Of != "" || to.Type == Object || to.Type.Vector():
			return bad("[copy_to] of field [%s]: [%s] is a multi-field, an object or a vector", f.Name, name)
		}
	}
	return nil
}

// checkPlace: only an object is around other fields, and only a multi-field is below a field. Indexes that
// had no types can have texts within texts, and any names.
func (m *Mapping) checkPlace(f *Field) error {
	if f.Of != "" {
		of, ok := m.Field(f.Of)
		switch {
		case !ok || of.Of != "" || of.Type == Object || of.Type.Vector() || f.Type == Object || f.Type.Vector():
			return bad("field [%s] cannot be a multi-field of [%s]", f.Name, f.Of)
		case f.Name[:min(len(f.Of)+1, len(f.Name))] != f.Of+"." || strings.Contains(f.Name[len(f.Of)+1:], "."):
			return bad("the multi-field [%s] of [%s] has a name with a dot", f.Name, f.Of)
		}
	}
	if !f.plain() && (strings.HasPrefix(f.Name, ".") || strings.HasSuffix(f.Name, ".") || strings.Contains(f.Name, "..")) {
		return bad("field name [%s] has an empty part", f.Name)
	}
	for at := strings.IndexByte(f.Name, '.'); at >= 0; {
		if around, ok := m.Field(f.Name[:at]); ok && around.Type != Object && around.Name != f.Of && (!around.plain() || !f.plain()) {
			return bad("field [%s] is within field [%s] of type [%s]", f.Name, around.Name, around.Type)
		}
		next := strings.IndexByte(f.Name[at+1:], '.')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return nil
}

// checkParameters checks those that the type has, and sets the formats of a date.
func (f *Field) checkParameters() (err error) {
	isText, isDate, isVector := f.Type == Text, f.Type == Date, f.Type.Vector()
	for _, p := range []struct {
		name string
		set  bool
		ok   bool
	}{
		{"analyzer", f.Analyzer != "", isText},
		{"search_analyzer", f.SearchAnalyzer != "", isText},
		{"normalizer", f.Normalizer != "", f.Type == Keyword},
		{"index", f.NoIndex, f.Type != Object && !isVector},
		{"doc_values", f.NoDocValues, !isText && f.Type != Object && !isVector},
		{"ignore_above", f.IgnoreAbove != 0, f.Type == Keyword},
		{"null_value", f.NullValue != nil, !isText && f.Type != Object && !isVector && f.Of == ""},
		{"format", f.Format != "", isDate},
		{"boost", f.Boost != 0, f.Type != Object && f.Type != GeoPoint},
		{"weight_scale", f.WeightScale != 0, isVector},
		{"copy_to", len(f.CopyTo) > 0, f.Type != Object && !isVector},
	} {
		if p.set && !p.ok {
			return bad("unknown parameter [%s] on mapper [%s] of type [%s]", p.name, f.Name, f.Type)
		}
	}
	if f.IgnoreAbove < 0 {
		return bad("[ignore_above] of field [%s] is %d: want 0 or more", f.Name, f.IgnoreAbove)
	}
	if f.Boost != 0 && !(f.Boost > 0 && f.Boost <= maxBoost) {
		return bad("[boost] of field [%s] is %g: want more than 0 and at most %g", f.Name, f.Boost, float64(maxBoost))
	}
	if f.WeightScale != 0 && !(f.WeightScale >= 1/MaxWeightScale && f.WeightScale <= MaxWeightScale) {
		return bad("[weight_scale] of field [%s] is %g: want %g to %g", f.Name, f.WeightScale, 1/MaxWeightScale, float64(MaxWeightScale))
	}
	if isDate && f.Format != "" {
		if f.formats, err = parseFormats(f.Format); err != nil {
			return fmt.Errorf("[format] of field [%s]: %w", f.Name, err)
		}
	}
	if f.NullValue != nil {
		if err := f.Check(*f.NullValue); err != nil {
			return fmt.Errorf("[null_value]: %w", err)
		}
	}
	return nil
}

const maxBoost = 1e6

// flat is the encoding that keeps the order of declaration.
type flat struct {
	Dynamic  Dynamic `json:"dynamic,omitempty"`
	Revision uint64  `json:"revision,omitempty"`
	Shape    uint64  `json:"shape,omitempty"`
	Reshaped bool    `json:"reshaped,omitempty"` // of former programs, which did not count
	Fields   []Field `json:"fields"`
}

// MarshalJSON encodes the fields as a list, in the order of declaration.
func (m *Mapping) MarshalJSON() ([]byte, error) {
	return json.Marshal(flat{Dynamic: m.dynamic, Revision: m.revision, Shape: m.shape, Fields: m.fields})
}

// UnmarshalJSON decodes what MarshalJSON encodes. Unknown members are errors.
func (m *Mapping) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var f flat
	if err := d.Decode(&f); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("bytes after a mapping")
	}
	made, err := New(f.Dynamic, f.Fields)
	if err != nil {
		return err
	}
	*m = *made
	m.revision, m.shape = f.Revision, f.Shape
	if f.Reshaped {
		m.shape = f.Revision
	}
	if m.shape > m.revision {
		return fmt.Errorf("revision %d, but a change of revision %d", m.revision, m.shape)
	}
	return nil
}

// Revision counts the changes of fields since the mapping was made. Fields that were added do not count.
func (m *Mapping) Revision() uint64 { return m.revision }

// Shape is the revision of the last change that affects how documents are indexed, 0 if there was none. Earlier
// documents are indexed by the former parameters.
func (m *Mapping) Shape() uint64 { return m.shape }

// Equal reports whether two mappings have the same fields in the same order.
func (m *Mapping) Equal(o *Mapping) bool {
	if m == nil || o == nil {
		return m == o
	}
	return m.dynamic == o.dynamic && slices.EqualFunc(m.fields, o.fields, func(a, b Field) bool { return a.equal(&b) })
}

// With returns the mapping with further fields. Those that exist are left out, whatever their type is. The
// error wraps base.ErrBadInput.
func (m *Mapping) With(fields []Field) (*Mapping, error) {
	grown := slices.Clip(m.fields)
	for i := range fields {
		if _, exists := m.byName[fields[i].Name]; !exists {
			grown = append(grown, fields[i])
		}
	}
	if len(grown) == len(m.fields) {
		return m, nil
	}
	return m.made(grown)
}

// made is New with what m has besides its fields.
func (m *Mapping) made(fields []Field) (*Mapping, error) {
	next, err := New(m.dynamic, fields)
	if err != nil {
		return nil, err
	}
	next.revision, next.shape = m.revision, m.shape
	return next, nil
}

// WithDynamic returns the mapping with another Dynamic.
func (m *Mapping) WithDynamic(d Dynamic) *Mapping {
	changed := *m
	changed.dynamic = d
	return &changed
}
