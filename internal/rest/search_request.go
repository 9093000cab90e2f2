package rest

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// searchRequest is a search with its parameters.
type searchRequest struct {
	query      searchQuery
	from, size int
	// totals is the highest exact number of the total, exactTotals or noTotals.
	totals int
	flat   bool // rest_total_hits_as_int
	typed  bool // typed_keys

	rank       searchRank
	aggs       json.RawMessage
	postFilter query.Node
	parts      hitParts
	suggest    *suggestRequests

	source    sourceFilter
	fields    []fieldPattern // of "fields" and "docvalue_fields"
	highlight *highlightRequest

	body []byte // nil: none
}

// hitParts are parts of hits that are left out otherwise.
type hitParts struct {
	explain bool
	version bool // _version
	seqNo   bool // _seq_no and _primary_term
}

// searchRank is which of the matching documents are hits, and in which order.
type searchRank struct {
	sort, after json.RawMessage
	collapse    string
	inner       []griffin.InnerHits // of collapse
	innerParts  []json.RawMessage   // the parts of the body that inner are of
	minScore    float64
	trackScores bool
}

// isPlain reports whether a match_all can be answered by listing the documents.
func (s *searchRequest) isPlain() bool {
	return s.rank.sort == nil && s.rank.after == nil && s.aggs == nil && s.postFilter == nil && s.rank.collapse == "" && s.rank.minScore == 0 && !s.parts.explain && !s.parts.version && !s.parts.seqNo && s.highlight == nil && s.suggest == nil
}

func newSearchRequest() searchRequest {
	return searchRequest{size: 10, totals: exactTotals, query: allDocuments()}
}

func (r *request) parseSearch(x *Index) (s searchRequest, err *Error) {
	s = newSearchRequest()
	body, err := r.searchBody()
	if err != nil {
		return s, err
	}
	if len(body) > 0 {
		if err := s.parseBody(x, body); err != nil {
			return s, err
		}
	}
	if len(r.values) == 0 {
		return s, s.checkWindow(x)
	}
	return s, s.parseURL(r, x)
}

// parseURL reads the parameters, which have precedence over the body.
func (s *searchRequest) parseURL(r *request, x *Index) (err *Error) {
	for name, to := range map[string]*int{"from": &s.from, "size": &s.size} {
		n, given, err := r.number(name)
		if err != nil {
			return err
		}
		if given {
			*to = int(min(n, math.MaxInt32))
		}
	}
	if s.suggest != nil {
		s.suggest.only = s.suggest.only && !r.values.Has("q")
	}
	s.source.parseURL(r.values)
	if r.values.Has("sort") {
		s.rank.sort = sortOfURL(r.values.Get("sort"))
	}
	if r.values.Has("track_total_hits") {
		if err := s.parseTotals(json.RawMessage(r.values.Get("track_total_hits"))); err != nil {
			return err
		}
	}
	for name, to := range map[string]*bool{
		"rest_total_hits_as_int": &s.flat, "typed_keys": &s.typed, "track_scores": &s.rank.trackScores, "explain": &s.parts.explain, "version": &s.parts.version, "seq_no_primary_term": &s.parts.seqNo,
	} {
		if *to, err = r.boolean(name, *to); err != nil {
			return err
		}
	}
	if r.values.Has("q") && !x.absent {
		if s.query, err = x.queryString(r.values.Get("q"), r.values.Get("default_operator"), r.values.Get("df")); err != nil {
			return err
		}
	}
	return s.checkWindow(x)
}

func (s *searchRequest) checkWindow(x *Index) *Error {
	if s.from+s.size > maxWindow {
		return illegal("Result window is too large, from + size must be less than or equal to: [%d] but was [%d]", maxWindow, s.from+s.size).of(x.name)
	}
	if s.rank.after != nil && s.from > 0 {
		return illegal("`from` parameter must be set to 0 when `search_after` is used")
	}
	return nil
}

// sortOfURL turns "price:desc,name" into JSON.
func sortOfURL(text string) json.RawMessage {
	var keys []string
	for key := range strings.SplitSeq(text, ",") {
		name, order, directed := strings.Cut(key, ":")
		one := string(appendString(nil, name))
		if directed {
			one = "{" + one + ":" + string(appendString(nil, order)) + "}"
		}
		keys = append(keys, one)
	}
	return json.RawMessage("[" + strings.Join(keys, ",") + "]")
}

// bodyKeys are the keys of a search.
var bodyKeys = map[string]func(s *searchRequest, x *Index, key string, raw json.RawMessage) *Error{
	"query":               (*searchRequest).parseQuery,
	"from":                (*searchRequest).parseWindow,
	"size":                (*searchRequest).parseWindow,
	"track_total_hits":    func(s *searchRequest, _ *Index, _ string, raw json.RawMessage) *Error { return s.parseTotals(raw) },
	"sort":                keep(func(s *searchRequest) *json.RawMessage { return &s.rank.sort }),
	"search_after":        keep(func(s *searchRequest) *json.RawMessage { return &s.rank.after }),
	"aggs":                (*searchRequest).parseAggs,
	"aggregations":        (*searchRequest).parseAggs,
	"post_filter":         (*searchRequest).parsePostFilter,
	"collapse":            (*searchRequest).parseCollapse,
	"min_score":           (*searchRequest).parseMinScore,
	"track_scores":        flag(func(s *searchRequest) *bool { return &s.rank.trackScores }),
	"explain":             flag(func(s *searchRequest) *bool { return &s.parts.explain }),
	"version":             flag(func(s *searchRequest) *bool { return &s.parts.version }),
	"seq_no_primary_term": flag(func(s *searchRequest) *bool { return &s.parts.seqNo }),
	"profile": func(_ *searchRequest, _ *Index, _ string, raw json.RawMessage) *Error {
		if string(raw) != "false" {
			return illegal("[profile] is %s: only false is supported", raw)
		}
		return nil
	},
	"_source":         func(s *searchRequest, _ *Index, _ string, raw json.RawMessage) *Error { return s.source.parse(raw) },
	"fields":          (*searchRequest).parseFields,
	"docvalue_fields": (*searchRequest).parseFields,
	"stored_fields":   (*searchRequest).parseStoredFields,
	"suggest":         (*searchRequest).parseSuggest,
	"highlight":       (*searchRequest).parseHighlight,
}

// keep returns a function that stores JSON.
func keep(to func(s *searchRequest) *json.RawMessage) func(*searchRequest, *Index, string, json.RawMessage) *Error {
	return func(s *searchRequest, _ *Index, _ string, raw json.RawMessage) *Error {
		*to(s) = raw
		return nil
	}
}

func flag(to func(s *searchRequest) *bool) func(*searchRequest, *Index, string, json.RawMessage) *Error {
	return func(s *searchRequest, _ *Index, key string, raw json.RawMessage) *Error {
		if string(raw) == "null" || decodeBool(raw, to(s)) != nil {
			return badRequest(typeParsing, "[%s] is %s: want true or false", key, raw)
		}
		return nil
	}
}

func (s *searchRequest) parseBody(x *Index, body []byte) *Error {
	s.body = body
	var room [16]rawMember
	all, ok := splitObject(room[:0], body)
	if !ok {
		o, err := decodeObject(body)
		if err != nil {
			return badRequest(typeParsing, "the body: %s", jsonReason(err))
		}
		all = all[:0]
		for key, raw := range o {
			all = append(all, rawMember{key, raw})
		}
	}
	base.Sort(all, func(a, b rawMember) int { return strings.Compare(a.key, b.key) }) // the first error is always the same
	asked := false
	for i := range all {
		key := all[i].key
		parse := bodyKeys[key]
		asked = asked || key == "query"
		if parse == nil {
			return badRequest(typeParsing, "Unknown key for a search in [%s]: there are %s", key, strings.Join(slices.Sorted(maps.Keys(bodyKeys)), ", ")).at(all[i].value).in(body)
		}
		if x.absent && slices.Contains(ofIndexKeys, key) {
			continue
		}
		if err := parse(s, x, key, all[i].value); err != nil {
			return err.at(all[i].value).in(body)
		}
	}
	if s.suggest != nil {
		s.suggest.only = !asked && s.aggs == nil
	}
	return nil
}

// located adds the place in the body to an error of the search. err may be nil.
func (s *searchRequest) located(x *Index, err *Error) *Error {
	if err == nil || err.Status != http.StatusBadRequest || s.body == nil {
		return err
	}
	for i := range err.around {
		for j, inner := range s.rank.inner {
			if &err.around[i][0] == &inner.Options[0] {
				err.around[i] = s.rank.innerParts[j]
			}
		}
	}
	if err.value == nil && len(err.around) == 0 { // of the query, whose nodes do not have their places
		o, _ := decodeObject(s.body)
		for _, key := range []string{"query", "post_filter"} {
			p := queryParser{x: x, check: true}
			if _, bad := p.query(o[key]); o[key] != nil && bad != nil {
				return err.at(bad.value).in(s.body)
			}
		}
		err = err.at(o["query"]) // errors of other parts have their places
	}
	return err.in(s.body)
}

func (s *searchRequest) parseQuery(x *Index, _ string, raw json.RawMessage) (err *Error) {
	s.query, err = x.parseQuery(raw)
	return err
}

func (s *searchRequest) parseWindow(_ *Index, key string, raw json.RawMessage) *Error {
	var n int
	if string(raw) == "null" || decodeInt(raw, &n) != nil || n < 0 {
		return illegal("[%s] parameter is %s: want a number that is not negative", key, raw)
	}
	if key == "from" {
		s.from = min(n, math.MaxInt32)
	} else {
		s.size = min(n, math.MaxInt32)
	}
	return nil
}

func (s *searchRequest) parseTotals(raw json.RawMessage) *Error {
	var n int
	switch text := strings.Trim(string(raw), `"`); {
	case text == "true" || text == "":
		s.totals = exactTotals
	case text == "false":
		s.totals = noTotals
	case text != "null" && decodeInt(raw, &n) == nil && n >= noTotals:
		s.totals = n
	default:
		return illegal("[track_total_hits] parameter must be positive or equals to -1, got %s", raw)
	}
	return nil
}

func (s *searchRequest) parseAggs(_ *Index, key string, raw json.RawMessage) *Error {
	if s.aggs != nil {
		return badRequest(typeParsing, "[aggs] and [aggregations] are both given")
	}
	if !isObject(string(raw)) {
		return badRequest(typeParsing, "[%s] is %.60s: want an object", key, raw)
	}
	s.aggs = raw
	return nil
}

func (s *searchRequest) parsePostFilter(x *Index, _ string, raw json.RawMessage) *Error {
	q, err := x.parseQuery(raw)
	s.postFilter = q.node
	return err
}

func (s *searchRequest) parseCollapse(_ *Index, _ string, raw json.RawMessage) *Error {
	o, err := options("collapse", raw, "field", "inner_hits", "max_concurrent_group_searches")
	if err != nil {
		return err
	}
	s.rank.collapse = o.needed("field")
	o.whole("max_concurrent_group_searches", math.MaxInt32) // changes nothing
	if o.err != nil {
		return o.err
	}
	inner := o.values["inner_hits"]
	return s.parseInnerHits(inner).at(inner)
}

func (s *searchRequest) parseMinScore(_ *Index, _ string, raw json.RawMessage) *Error {
	if string(raw) == "null" || json.Unmarshal(raw, &s.rank.minScore) != nil || s.rank.minScore < 0 {
		return illegal("[min_score] is %s: want a number that is not negative", raw)
	}
	return nil
}

// parseStoredFields accepts the value that means no source, which clients send.
func (s *searchRequest) parseStoredFields(_ *Index, _ string, raw json.RawMessage) *Error {
	var list []string
	if text, ok := scalarText(raw); ok {
		list = []string{text}
	} else if string(raw) == "null" || json.Unmarshal(raw, &list) != nil {
		return badRequest(typeParsing, "[stored_fields] is %.60s: want a list of fields", raw)
	}
	for _, name := range list {
		if name != "_none_" && name != "_source" {
			return illegal("[stored_fields] has [%s]: no field is stored by itself; use [fields] or [_source]", name)
		}
	}
	s.source.none = s.source.none || !slices.Contains(list, "_source")
	return nil
}

// griffinQuery is the search of the index.
func (s *searchRequest) griffinQuery(x *Index) griffin.Query {
	q := griffin.Query{
		Node: s.query.node, Mode: s.query.mode, K: max(s.size, 1), Offset: s.from, Count: s.totals > 0, Load: griffin.LoadIDs,
		Sort: s.rank.sort, SearchAfter: s.rank.after, TrackScores: s.rank.trackScores, Collapse: s.rank.collapse, InnerHits: s.rank.inner, PostFilter: s.postFilter, MinScore: s.rank.minScore,
		Aggregations: s.aggs, LoadVersions: s.parts.version || s.parts.seqNo || s.aggs != nil || len(s.rank.inner) > 0, // top_hits and inner_hits can have them
	}
	if s.aggs != nil {
		q.ParseQuery = func(raw json.RawMessage) (query.Node, error) {
			inner, err := x.parseQuery(raw)
			if err != nil {
				return nil, err
			}
			return inner.node, nil
		}
	}
	if s.aggs != nil || len(s.rank.inner) > 0 {
		q.ParseHits = func(options json.RawMessage) (*griffin.Highlight, error) {
			own, err := x.parseHits(options)
			if err != nil {
				return nil, err
			}
			if own.highlight == nil {
				return nil, nil
			}
			return own.highlight.options, nil
		}
	}
	if !s.source.none || len(s.fields) > 0 || s.highlight != nil {
		q.Load = griffin.LoadFields
	}
	if s.highlight != nil {
		q.Highlight = s.highlight.options
	}
	if s.size == 0 {
		q.Offset = 0
		if s.aggs == nil {
			q.Load = griffin.LoadNone
		}
	}
	return q
}
