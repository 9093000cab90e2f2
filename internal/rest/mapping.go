package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// meta is the declaration of an index; it is kept as a JSON file.
type meta struct {
	UUID     string    `json:"uuid"`
	Created  time.Time `json:"created"`
	Analyzer string    `json:"analyzer"`
	// Refresh is as in OpenSearch: "1s", "-1"; "" is the default.
	Refresh  string `json:"refresh_interval,omitempty"`
	Replicas int    `json:"number_of_replicas"`
	// Async does not wait for the log to be durable.
	Async bool `json:"async,omitempty"`
	// SyncInterval makes it durable at this interval, such as "5s", if Async; "" means soon after.
	SyncInterval string `json:"sync_interval,omitempty"`
	// Dynamic is about fields that are not declared: "" or one of dynamicFalse and
	// dynamicStrict.
	Dynamic string `json:"dynamic,omitempty"`
	// Detection is how fields that are not declared get types.
	Detection *mapping.Detection `json:"detection,omitempty"`
	// Analyzers are the names in the mapping, by field.
	Analyzers map[string]string `json:"analyzers,omitempty"`
	// Analysis defines further analyzers.
	Analysis json.RawMessage `json:"analysis,omitempty"`

	analysis *analysis.Settings // of Analysis
	// fields of the index. Those with its analyzer name none: the names in the mapping are in Analyzers.
	fields *mapping.Mapping
}

// defaultAnalyzer indexes stop words, so that every word of a query can match.
const defaultAnalyzer = "english-full"

// minSyncInterval is OpenSearch's.
const minSyncInterval = 100 * time.Millisecond

// settings belong to the index.
func (m *meta) settings() (griffin.Settings, error) {
	s := griffin.Settings{Analyzer: m.Analyzer, Analysis: m.Analysis, Fields: []string{}}
	if mapping.Plain(m.fields.Fields()) {
		s.Fields = m.fields.TermFields()
		return s, nil
	}
	declared, err := public(m.fields)
	s.Fields, s.Mapping = nil, declared
	return s, err
}

// public returns a mapping for the API of Go, and fieldsOf the reverse.
func public(m *mapping.Mapping) (*griffin.Mapping, error) {
	return griffin.ParseMappingUpdate(m.WithDynamic("").AppendJSON(nil))
}

func fieldsOf(m *griffin.Mapping) (*mapping.Mapping, error) {
	text, err := m.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return mapping.Parse(text)
}

// declare returns a mapping of fields, which must not contradict one another.
func declare(fields []mapping.Field) (*mapping.Mapping, *Error) {
	return declared(mapping.New("", fields))
}

func declared(m *mapping.Mapping, err error) (*mapping.Mapping, *Error) {
	if err != nil {
		return nil, badMapping(err)
	}
	return m, nil
}

func badMapping(err error) *Error {
	var conflict *mapping.ConflictError
	switch {
	case errors.As(err, &conflict):
		return illegal("%s", conflict.Reason)
	case errors.Is(err, griffin.ErrTooManyFields):
		return tooManyFields()
	}
	return badRequest(typeMapperParsing, "%s", base.Message(err))
}

func (m *meta) writer() (griffin.WriterOptions, error) {
	o := griffin.WriterOptions{}
	if m.Async {
		o.Sync = griffin.SyncAsync
		if m.SyncInterval != "" {
			d, err := parseTime(m.SyncInterval)
			if err != nil {
				return o, err
			}
			o.Sync, o.SyncInterval = griffin.SyncInterval, d
		}
	}
	if m.Refresh == "" {
		return o, nil
	}
	d, err := parseTime(m.Refresh)
	o.RefreshInterval = d
	if d == 0 && err == nil {
		err = fmt.Errorf("refresh_interval [%s]: want a time such as 1s, or -1", m.Refresh)
	}
	return o, err
}

// parseTime parses a time such as 500ms, 30s, 1m, or -1.
func parseTime(text string) (time.Duration, error) {
	if text == "-1" {
		return -1, nil
	}
	d, err := time.ParseDuration(strings.Replace(text, "d", "h", 1))
	if strings.HasSuffix(text, "d") {
		d *= 24
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("failed to parse [%s]: want a time such as 500ms, 30s or 1m, or -1", text)
	}
	return d, nil
}

// parseCreate reads the body of PUT /{index}; an empty one has the defaults.
func parseCreate(body []byte) (meta, *Error) {
	m := meta{Analyzer: defaultAnalyzer}
	m.fields, _ = declare(nil)
	if len(body) == 0 {
		return m, nil
	}
	var top struct {
		Settings map[string]any  `json:"settings"`
		Mappings json.RawMessage `json:"mappings"`
	}
	keys, err := objectKeys(body)
	if err != nil {
		return m, badRequest(typeParsing, "the body: %s", jsonReason(err))
	}
	for _, key := range keys {
		if key != "settings" && key != "mappings" {
			return m, badRequest(typeParsing, "unknown key [%s] for create index", key)
		}
	}
	if err := json.Unmarshal(body, &top); err != nil {
		return m, badRequest(typeParsing, "the body: %s", jsonReason(err))
	}
	if err := m.takeAnalysis(top.Settings); err != nil {
		return m, err
	}
	analyzer := ""
	flat, apiErr := flatSettings(top.Settings)
	if apiErr != nil {
		return m, apiErr
	}
	for name, value := range flat {
		if value == nil {
			continue // the default
		}
		if err := m.set(name, *value, &analyzer); err != nil {
			return m, err
		}
	}
	if len(top.Mappings) > 0 && string(top.Mappings) != "null" {
		if err := m.parseMappings(top.Mappings); err != nil {
			return m, err
		}
	}
	return m, m.chooseAnalyzer(analyzer)
}

// parseMappings reads the mapping of a new index. The analyzers of fields are also in Analyzers.
func (m *meta) parseMappings(raw json.RawMessage) *Error {
	err := m.parseUpdate(raw)
	if err == nil {
		m.fields, err = declare(m.fields.Fields())
	}
	return err
}

// parseUpdate is parseMappings for an update.
func (m *meta) parseUpdate(raw json.RawMessage) *Error {
	fieldsOnly, detection, err := mapping.SplitDetection(raw, m.Detection)
	if err != nil {
		return badMapping(err)
	}
	m.Detection = detection
	parsed, err := mapping.ParseUpdate(fieldsOnly)
	if err != nil {
		return badMapping(err)
	}
	if d := parsed.Dynamic(); d != "" {
		m.Dynamic = dynamics[string(d)]
	}
	m.Analyzers = map[string]string{}
	fields := slices.Clone(parsed.Fields())
	for i := range fields {
		f := &fields[i]
		if f.Name[0] == '_' {
			return badRequest(typeMapperParsing, "Field [%s] is reserved: a name must not start with _", f.Name)
		}
		if err := m.checkNames(f); err != nil {
			return err
		}
		if f.Analyzer != "" {
			m.Analyzers[f.Name] = f.Analyzer
		}
	}
	for _, f := range detection.Samples() {
		if err := m.checkNames(&f); err != nil {
			return err
		}
	}
	var apiErr *Error
	m.fields, apiErr = declared(mapping.NewUpdate("", fields))
	return apiErr
}

// checkNames returns an error if an analyzer or a normalizer of a field does not exist.
func (m *meta) checkNames(f *mapping.Field) *Error {
	for _, name := range []string{f.Analyzer, f.SearchAnalyzer} {
		if err := m.checkAnalyzer(f.Name, name); err != nil {
			return err
		}
	}
	if f.Normalizer != "" && !m.analysis.Has(analysis.NormalizerPrefix+f.Normalizer) {
		return badRequest(typeMapperParsing, "normalizer [%s] not found for field [%s]: there are %s", f.Normalizer, f.Name, strings.Join(m.analysis.NormalizerNames(), ", "))
	}
	return nil
}

// mappings is the answer of GET /{index} and of GET /{index}/_mapping.
func (m *meta) mappings() json.RawMessage {
	return m.Detection.AppendMembers(m.shown().WithDynamic(mapping.Dynamic(m.Dynamic)).AppendJSON(nil))
}

// shown returns the fields with the names of their analyzers.
func (m *meta) shown() *mapping.Mapping {
	fields := slices.Clone(m.fields.Fields())
	for i := range fields {
		if a := m.Analyzers[fields[i].Name]; a != "" {
			fields[i].Analyzer = a
		}
	}
	if shown, err := declare(fields); err == nil {
		return shown
	}
	return m.fields
}

// objectKeys returns the keys of a JSON object, sorted.
func objectKeys(raw []byte) ([]string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}
