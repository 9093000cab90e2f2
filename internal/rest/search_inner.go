package rest

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/griffin-search/griffin"
)

// innerKeys are the options of inner_hits, besides the name.
var innerKeys = []string{"size", "from", "sort", "_source", "track_scores"}

// parseInnerHits reads the inner_hits of collapse: an object or a list; nil for none.
func (s *searchRequest) parseInnerHits(raw json.RawMessage) *Error {
	if raw == nil || string(raw) == "null" {
		return nil
	}
	list := []json.RawMessage{raw}
	if !isObject(string(raw)) {
		list = nil
		if json.Unmarshal(raw, &list) != nil {
			return badRequest(typeParsing, "[inner_hits] is %.60s: want an object or a list of them", raw)
		}
	}
	for _, one := range list {
		var o map[string]json.RawMessage
		if json.Unmarshal(one, &o) != nil || o == nil {
			return badRequest(typeParsing, "[inner_hits] has %.60s: want an object", one)
		}
		name, ok := scalarText(o["name"])
		if !ok || slices.ContainsFunc(s.rank.inner, func(i griffin.InnerHits) bool { return i.Name == name }) {
			return illegal("[inner_hits] of [collapse] needs a [name] of its own")
		}
		delete(o, "name")
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if !slices.Contains(innerKeys, key) {
				return illegal("[inner_hits] of [collapse] has [%s], which is not supported: there are name, size, from, sort, _source and track_scores", key)
			}
		}
		options, _ := json.Marshal(o) // valid JSON stays so
		s.rank.inner = append(s.rank.inner, griffin.InnerHits{Name: name, Options: options})
	}
	return nil
}
