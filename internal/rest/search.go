package rest

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/griffin-search/griffin"
)

// maxWindow is index.max_result_window of OpenSearch.
const maxWindow = 10_000

// maxQueryText bounds a body of a search.
const maxQueryText = 1 << 20

// Values of searchRequest.totals, which is -1 in requests of OpenSearch for no total.
const (
	exactTotals = math.MaxInt
	noTotals    = -1
)

func search(r *request) (answer, *Error) {
	x, err := r.searched()
	if err != nil {
		return answer{}, err
	}
	s, err := r.parseSearch(x)
	if err != nil {
		return answer{}, err
	}
	var out answer
	err = r.admitted(x, false /* multi */, func(ctx context.Context) error { return s.answer(ctx, x, &out) })
	return out, s.located(x, err)
}

// searched returns the index of the path for a search; it may be absent.
func (r *request) searched() (*Index, *Error) {
	o, err := r.searchOptions()
	if err != nil {
		return nil, err
	}
	return r.h.dir.findFor(r.PathValue("index"), o)
}

// answer runs the search by itself.
func (s *searchRequest) answer(ctx context.Context, x *Index, out *answer) error {
	if x.absent {
		*out = s.nothing()
		return nil
	}
	if s.suggest != nil && s.suggest.only {
		return s.suggestOnly(ctx, x, out)
	}
	if s.query.all && s.isPlain() {
		return s.everything(ctx, x, out)
	}
	q := s.griffinQuery(x)
	memory, _ := formerResults.Get().(*griffin.Results)
	results, err := x.ix.SearchInto(ctx, q, memory)
	if err != nil {
		return err
	}
	err = s.write(ctx, x, q, results, out)
	if cap(results.Hits) <= keptHits {
		formerResults.Put(results)
	}
	return err
}

// formerResults are *griffin.Results that were written.
var formerResults sync.Pool

// keptHits bounds the memory of formerResults.
const keptHits = 128

// admitted runs a search, or a multi-search, if it may begin.
func (r *request) admitted(x *Index, multi bool, f func(context.Context) error) *Error {
	answered, shed := false, false
	if admit := r.h.options.Admit; admit != nil {
		leave, refused := admit(r.Request, multi)
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

// write writes the answer of a search that has been run.
func (s *searchRequest) write(ctx context.Context, x *Index, q griffin.Query, results *griffin.Results, out *answer) (err error) {
	hits := results.Hits[:min(len(results.Hits), s.size)]
	to := newBuffer()
	body := s.begin(to.bytes, results.Took, results.Total, hits, results.MaxScore)
	w := hitWriter{ctx: ctx, x: x, request: s, query: q}
	for i := range hits {
		if i > 0 {
			body = append(body, ',')
		}
		body = w.append(body, &hits[i])
	}
	body = append(body, "]}"...)
	if len(s.aggs) > 0 {
		body = append(body, `,"aggregations":`...)
		body = results.Aggregations.AppendJSON(body, s.typed, w.appendTop)
	}
	if body, err = s.appendSuggestions(ctx, x, body); err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	to.bytes = append(body, "}\n"...)
	*out = answer{status: http.StatusOK, body: rawJSON(to.bytes), memory: to}
	return nil
}

// everything answers match_all, in the order of the index.
func (s *searchRequest) everything(ctx context.Context, x *Index, out *answer) error {
	began := time.Now()
	total, err := x.numDocs()
	if err != nil {
		return err
	}
	var hits []griffin.Hit
	var texts []string
	if s.size > 0 {
		at := 0
		for doc, err := range x.ix.Documents(ctx) {
			if err != nil {
				return err
			}
			if at++; at > s.from {
				hits = append(hits, griffin.Hit{ID: doc.ID, Score: s.query.boost, Title: doc.Title, Fields: doc.Fields})
				texts = append(texts, doc.Text)
			}
			if len(hits) == s.size {
				break
			}
		}
	}
	highest := 0.0
	if total > 0 {
		highest = s.query.boost
	}
	to := newBuffer()
	body := s.begin(to.bytes, time.Since(began), griffin.Total{Value: int64(total), Relation: griffin.TotalExact}, hits, highest)
	w := hitWriter{ctx: ctx, x: x, request: s}
	for i := range hits {
		if i > 0 {
			body = append(body, ',')
		}
		body = w.appendWith(body, &hits[i], sourceOf(hits[i].Title, texts[i], hits[i].Fields))
	}
	to.bytes = append(body, "]}}\n"...)
	*out = answer{status: http.StatusOK, body: rawJSON(to.bytes), memory: to}
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

// begin appends the answer up to the hits.
func (s *searchRequest) begin(out []byte, took time.Duration, total griffin.Total, hits []griffin.Hit, highest float64) []byte {
	out = strconv.AppendInt(append(out, `{"took":`...), took.Milliseconds(), 10)
	out = append(out, `,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{`...)
	if s.totals != noTotals {
		if total.Value > int64(s.totals) {
			total = griffin.Total{Value: int64(s.totals), Relation: griffin.TotalAtLeast}
		}
		if s.flat {
			out = append(strconv.AppendInt(append(out, `"total":`...), total.Value, 10), ',')
		} else {
			out = strconv.AppendInt(append(out, `"total":{"value":`...), total.Value, 10)
			out = append(append(append(out, `,"relation":"`...), total.Relation...), `"},`...)
		}
	}
	out = append(out, `"max_score":`...)
	switch {
	case s.size == 0, len(hits) == 0 && highest == 0, len(hits) > 0 && hits[0].NoScore:
		out = append(out, "null"...)
	default:
		out = appendScore(out, highest)
	}
	return append(out, `,"hits":[`...)
}

func appendScore(dst []byte, score float64) []byte {
	return strconv.AppendFloat(dst, score, 'f', -1, 64)
}

func count(r *request) (answer, *Error) {
	x, err := r.searched()
	if err != nil {
		return answer{}, err
	}
	body, err := r.searchBody()
	if err != nil {
		return answer{}, err
	}
	if x.absent {
		return ok(map[string]any{"count": 0, "_shards": map[string]int{"total": 0, "successful": 0, "skipped": 0, "failed": 0}})
	}
	q, err := x.bodyQuery(body, false /* required */)
	if err == nil && r.values.Has("q") {
		q, err = x.queryString(r.values.Get("q"), r.values.Get("default_operator"), r.values.Get("df"))
	}
	if err != nil {
		return answer{}, err
	}
	var n int64
	err = r.admitted(x, false /* multi */, func(ctx context.Context) error {
		if q.all {
			total, err := x.numDocs()
			n = int64(total)
			return err
		}
		var err error
		n, err = griffin.Count(ctx, x.ix, griffin.Query{Node: q.node, Mode: q.mode, K: 1})
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(map[string]any{"count": n, "_shards": searchShards})
}

var searchShards = map[string]int{"total": 1, "successful": 1, "skipped": 0, "failed": 0}
