package rest

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
)

// Values of meta.Dynamic; "" declares the strings of documents.
const (
	dynamicFalse  = "false"
	dynamicStrict = "strict"
)

// dynamics maps values of the mapping's "dynamic".
var dynamics = map[string]string{"true": "", "false": dynamicFalse, "strict": dynamicStrict}

// mapping is the mapping of an index at one time; it does not change.
type mapping struct {
	meta
	declared map[string]bool
}

func newMapping(m meta) *mapping {
	to := &mapping{meta: m, declared: make(map[string]bool, len(m.Fields))}
	for _, name := range m.Fields {
		to.declared[name] = true
	}
	return to
}

// meta returns the current mapping, an empty one if the index could not be opened.
func (x *Index) meta() *mapping {
	if m := x.now.Load(); m != nil {
		return m
	}
	return &mapping{}
}

// with returns the mapping with further fields.
func (m *mapping) with(names []string) *mapping {
	next := m.meta
	next.Fields = slices.Clone(m.Fields)
	for _, name := range names {
		if !m.declared[name] && !slices.Contains(next.Fields[len(m.Fields):], name) {
			next.Fields = append(next.Fields, name)
		}
	}
	if len(next.Fields) == len(m.Fields) {
		return m
	}
	slices.Sort(next.Fields)
	return newMapping(next)
}

// grow notes fields that a write has declared.
func (x *Index) grow(names []string) {
	if len(names) == 0 {
		return
	}
	x.changing.Lock()
	defer x.changing.Unlock()
	x.now.Store(x.meta().with(names))
}

// strict refuses a string that is not declared.
func strict(name string) *Error {
	within, last := "_doc", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		within, last = name[:i], name[i+1:]
	}
	return badRequest("strict_dynamic_mapping_exception", "mapping set to strict, dynamic introduction of [%s] within [%s] is not allowed", last, within)
}

// putMapping adds fields and changes "dynamic". What exists stays as it is.
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
	now := x.meta()
	change, apiErr := now.parseChange(body)
	if apiErr != nil {
		return apiErr.of(x.name)
	}
	if err := x.writer.AddFields(ctx, change.Fields...); err != nil {
		if errors.Is(err, griffin.ErrTooManyFields) {
			return tooManyFields().of(x.name)
		}
		return h.explain(ctx, x, err)
	}
	next := *now.with(change.Fields)
	next.Dynamic, next.Analyzers = change.Dynamic, maps.Clone(now.Analyzers)
	if next.Analyzers == nil {
		next.Analyzers = map[string]string{}
	}
	maps.Copy(next.Analyzers, change.Analyzers)
	if err := h.dir.writeMeta(x.name, next.meta); err != nil {
		return h.explain(ctx, x, err)
	}
	x.now.Store(&next)
	if err := x.writer.Refresh(ctx); err != nil { // queries can name the fields
		return h.explain(ctx, x, err)
	}
	return nil
}

func tooManyFields() *Error {
	return illegal("Limit of total fields [%d] has been exceeded", maxDynamicFields+1)
}

// parseChange reads a mapping that adds to m.
func (m *mapping) parseChange(body []byte) (change meta, err *Error) {
	change = meta{Dynamic: m.Dynamic, existing: m.declared}
	if err := change.parseMappings(body); err != nil {
		return change, err
	}
	if keys, _ := objectKeys(body); !slices.Contains(keys, "properties") {
		change.Fields = nil
	}
	for _, name := range change.Fields {
		a := change.Analyzers[name]
		switch {
		case a == "" || analyzers[a] == m.Analyzer:
		case m.declared[name]:
			was := m.Analyzers[name]
			if was == "" {
				was = "default"
			}
			return change, illegal("Mapper for [%s] conflicts with existing mapper:\n\tCannot update parameter [analyzer] from [%s] to [%s]", name, was, a)
		default:
			return change, badRequest(typeMapperParsing, "field [%s] has analyzer [%s], the index has [%s]: an index has one analyzer", name, a, m.Analyzer)
		}
		if !m.declared[name] && !canBeField(name) {
			return change, badRequest(typeMapperParsing, "field name [%.80s] is not supported: want at most %d bytes of letters, digits, '_', '-' and '.'", name, maxFieldName)
		}
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
		for _, name := range x.meta().Fields {
			if matchesAny(name, strings.Split(r.PathValue("fields"), ",")) {
				last := name[strings.LastIndexByte(name, '.')+1:]
				found[name] = map[string]any{"full_name": name, "mapping": map[string]any{last: x.meta().property(name)}}
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
