package rest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
)

// hitKeys are the options of top_hits and of inner_hits that this package applies. The others are of package griffin.
var hitKeys = []string{"_source", "docvalue_fields", "explain", "fields", "highlight", "seq_no_primary_term", "stored_fields", "version"}

// rankKeys are the others.
var rankKeys = []string{"from", "size", "sort", "track_scores"}

// parseHits reads the options of top_hits or inner_hits that are about writing hits.
func (x *Index) parseHits(options json.RawMessage) (*searchRequest, *Error) {
	own := &searchRequest{}
	o, err := decodeObject(options)
	if err != nil {
		return nil, badRequest(typeParsing, "the options of hits: %s", jsonReason(err))
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(rankKeys, key) {
			continue
		}
		if !slices.Contains(hitKeys, key) {
			return nil, badRequest(typeParsing, "[%s] is not supported in top_hits and inner_hits: there are %s, %s", key, strings.Join(rankKeys, ", "), strings.Join(hitKeys, ", ")).at(o[key])
		}
		if err := bodyKeys[key](own, x, key, o[key]); err != nil {
			return nil, err.at(o[key])
		}
	}
	return own, nil
}

// parseInnerHits reads the inner_hits of collapse: an object or a list; nil for none.
func (s *searchRequest) parseInnerHits(raw json.RawMessage) *Error {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	list := []json.RawMessage{raw}
	if !isObject(string(raw)) {
		var ok bool
		if list, ok = decodeList(raw); !ok {
			return badRequest(typeParsing, "[inner_hits] is %.60s: want an object or a list of them", raw)
		}
	}
	for _, one := range list {
		o, bad := decodeObject(one)
		if bad != nil || o == nil {
			return badRequest(typeParsing, "[inner_hits] has %.60s: want an object", one).at(one)
		}
		name, ok := scalarText(o["name"])
		if !ok || slices.ContainsFunc(s.rank.inner, func(i griffin.InnerHits) bool { return i.Name == name }) {
			return illegal("[inner_hits] of [collapse] needs a [name] of its own").at(one)
		}
		delete(o, "name")
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if !slices.Contains(rankKeys, key) && !slices.Contains(hitKeys, key) {
				return illegal("[inner_hits] of [collapse] has [%s], which is not supported: there are name, %s, %s", key, strings.Join(rankKeys, ", "), strings.Join(hitKeys, ", ")).at(o[key])
			}
		}
		options, _ := json.Marshal(o) // valid JSON stays so
		s.rank.inner, s.rank.innerParts = append(s.rank.inner, griffin.InnerHits{Name: name, Options: options}), append(s.rank.innerParts, one)
	}
	return nil
}
