package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
)

// docsOf makes n documents of a text.
func docsOf(n int, text string) []corpus.Document {
	docs := make([]corpus.Document, n)
	for i := range docs {
		docs[i].Text = text
	}
	return docs
}

// numbered gives the documents of all lists different ids, and returns the first list.
func numbered(lists ...[]corpus.Document) []corpus.Document {
	id := 0
	for _, docs := range lists {
		for i := range docs {
			docs[i].ID = fmt.Sprint(id)
			id++
		}
	}
	return lists[0]
}

// segmentsOf makes an index with a segment of each list of documents.
func segmentsOf(t *testing.T, segments ...[]corpus.Document) *Planner {
	numbered(segments...)
	return New(indextest.Snapshot(t, indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true}, func(w *indextest.Writer) {
		for _, docs := range segments {
			for i := range docs {
				w.Add(&docs[i])
			}
			w.Commit()
		}
	})), nil)
}

// A count decodes the lists that it needs and no other: none if a required word is missing.
func TestCountWork(t *testing.T) {
	s, sc := segmentsOf(t, append(docsOf(1000, "w0 w1"), docsOf(500, "w2")...)), testScratch(t, "whitespace")
	for _, c := range []struct {
		query   string
		matches int64
		want    Work
	}{
		{"w0 w2", 1500, Work{PostingsDecoded: 1500, BlocksDecoded: 12}},
		{"+w0 +w1", 1000, Work{PostingsDecoded: 2000, BlocksDecoded: 16}},
		{"+w0 +w2", 0, Work{PostingsDecoded: 1500, BlocksDecoded: 12}},
		{"w0 -w2", 1000, Work{PostingsDecoded: 1500, BlocksDecoded: 12}},
		{"+w0 +missing", 0, Work{}},
		{"w0 missing", 1000, Work{}},
		{"missing missing2", 0, Work{}},
		{"missing -w0", 0, Work{}},
		{"", 0, Work{}},
	} {
		p := prepare(t, s, sc, c.query, Options{K: 0, Count: true})
		a, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil || a.Matches != c.matches || a.Work != c.want {
			t.Errorf("%s: %d match with %+v, %v, want %d with %+v", c.query, a.Matches, a.Work, err, c.matches, c.want)
		}
	}
}

func TestMaskPays(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 55))
	snapshot := indextest.Snapshot(t, indexOf(t, numbered(docsOf(700, "w0")), 1))
	pays := 0
	for range 2000 {
		ws := words{planner: New(snapshot, nil), terms: make([]term, 4), lists: []*postings.List{{}, {}, {}, {}}}
		st := &Stage{flatQuery: flatQuery{conjunctive: rng.IntN(2) == 0}}
		df := [4]int{rng.IntN(20), rng.IntN(20), rng.IntN(40)}
		leaves := 1 + rng.IntN(2)
		sum := df[0]
		if leaves == 2 && st.conjunctive {
			sum = 2 * min(df[0], df[1])
		} else if leaves == 2 {
			sum += df[1]
		}
		limit := treePostingCost*sum - 700/maskDocsPerCost - df[2]
		df[3] = max(limit+rng.IntN(5)-2, 0) // often at the limit, or beside it
		for i := range df {
			ws.lists[i].DocFreq = uint32(df[i])
			l := &leaf{terms: []int{i}}
			if i >= 2 {
				st.excluded = append(st.excluded, l)
			} else if i < leaves {
				st.leaves = append(st.leaves, l)
			}
		}
		want := df[3] <= limit
		if want {
			pays++
		}
		if got := st.maskPays(&ws, 0, nil); got != want {
			t.Fatalf("%d words of %v, conjunctive %v: %v, want %v", leaves, df, st.conjunctive, got, want)
		}
	}
	if pays < 500 || pays > 1700 {
		t.Errorf("a mask pays for %d of 2000", pays)
	}
}

// An excluded word without documents needs no mask, and the mask has a bit for each document.
func TestMaskWords(t *testing.T) {
	s, sc := segmentsOf(t, docsOf(130, "w0 w1")), testScratch(t, "whitespace")
	for _, c := range []struct {
		query string
		words int
		work  Work
	}{
		{"w0 -missing", 0, Work{}},
		{"w0 -w1", 3, Work{PostingsDecoded: 130, BlocksDecoded: 2}},
		{"w0 -missing -w1", 3, Work{PostingsDecoded: 130, BlocksDecoded: 2}},
		{"w0 w1 -missing", 0, Work{}},
	} {
		p := prepare(t, s, sc, c.query, Options{K: 10})
		m := sc.begin(&p.words, 0, t.Context())
		found, err := m.mask(p.Stage(0))
		words, w := found.words, m.work
		if err != nil || len(words) != c.words || (words == nil) != (c.words == 0) || w != c.work {
			t.Errorf("%s: %d words after %+v, %v, want %d after %+v", c.query, len(words), w, err, c.words, c.work)
		}
	}
}

// The bound and the cost of a phrase are the ones of its rarest term. A phrase reads each list once.
func TestPhraseParts(t *testing.T) {
	docs := append(docsOf(300, "w0 w1 w0 w2"), docsOf(200, "w0 w1 w1")...)
	docs = append(docs, docsOf(50, "w3 w0 w0 w0 w0 w0 w0 w0")...)
	s, sc := segmentsOf(t, docs), testScratch(t, "whitespace")
	for _, c := range []struct {
		query string
		cost  int
		order []int // terms by rarity
		slots []uint32
	}{
		{`"w0 w1"`, 500, []int{1, 0}, []uint32{1, 0}},
		{`"w1 w0"`, 500, []int{0, 1}, []uint32{0, 1}},
		{`"w0 w1 w0 w2"`, 300, []int{2, 1, 0}, []uint32{3, 1, 0, 2}},
		{`"w2 w0 w3"`, 50, []int{2, 0, 1}, []uint32{2, 0, 1}},
		{`"w0 w0"`, 550, []int{0}, []uint32{0, 1}},
	} {
		p := prepare(t, s, sc, c.query, Options{K: 10})
		sc.begin(&p.words, 0, t.Context())
		it, err := sc.tree.build(p.stages[0].root)
		if err != nil {
			t.Fatal(err)
		}
		phrase := it.(*phraseIterator)
		var order []int
		for _, i := range phrase.order {
			order = append(order, phrase.cursors[i].term)
		}
		var slots []uint32
		for _, slot := range phrase.slots {
			slots = append(slots, slot.offset)
		}
		if it.Cost() != c.cost || !reflect.DeepEqual(order, c.order) || !reflect.DeepEqual(slots, c.slots) || len(phrase.cursors) != len(c.order) {
			t.Errorf("%s: cost %d, terms %v, offsets %v, %d lists, want %+v", c.query, it.Cost(), order, slots, len(phrase.cursors), c)
		}
		l := p.stages[0].root.(*leaf)
		scorer := p.words.scorer(l)
		least := base.Score(1<<63 - 1)
		for _, term := range l.terms {
			if err := p.words.leg(&sc.tree.leg, 0, term, scorer); err != nil {
				t.Fatal(err)
			}
			least = min(least, sc.tree.leg.MaxScore)
		}
		if it.MaxScore() != least {
			t.Errorf("%s: at most %d, the bounds of the terms give %d", c.query, it.MaxScore(), least)
		}
		stopped := pulse{err: errors.New("stopped")}
		if phrase.pulse = &stopped; it.NextGEQ(0) != base.NoDocID {
			t.Errorf("%s: goes on after its pulse has stopped", c.query)
		}
	}
}

// A part without documents in a segment has no iterator.
func TestBuildNothing(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	for text, want := range map[string]bool{
		"w1": true, "missing": false, `"w1 missing"`: false, `"w1 w2"`: true, "+w1 +missing": false, "+missing w1": false,
		"missing missing2": false, "missing missing2 -w1": false, "missing w1": true, "+w1 missing": true, "+w1 -missing": true, "": false,
	} {
		p := prepare(t, s, sc, text, Options{K: 10})
		sc.begin(&p.words, 0, t.Context())
		if it, err := sc.tree.build(p.stages[0].root); err != nil || (it != nil) != want {
			t.Errorf("%s: %v, %v, want one: %v", text, it, err, want)
		}
	}
}

// A later segment whose best score is below the last hit's is not read.
func TestTreeSkipsWeakSegment(t *testing.T) {
	s := segmentsOf(t, docsOf(10, "w0 w1"), docsOf(10, "w0 w1 w2 w2 w2 w2 w2 w2 w2 w2 w2"))
	sc := testScratch(t, "whitespace")
	p := prepare(t, s, sc, `"w0 w1"`, Options{K: 1})
	var trace Trace
	if _, err := p.RunCPU(t.Context(), sc, nil, &trace); err != nil || len(trace.Steps) != 2 {
		t.Fatalf("%d steps, %v", len(trace.Steps), err)
	}
	if first, second := trace.Steps[0].Work, trace.Steps[1].Work; first.PostingsDecoded != 20 || second.PostingsDecoded != 0 {
		t.Errorf("%d postings of the first segment were decoded, want 20, and %d of the second, want none", first.PostingsDecoded, second.PostingsDecoded)
	}
}

// The steps of a trace have the right lists, once each, and times.
func TestTraceSteps(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	name := s.Snapshot().Segments[0].Name
	list := func(term string, docFreq uint32, blocks int) ListTrace {
		return ListTrace{Term: term, DocFreq: docFreq, Blocks: blocks}
	}
	for _, c := range []struct {
		query string
		by    string
		lists []ListTrace
	}{
		{"w1 w3", "merged-scores", []ListTrace{list("w1", 2, 1), list("w3", 1, 1)}},
		{`w1 "w1 w2" -w1`, treeTraversal, []ListTrace{list("w1", 2, 1), list("w2", 1, 1)}},
		{"+w4 title:w1 missing", "merged-scores", []ListTrace{list("w4", 1, 1), {Field: "title", Term: "w1"}, list("missing", 0, 0)}},
	} {
		p := prepare(t, s, sc, c.query, Options{K: 10})
		before := time.Now()
		var trace Trace
		a, err := p.RunCPU(t.Context(), sc, nil, &trace)
		if err != nil || len(trace.Steps) != 1 || trace.Began.Before(before) {
			t.Fatalf("%s: %+v, %v", c.query, trace, err)
		}
		step := trace.Steps[0]
		if took := time.Since(before); step.Start < 0 || step.Took <= 0 || step.Start+step.Took > took {
			t.Errorf("%s: from %v, for %v, all took %v", c.query, step.Start, step.Took, took)
		}
		step.Start, step.Took = 0, 0
		if want := (Step{Name: StepSegment, Processor: CPUName, Segment: name, Traversal: c.by, Lists: c.lists, Work: a.Work}); !reflect.DeepEqual(step, want) {
			t.Errorf("%s: %+v\nwant %+v", c.query, step, want)
		}
	}
	p := prepare(t, s, sc, "", Options{K: 10})
	var trace Trace
	if a, err := p.RunCPU(t.Context(), sc, nil, &trace); err != nil || len(trace.Steps) != 0 || a.Traversal != treeTraversal {
		t.Errorf("no query: %+v, %+v, %v", a, trace, err)
	}
	p = prepare(t, s, sc, "w1", Options{K: 0})
	if a, err := p.RunCPU(t.Context(), sc, nil, &trace); err != nil || len(trace.Steps) != 0 || a.Work != (Work{}) {
		t.Errorf("no hits wanted: %+v, %+v, %v", a, trace, err)
	}
	a := Answer{By: sched.GPU}
	if err := p.RunStage(t.Context(), t.Context(), sc, 0, nil, &a, nil); err != nil || a.By != sched.CPU {
		t.Errorf("answered by %v, %v", a.By, err)
	}
}

// An answer has the traversal of the segment with the most postings, and flat queries run as
// trees only where masks do not pay.
func TestMainTraversal(t *testing.T) {
	small, large := docsOf(1400, "w3"), docsOf(1500, "w0 w1")
	s, sc := segmentsOf(t, append(small, docsOf(60, "w0 w1")...), append(large, docsOf(1, "w2")...)), testScratch(t, "whitespace")
	for _, c := range []struct {
		query, named, main string
		steps              []string
	}{
		{"w0 w1", "", "block-max-maxscore", []string{"merged-scores", "block-max-maxscore"}},
		{"w2", "", "merged-scores", []string{"block-max-maxscore", "merged-scores"}},
		{"w2 -w0", "", "merged-scores", []string{"look-up", "look-up"}},
		{"w2 w2^2 w3 -w0", "", "block-max-maxscore", []string{"block-max-maxscore", treeTraversal}},
		{"w0 -w2", "", "block-max-maxscore", []string{"merged-scores", "block-max-maxscore"}},
		{"missing", "wand", "wand", []string{"wand", "wand"}},
		{"missing", "", "block-max-maxscore", []string{"block-max-maxscore", "block-max-maxscore"}},
	} {
		p := prepare(t, s, sc, c.query, Options{K: 10, Traversal: c.named})
		var trace Trace
		a, err := p.RunCPU(t.Context(), sc, nil, &trace)
		if err != nil {
			t.Fatal(err)
		}
		var steps []string
		for i := range trace.Steps {
			steps = append(steps, trace.Steps[i].Traversal)
		}
		if a.Traversal != c.main || !reflect.DeepEqual(steps, c.steps) {
			t.Errorf("%s by %q: %s of %v, want %s of %v", c.query, c.named, a.Traversal, steps, c.main, c.steps)
		}
	}
}

// Planning opens only the parts of lists that are read.
func TestPartsOfLists(t *testing.T) {
	s, sc := segmentsOf(t, docsOf(300, "w0 w1 w2")), testScratch(t, "whitespace")
	p := prepare(t, s, sc, `"w0 w1" w2`, Options{K: 10})
	for term, want := range []bool{true, true, false} {
		if bytes, err := p.words.list(0, term).PositionBytes(0); (err == nil && len(bytes) > 0) != want {
			t.Errorf("term %d: %d bytes of positions, %v, want some: %v", term, len(bytes), err, want)
		}
	}
	own := New(s.Snapshot(), &score.BM25{K1: 3, B: 0.2})
	for _, planner := range []*Planner{own, s} { // the second has no bounds left by the first
		p := prepare(t, planner, sc, "+w0 (+w1 w2)", Options{K: 10})
		if _, err := p.RunCPU(t.Context(), sc, nil, nil); err != nil || (sc.tree.leg.Bounds != nil) != (planner == own) {
			t.Errorf("own bounds %v: bounds %v, %v", planner == own, sc.tree.leg.Bounds, err)
		}
	}
	p = prepare(t, s, sc, "w0 missing", Options{K: 10})
	if legs := p.Stage(0).Legs(0); legs[0].Derived == (derived.List{}) || legs[0].Lengths == nil || legs[1].Derived != (derived.List{}) || legs[1].Lengths != nil {
		t.Errorf("legs %+v", legs)
	}
}

// Damage of the index's files fails planning.
func TestDamagedFiles(t *testing.T) {
	sc := testScratch(t, "whitespace")
	for _, c := range []struct {
		file string
		mode Mode
	}{{"seg-000001/postings", ModeOr}, {"impacts-000002", ModeSaat}} {
		ix := plantest.RandomIndex(t, rand.New(rand.NewPCG(56, 56)), 300, 1, false)
		if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(ix.Dir(), c.file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 64; i < len(data)/2; i++ { // between the header and the checksums
			data[i] ^= 0x55
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		damaged, err := index.Open(vfs.OS, ix.Dir())
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		t.Cleanup(func() { _ = damaged.Close() })
		s := New(indextest.Snapshot(t, damaged), nil)
		if _, err := s.Prepare(sc, plantest.Parse(t, "w0 w1 w2 w3"), Options{Mode: c.mode, K: 10}); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: %v", c.file, err)
		}
	}
}

func TestRefusedPlans(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	if _, err := s.Prepare(sc, &query.Term{Field: "author", Text: "x"}, Options{Mode: ModeAnd, K: 1}); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), `the index has no field "author"`) {
		t.Errorf("unknown field: %v", err)
	}
	if _, err := s.Prepare(sc, nil, Options{Mode: ModeSaat + 1}); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "mode Mode(4)") {
		t.Errorf("unknown mode: %v", err)
	}
	if _, err := NewScratch(""); err == nil || !strings.HasPrefix(err.Error(), "queries: ") {
		t.Errorf("unknown analyzer: %v", err)
	}
}

// Weights of whole boosts are the boosts themselves; missing words have no list.
func TestSaatTerms(t *testing.T) {
	s, _ := withImpacts(t, rand.New(rand.NewPCG(57, 57)))
	sc := testScratch(t, "whitespace")
	for _, c := range []struct {
		query   string
		weights []uint32
		bits    int
		terms   []string
	}{
		{"w0 w1^3", []uint32{1, 3}, 0, []string{"w0", "w1"}},
		{"missing w1^3", []uint32{3}, 0, []string{"w1"}},
		{"w0 w1^2.5", []uint32{64, 160}, boostBits, []string{"w0", "w1"}},
		{"w0^0.5", []uint32{32}, boostBits, []string{"w0"}},
		{"", nil, 0, nil},
		{"missing", nil, 0, nil},
	} {
		p := prepare(t, s, sc, c.query, Options{Mode: ModeSaat, K: 10})
		q := p.Impacts()
		var weights []uint32
		var lists []ListTrace
		for i := range q.Terms {
			l := &q.Terms[i].List
			weights = append(weights, q.Terms[i].Weight)
			lists = append(lists, ListTrace{Term: c.terms[i], DocFreq: l.DocFreq, Blocks: l.NumSegments()})
			term := q.terms[i]
			if p.DocFreqs()[term] != uint64(l.DocFreq) || l.DocFreq == 0 || string(p.words.terms[term].bytes) != c.terms[i] {
				t.Errorf("%s: frequencies %v, list %d has %d", c.query, p.DocFreqs(), i, l.DocFreq)
			}
		}
		if !reflect.DeepEqual(weights, c.weights) || q.unitBits != c.bits {
			t.Errorf("%s: weights %v with %d bits, want %v with %d", c.query, weights, q.unitBits, c.weights, c.bits)
		}
		if got := p.StageLists(0); len(got) != len(lists) || len(lists) > 0 && !reflect.DeepEqual(got, lists) {
			t.Errorf("%s: lists %+v, want %+v", c.query, got, lists)
		}
		if a, err := p.RunCPU(t.Context(), sc, nil, nil); err != nil || (len(a.Hits) == 0) != (len(c.weights) == 0) {
			t.Errorf("%s: %d hits, %v", c.query, len(a.Hits), err)
		}
	}
}

// A slice that just fits takes the rest of a chunk; chunks double.
func TestArenaChunks(t *testing.T) {
	var a arena[int]
	for range 7 {
		a.take(arenaChunk / 2)
		a.take(arenaChunk / 2)
	}
	var lengths []int
	for _, c := range a.chunks {
		lengths = append(lengths, len(c))
	}
	if want := []int{arenaChunk, 2 * arenaChunk, 4 * arenaChunk}; !reflect.DeepEqual(lengths, want) {
		t.Errorf("chunks of %v, want %v", lengths, want)
	}
	if a.take(9 * arenaChunk); len(a.chunks[3]) != 9*arenaChunk {
		t.Errorf("a chunk of %d for a slice of %d", len(a.chunks[3]), 9*arenaChunk)
	}
}
