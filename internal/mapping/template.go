package mapping

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Detection is how fields that are not declared get types by their first value, as the members dynamic_templates,
// date_detection, numeric_detection and dynamic_date_formats of a mapping say. nil has the defaults. It does not change.
type Detection struct {
	templates []template
	noDates   bool
	numbers   bool
	formats   []detectedFormat
	given     map[string]json.RawMessage // the members
}

// detectedFormat is a format of dynamic_date_formats.
type detectedFormat struct {
	text    string
	formats dateFormats
}

// detectionKeys are the members.
var detectionKeys = []string{"dynamic_templates", "date_detection", "numeric_detection", "dynamic_date_formats"}

// template is one of dynamic_templates. Empty patterns match every name.
type template struct {
	name, kind             string
	match, unmatch         []func(name string) bool // of the last part of a name
	pathMatch, pathUnmatch []func(name string) bool
	mapping                json.RawMessage
	sample                 []Field // of some name; nil if the mapping has placeholders
}

// SplitDetection takes the members of a Detection from the JSON of a mapping. d keeps earlier members that the JSON does not
// have. The error wraps base.ErrBadInput.
func SplitDetection(text []byte, before *Detection) (rest []byte, d *Detection, err error) {
	top, err := members(text)
	if err != nil {
		return text, before, nil //nolint:nilerr // Parse has the error
	}
	if len(top) == 1 && top[0].key == "mappings" {
		return SplitDetection(top[0].value, before)
	}
	given := map[string]json.RawMessage{}
	rest = []byte{'{'}
	for _, m := range top {
		if slices.Contains(detectionKeys, m.key) {
			given[m.key] = m.value
			continue
		}
		rest = append(appendKey(rest, m.key), m.value...)
	}
	if len(given) == 0 {
		return text, before, nil
	}
	if before != nil {
		for key, value := range before.given {
			if given[key] == nil {
				given[key] = value
			}
		}
	}
	d, err = newDetection(given)
	return append(rest, '}'), d, err
}

func newDetection(given map[string]json.RawMessage) (*Detection, error) {
	d := &Detection{given: given}
	dates := true
	for _, p := range []struct {
		key string
		to  *bool
	}{{"date_detection", &dates}, {"numeric_detection", &d.numbers}} {
		if raw := given[p.key]; raw != nil {
			text := strings.Trim(string(raw), `"`)
			if text != "true" && text != "false" {
				return nil, bad("[%s] is %.40s: want true or false", p.key, raw)
			}
			*p.to = text == "true"
		}
	}
	d.noDates = !dates
	if raw := given["dynamic_date_formats"]; raw != nil {
		var list []string
		if json.Unmarshal(raw, &list) != nil {
			return nil, bad("[dynamic_date_formats] is %.80s: want a list of formats", raw)
		}
		for _, text := range list {
			formats, err := parseFormats(text)
			if err != nil {
				return nil, fmt.Errorf("[dynamic_date_formats]: %w", err)
			}
			d.formats = append(d.formats, detectedFormat{text, formats})
		}
	}
	if raw := given["dynamic_templates"]; raw != nil {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil, bad("Dynamic template syntax error. An array of named objects is expected.")
		}
		for _, one := range list {
			if err := d.addTemplate(one); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// templateKinds are the values of match_mapping_type, with the type of a field without one.
var templateKinds = map[string]string{"string": "text", "long": "long", "double": "double", "boolean": "boolean", "date": "date", "object": "object"}

func (d *Detection) addTemplate(raw json.RawMessage) error {
	named, err := members(raw)
	if err != nil || len(named) != 1 {
		return bad("A dynamic template must be defined with a name")
	}
	t := template{name: named[0].key}
	given, err := members(named[0].value)
	if err != nil {
		return bad("dynamic template [%s]: want an object", t.name)
	}
	isRegexp := false
	for _, m := range given {
		if m.key == "match_pattern" {
			switch text := strings.Trim(string(m.value), `"`); text {
			case "regex", "simple":
				isRegexp = text == "regex"
			default:
				return bad("dynamic template [%s] has [match_pattern] %.40s: want simple or regex", t.name, text)
			}
		}
	}
	for _, m := range given {
		to := map[string]*[]func(string) bool{"match": &t.match, "unmatch": &t.unmatch, "path_match": &t.pathMatch, "path_unmatch": &t.pathUnmatch}[m.key]
		switch {
		case to != nil:
			if *to, err = namePatterns(m.value, isRegexp); err != nil {
				return fmt.Errorf("dynamic template [%s]: [%s]: %w", t.name, m.key, err)
			}
		case m.key == "match_mapping_type":
			if t.kind = strings.Trim(string(m.value), `"`); templateKinds[t.kind] == "" && t.kind != "*" {
				return bad("No field type matched on [%s], possible values are [object, string, long, double, boolean, date, *]", t.kind)
			}
		case m.key == "mapping":
			t.mapping = m.value
		case m.key != "match_pattern":
			return bad("Illegal dynamic template parameter: [%s] of [%s]", m.key, t.name)
		}
	}
	switch {
	case t.mapping == nil:
		return bad("dynamic template [%s] must have a [mapping] set", t.name)
	case t.kind == "" && t.match == nil && t.pathMatch == nil:
		return bad("dynamic template [%s] must have match, path_match or match_mapping_type set", t.name)
	}
	if t.kind == "*" {
		t.kind = ""
	}
	if err := t.try(); err != nil {
		return fmt.Errorf("dynamic template [%s]: %w", t.name, err)
	}
	d.templates = append(d.templates, t)
	return nil
}

// try returns an error if the mapping is not valid for any type that the template matches.
func (t *template) try() (err error) {
	for _, kind := range []string{"string", "long", "double", "boolean", "date", "object"} {
		if t.kind != "" && t.kind != kind {
			continue
		}
		sample, wrong := t.fields("sample", kind, "")
		if wrong == nil {
			if !strings.Contains(string(t.mapping), "{name}") && !strings.Contains(string(t.mapping), "{dynamic") {
				t.sample = sample
			}
			return nil
		}
		if err == nil {
			err = wrong
		}
	}
	return err
}

// Samples returns fields as the templates without placeholders make them. They have the names of the templates.
func (d *Detection) Samples() (fields []Field) {
	if d == nil {
		return nil
	}
	for i := range d.templates {
		for _, f := range d.templates[i].sample {
			f.Name = d.templates[i].name
			fields = append(fields, f)
		}
	}
	return fields
}

func namePatterns(raw json.RawMessage, isRegexp bool) ([]func(string) bool, error) {
	var list []string
	if kind(raw) == '"' {
		list = make([]string, 1)
		if err := decode(raw, &list[0]); err != nil {
			return nil, err
		}
	} else if err := decode(raw, &list); err != nil {
		return nil, err
	}
	var all []func(string) bool
	for _, pattern := range list {
		if !isRegexp {
			pattern = strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
		}
		_, err := regexp.Compile(pattern) // alone, for the error
		if err != nil {
			return nil, bad("pattern %.80q: %v", pattern, err)
		}
		r, err := regexp.Compile(`\A(?s:` + pattern + `)\z`)
		if err != nil {
			return nil, bad("pattern %.80q: %v", pattern, err)
		}
		all = append(all, r.MatchString)
	}
	return all, nil
}

func (t *template) matches(name, kind string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	in := func(patterns []func(string) bool, text string) bool {
		return slices.ContainsFunc(patterns, func(f func(string) bool) bool { return f(text) })
	}
	return (t.kind == "" || t.kind == kind) && (t.match == nil || in(t.match, last)) && (t.pathMatch == nil || in(t.pathMatch, name)) &&
		!in(t.unmatch, last) && !in(t.pathUnmatch, name)
}

// fields returns the fields that the template makes for a name. format is the format of a detected
// date. The fields of copy_to are not looked up.
func (t *template) fields(name, kind, format string) ([]Field, error) {
	last := name[strings.LastIndexByte(name, '.')+1:]
	fill := strings.NewReplacer("{name}", last, "{dynamic_type}", templateKinds[kind], "{dynamicType}", templateKinds[kind])
	text := []byte(fill.Replace(string(t.mapping)))
	given, err := members(text)
	if err != nil {
		return nil, fmt.Errorf("[mapping]: %w", err)
	}
	if !slices.ContainsFunc(given, func(m member) bool { return m.key == "type" || m.key == "properties" }) {
		typed := appendMember([]byte{'{'}, "type", appendText(nil, templateKinds[kind]))
		for _, m := range given {
			typed = append(appendKey(typed, m.key), m.value...)
		}
		text = append(typed, '}')
	}
	p := parser{}
	if err := p.property(name, "", text, 0); err != nil {
		return nil, err
	}
	if f := &p.fields[0]; f.Type == Date && f.Format == "" && format != DefaultFormat {
		f.Format = format
	}
	m, err := NewUpdate("", p.fields)
	if err != nil {
		return nil, err
	}
	return m.Fields(), nil
}

func (d *Detection) template(name, kind string) *template {
	for i := range d.templates {
		if d.templates[i].matches(name, kind) {
			return &d.templates[i]
		}
	}
	return nil
}

// Scalar is Detect with the Detection's rules. The error wraps base.ErrBadInput.
func (d *Detection) Scalar(name string, kind byte, text string) ([]Field, error) {
	if d == nil {
		return Detect(name, kind, text), nil
	}
	f := Field{Name: name}
	match := "string"
	switch kind {
	case '0':
		if match = "long"; strings.ContainsAny(text, ".eE") {
			match = "double"
		}
	case 't', 'f':
		match = "boolean"
	case '"':
		match, f.Format = d.stringKind(text)
	}
	if t := d.template(name, match); t != nil {
		return t.fields(name, match, f.Format)
	}
	switch match {
	case "date":
		f.Type = Date
	case "long":
		f.Type = Long
	case "double":
		f.Type = Float
	case "boolean":
		f.Type = Boolean
	default:
		return Detect(name, '"', ""), nil
	}
	return []Field{f}, nil
}

// stringKind looks into a text: numbers and dates are detected in it.
func (d *Detection) stringKind(text string) (kind, format string) {
	if _, isNumber := parseDecimal(text); isNumber {
		switch {
		case !d.numbers:
			return "string", ""
		case !strings.ContainsAny(text, ".eE") && (&Field{Type: Long}).Check(text) == nil:
			return "long", ""
		}
		return "double", ""
	}
	if d.noDates {
		return "string", ""
	}
	if d.given["dynamic_date_formats"] == nil {
		if format, ok := detectDate(text); ok {
			return "date", format
		}
		return "string", ""
	}
	for _, f := range d.formats {
		if _, err := f.formats.parse(text, time.UTC, false /* round up */); err == nil {
			return "date", f.text
		}
	}
	return "string", ""
}

// Whole returns the field of a name that takes objects and lists as values, such as a geo_point; false if there is none.
func (d *Detection) Whole(name string) (fields []Field, ok bool, err error) {
	if d == nil {
		return nil, false, nil
	}
	t := d.template(name, "object")
	if t == nil {
		return nil, false, nil
	}
	if fields, err = t.fields(name, "object", ""); err != nil {
		return nil, false, err
	}
	return fields, fields[0].Type == GeoPoint || fields[0].Type.Vector(), nil
}

// AppendMembers appends the members to the JSON object of a mapping.
func (d *Detection) AppendMembers(object []byte) []byte {
	if d == nil {
		return object
	}
	out := []byte{'{'}
	for _, key := range detectionKeys {
		if raw := d.given[key]; raw != nil {
			out = append(appendKey(out, key), raw...)
		}
	}
	if len(object) > 2 {
		out = append(out, ',')
	}
	return append(out, object[1:]...)
}

// MarshalJSON writes the members.
func (d *Detection) MarshalJSON() ([]byte, error) { return d.AppendMembers([]byte("{}")), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Detection) UnmarshalJSON(text []byte) error {
	_, read, err := SplitDetection(text, nil)
	if err == nil && read == nil {
		err = fmt.Errorf("a detection without members: %w", base.ErrBadInput)
	}
	if err == nil {
		*d = *read
	}
	return err
}
