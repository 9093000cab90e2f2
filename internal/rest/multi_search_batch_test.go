package rest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/plan"
)

// batchRecorder is an engine that answers a batch in one call, on the CPU, and keeps the queries of each call.
type batchRecorder struct {
	mu    sync.Mutex
	calls [][]string
}

var recorder batchRecorder

func init() {
	engine.Register(engine.Info{
		Name: "recorder", Modes: []string{"or", "and", "and+or"},
		Open: func(engine.Options, engine.Resources) (engine.Engine, error) { return &recorder, nil },
	})
}

func (*batchRecorder) Adapt(*plan.Options) error { return nil }
func (*batchRecorder) BatchSize() int            { return maxSearches }
func (*batchRecorder) Stats() engine.Stats       { return engine.Stats{} }
func (*batchRecorder) Close() error              { return nil }

func (r *batchRecorder) Search(ctx context.Context, queries []*engine.Query) error {
	var call []string
	for _, q := range queries {
		call = append(call, q.Plan.Query().String())
		q.Answer, q.Err = q.Plan.RunCPU(ctx, q.Scratch, q.Answer.Hits, q.Trace)
		q.Settled = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return nil
}

func (r *batchRecorder) take() (calls [][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls, r.calls = r.calls, nil
	return calls
}

// The plain searches of each index are one batch. Those that a batch cannot answer run by themselves, and the answers
// have the order of the searches.
func TestMultiSearchIsOneBatch(t *testing.T) {
	n := openNodeOn(t, t.TempDir(), Options{}, griffin.RuntimeOptions{Engine: "recorder"})
	const batched, alone, refused = "batched", "alone", "refused" // by the engine
	var searches [][2]string
	var kinds []string
	var want [][]string // calls: a batch of each index, and each other search
	for i, s := range []struct {
		rest string // of the body, after the query
		kind string
	}{
		{``, batched},
		{`,"sort":["_doc"]`, refused},
		{`,"size":3`, batched},
		{`,"aggs":{"n":{"value_count":{"field":"_id"}}}`, refused},
		{`,"size":1,"_source":false`, batched},
		{`,"post_filter":{"match":{"t":"every"}}`, refused},
		{`,"track_total_hits":false`, batched},
		{`,"min_score":0.001`, refused},
		{`,"collapse":{"field":"k"}`, refused},
		{`,"explain":true`, alone},
		{`,"version":true`, alone},
		{`,"seq_no_primary_term":true`, alone},
		{`,"highlight":{"fields":{"t":{}}}`, alone},
		{`,"suggest":{"s":{"text":"evry","term":{"field":"t"}}}`, alone},
		{`,"_source":["t"]`, batched},
	} {
		for j, index := range []string{"a", "b"} {
			word := fmt.Sprint(index, i)
			n.must(201, fmt.Sprintf("PUT /%s/_doc/%s", index, word), fmt.Sprintf(`{"t":"every %s","k":%d}`, word, i))
			searches = append(searches, [2]string{index, fmt.Sprintf(`{"query":{"match":{"t":"%s"}}%s}`, word, s.rest)})
			kinds = append(kinds, s.kind)
			switch {
			case i == 0 || s.kind == alone:
				want = append(want, []string{"t:" + word})
			case s.kind == batched:
				want[j] = append(want[j], "t:"+word)
			}
		}
	}
	n.must(200, "POST /_refresh", "")
	recorder.take()
	answers := searchesOf(t, n, "POST /_msearch?ignore_unavailable", append(searches, [2]string{"a", `{"size":1}`}, [2]string{"absent", searches[0][1]})...)
	got := recorder.take()
	slices.SortFunc(want[2:], slices.Compare[[]string])
	slices.SortFunc(got[min(2, len(got)):], slices.Compare[[]string]) // they run at the same time
	if !reflect.DeepEqual(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	for i, s := range searches {
		word := fmt.Sprint(s[0], i/2)
		isFound := ids(answers[i].(map[string]any)) == word
		isRefused := strings.Contains(fmt.Sprint(at(answers[i], "error.reason")), "engine recorder has no sort")
		if isFound == isRefused || isRefused != (kinds[i] == refused) {
			t.Errorf("%s: answer %d is %v", s, i, answers[i])
		}
	}
	if all, absent := answers[len(searches)], answers[len(searches)+1]; ids(all.(map[string]any)) != "a0" || at(absent, "hits.total.value") != 0.0 {
		t.Errorf("all documents %v, an absent index %v", all, absent)
	}
}
