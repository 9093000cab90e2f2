package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// filterIndex has a segment of seven tenths of the documents and commits smaller ones, all with deleted
// documents. Field n is a number below 1000, kind one of 40 keywords,
// and day, which some documents lack, follows the order of the documents.
func filterIndex(t testing.TB, rng *rand.Rand, numDocs, commits int) *index.Index {
	t.Helper()
	m, err := mapping.Parse([]byte(`{"properties":{"n":{"type":"long"},"kind":{"type":"keyword"},"day":{"type":"date"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return indextest.Write(t, index.Options{Analyzer: "whitespace", Mapping: m}, func(w *indextest.Writer) {
		for i := range numDocs {
			d := corpus.Document{ID: strconv.Itoa(i), Text: plantest.RandomWords(rng, 1+rng.IntN(40)), Extra: []corpus.Field{
				{Name: "n", Value: strconv.Itoa(rng.IntN(1000))}, {Name: "kind", Value: fmt.Sprintf("k%d", rng.IntN(40))},
			}}
			if rng.IntN(5) > 0 {
				d.Extra = append(d.Extra, corpus.Field{Name: "day", Value: fmt.Sprintf("%d-01-01", 1970+30*i/numDocs)})
			}
			w.Add(&d)
			if i+1 >= numDocs*7/10 && (i+1-numDocs*7/10)%(numDocs*3/10/commits) == 0 {
				for range numDocs / 50 {
					w.Delete(rng.IntN(i))
				}
				w.Commit()
			}
		}
	})
}

// randomFilter matches from none to all documents.
func randomFilter(rng *rand.Rand) query.Node {
	switch rng.IntN(6) {
	case 5: // sometimes in too many runs for a GPU
		f := &query.Terms{Field: "n"}
		for range 1 + rng.IntN(2*pipeline.MaxRuns) {
			f.Values = append(f.Values, strconv.Itoa(rng.IntN(1000)))
		}
		return f
	case 0:
		return &query.Term{Field: "kind", Text: fmt.Sprintf("k%d", rng.IntN(41))}
	case 1:
		return &query.Exists{Field: "day"}
	case 2:
		return &query.Range{Field: "day", From: strconv.Itoa(1970 + rng.IntN(32))}
	case 3:
		return query.Any(&query.Term{Text: plantest.RandomWord(rng)}, &query.Range{Field: "n", To: "100"})
	}
	from := rng.IntN(1000)
	return &query.Range{Field: "n", From: strconv.Itoa(from), To: strconv.Itoa(from + []int{0, 1, 10, 100, 500, 900, 990}[rng.IntN(7)])}
}

// filtered returns a query of words with filters, which may have scores, and exclusions.
func filtered(rng *rand.Rand) query.Node {
	b := &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: plantest.Words(rng, 1+rng.IntN(4))}}}
	for range rng.IntN(3) {
		b.Clauses = append(b.Clauses, query.Clause{Occur: query.Filter, Node: randomFilter(rng)})
	}
	if rng.IntN(3) == 0 {
		b.Clauses = append(b.Clauses, query.Clause{Occur: query.MustNot, Node: randomFilter(rng)})
	}
	if rng.IntN(4) == 0 || len(b.Clauses) == 1 {
		b.Clauses = append(b.Clauses, query.Clause{Occur: query.Must, Node: &query.Constant{Node: randomFilter(rng), Score: 0.5 + rng.Float64()}})
	}
	return b
}

// Queries with filters and exclusions run on GPUs, alone, in batches, by images and from compressed lists, and
// have the CPU's hits, scores and matches.
func TestGPUFilters(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 1))
	snapshot := indextest.Snapshot(t, filterIndex(t, rng, 1500, 2))
	type setting struct {
		name string
		open func(t *testing.T) *GPU
	}
	for _, c := range sampletest.Some(t, sampletest.UnderRace(3, 2), []setting{
		{"one", func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{}) }},
		{"two replicas", twoReplicas},
		{"two ranges", func(t *testing.T) *GPU {
			return testGPU(t, pipeline.Options{Library: twoGPUs(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}})
		}},
		{"small segments", func(t *testing.T) *GPU {
			g := testGPU(t, pipeline.Options{})
			g.smallDocs = snapshot.Segments[0].NumDocs()
			return g
		}},
		{"little memory", func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 24 << 10}}) }},
	}) {
		t.Run(c.name, func(t *testing.T) {
			g := c.open(t)
			if c.name != "two replicas" {
				g.rangeDocs = 1
			}
			p := newGPUPair(t, snapshot, g)
			placed, err := NewDispatcher(g, Config{Policy: PolicyCost})
			if err != nil {
				t.Fatal(err)
			}
			places := NewSearcher(snapshot, nil)
			places.Use(placed)
			asked := 0
			for range sampletest.Rounds(1, 8) {
				for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr} {
					o := Options{Mode: mode, K: []int{1, 10, 100}[rng.IntN(3)], Count: rng.IntN(2) == 0}
					batch := make([]query.Node, 12)
					for i := range batch {
						batch[i] = filtered(rng)
					}
					p.checkBatch(t, batch, o)
					asked += len(batch)
					for _, q := range batch[:4] {
						want := p.check(t, q, o)
						for _, path := range []pipeline.Path{pipeline.PathImages, pipeline.PathPacked} {
							o := o
							o.Placement = &Placement{First: sched.GPU, Path: path, Or: sched.GPU, OrPath: path}
							if got := answer(t, places, p.sc, q, o); !slices.Equal(got.Hits, want.Hits) || got.Matches != want.Matches {
								t.Fatalf("%s, %+v by %s: %d, %v; want %d, %v", q, o, path, got.Matches, head(got.Hits), want.Matches, head(want.Hits))
							}
						}
						asked += 3
					}
				}
			}
			s := g.Stats()
			// A filter that nothing passes leaves nothing to look for.
			if c.name != "little memory" && s.OnCPU > int64(asked)/3 || s.OnGPU < int64(asked)/10 {
				t.Errorf("%d queries: %d on the GPU, %d on the CPU", asked, s.OnGPU, s.OnCPU)
			}
			filters := int64(0)
			for _, d := range s.Devices {
				filters += d.Filters
			}
			if filters == 0 {
				t.Errorf("%+v: no filters are resident", s.Devices)
			}
		})
	}
}

// A GPU computes the bitmaps of ranges, and of sets of few runs, from columns that it has, without the CPU, if their segment is not small.
func TestGPURanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 1))
	snapshot := indextest.Snapshot(t, filterIndex(t, rng, 3000, 1))
	g := testGPU(t, pipeline.Options{})
	g.rangeDocs = snapshot.Segments[0].NumDocs()
	p := newGPUPair(t, snapshot, g)
	words := plantest.Words(rng, 2)
	sent := g.Stats().Devices[0].BytesUploaded
	for i := range 10 {
		var numbers query.Node = &query.Range{Field: "n", From: strconv.Itoa(40 * i), To: strconv.Itoa(40*i + 500)}
		if i%2 == 1 { // a set with gaps
			set := &query.Terms{Field: "n"}
			for j := range pipeline.MaxRuns {
				set.Values = append(set.Values, strconv.Itoa(i+60*j), strconv.Itoa(i+60*j+1))
			}
			numbers = set
		}
		node := &query.Boolean{Clauses: []query.Clause{
			{Occur: query.Must, Node: words},
			{Occur: query.Filter, Node: numbers},
			{Occur: query.Filter, Node: &query.Exists{Field: "day"}},
		}}
		p.check(t, node, Options{K: 10, Count: true})
		s := g.Stats().Devices[0]
		if s.Columns != 2 || s.Filters != int64(2*(i+1)) {
			t.Errorf("query %d: %d columns, %d filters; want 2 columns of the large segment, a filter of each", i, s.Columns, s.Filters)
		}
		// Only the small segment's bitmap, of 900 documents, is sent.
		if now := s.BytesUploaded; i > 0 && now-sent > 256 {
			t.Errorf("query %d: %d bytes were sent", i, now-sent)
		}
		sent = s.BytesUploaded
	}
}

// A filter is sent to the GPU once, and the trace of a query has its step there.
func TestGPUFilterIsKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(92, 1))
	snapshot := indextest.Snapshot(t, filterIndex(t, rng, 600, 1))
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, snapshot, g)
	filter := query.Clause{Occur: query.Filter, Node: &query.Range{Field: "n", To: "300"}}
	nodes := make([]query.Node, 3)
	for i := range nodes {
		nodes[i] = &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: plantest.Words(rng, 2)}, filter}}
	}
	for i, n := range nodes {
		before := g.Stats().Devices[0]
		q, err := p.gpu.Prepare(p.sc, n, Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if took := q.gpu.masks.time(); (took > 0) != (i == 0) {
			t.Errorf("query %d: its masks are predicted to take %v", i, took)
		}
		var trace plan.Trace
		if _, err := q.RunTraced(t.Context(), p.sc, nil, &trace); err != nil {
			t.Fatal(err)
		}
		if len(trace.Steps) != 1 || trace.Steps[0].Place != sched.GPU || q.gpu.masks.time() != 0 {
			t.Errorf("query %d: predicted masks %v, trace\n%s", i, q.gpu.masks.time(), &trace)
		}
		if after := g.Stats().Devices[0]; after.Filters != 2 {
			t.Errorf("query %d: %d filters, want one for each of two segments (%d before)", i, after.Filters, before.Filters)
		}
	}
}

// The error of a query whose masks are not computed is its context's, and other queries of the filter are
// answered.
func TestGPUFilterCancelled(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 1))
	snapshot := indextest.Snapshot(t, filterIndex(t, rng, 600, 1))
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, snapshot, g)
	node := &query.Boolean{Clauses: []query.Clause{
		{Occur: query.Must, Node: plantest.Words(rng, 2)}, {Occur: query.Filter, Node: &query.Prefix{Text: "w1"}},
	}}
	q, err := p.gpu.Prepare(p.sc, node, Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Run(ctx, p.sc, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled query: %v", err)
	}
	if err := q.gpu.masks.make(ctx, q, &p.sc.Scratch); !errors.Is(err, context.Canceled) && err != nil {
		t.Errorf("cancelled masks: %v", err)
	}
	p.check(t, node, Options{K: 10})
	p.checkBatch(t, []query.Node{node, node}, Options{K: 10, Mode: plan.ModeAndOr})
	if s := g.Stats(); s.OnGPU != 3 {
		t.Errorf("%d queries on the GPU, %d on the CPU", s.OnGPU, s.OnCPU)
	}
}

// Queries that share a prepared query run at the same time.
func TestGPUFilterShared(t *testing.T) {
	rng := rand.New(rand.NewPCG(94, 1))
	snapshot := indextest.Snapshot(t, filterIndex(t, rng, 600, 1))
	p := newGPUPair(t, snapshot, testGPU(t, pipeline.Options{}))
	for range 3 {
		node := filtered(rng)
		want := answer(t, p.cpu, p.sc, node, Options{K: 10})
		q, err := p.gpu.Prepare(p.sc, node, Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan string, 4)
		for range cap(results) {
			sc := testScratch(t, "whitespace")
			go func() {
				a, err := q.Run(t.Context(), sc, nil)
				if err != nil || !slices.Equal(a.Hits, want.Hits) {
					results <- fmt.Sprintf("%v: %v, want %v", err, a.Hits, want.Hits)
					return
				}
				results <- ""
			}()
		}
		for range cap(results) {
			if diff := <-results; diff != "" {
				t.Errorf("%s: %s", strings.TrimSpace(node.String()), diff)
			}
		}
	}
}
