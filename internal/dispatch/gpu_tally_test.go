package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// facetFields are keywords of facetIndex: of one value or none, of several, and of the second half of the documents
// only.
var facetFields = []string{"kind", "tags", "late"}

// facetIndex has such fields, a segment of seven tenths of the documents, and smaller ones.
func facetIndex(t testing.TB, rng *rand.Rand, numDocs, commits int) *index.Index {
	t.Helper()
	m, err := mapping.Parse([]byte(`{"properties":{"n":{"type":"long"},"kind":{"type":"keyword"},"tags":{"type":"keyword"},"late":{"type":"keyword"},"day":{"type":"date"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return indextest.Write(t, index.Options{Analyzer: "whitespace", Mapping: m}, func(w *indextest.Writer) {
		for i := range numDocs {
			d := corpus.Document{ID: strconv.Itoa(i), Text: plantest.RandomWords(rng, 1+rng.IntN(40))}
			add := func(field, value string) { d.Extra = append(d.Extra, corpus.Field{Name: field, Value: value}) }
			add("n", strconv.Itoa(rng.IntN(1000)))
			if rng.IntN(5) > 0 {
				add("kind", fmt.Sprintf("k%d", rng.IntN(40)))
				add("day", fmt.Sprintf("%d-01-01", 1970+30*i/numDocs))
			}
			for range rng.IntN(4) {
				add("tags", fmt.Sprintf("t%d", rng.IntN(20)*rng.IntN(20)))
			}
			if i > numDocs/2 {
				add("late", strconv.Itoa(rng.IntN(10)))
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

// countsOnCPU are the counts of the columns over the bitmaps of a plan.
func countsOnCPU(t *testing.T, s *Searcher, sc *Scratch, node query.Node, o Options, fields []string) *ValueCounts {
	t.Helper()
	q, err := s.Prepare(sc, node, o)
	if err != nil {
		t.Fatal(err)
	}
	out := new(ValueCounts)
	err = q.Matches(t.Context(), &sc.Scratch, func(segment int, words []uint64) error {
		var one SegmentCounts
		for _, w := range words {
			out.Matches += int64(bits.OnesCount64(w))
		}
		for _, field := range fields {
			c, found, err := q.Snapshot().Segments[segment].Column(field)
			if err != nil {
				return err
			}
			var counts []uint32
			missing := 0
			if found {
				counts = make([]uint32, c.NumTerms())
				missing, err = c.CountOrdinals(words, counts)
			} else {
				for _, w := range words {
					missing += bits.OnesCount64(w)
				}
			}
			if err != nil {
				return err
			}
			one.Counts, one.Missing = append(one.Counts, counts), append(one.Missing, int64(missing))
		}
		out.Segments = append(out.Segments, one)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (c *ValueCounts) equal(o *ValueCounts) bool {
	return c.Matches == o.Matches && slices.EqualFunc(c.Segments, o.Segments, func(x, y SegmentCounts) bool {
		return slices.Equal(x.Missing, y.Missing) && slices.EqualFunc(x.Counts, y.Counts, slices.Equal)
	})
}

// Counts of values over all matches equal those on the CPU: of OR, AND and AND+OR, with filters and without, in
// several segments with deleted documents, for columns with one value, several and none, and for any number of hits.
func TestCountValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(96, 1))
	snapshot := indextest.Snapshot(t, facetIndex(t, rng, 1500, 2))
	for _, c := range []struct {
		name string
		open func(t *testing.T) *GPU
	}{
		{"one", func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{}) }},
		{"two ranges", func(t *testing.T) *GPU {
			return testGPU(t, pipeline.Options{Library: twoGPUs(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}})
		}},
		{"small segments", func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := c.open(t)
			g.rangeDocs = 1
			if c.name == "small segments" {
				g.smallDocs = snapshot.Segments[0].NumDocs()
			}
			p := newGPUPair(t, snapshot, g)
			counted := 0
			for range sampletest.Rounds(30, 500) {
				node := plantest.Words(rng, 1+rng.IntN(4))
				if rng.IntN(2) == 0 {
					node = filtered(rng)
				}
				o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[rng.IntN(3)], K: []int{0, 1, 10, 5000}[rng.IntN(4)], Count: rng.IntN(2) == 0}
				fields := slices.Clone(facetFields[:rng.IntN(4)])
				rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
				want := countsOnCPU(t, p.cpu, p.sc, node, o, fields)
				q, err := p.gpu.Prepare(p.sc, node, o)
				if err != nil {
					t.Fatal(err)
				}
				got, refusal, err := CountValues(t.Context(), q, p.sc, fields)
				if err != nil {
					t.Fatal(err)
				}
				if got == nil {
					if refusal != cpuNothing && refusal != cpuTree {
						t.Fatalf("%s, %+v: %s", node, o, refusal)
					}
					continue
				}
				counted++
				if (len(q.gpu.small) > 0) != (c.name == "small segments") {
					t.Fatalf("%d segments are small", len(q.gpu.small))
				}
				if !got.equal(want) {
					t.Fatalf("%s, %+v: %d matches, want %d, or other counts of %v", node, o, got.Matches, want.Matches, fields)
				}
				if o.K > 0 && o.K < 5000 { // the same prepared query also has the hits
					a, err := q.Run(t.Context(), p.sc, nil)
					if hits := answer(t, p.cpu, p.sc, node, o).Hits; err != nil || !slices.Equal(a.Hits, hits) {
						t.Fatalf("%s, %+v: %v, hits %v, want %v", node, o, err, head(a.Hits), head(hits))
					}
				}
			}
			if counted < sampletest.Rounds(30, 500)/2 {
				t.Errorf("%d queries were counted by the GPU", counted)
			}
			tallies := int64(0)
			for _, d := range g.Stats().Devices {
				tallies += d.Tallies
			}
			if tallies == 0 {
				t.Error("the GPU counted nothing")
			}
		})
	}
}

// The reasons for which the CPU counts.
func TestCountValuesRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 1))
	snapshot := indextest.Snapshot(t, facetIndex(t, rng, 300, 1))
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, snapshot, g)
	words := plantest.Words(rng, 2)
	for _, c := range []struct {
		name   string
		node   query.Node
		o      Options
		fields []string
		want   string
	}{
		{"CPU", words, Options{K: 10, CPU: true}, facetFields, cpuAsked},
		{"policy", words, Options{K: 10, Policy: PolicyCPU}, facetFields, cpuNoPolicy},
		{"cost", words, Options{K: 10, Policy: PolicyCost}, facetFields, cpuCheaper},
		{"tree", &query.Prefix{Text: "w"}, Options{K: 10}, facetFields, cpuTree},
		{"numbers", words, Options{K: 10}, []string{"n"}, cpuColumns},
	} {
		q, err := p.gpu.Prepare(p.sc, c.node, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got, refusal, err := CountValues(t.Context(), q, p.sc, c.fields); got != nil || refusal != c.want || err != nil {
			t.Errorf("%s: %v, %q, %v; want %q", c.name, got, refusal, err, c.want)
		}
	}
	if got, refusal, err := CountValues(t.Context(), mustPrepare(t, p.cpu, p.sc, words), p.sc, nil); got != nil || refusal != cpuNoGPU || err != nil {
		t.Errorf("without a GPU: %v, %q, %v", got, refusal, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _, err := CountValues(ctx, mustPrepare(t, p.gpu, p.sc, words), p.sc, nil); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", got, err)
	}
}

func mustPrepare(t *testing.T, s *Searcher, sc *Scratch, node query.Node) *Query {
	t.Helper()
	q, err := s.Prepare(sc, node, Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	return q
}
