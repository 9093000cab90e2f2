package ding09

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

func writeFile(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "scores.tsv")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestParseGlobals(t *testing.T) {
	scores, err := parseGlobals("f", "b\t0.5\r\na b\t65535\nc\t0\nd\t0.000008")
	want := []globalScore{{"a b", 65535 << 16, 2}, {"b", 1 << 15, 1}, {"c", 0, 3}, {"d", 1, 4}}
	if err != nil || !slices.Equal(scores, want) {
		t.Errorf("%v, %v, want %v", scores, err, want)
	}
	for text, want := range map[string]string{
		"":                    "f: no scores",
		"a\t1\n\nb\t2\n":      "f:2: want the id of a document, a tab, and its score",
		"a 1\n":               "f:1: want the id",
		"\t1\n":               "f:1: want the id",
		"a\t1\nb\t-1\n":       `f:2: score "-1": want a number from 0 to 65535`,
		"a\tNaN\n":            `f:1: score "NaN"`,
		"a\tinf\n":            `f:1: score "inf"`,
		"a\t65535.5\n":        `f:1: score "65535.5"`,
		"a\t1\t2\n":           `f:1: score "1\t2"`,
		"a\t\n":               `f:1: score ""`,
		"a\t1\nb\t2\na\t1\n":  `f:3: document "a" has a score in line 1 already`,
		"b\t1\nb\t2\nb\tno\n": `f:3: score "no"`,
	} {
		if _, err := parseGlobals("f", text); !errors.Is(err, base.ErrBadInput) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzGlobals(f *testing.F) {
	f.Add("a\t1\nb\t0.5\r\n")
	f.Add("a\t1e4\na\t2\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		scores, err := parseGlobals("f", text)
		if err != nil && !errors.Is(err, base.ErrBadInput) {
			t.Fatal(err)
		}
		var lines []string
		slices.SortFunc(scores, func(a, b globalScore) int { return int(a.line - b.line) })
		for i, s := range scores {
			if int(s.line) != i+1 {
				t.Fatalf("line %d of score %d", s.line, i)
			}
			lines = append(lines, fmt.Sprintf("%s\t%v", s.id, base.Score(s.score).Float64()))
		}
		again, err := parseGlobals("f", strings.Join(lines, "\n"))
		slices.SortFunc(again, func(a, b globalScore) int { return int(a.line - b.line) })
		if len(scores) > 0 && (err != nil || !slices.Equal(again, scores)) {
			t.Fatalf("%v, then %v: %v", scores, again, err)
		}
	})
}

// randomGlobals returns a file of scores up to most for two thirds of the documents 0 to n-1 and for some that
// there are not, and the scores by id.
func randomGlobals(t testing.TB, rng *rand.Rand, n int, most float64) (file string, byID map[string]uint32) {
	t.Helper()
	var b strings.Builder
	byID = map[string]uint32{}
	for _, i := range rng.Perm(n + n/10) {
		if rng.IntN(3) > 0 {
			score := uint32(rng.Float64() * most * 65536)
			byID[fmt.Sprint(i)] = score
			fmt.Fprintf(&b, "%d\t%v\n", i, base.Score(score).Float64())
		}
	}
	return writeFile(t, b.String()), byID
}

// candidate is a matching document with its features.
type candidate struct {
	hit      base.Hit
	features features
}

// exhaustive returns the live documents that match a stage with their scores, and the global scores, by decoding
// all lists.
func exhaustive(t testing.TB, p *plan.Plan, st *plan.Stage, byID map[string]uint32) (found []candidate) {
	t.Helper()
	for i := range p.Snapshot().Segments {
		view := &p.Snapshot().Segments[i]
		legs := st.Legs(i)
		freqs := make([]map[uint32]uint32, len(legs))
		for j := range legs {
			freqs[j] = map[uint32]uint32{}
			if legs[j].DocFreq() == 0 {
				continue
			}
			var c postings.Cursor
			for c.Reset(legs[j].List, nil); c.Next() != base.NoDocID; {
				freqs[j][uint32(c.DocID())] = c.Freq()
			}
		}
		for docID := range uint32(view.NumDocs()) {
			f := features{constantFeature: 1}
			var sum, best base.Score
			for j := range legs {
				if freq, ok := freqs[j][docID]; ok {
					contribution := legs[j].Term.Score(freq, legs[j].Lengths[docID])
					sum, best = sum+contribution, max(best, contribution)
					f[matchedFeature]++
				}
			}
			matches := f[matchedFeature] > 0 && (st.Mode() == plan.ModeOr || int(f[matchedFeature]) == len(legs))
			if !matches || view.Live != nil && !view.Live.Has(int(docID)) {
				continue
			}
			id, err := view.ID(base.DocID(docID))
			if err != nil {
				t.Fatal(err)
			}
			global := base.Score(byID[string(id)])
			f[bm25Feature], f[bestFeature], f[globalFeature] = float64(sum)/65536, float64(best)/65536, float64(global)/65536
			f[lengthFeature] = float64(view.Lengths(0)[docID])
			f[logLengthFeature] = logOf(1 + f[lengthFeature])
			found = append(found, candidate{base.Hit{DocID: view.Base + base.DocID(docID), Score: sum + global}, f})
		}
	}
	return found
}

func sortCandidates(all []candidate) {
	slices.SortFunc(all, func(a, b candidate) int {
		if a.hit.Before(b.hit) {
			return -1
		}
		return 1
	})
}

// expect sets the answer of a query by the exhaustive way.
func (p *prepared) expect(t testing.TB, o *options, byID map[string]uint32) {
	t.Helper()
	var found []candidate
	for i := range p.Plan.NumStages() {
		found = exhaustive(t, p.Plan, p.Plan.Stage(i), byID)
		p.want.Mode = p.Plan.Stage(i).Mode()
		if len(found) >= p.Plan.K() {
			break
		}
	}
	p.want.Matches = int64(len(found))
	sortCandidates(found)
	if o.candidates > 0 {
		found = found[:min(o.candidates, len(found))]
		for i := range found {
			found[i].hit.Score = o.second.score(&found[i].features)
		}
		sortCandidates(found)
	}
	p.want.Hits = nil
	for _, c := range found[:min(p.Plan.K(), len(found))] {
		p.want.Hits = append(p.want.Hits, c.hit)
	}
}

// Global scores and the second phase on random indexes of several segments with deleted documents: small scores,
// for which sums have 32 bits, and large ones.
func TestGlobals(t *testing.T) {
	phases := []func(o *options){
		func(*options) {},
		func(o *options) {
			o.candidates, o.second = 20, weights{bm25Feature: 0.7, globalFeature: 2.5, logLengthFeature: -0.3, constantFeature: 4}
		},
		func(o *options) { // many ties
			o.candidates, o.second = 300, weights{matchedFeature: 1, bestFeature: 0.01}
		},
	}
	rng := rand.New(rand.NewPCG(8, 4))
	queries := 6
	if gputest.OnGPU() {
		queries = 60
	}
	for i, most := range sampletest.UnderRace([]float64{3, 3000, maxGlobal}, []float64{30}) {
		const numDocs = 600
		snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, numDocs, 3, true))
		file, byID := randomGlobals(t, rng, numDocs, most)
		for j, phase := range phases {
			for _, on := range []processors{onCPU, onGPU, onBoth} {
				o := with(on, func(o *options) { o.global = file; phase(o) })
				e := openEngine(t, gputest.Open(t), o)
				for n := range queries {
					words := &query.Words{Text: plantest.RandomWords(rng, 1+n%5), Boost: []float64{1, 1, 0.5, query.MinBoost, query.MaxBoost}[rng.IntN(5)]}
					for _, mode := range modes {
						k := []int{1, 5, 20}[rng.IntN(3)]
						q := prepare(t, snapshot, words, plan.Options{Mode: mode, K: k, Count: n%2 == 0})
						q.expect(t, &o, byID)
						if n%2 != 0 {
							q.want.Matches = 0
						}
						search(t, e, &q)
					}
				}
				if s := e.Stats(); s.Faults > 0 || (s.OnGPU == 0) != (on == onCPU) || (s.OnCPU == 0) != (on == onGPU) {
					t.Errorf("scores up to %g, phases %d, on %v: %+v", most, j, on, s)
				}
			}
		}
		if i == 0 && t.Failed() {
			break
		}
	}
}

// The AND of narrow sums needs no launch for global scores, an OR one.
func TestGlobalLaunches(t *testing.T) {
	if gputest.OnGPU() {
		t.Skip("the emulator counts launches")
	}
	snapshot := skewed(t)
	launches := func(file string, mode plan.Mode, boost float64) int {
		e := openEngine(t, gputest.Open(t), with(onGPU, func(o *options) { o.global = file }))
		q := prepare(t, snapshot, &query.Words{Text: "rare all", Boost: boost}, plan.Options{Mode: mode, K: 5})
		before := gputest.Launches(t)
		if err := e.Search(t.Context(), []*engine.Query{q.Query}); err != nil || q.Err != nil {
			t.Fatal(err, q.Err)
		}
		return gputest.Launches(t) - before
	}
	file := writeFile(t, "3\t1\n")
	for _, c := range []struct {
		mode  plan.Mode
		boost float64
		more  int
	}{{plan.ModeAnd, 1, 0}, {plan.ModeOr, 1, 1}, {plan.ModeAnd, query.MinBoost, 1}, {plan.ModeOr, query.MinBoost, 1}} {
		if with, without := launches(file, c.mode, c.boost), launches("", c.mode, c.boost); with != without+c.more {
			t.Errorf("mode %v, boost %g: %d launches, %d without global scores", c.mode, c.boost, with, without)
		}
	}
}

// Documents of the file that the index lacks are counted, in each snapshot, and noted in traces.
func TestUnknownDocuments(t *testing.T) {
	e := openEngine(t, nil, with(onCPU, func(o *options) { o.global = writeFile(t, "1\t2\n2\t2\n7\t2\nx\t3\n") }))
	ix := indextest.Create(t, index.Options{Analyzer: "whitespace"})
	for step, want := range []int64{4, 2, 3, 2} {
		w, err := ix.Writer(index.WriterOptions{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		add := func(id, text string) error { return w.Add(&corpus.Document{ID: id, Text: text}) }
		switch step {
		case 1:
			err = errors.Join(add("1", "a b"), add("2", "a c"), add("3", "a"))
		case 2:
			err = w.Delete("2")
		case 3:
			err = errors.Join(add("1", "a"), add("7", "a")) // in another segment
		}
		if err == nil {
			err = w.Commit(t.Context())
		}
		if w.Close(); err != nil {
			t.Fatal(err)
		}
		q := prepare(t, indextest.Snapshot(t, ix), &query.Words{Text: "a", Boost: 1}, plan.Options{Mode: plan.ModeOr, K: 9})
		for range 2 {
			q.Trace = &plan.Trace{}
			if err := e.Search(t.Context(), []*engine.Query{q.Query}); err != nil || q.Err != nil {
				t.Fatal(err, q.Err)
			}
			note := fmt.Sprintf(": %d of 4 documents are not in the index", want)
			if n := e.Stats().UnknownDocs; n != want || len(q.Trace.Notes) != 1 || !strings.HasSuffix(q.Trace.Notes[0], note) {
				t.Errorf("step %d: %d unknown documents, notes %q, want %d", step, n, q.Trace.Notes, want)
			}
		}
	}
}

// The scores of a segment are dropped with it.
func TestGlobalsOfClosedSegments(t *testing.T) {
	e := openEngine(t, nil, with(onCPU, func(o *options) { o.global = writeFile(t, "1\t2\n") }))
	t.Run("index", func(t *testing.T) {
		snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng(), 50, 2, false))
		if _, unknown, err := e.globals.of(t.Context(), snapshot); err != nil || unknown != 0 || len(e.globals.segments) != 2 {
			t.Fatal(unknown, err)
		}
	})
	waitFor(t, "scores of closed segments remain", func() bool {
		runtime.GC()
		e.globals.mu.Lock()
		defer e.globals.mu.Unlock()
		return len(e.globals.segments) == 0
	})
}

// After an error of the GPU, the CPU has the same answers, with global scores and both phases.
func TestGlobalFaults(t *testing.T) {
	snapshot := frequent(t)
	file, byID := randomGlobals(t, rng(), 600, 30)
	gputest.EachFault(t, cuda.LaunchFailed, []string{"cuLaunchKernel"}, func(t *testing.T, d *cuda.Device) {
		o := with(onGPU, func(o *options) {
			o.global, o.candidates, o.second = file, 30, weights{bm25Feature: 1, globalFeature: 3}
		})
		e, err := newEngine(d, &o)
		if !gputest.Survived(t, err) {
			return
		}
		q := prepare(t, snapshot, &query.Words{Text: "w0 w1 w3", Boost: 1}, plan.Options{Mode: plan.ModeAndOr, K: 5, Count: true})
		q.expect(t, &o, byID)
		search(t, e, &q)
		if s := e.Stats(); s.OnCPU+s.OnGPU != 1 || s.OnCPU != s.Faults {
			t.Errorf("%+v", s)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A query that ends while it makes the array of a segment leaves that to the next.
func TestGlobalsContextEnds(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng(), 300, 2, true))
	file, byID := randomGlobals(t, rng(), 300, 30)
	o := with(onCPU, func(o *options) {
		o.global, o.candidates, o.second = file, 290, weights{bm25Feature: 1, globalFeature: 3}
	})
	ended := 0
	for looks := int64(0); ; looks++ {
		e := openEngine(t, nil, o)
		q := prepare(t, snapshot, &query.Words{Text: "w0 w1 w2", Boost: 1}, plan.Options{Mode: plan.ModeAndOr, K: 290})
		q.expect(t, &o, byID)
		q.want.Matches = 0
		ctx := &ending{Context: t.Context()}
		ctx.looks.Store(looks)
		err := e.Search(ctx, []*engine.Query{q.Query})
		if err == nil {
			q.check(t)
			break
		}
		if ended++; !errors.Is(err, context.Canceled) {
			t.Fatalf("%d looks: %v", looks, err)
		}
		search(t, e, &q)
	}
	if ended < 8 { // in Search, the array of each segment, each segment of each stage, and each of the second phase
		t.Errorf("%d steps", ended)
	}
}
