package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// dynamicSettings can change while the index is open, and staticSettings cannot. Further static ones begin
// with "analysis.".
var (
	dynamicSettings = []string{"refresh_interval", "number_of_replicas", "translog.durability", "translog.sync_interval"}
	staticSettings  = []string{"number_of_shards", "analyzer", "uuid", "provided_name", "creation_date"}
)

// putSettings changes settings of the index of the path, or of all. A setting that cannot be changed changes none.
func putSettings(r *request) (answer, *Error) {
	body, err := r.body()
	if err != nil {
		return answer{}, err
	}
	preserve, err := r.boolean("preserve_existing", false)
	if err != nil {
		return answer{}, err
	}
	change, err := parseSettings(body)
	if err != nil {
		return answer{}, err
	}
	all, err := r.list()
	if err != nil {
		return answer{}, err
	}
	for _, x := range all {
		if x.err != nil {
			_, err := r.h.dir.find(x.name)
			return answer{}, err
		}
		next := *x.meta()
		if err := next.change(x.name, change, preserve); err != nil {
			return answer{}, err.of(x.name)
		}
	}
	ctx, cancel := r.limit()
	defer cancel()
	for _, x := range all {
		if err := r.h.changeSettings(ctx, x, change, preserve); err != nil {
			return answer{}, err
		}
	}
	return ok(map[string]any{"acknowledged": true})
}

func getSettings(r *request) (answer, *Error) {
	all, err := r.list()
	if err != nil {
		return answer{}, err
	}
	out := map[string]any{}
	for _, x := range all {
		var settings map[string]any
		if x.err == nil {
			settings = x.meta().settingsAnswer(x.name)
		} else if _, err := r.h.dir.find(x.name); r.PathValue("index") == x.name {
			return answer{}, err
		} else {
			settings = r.h.dir.settingsOfUnopened(x.name)
		}
		out[x.name] = map[string]any{"settings": settings}
	}
	return ok(out)
}

// settingsOfUnopened returns the settings of an index that cannot be opened. If its declaration cannot be read
// either, only the name is known.
func (d *Directory) settingsOfUnopened(name string) map[string]any {
	var m meta
	text, err := os.ReadFile(d.metaFile(name))
	if err != nil || json.Unmarshal(text, &m) != nil {
		return map[string]any{"index": map[string]any{"provided_name": name}}
	}
	return m.settingsAnswer(name)
}

// parseSettings reads a body of PUT /{index}/_settings: settings with or without "settings" around.
func parseSettings(body []byte) (map[string]*string, *Error) {
	var top map[string]any
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, badRequest(typeParsing, "the body: %s", jsonReason(err))
	}
	if within, found := top["settings"].(map[string]any); found {
		for key := range top {
			if key != "settings" {
				return nil, illegal("malformed settings request: [%s] is beside [settings]", key)
			}
		}
		top = within
	}
	flat, err := flatSettings(top)
	if err == nil && len(flat) == 0 {
		err = badRequest(typeValidation, "Validation Failed: 1: no settings to update;")
	}
	return flat, err
}

// flatSettings gives nested settings their dotted names, without "index.". A value that is null is nil.
func flatSettings(settings map[string]any) (map[string]*string, *Error) {
	dotted, flat := map[string]*string{}, map[string]*string{}
	if err := flatten(dotted, "", settings); err != nil {
		return nil, err
	}
	for name, value := range dotted {
		short := strings.TrimPrefix(name, "index.")
		if _, twice := flat[short]; twice {
			return nil, illegal("setting [index.%s] is given more than once", short)
		}
		flat[short] = value
	}
	return flat, nil
}

// flatten gives nested settings their dotted names.
func flatten(out map[string]*string, prefix string, settings map[string]any) *Error {
	for name, v := range settings {
		switch v := v.(type) {
		case map[string]any:
			if err := flatten(out, prefix+name+".", v); err != nil {
				return err
			}
		case nil:
			out[prefix+name] = nil
		case string:
			out[prefix+name] = &v
		case float64, bool:
			text := fmt.Sprint(v)
			out[prefix+name] = &text
		default:
			return illegal("setting [%s%s] is not a text, a number or a boolean", prefix, name)
		}
	}
	return nil
}

func (h *Handler) changeSettings(ctx context.Context, x *Index, change map[string]*string, preserve bool) *Error {
	x.changing.Lock()
	defer x.changing.Unlock()
	if h.dir.gone(x) { // the file can be of another index with its name
		return indexNotFound(x.name)
	}
	next := *x.meta()
	if err := next.change(x.name, change, preserve); err != nil {
		return err.of(x.name)
	}
	o, err := next.writer()
	if err == nil {
		err = h.dir.writeMeta(x.name, next)
	}
	if err != nil {
		return h.explain(ctx, x, err)
	}
	x.now.Store(&next)
	x.refresh.interval.Store(int64(refreshWait(o.RefreshInterval)))
	if err = x.writer.SetRefreshInterval(o.RefreshInterval); err == nil {
		err = x.writer.SetSync(o.Sync, o.SyncInterval)
	}
	if err != nil {
		return h.explain(ctx, x, err)
	}
	return nil
}

// change sets dynamic settings. null resets one, and preserve keeps those that have a value.
func (m *meta) change(index string, settings map[string]*string, preserve bool) *Error {
	static := []string{}
	for name := range settings {
		switch {
		case slices.Contains(dynamicSettings, name):
		case slices.Contains(staticSettings, name) || strings.HasPrefix(name, "analysis."):
			static = append(static, "index."+name)
		default:
			return illegal("unknown setting [index.%s]: these can be changed: %s", name, strings.Join(dynamicSettings, ", "))
		}
	}
	if len(static) > 0 {
		slices.Sort(static)
		return illegal("Can't update non dynamic settings [[%s]] for open indices [[%s/%s]]", strings.Join(static, ", "), index, m.UUID)
	}
	for name, value := range settings {
		if preserve && m.has(name) {
			continue
		}
		if value == nil {
			m.reset(name)
		} else if err := m.set(name, *value, nil); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a dynamic setting has a value that GET /{index}/_settings shows.
func (m *meta) has(name string) bool {
	switch name {
	case "refresh_interval":
		return m.Refresh != ""
	case "translog.durability":
		return m.Async
	case "translog.sync_interval":
		return m.SyncInterval != ""
	}
	return true // number_of_replicas
}

// reset gives a dynamic setting its default.
func (m *meta) reset(name string) {
	switch name {
	case "refresh_interval":
		m.Refresh = ""
	case "translog.durability":
		m.Async = false
	case "translog.sync_interval":
		m.SyncInterval = ""
	default:
		m.Replicas = 0
	}
}

// set gives a setting a value. analyzer may be nil if name is dynamic.
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
	case "translog.sync_interval":
		if d, err := parseTime(value); err != nil || d < minSyncInterval {
			return illegal("setting [index.translog.sync_interval] is [%s]: want a time of at least %v, such as 5s", value, minSyncInterval)
		}
		m.SyncInterval = value
	case "analyzer", "analysis.analyzer.default.type":
		if !m.analysis.Has(value) {
			return illegal("analyzer [%s] in the settings: there are %s", value, strings.Join(m.analysis.Names(), ", "))
		}
		*analyzer = value
	default:
		return illegal("unknown setting [index.%s]: there are refresh_interval, number_of_shards, number_of_replicas, translog.durability, translog.sync_interval, analyzer, analysis", name)
	}
	return nil
}

func (m *meta) settingsAnswer(name string) map[string]any {
	index := map[string]any{
		"uuid": m.UUID, "provided_name": name, "creation_date": strconv.FormatInt(m.Created.UnixMilli(), 10),
		"number_of_shards": "1", "number_of_replicas": strconv.Itoa(m.Replicas),
		"analysis": map[string]any{"analyzer": map[string]any{"default": map[string]any{"type": m.Analyzer}}},
	}
	if m.Analysis != nil {
		index["analysis"] = m.Analysis
	}
	if m.Refresh != "" {
		index["refresh_interval"] = m.Refresh
	}
	translog := map[string]any{}
	if m.Async {
		translog["durability"] = "async"
	}
	if m.SyncInterval != "" {
		translog["sync_interval"] = m.SyncInterval
	}
	if len(translog) > 0 {
		index["translog"] = translog
	}
	return map[string]any{"index": index}
}
