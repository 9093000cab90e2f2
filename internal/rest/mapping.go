package rest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
)

// meta is the declaration of an index; it is kept as a JSON file.
type meta struct {
	UUID     string    `json:"uuid"`
	Created  time.Time `json:"created"`
	Analyzer string    `json:"analyzer"`
	// Fields are the declared texts, with dotted names, sorted.
	Fields []string `json:"fields"`
	// Refresh is as in OpenSearch: "1s", "-1"; "" is the default.
	Refresh  string `json:"refresh_interval,omitempty"`
	Replicas int    `json:"number_of_replicas"`
	// Async does not wait for the log to be durable.
	Async bool `json:"async,omitempty"`
	// Dynamic is about strings that are not declared: "" or one of dynamicFalse and
	// dynamicStrict.
	Dynamic string `json:"dynamic,omitempty"`
	// Analyzers are the names in the mapping, by field.
	Analyzers map[string]string `json:"analyzers,omitempty"`

	existing map[string]bool // fields of the index whose mapping is changed
}

// analyzers maps names of OpenSearch to names of Griffin.
var analyzers = map[string]string{"english": "english", "simple": "simple", "standard": "simple", "whitespace": "whitespace"}

const analyzerNames = "english, simple, standard, whitespace"

const defaultAnalyzer = "english"

// settings belong to the index.
func (m *meta) settings() griffin.Settings {
	return griffin.Settings{Analyzer: m.Analyzer, Fields: m.Fields}
}

func (m *meta) writer() (griffin.WriterOptions, error) {
	o := griffin.WriterOptions{}
	if m.Async {
		o.Sync = griffin.SyncAsync
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
	m := meta{Analyzer: defaultAnalyzer, Fields: []string{titleField}}
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
	analyzer := ""
	flat := map[string]string{}
	if err := flatten(flat, "", top.Settings); err != nil {
		return m, err
	}
	for name, value := range flat {
		if err := m.set(strings.TrimPrefix(name, "index."), value, &analyzer); err != nil {
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

// flatten gives nested settings their dotted names.
func flatten(out map[string]string, prefix string, settings map[string]any) *Error {
	for name, v := range settings {
		switch v := v.(type) {
		case map[string]any:
			if err := flatten(out, prefix+name+".", v); err != nil {
				return err
			}
		case string:
			out[prefix+name] = v
		case float64, bool:
			out[prefix+name] = fmt.Sprint(v)
		default:
			return illegal("setting [%s%s] is not a text, a number or a boolean", prefix, name)
		}
	}
	return nil
}

func (m *meta) set(name, value string, analyzer *string) *Error {
	switch name {
	case "refresh_interval":
		m.Refresh = value
		if _, err := m.writer(); err != nil {
			return illegal("%v", err)
		}
	case "number_of_shards":
		if value != "1" {
			return illegal("setting [index.number_of_shards] is [%s]: an index has 1 shard", value)
		}
	case "number_of_replicas":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return illegal("setting [index.number_of_replicas] is [%s]: want a number", value)
		}
		m.Replicas = n
	case "translog.durability":
		if value != "request" && value != "async" {
			return illegal("setting [index.translog.durability] is [%s]: want request or async", value)
		}
		m.Async = value == "async"
	case "analyzer", "analysis.analyzer.default.type":
		if analyzers[value] == "" {
			return illegal("analyzer [%s] in the settings: there are %s", value, analyzerNames)
		}
		*analyzer = value
	default:
		return illegal("unknown setting [index.%s]: there are refresh_interval, number_of_shards, number_of_replicas, translog.durability, analyzer", name)
	}
	return nil
}

func (m *meta) parseMappings(raw json.RawMessage) *Error {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		return badRequest(typeMapperParsing, "Failed to parse mapping: %s", jsonReason(err))
	}
	m.Fields, m.Analyzers = []string{}, map[string]string{}
	for key, value := range top {
		switch key {
		case "properties":
			if err := m.parseProperties("", value, 0); err != nil {
				return err
			}
		case "dynamic":
			dynamic, ok := dynamics[strings.Trim(string(value), `"`)]
			if !ok {
				return badRequest(typeMapperParsing, "Failed to parse mapping: [dynamic] is %s: want true, false or strict", value)
			}
			m.Dynamic = dynamic
		default:
			return badRequest(typeMapperParsing, "Root mapping definition has unsupported parameters:  [%s : %s]", key, value)
		}
	}
	if top["properties"] == nil {
		m.Fields = []string{titleField}
	}
	slices.Sort(m.Fields)
	return nil
}

func (m *meta) parseProperties(prefix string, raw json.RawMessage, depth int) *Error {
	var properties map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &properties); err != nil || depth == maxDepth {
		return badRequest(typeMapperParsing, "Failed to parse mapping: [%sproperties] is not an object of objects", prefix)
	}
	for name, property := range properties {
		if err := m.parseProperty(prefix+name, property, depth); err != nil {
			return err
		}
	}
	return nil
}

func (m *meta) parseProperty(name string, property map[string]json.RawMessage, depth int) *Error {
	kind := "object"
	if property["properties"] == nil {
		kind = ""
	}
	if raw := property["type"]; raw != nil && json.Unmarshal(raw, &kind) != nil {
		return badRequest(typeMapperParsing, "The [type] of field [%s] is not a text", name)
	}
	if m.existing[name] && kind != "text" && kind != "object" && kind != "" {
		return illegal("mapper [%s] cannot be changed from type [text] to [%s]", name, kind)
	}
	allowed := map[string][]string{"text": {"type", "analyzer"}, "object": {"type", "properties"}}[kind]
	if allowed == nil {
		return badRequest(typeMapperParsing, "No handler for type [%s] declared on field [%s]: there are text and object", kind, name)
	}
	for key, value := range property {
		if !slices.Contains(allowed, key) {
			return badRequest(typeMapperParsing, "unknown parameter [%s] with value [%s] on mapper [%s] of type [%s]", key, value, name, kind)
		}
	}
	if kind == "object" {
		if property["properties"] == nil {
			return nil
		}
		return m.parseProperties(name+".", property["properties"], depth+1)
	}
	if name[0] == '_' {
		return badRequest(typeMapperParsing, "Field [%s] is reserved: a name must not start with _", name)
	}
	m.Fields = append(m.Fields, name)
	var analyzer string
	if raw := property["analyzer"]; raw != nil {
		if json.Unmarshal(raw, &analyzer) != nil || analyzers[analyzer] == "" {
			return badRequest(typeMapperParsing, "analyzer %s has not been configured in mappings of field [%s]: there are %s", raw, name, analyzerNames)
		}
		m.Analyzers[name] = analyzer
	}
	return nil
}

// chooseAnalyzer: an index has one analyzer.
func (m *meta) chooseAnalyzer(setting string) *Error {
	chosen, of := setting, "the settings"
	for _, name := range m.Fields {
		a := m.Analyzers[name]
		switch {
		case a == "":
		case chosen == "":
			chosen, of = a, "field ["+name+"]"
		case analyzers[a] != analyzers[chosen]:
			return badRequest(typeMapperParsing, "field [%s] has analyzer [%s], %s have [%s]: an index has one analyzer", name, a, of, chosen)
		}
	}
	if chosen != "" {
		m.Analyzer = analyzers[chosen]
	}
	return nil
}

// mappings is the answer of GET /{index} and of GET /{index}/_mapping.
func (m *meta) mappings() map[string]any {
	answer := map[string]any{}
	if m.Dynamic != "" {
		answer["dynamic"] = m.Dynamic
	}
	if properties := m.properties(); len(properties) > 0 {
		answer["properties"] = properties
	}
	return answer
}

func (m *meta) properties() map[string]any {
	root := map[string]any{}
	for _, name := range m.Fields {
		at := root
		parts := strings.Split(name, ".")
		for _, part := range parts[:len(parts)-1] {
			inner, ok := at[part].(map[string]any)
			if !ok {
				inner = map[string]any{"properties": map[string]any{}}
				at[part] = inner
			}
			at, ok = inner["properties"].(map[string]any)
			if !ok { // a field is also the prefix of others
				at = map[string]any{}
				inner["properties"] = at
			}
		}
		at[parts[len(parts)-1]] = m.property(name)
	}
	return root
}

func (m *meta) property(name string) map[string]any {
	field := map[string]any{"type": "text"}
	if a := m.Analyzers[name]; a != "" {
		field["analyzer"] = a
	}
	return field
}

func (m *meta) settingsAnswer(name string) map[string]any {
	index := map[string]any{
		"uuid": m.UUID, "provided_name": name, "creation_date": strconv.FormatInt(m.Created.UnixMilli(), 10),
		"number_of_shards": "1", "number_of_replicas": strconv.Itoa(m.Replicas),
		"analysis": map[string]any{"analyzer": map[string]any{"default": map[string]any{"type": m.Analyzer}}},
	}
	if m.Refresh != "" {
		index["refresh_interval"] = m.Refresh
	}
	if m.Async {
		index["translog"] = map[string]any{"durability": "async"}
	}
	return map[string]any{"index": index}
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
