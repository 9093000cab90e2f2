package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/griffin-search/griffin"
)

// maxWindow is index.max_result_window of OpenSearch.
const maxWindow = 10_000

// maxQueryText bounds a body of a search.
const maxQueryText = 1 << 20

type searchRequest struct {
	query      searchQuery
	from, size int
	// totals: 0 none, -1 exact, else the highest exact number.
	totals   int
	noSource bool
	flat     bool // rest_total_hits_as_int
}

const exactTotals = -1

func search(r *request) (answer, *Error) {
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	s, err := r.parseSearch(x)
	if err != nil {
		return answer{}, err
	}
	var out answer
	err = r.admitted(x, func(ctx context.Context) error {
		if s.query.all {
			return s.everything(ctx, x, &out)
		}
		return s.run(ctx, x, &out)
	})
	return out, err
}

// admitted runs a search if it may begin.
func (r *request) admitted(x *Index, f func(context.Context) error) *Error {
	answered, shed := false, false
	if admit := r.h.options.Admit; admit != nil {
		leave, refused := admit(r.Request)
		if refused != nil {
			return refused
		}
		defer func() { leave(answered, shed) }()
	}
	ctx, cancel := r.limit()
	defer cancel()
	if err := f(ctx); err != nil {
		var overload *griffin.Overload
		shed = errors.As(err, &overload)
		return r.h.explain(ctx, x, err)
	}
	answered = true
	return nil
}

func (r *request) parseSearch(x *Index) (s searchRequest, err *Error) {
	s = searchRequest{size: 10, totals: exactTotals, query: allDocuments()}
	body, err := r.body()
	if err != nil {
		return s, err
	}
	if len(body) > maxQueryText {
		return s, tooLarge(maxQueryText)
	}
	if len(body) > 0 {
		if err := s.parseBody(x, body); err != nil {
			return s, err
		}
	}
	for name, to := range map[string]*int{"from": &s.from, "size": &s.size} {
		n, given, err := r.number(name)
		if err != nil {
			return s, err
		}
		if given {
			*to = int(min(n, maxWindow+1))
		}
	}
	if source, err := r.boolean("_source", !s.noSource); err != nil {
		return s, err
	} else if s.noSource = !source; r.values.Has("track_total_hits") {
		if err := s.parseTotals(json.RawMessage(r.values.Get("track_total_hits"))); err != nil {
			return s, err
		}
	}
	if s.flat, err = r.boolean("rest_total_hits_as_int", false); err != nil {
		return s, err
	}
	if r.values.Has("q") {
		if s.query, err = x.queryString(r.values.Get("q"), r.values.Get("default_operator"), r.values.Get("df")); err != nil {
			return s, err
		}
	}
	if s.from+s.size > maxWindow {
		return s, illegal("Result window is too large, from + size must be less than or equal to: [%d] but was [%d]", maxWindow, s.from+s.size).of(x.name)
	}
	return s, nil
}

func (s *searchRequest) parseBody(x *Index, body []byte) *Error {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(body, &o); err != nil {
		return badRequest(typeParsing, "the body: %s", jsonReason(err))
	}
	for key, raw := range o {
		var err *Error
		switch key {
		case "query":
			s.query, err = x.parseQuery(raw)
		case "from", "size":
			var n int
			if json.Unmarshal(raw, &n) != nil || n < 0 {
				return illegal("[%s] parameter is %s: want a number that is not negative", key, raw)
			}
			if key == "from" {
				s.from = min(n, maxWindow+1)
			} else {
				s.size = min(n, maxWindow+1)
			}
		case "_source":
			var source bool
			if json.Unmarshal(raw, &source) != nil {
				return badRequest(typeParsing, "[_source] is %s: only true and false are supported", raw)
			}
			s.noSource = !source
		case "track_total_hits":
			err = s.parseTotals(raw)
		default:
			return badRequest(typeParsing, "Unknown key for a search in [%s]: there are query, from, size, _source, track_total_hits", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *searchRequest) parseTotals(raw json.RawMessage) *Error {
	var n int
	switch text := string(raw); {
	case text == "true" || text == "":
		s.totals = exactTotals
	case text == "false":
		s.totals = 0
	case json.Unmarshal(raw, &n) == nil && n >= -1:
		s.totals = n
	default:
		return illegal("[track_total_hits] parameter must be positive or equals to -1, got %s", raw)
	}
	return nil
}

func (s *searchRequest) run(ctx context.Context, x *Index, out *answer) error {
	q := griffin.Query{Node: s.query.node, Mode: s.query.mode, K: max(s.size, 1), Offset: s.from, Count: s.totals != 0, Load: griffin.LoadIDs}
	if !s.noSource {
		q.Load = griffin.LoadFields
	}
	if s.size == 0 {
		q.Offset, q.Load = 0, griffin.LoadNone
	}
	results, err := x.ix.Search(ctx, q)
	if err != nil {
		return err
	}
	hits := results.Hits[:min(len(results.Hits), s.size)]
	out.status = http.StatusOK
	body := s.begin(results.Took, results.Matches, hits)
	for i := range hits {
		var source []byte
		if !s.noSource {
			if source, err = x.sourceOfHit(ctx, &hits[i]); err != nil {
				return err
			}
		}
		body = appendHit(body, x.name, hits[i].ID, hits[i].Score, source, i == 0)
	}
	out.body = rawJSON(append(body, "]}}\n"...))
	return nil
}

// sourceOfHit reads the document again if its text is not part of the hit.
func (x *Index) sourceOfHit(ctx context.Context, hit *griffin.Hit) ([]byte, error) {
	for _, f := range hit.Fields {
		if f.Name == sourceField {
			return []byte(f.Value), nil
		}
	}
	doc, err := x.ix.Document(ctx, hit.ID)
	if errors.Is(err, griffin.ErrNotFound) { // deleted since
		return sourceOf(hit.Title, "", hit.Fields), nil
	}
	return sourceOf(doc.Title, doc.Text, doc.Fields), err
}

// everything answers match_all, in the order of the index.
func (s *searchRequest) everything(ctx context.Context, x *Index, out *answer) error {
	began := time.Now()
	total, err := x.numDocs()
	if err != nil {
		return err
	}
	var hits []griffin.Hit
	var sources [][]byte
	if s.size > 0 {
		at := 0
		for doc, err := range x.ix.Documents(ctx) {
			if err != nil {
				return err
			}
			if at++; at > s.from {
				hits = append(hits, griffin.Hit{ID: doc.ID, Score: s.query.boost})
				sources = append(sources, sourceOf(doc.Title, doc.Text, doc.Fields))
			}
			if len(hits) == s.size {
				break
			}
		}
	}
	body := s.begin(time.Since(began), int64(total), hits)
	for i := range hits {
		source := sources[i]
		if s.noSource {
			source = nil
		}
		body = appendHit(body, x.name, hits[i].ID, hits[i].Score, source, i == 0)
	}
	*out = answer{status: http.StatusOK, body: rawJSON(append(body, "]}}\n"...))}
	return nil
}

func (x *Index) numDocs() (int, error) {
	p, err := x.ix.PointInTime()
	if err != nil {
		return 0, err
	}
	n, err := p.NumDocs()
	return n, errors.Join(err, p.Close())
}

// begin returns the answer up to the hits.
func (s *searchRequest) begin(took time.Duration, total int64, hits []griffin.Hit) []byte {
	out := fmt.Appendf(nil, `{"took":%d,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{`, took.Milliseconds())
	if s.totals != 0 {
		relation := "eq"
		if s.totals > 0 && total > int64(s.totals) {
			total, relation = int64(s.totals), "gte"
		}
		if s.flat {
			out = fmt.Appendf(out, `"total":%d,`, total)
		} else {
			out = fmt.Appendf(out, `"total":{"value":%d,"relation":"%s"},`, total, relation)
		}
	}
	out = append(out, `"max_score":`...)
	if len(hits) == 0 || s.from > 0 {
		out = append(out, "null"...)
	} else {
		out = appendScore(out, hits[0].Score)
	}
	return append(out, `,"hits":[`...)
}

func appendScore(dst []byte, score float64) []byte {
	return strconv.AppendFloat(dst, score, 'f', -1, 64)
}

func appendHit(dst []byte, index, id string, score float64, source []byte, first bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	dst = appendString(append(dst, `{"_index":`...), index)
	dst = appendString(append(dst, `,"_id":`...), id)
	dst = appendScore(append(dst, `,"_score":`...), score)
	if source != nil {
		dst = append(append(dst, `,"_source":`...), source...)
	}
	return append(dst, '}')
}

func count(r *request) (answer, *Error) {
	x, err := r.h.dir.find(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	body, err := r.body()
	if err != nil {
		return answer{}, err
	}
	q, err := x.bodyQuery(body, false /* required */)
	if err == nil && r.values.Has("q") {
		q, err = x.queryString(r.values.Get("q"), r.values.Get("default_operator"), r.values.Get("df"))
	}
	if err != nil {
		return answer{}, err
	}
	var n int64
	err = r.admitted(x, func(ctx context.Context) error {
		if q.all {
			total, err := x.numDocs()
			n = int64(total)
			return err
		}
		results, err := x.ix.Search(ctx, griffin.Query{Node: q.node, Mode: q.mode, K: 1, Count: true, Load: griffin.LoadNone})
		if err == nil {
			n = results.Matches
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(map[string]any{"count": n, "_shards": searchShards})
}

var searchShards = map[string]int{"total": 1, "successful": 1, "skipped": 0, "failed": 0}
