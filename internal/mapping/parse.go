package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxObjectDepth is OpenSearch's index.mapping.depth.limit.
const maxObjectDepth = 20

// parameters of each type, besides "type". Of them, properties and fields have members.
var parameters = [numTypes][]string{
	Text:     {"analyzer", "search_analyzer", "index", "boost", "copy_to", "fields"},
	Keyword:  {"normalizer", "ignore_above", "null_value", "index", "doc_values", "boost", "copy_to", "fields"},
	Date:     {"format", "null_value", "index", "doc_values", "boost", "copy_to", "fields"},
	GeoPoint: {"null_value", "index", "doc_values", "copy_to", "fields"},
	Object:   {"properties"},

	SparseVector: {"weight_scale", "boost"},
	RankFeatures: {"weight_scale", "boost"},
}

func init() {
	for _, t := range []Type{Long, Integer, Short, Byte, Double, Float, Boolean, IP} {
		parameters[t] = []string{"null_value", "index", "doc_values", "boost", "copy_to", "fields"}
	}
}

// Parse parses a mapping in OpenSearch's JSON, such as
//
//	{"properties": {"price": {"type": "double"}, "title": {"type": "text", "fields": {"keyword": {"type": "keyword"}}}}}
//
// The whole may be in an object with the member "mappings". Types and parameters that are not supported
// are errors that name the field; they wrap base.ErrBadInput.
func Parse(text []byte) (*Mapping, error) { return parseAs(text, New) }

// ParseUpdate is Parse for an update of another mapping, as NewUpdate.
func ParseUpdate(text []byte) (*Mapping, error) { return parseAs(text, NewUpdate) }

func parseAs(text []byte, made func(Dynamic, []Field) (*Mapping, error)) (*Mapping, error) {
	top, err := members(text)
	if err != nil {
		return nil, fmt.Errorf("Failed to parse mapping: %w", err) //nolint:staticcheck // as OpenSearch words it
	}
	if len(top) == 1 && top[0].key == "mappings" {
		if top, err = members(top[0].value); err != nil {
			return nil, fmt.Errorf("mappings: %w", err)
		}
	}
	p := parser{}
	dynamic := Dynamic("")
	for _, m := range top {
		switch m.key {
		case "properties":
			if err := p.properties("", m.value, 0); err != nil {
				return nil, err
			}
		case "dynamic":
			dynamic = Dynamic(strings.Trim(string(m.value), `"`))
		default:
			return nil, bad("Root mapping definition has unsupported parameters:  [%s : %.80s]", m.key, m.value)
		}
	}
	return made(dynamic, p.fields)
}

type parser struct{ fields []Field }

func (p *parser) properties(prefix string, text []byte, depth int) error {
	if depth > maxObjectDepth {
		return bad("objects are nested more than %d deep at [%s]", maxObjectDepth, prefix)
	}
	properties, err := members(text)
	if err != nil {
		return fmt.Errorf("[%sproperties]: %w", prefix, err)
	}
	for _, m := range properties {
		if err := p.property(prefix+m.key, "", m.value, depth); err != nil {
			return err
		}
	}
	return nil
}

// property parses a field, a multi-field of another, or an object.
func (p *parser) property(name, of string, text []byte, depth int) error {
	given, err := members(text)
	if err != nil {
		return fmt.Errorf("field [%s]: %w", name, err)
	}
	f := Field{Name: name, Of: of, Type: Object}
	at := slices.IndexFunc(given, func(m member) bool { return m.key == "type" })
	if at >= 0 {
		var kind string
		if err := json.Unmarshal(given[at].value, &kind); err != nil {
			return bad("the [type] of field [%s] is not a text", name)
		}
		known := false
		if f.Type, known = typeOf(kind); !known {
			return bad("No handler for type [%s] declared on field [%s]: there are %s", kind, name, strings.Join(typeNames[:], ", "))
		}
	} else if !slices.ContainsFunc(given, func(m member) bool { return m.key == "properties" }) {
		return bad("no type specified for field [%s]", name)
	}
	number := len(p.fields)
	p.fields = append(p.fields, f)
	var inner []byte
	for i, m := range given {
		if i == at {
			continue
		}
		if !slices.Contains(parameters[f.Type], m.key) || of != "" && m.key == "fields" {
			return bad("unknown parameter [%s] with value [%.80s] on mapper [%s] of type [%s]", m.key, m.value, name, f.Type)
		}
		if m.key == "fields" || m.key == "properties" {
			inner = m.value
		} else if err := p.fields[number].set(m.key, m.value); err != nil {
			return fmt.Errorf("[%s] of field [%s]: %w", m.key, name, err)
		}
	}
	switch {
	case f.Type == Object && inner != nil:
		before := len(p.fields)
		if err := p.properties(name+".", inner, depth+1); err != nil {
			return err
		}
		if len(p.fields) > before { // the fields imply it
			p.fields = slices.Delete(p.fields, number, number+1)
		}
		return nil
	case inner != nil:
		return p.multiFields(name, inner)
	}
	return nil
}

func (p *parser) multiFields(of string, text []byte) error {
	fields, err := members(text)
	if err != nil {
		return fmt.Errorf("[fields] of field [%s]: %w", of, err)
	}
	for _, m := range fields {
		if err := p.property(of+"."+m.key, of, m.value, 0); err != nil {
			return err
		}
	}
	return nil
}

// set sets a parameter.
func (f *Field) set(name string, value []byte) error {
	switch name {
	case "analyzer":
		return decode(value, &f.Analyzer)
	case "search_analyzer":
		return decode(value, &f.SearchAnalyzer)
	case "normalizer":
		return decode(value, &f.Normalizer)
	case "index":
		return decodeNot(value, &f.NoIndex)
	case "doc_values":
		return decodeNot(value, &f.NoDocValues)
	case "ignore_above":
		return decode(value, &f.IgnoreAbove)
	case "boost":
		if err := decode(value, &f.Boost); err != nil {
			return err
		}
		switch f.Boost {
		case 0:
			return bad("0: want more")
		case 1:
			f.Boost = 0
		}
		return nil
	case "weight_scale":
		if err := decode(value, &f.WeightScale); err != nil {
			return err
		}
		if f.WeightScale == 0 {
			return bad("0: want more")
		}
		if f.WeightScale == DefaultWeightScale {
			f.WeightScale = 0
		}
		return nil
	case "format":
		if err := decode(value, &f.Format); err != nil {
			return err
		}
		switch f.Format {
		case DefaultFormat:
			f.Format = ""
		case "":
			return bad("an empty text is no format")
		}
		return nil
	case "copy_to":
		if kind(value) == '"' {
			f.CopyTo = make([]string, 1)
			return decode(value, &f.CopyTo[0])
		}
		return decode(value, &f.CopyTo)
	case "null_value":
		return f.setNull(value)
	}
	return bad("unsupported")
}

// setNull keeps numbers and booleans as they are written.
func (f *Field) setNull(value []byte) error {
	switch kind(value) {
	case 'n':
		return nil
	case '"':
		f.NullValue = new(string)
		return decode(value, f.NullValue)
	case '0', 't', 'f':
		text := string(bytes.TrimSpace(value))
		f.NullValue = &text
		return nil
	}
	if f.Type != GeoPoint {
		return bad("want a single value")
	}
	points, err := Points(value)
	if err != nil || len(points) != 1 {
		return errors.Join(err, bad("want a point"))
	}
	f.NullValue = &points[0]
	return nil
}

func decode[T any](value []byte, to *T) error {
	if kind(value) == 'n' || json.Unmarshal(value, to) != nil {
		return bad("%.40s is not valid", value)
	}
	return nil
}

func decodeNot(value []byte, to *bool) error {
	var yes bool
	text := strings.Trim(string(value), `" `)
	if text == "true" || text == "false" { // OpenSearch takes both forms
		yes = text == "true"
		*to = !yes
		return nil
	}
	return bad("%.40s: want true or false", value)
}

// member is a member of a JSON object.
type member struct {
	key   string
	value []byte
}

// members returns the members of an object, in order.
func members(text []byte) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if d.PeekKind() != '{' {
		if _, err := d.ReadValue(); err != nil {
			return nil, fmt.Errorf("%w: %w", err, errNotObject)
		}
		return nil, errNotObject
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, errNotObject)
	}
	var all []member
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, errNotObject)
		}
		m := member{key: key.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("[%s]: %w: %w", m.key, err, errNotObject)
		}
		m.value = bytes.Clone(value)
		all = append(all, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, errNotObject)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, bad("bytes after the JSON object")
	}
	return all, nil
}

var errNotObject = bad("want a JSON object")
