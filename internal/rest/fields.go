package rest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/mapping"
)

// Values of meta.Dynamic; "" declares the strings of documents.
const (
	dynamicFalse  = "false"
	dynamicStrict = "strict"
)

// dynamics maps values of the mapping's "dynamic".
var dynamics = map[string]string{"true": "", "false": dynamicFalse, "strict": dynamicStrict}

// meta returns the current mapping, an empty one if the index could not be opened.
func (x *Index) meta() *meta {
	if m := x.now.Load(); m != nil {
		return m
	}
	m, _ := parseCreate(nil)
	return &m
}

// grow notes fields that a write has declared.
func (x *Index) grow(w *griffin.Write) {
	if w.AddMapping == nil {
		return
	}
	x.changing.Lock()
	defer x.changing.Unlock()
	x.refreshFields()
}

// refreshFields reads the fields of the index, visible or not. x.changing is held.
func (x *Index) refreshFields() {
	now, err := x.writer.Mapping()
	if err != nil {
		return // it is down, and the next write that declares fields reads them
	}
	next := *x.meta()
	if next.fields, err = fieldsOf(now); err == nil {
		x.now.Store(&next)
	}
}

// strict refuses a field that is not declared.
func strict(name string) *Error {
	within, last := "_doc", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		within, last = name[:i], name[i+1:]
	}
	return badRequest("strict_dynamic_mapping_exception", "mapping set to strict, dynamic introduction of [%s] within [%s] is not allowed", last, within)
}

// putMapping adds and changes fields, and changes "dynamic".
func putMapping(r *request) (answer, *Error) {
	body, apiErr := r.body()
	if apiErr != nil {
		return answer{}, apiErr
	}
	if len(body) == 0 {
		return answer{}, badRequest("parse_exception", "request body is required")
	}
	x, apiErr := r.h.dir.find(r.PathValue("index"))
	if apiErr != nil {
		return answer{}, apiErr
	}
	ctx, cancel := r.limit()
	defer cancel()
	if apiErr := r.h.changeMapping(ctx, x, body); apiErr != nil {
		return answer{}, apiErr
	}
	return ok(map[string]any{"acknowledged": true})
}

func (h *Handler) changeMapping(ctx context.Context, x *Index, body []byte) *Error {
	x.changing.Lock()
	defer x.changing.Unlock()
	if h.dir.gone(x) {
		return indexNotFound(x.name)
	}
	now := x.meta()
	change, apiErr := now.parseChange(body)
	if apiErr != nil {
		return apiErr.of(x.name)
	}
	added, err := public(change.fields)
	if err == nil {
		err = x.writer.AddMapping(ctx, added)
	}
	if err != nil {
		if errors.Is(err, griffin.ErrTooManyFields) {
			return tooManyFields().of(x.name)
		}
		return h.explain(ctx, x, err)
	}
	next := *now
	next.Detection = change.Detection
	next.Dynamic, next.Analyzers = change.Dynamic, maps.Clone(now.Analyzers)
	if next.Analyzers == nil {
		next.Analyzers = map[string]string{}
	}
	maps.Copy(next.Analyzers, change.Analyzers)
	if err := h.dir.writeMeta(x.name, next); err != nil {
		return h.explain(ctx, x, err)
	}
	x.now.Store(&next)
	x.refreshFields()
	if err := x.writer.Refresh(ctx); err != nil { // queries can name the fields
		return h.explain(ctx, x, err)
	}
	return nil
}

func tooManyFields() *Error {
	return illegal("Limit of total fields [%d] has been exceeded", mapping.MaxFields)
}

// parseChange reads a mapping that adds to m, or changes it.
func (m *meta) parseChange(body []byte) (change meta, err *Error) {
	change = meta{Dynamic: m.Dynamic, analysis: m.analysis, Detection: m.Detection}
	if err := change.parseUpdate(body); err != nil {
		return change, err
	}
	fields := slices.Clone(change.fields.Fields())
	for i := range fields {
		f := &fields[i]
		if err := m.mergeAnalyzers(f); err != nil {
			return change, err
		}
		if _, declared := m.fields.Field(f.Name); !declared && !canBeField(f.Name) {
			return change, badRequest(typeMapperParsing, "field name [%.80s] is not supported: want at most %d bytes of letters, digits, '_', '-' and '.'", f.Name, mapping.MaxNameBytes)
		}
	}
	if change.fields, err = declared(mapping.NewUpdate("", fields)); err != nil {
		return change, err
	}
	if _, _, conflict := m.fields.Updated(change.fields); conflict != nil {
		return change, badMapping(conflict)
	}
	return change, nil
}

func getMapping(r *request) (answer, *Error) {
	all, err := r.list()
	if err != nil {
		return answer{}, err
	}
	out := map[string]any{}
	for _, x := range all {
		if x.err == nil {
			out[x.name] = map[string]any{"mappings": x.meta().mappings()}
		} else if _, err := r.h.dir.find(x.name); r.PathValue("index") == x.name {
			return answer{}, err
		}
	}
	return ok(out)
}

// getFieldMapping describes the fields that the names, with * and separated by commas, match.
func getFieldMapping(r *request) (answer, *Error) {
	all, err := r.list()
	if err != nil {
		return answer{}, err
	}
	out := map[string]any{}
	for _, x := range all {
		found := map[string]any{}
		shown := x.meta().shown()
		for i := range shown.Fields() {
			f := &shown.Fields()[i]
			if matchesAny(f.Name, strings.Split(r.PathValue("fields"), ",")) {
				last := f.Name[strings.LastIndexByte(f.Name, '.')+1:]
				found[f.Name] = map[string]any{"full_name": f.Name, "mapping": map[string]any{last: json.RawMessage(shown.AppendField(nil, f))}}
			}
		}
		out[x.name] = map[string]any{"mappings": found}
	}
	return ok(out)
}

func matchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched || pattern == name
	})
}
