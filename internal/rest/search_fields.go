package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// fieldPattern is an entry of "fields" or "docvalue_fields".
type fieldPattern struct {
	pattern string
	format  string // of dates; "": their field's
	column  bool   // of "docvalue_fields"
}

func (s *searchRequest) parseFields(x *Index, key string, raw json.RawMessage) *Error {
	list, ok := decodeList(raw)
	if !ok {
		return badRequest(typeParsing, "[%s] is %.60s: want a list of fields", key, raw)
	}
	column := key == "docvalue_fields"
	for _, one := range list {
		if text, ok := scalarText(one); ok {
			if err := x.checkColumn(column, text); err != nil {
				return err.at(one)
			}
			s.fields = append(s.fields, fieldPattern{pattern: text, column: column})
			continue
		}
		o, bad := decodeObject(one)
		if bad != nil || o == nil {
			return badRequest(typeParsing, "[%s] has %.60s: want a field", key, one).at(one)
		}
		name, ok := scalarText(o["field"])
		format, formatted := scalarText(o["format"])
		if raw := o["format"]; raw != nil && !formatted && string(raw) != "null" {
			return illegal("[%s] of field [%s] has the [format] %.60s: want a text", key, name, raw).at(raw)
		}
		delete(o, "field")
		delete(o, "format")
		for _, option := range slices.Sorted(maps.Keys(o)) {
			return illegal("[%s] of field [%s] has [%s], which is not supported", key, name, option).at(o[option])
		}
		if !ok {
			return illegal("[%s] has %.60s without [field]", key, one).at(one)
		}
		if formatted {
			if err := x.checkFormat(key, name, format); err != nil {
				return err.at(one)
			}
		}
		if err := x.checkColumn(column, name); err != nil {
			return err.at(one)
		}
		s.fields = append(s.fields, fieldPattern{name, format, column})
	}
	if len(s.fields) > maxFieldPatterns {
		return illegal("[%s] has more than %d fields", key, maxFieldPatterns)
	}
	return nil
}

// checkColumn returns an error if docvalue_fields names a field without a column.
func (x *Index) checkColumn(column bool, name string) *Error {
	f, ok := x.meta().fields.Field(name)
	if !column || !ok || hasColumn(f) {
		return nil
	}
	switch {
	case f.Type == mapping.Text:
		return illegal("[docvalue_fields] has [%s]: a text has no column: use [fields], or a keyword, such as [%[1]s.keyword]", name)
	case f.NoDocValues:
		return illegal("[docvalue_fields] has [%s]: its mapping has \"doc_values\": false: use [fields]", name)
	}
	return illegal("[docvalue_fields] has [%s]: type %s has no column: use [fields]", name, f.Type)
}

func hasColumn(f *mapping.Field) bool { return !f.NoDocValues && (f.HasNumbers() || f.HasOrdinals()) }

// checkFormat returns an error unless a field has dates that can be written in a format.
func (x *Index) checkFormat(key, name, format string) *Error {
	f, ok := x.meta().fields.Field(name)
	if !ok || f.Type != mapping.Date {
		return illegal("[%s] of field [%s] has [format], which is only supported for one field of type date", key, name)
	}
	if _, err := f.WithFormat(format); err != nil {
		return illegal("[%s] of field [%s]: %v", key, name, err)
	}
	return nil
}

// maxFieldPatterns is index.max_docvalue_fields_search of OpenSearch.
const maxFieldPatterns = 100

// appendFields appends the values of "fields" and "docvalue_fields", by dotted name, and the field of a collapse.
func (w *hitWriter) appendFields(dst []byte, hit *griffin.Hit, source []byte) []byte {
	dst = append(dst, '{')
	collapse := w.request.rank.collapse
	add := func(name string, values []string) {
		if len(values) == 0 {
			return
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(appendString(dst, name), ':'), '[')
		dst = append(dst, strings.Join(values, ",")...)
		dst = append(dst, ']')
		if name == collapse {
			collapse = ""
		}
	}
	if source != nil && len(w.request.fields) > 0 {
		w.declaredFields(source, add)
		w.otherFields(source, add)
	}
	if hit.Group != nil && collapse != "" {
		add(collapse, []string{string(hit.Group)})
	}
	return append(dst, '}')
}

// declaredFields calls add with the values of the fields of the mapping, as documents are indexed: a multi-field has the
// values of its field, and copy_to adds some.
func (w *hitWriter) declaredFields(source []byte, add func(name string, values []string)) {
	m := w.x.meta()
	read := walker{scanner: scanner{text: string(source)}, fields: m.fields, dynamic: dynamicFalse}
	read.next()
	_ = read.object("", 0) // an error if the mapping has changed since: then the values before it count
	given := map[string][]string{titleField: read.title}
	for _, v := range read.values {
		given[v.Name] = append(given[v.Name], v.Value)
	}
	for i := range m.fields.Fields() {
		f := &m.fields.Fields()[i]
		p := w.patternOf(f.Name, hasColumn(f))
		if p == nil {
			continue
		}
		var values []string
		for _, name := range m.fields.Sources(f.Name) {
			values = append(values, given[name]...)
		}
		switch {
		case len(values) == 0:
		case p.column:
			add(f.Name, columnValues(f, p.format, m.normal(f, values)))
		default:
			add(f.Name, shownValues(f, p.format, m.normal(f, values)))
		}
	}
}

// patternOf returns the pattern that asks for a field: one of "fields" before one of "docvalue_fields", the name of the field
// before a pattern. nil: none does.
func (w *hitWriter) patternOf(name string, hasColumn bool) *fieldPattern {
	var found *fieldPattern
	for i := range w.request.fields {
		p := &w.request.fields[i]
		if !matchPattern(p.pattern, name) || p.column && !hasColumn {
			continue
		}
		if found == nil || found.column && !p.column || found.column == p.column && p.pattern == name && found.pattern != name {
			found = p
		}
	}
	return found
}

// otherFields calls add with the values that no field has.
func (w *hitWriter) otherFields(source []byte, add func(name string, values []string)) {
	var names []string
	values := map[string][]string{}
	fields := w.x.meta().fields
	leaves(string(source), "", func(name, value string) {
		if _, declared := fields.Field(name); declared || value == "null" || fields.Around(name) != nil || w.patternOf(name, false) == nil {
			return
		}
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], value)
	})
	for _, name := range names {
		add(name, values[name])
	}
}

// normal returns the values of a keyword that are indexed, in their normal form; of other fields, the values.
func (m *meta) normal(f *mapping.Field, values []string) []string {
	if f.Type != mapping.Keyword {
		return values
	}
	var normalizer *analysis.Normalizer
	if f.Normalizer != "" {
		normalizer, _ = m.analysis.Normalizer(f.Normalizer) // the mapping was checked
	}
	var out []string
	for _, v := range values {
		if f.Ignores(v) {
			continue
		}
		if normalizer != nil {
			v = string(normalizer.Normalize([]byte(v)))
		}
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

// shownValues returns the JSON of values in their order.
func shownValues(f *mapping.Field, format string, values []string) (out []string) {
	if f.Type.Numeric() && f.Type != mapping.GeoPoint {
		return shownNumbers(f, format, numbers(f, values))
	}
	for _, v := range values {
		switch {
		case f.Type == mapping.GeoPoint:
			lat, lon, err := mapping.ParsePoint(v)
			if err != nil { // the mapping has changed since
				continue
			}
			v = `{"coordinates":[` + degrees(lon) + "," + degrees(lat) + `],"type":"Point"}`
		case f.Type == mapping.IP:
			if b, ok, err := f.Bytes(v); ok && err == nil {
				v = string(f.AppendBytes(nil, b))
			}
			v = string(appendString(nil, v))
		case !f.Type.Vector(): // else its JSON
			v = string(appendString(nil, v))
		}
		out = append(out, v)
	}
	return out
}

func degrees(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// columnValues returns the JSON of values in their order in a column, where terms are there once.
func columnValues(f *mapping.Field, format string, values []string) (out []string) {
	if f.Type.Numeric() {
		all := numbers(f, values)
		slices.Sort(all)
		return shownNumbers(f, format, all)
	}
	var all [][]byte
	for _, v := range values {
		if b, ok, err := f.Bytes(v); ok && err == nil {
			all = append(all, b)
		}
	}
	base.Sort(all, bytes.Compare)
	for _, b := range slices.CompactFunc(all, bytes.Equal) {
		out = append(out, string(appendString(nil, string(f.AppendBytes(nil, b)))))
	}
	return out
}

// numbers leaves out values that no longer fit after a change of the mapping.
func numbers(f *mapping.Field, values []string) (out []int64) {
	for _, v := range values {
		if n, err := f.Number(v); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func shownNumbers(f *mapping.Field, format string, numbers []int64) (out []string) {
	if format != "" {
		if with, err := f.WithFormat(format); err == nil { // checked by checkFormat
			f = with
		}
	}
	for _, n := range numbers {
		text := string(f.AppendNumber(nil, n))
		switch f.Type {
		case mapping.Date:
			text = string(appendString(nil, text))
		case mapping.GeoPoint:
			text = `"` + strings.Replace(text, ",", ", ", 1) + `"`
		}
		out = append(out, text)
	}
	return out
}

// leaves calls f with the scalars of an object, by dotted name.
func leaves(object, path string, f func(name, value string)) {
	var visit func(value, name string)
	visit = func(value, name string) {
		value = strings.TrimSpace(value)
		switch value[0] {
		case '{':
			leaves(value, name, f)
		case '[':
			for _, e := range elements(value) {
				visit(e, name)
			}
		default:
			f(name, value)
		}
	}
	for _, m := range members(object) {
		name := m.key
		if path != "" {
			name = path + "." + m.key
		}
		visit(m.value, name)
	}
}
