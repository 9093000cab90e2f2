package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Hits and matches are the same as of a whole run.
func TestRunLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 42))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 900, 3, true))
	s := New(snapshot, nil)
	sc := testScratch(t, "whitespace")
	conjunctions := 0
	for range 60 {
		q := plantest.Words(rng, 1+rng.IntN(4))
		p, err := s.Prepare(sc, q, Options{Mode: ModeAnd, K: 10, Count: true})
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.SortTerms()
		st := p.Stage(0)
		n := len(st.Order())
		if !st.IsFlat() || st.Kind() != traverse.And || n < 2 {
			continue
		}
		conjunctions++
		lists := p.StageLists(0)
		for i, leg := range st.Order() {
			term, docFreq, blocks := st.leaves[leg].(*leaf).terms[0], uint32(0), 0
			for segment := range snapshot.Segments {
				l := p.words.list(segment, term)
				docFreq += l.DocFreq
				blocks += l.NumBlocks()
			}
			want := ListTrace{Field: s.Fields()[p.words.terms[term].field], Term: string(p.words.terms[term].bytes), DocFreq: docFreq, Blocks: blocks}
			if lists[i] != want || p.LegDocFreq(st, leg) != uint64(docFreq) {
				t.Errorf("%s: list %d is %+v of length %d, want %+v", q, i, lists[i], p.LegDocFreq(st, leg), want)
			}
			if i > 0 && lists[i].DocFreq < lists[i-1].DocFreq {
				t.Errorf("%s: list %d is shorter than the one before: %+v", q, i, lists)
			}
		}
		candidates := make([]traverse.Candidates, len(snapshot.Segments))
		var w Work
		for from := 0; from < n; {
			to := from + 1 + rng.IntN(n-max(from, 1)) // the first step does not have all lists
			if to == n {
				p.ResetHits(sc)
			}
			for segment := range candidates {
				if err := p.RunLists(t.Context(), sc, Lists{Stage: st, From: from, To: to}, segment, &candidates[segment], &w); err != nil {
					t.Fatal(err)
				}
			}
			from = to
		}
		matches := int64(0)
		for i := range candidates {
			matches += int64(candidates[i].Len())
		}
		if hits := sc.AppendHits(nil); !slices.Equal(hits, want.Hits) || matches != want.Matches || w.PostingsDecoded == 0 {
			t.Errorf("%s: hits %v of %d with %+v, want %v of %d", q, hits, matches, w, want.Hits, want.Matches)
		}
		if sc.Forget(); sc.query.Legs != nil || slices.ContainsFunc(sc.legs[:cap(sc.legs)], func(l traverse.Leg) bool { return l.List != nil }) {
			t.Errorf("%s: the scratch keeps a list", q)
		}
	}
	if conjunctions < 20 {
		t.Errorf("only %d conjunctions", conjunctions)
	}
}

type brokenCodec struct{ codec.Codec }

var errBroken = fmt.Errorf("this block is broken: %w", base.ErrCorrupt)

func (brokenCodec) DecodeDocIDs(*[codec.BlockLen]uint32, []byte, uint32, int, uint8) (int, error) {
	return 0, errBroken
}
func (brokenCodec) DecodeFreqs(*[codec.BlockLen]uint32, []byte, int, uint8) error { return errBroken }
func (brokenCodec) FreqAt([]byte, int, int, uint8) (uint32, error)                { return 0, errBroken }

// A broken list is an error of every way to read it. The number of a term's documents is not read from it.
func TestDamagedLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 43))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 500, 2, true)), nil)
	sc := testScratch(t, "whitespace")
	damage := func(p *Plan, term int) (repair func()) {
		old := map[*postings.List]codec.Codec{}
		for segment := range s.snapshot.Segments {
			if l := p.words.list(segment, term); l.DocFreq > 0 {
				old[l] = l.Codec
				l.Codec = brokenCodec{l.Codec}
			}
		}
		return func() {
			for l, c := range old {
				l.Codec = c
			}
		}
	}
	for _, text := range []string{"w0", "w0 w1", "w0 -w1", `"w0 w1"`, `w2 "w0 w1"`, "+(w0 w1) +w2", "(w0 w1) -(+w2 +w3)"} {
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			p, err := s.Prepare(sc, plantest.Parse(t, text), Options{Mode: mode, K: 1000, Count: true})
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.RunCPU(t.Context(), sc, nil, nil)
			if err != nil || len(a.Hits) == 0 || a.Matches != int64(len(a.Hits)) {
				t.Fatalf("%s: %d hits, %d matches, %v", text, len(a.Hits), a.Matches, err)
			}
			for term := range p.words.terms {
				repair := damage(p, term)
				p.counts = false
				if _, err := p.RunCPU(t.Context(), sc, nil, nil); !errors.Is(err, base.ErrCorrupt) {
					t.Errorf("%s in mode %s, list of term %d: %v", text, mode, term, err)
				}
				p.counts = true
				for i := range p.stages {
					r := stageRun{plan: p, st: &p.stages[i], sc: sc, stop: t.Context()}
					var w Work
					n, err := r.countAll(&w)
					if single := text == "w0"; single && (err != nil || n != a.Matches) || !single && !errors.Is(err, base.ErrCorrupt) {
						t.Errorf("%s in mode %s, list of term %d, counting: %d, %v", text, mode, term, n, err)
					}
				}
				if _, err := p.Explain(t.Context(), sc, 0, 0); !errors.Is(err, base.ErrCorrupt) {
					t.Errorf("%s in mode %s, list of term %d, explaining: %v", text, mode, term, err)
				}
				repair()
			}
			if again, err := p.RunCPU(t.Context(), sc, nil, nil); err != nil || !slices.Equal(again.Hits, a.Hits) {
				t.Errorf("%s: repaired: %v", text, err)
			}
		}
	}
}

// Queries have the same key if, and only if, their answers are the same.
func TestKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 44))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 1, false))
	sc := testScratch(t, "whitespace")
	key := func(s *Planner, text string, o Options) string {
		p := new(Plan)
		if err := s.Compile(p, sc, plantest.Parse(t, text), o); err != nil {
			t.Fatal(err)
		}
		return string(p.AppendKey([]byte("before"), sc))
	}
	s := New(snapshot, nil)
	o := Options{Mode: ModeOr, K: 10}
	seen := map[string]string{}
	add := func(k, of string) {
		if former, ok := seen[k]; ok {
			t.Errorf("%s and %s have the same key", former, of)
		}
		seen[k] = of
	}
	for _, equal := range [][]string{
		{"w1 w2", "w2 w1", "(w1 w2)"},
		{"+w1 w2", "w2 +w1"},
		{"+w1 +w2", "w1 AND w2"},
		{"+w1 w2 w3", "+w1 w3 w2"},
		{"+w1 +w2 w3"},
		{"+w1 -w2", "w1 -w2"},
		{`"w1 w2"`},
		{`"w2 w1"`},
		{`"w1 w1"`},
		{"w1^2 w2"},
		{"w1 w2^2"},
		{"title:w1 w2"},
		{"w1 title:w2"},
		{"w1 w2 w3", "(w1 w2) w3"},
		{"+(w1 w2) w3", "w3 +(w2 w1)"},
		{"(+w1 +w2) w3"},
		{"w1 (+w2 +w3)"},
		{"+w1 +(w2 w3)"},
		{"w1 (+w2 w3)"},
		{"w1 (w2 -w3)"},
		{"w1 -(+w2 +w3)", "w1 -(w3 AND w2)"},
		{"w1"},
		{"w12"},
		{"w1 w2 w3 w4"},
		{`"w1 w2" w3`, `w3 "w1 w2"`},
		{`w1 "w2 w3"`},
		{"(+w1 +w2) (+w3 +w4)", "(+w4 +w3) (+w2 +w1)"},
		{"(+w1 +w3) (+w2 +w4)"},
	} {
		k := key(s, equal[0], o)
		add(k, equal[0])
		for _, text := range equal[1:] {
			if key(s, text, o) != k {
				t.Errorf("%s and %s have different keys", equal[0], text)
			}
		}
	}
	add(key(s, "w1 w2", Options{Mode: ModeAnd, K: 10}), "mode and")
	add(key(s, "w1 w2", Options{Mode: ModeAndOr, K: 10}), "mode and+or")
	add(key(s, "w1 w2", Options{Mode: ModeOr, K: 11}), "k 11")
	add(key(s, "w1 w2", Options{Mode: ModeOr, K: 10, Count: true}), "count")
	add(key(New(snapshot, &score.BM25{K1: 2, B: 0.5}), "w1 w2", o), "k1 2")
	add(key(New(snapshot, &score.BM25{K1: 2, B: 0.6}), "w1 w2", o), "b 0.6")
}

// The frequencies go to the same terms of a plan with the same key.
func TestDocFreqsOfKey(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 45))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, false)), nil)
	sc := testScratch(t, "whitespace")
	o := Options{Mode: ModeOr, K: 10}
	from, err := s.Prepare(sc, plantest.Parse(t, "w3 title:w1 w1 (+w2 +w7)"), o)
	if err != nil {
		t.Fatal(err)
	}
	to := new(Plan)
	if err := s.Compile(to, sc, plantest.Parse(t, "(+w7 +w2) w1 title:w1 w3"), o); err != nil {
		t.Fatal(err)
	}
	freqs := from.AppendDocFreqs([]uint64{99})
	if len(freqs) != 6 || freqs[0] != 99 {
		t.Fatalf("frequencies %v", freqs)
	}
	to.SetDocFreqs(freqs[1:], sc)
	for i, of := range to.words.terms {
		j := slices.IndexFunc(from.words.terms, func(x term) bool { return x.field == of.field && string(x.bytes) == string(of.bytes) })
		if to.DocFreqs()[i] != from.DocFreqs()[j] || to.DocFreqs()[i] == 0 {
			t.Errorf("term %s: frequency %d, want %d", of.bytes, to.DocFreqs()[i], from.DocFreqs()[j])
		}
	}
}

func TestTreeReusesMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 46))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 1, true)), nil)
	sc := testScratch(t, "whitespace")
	p, err := s.Prepare(sc, plantest.Parse(t, `+(w0 AND w1) (w2 w3 -"w0 w0 w1") "w1 w2" (+w4 w5)`), Options{Mode: ModeOr, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	b := &sc.tree
	used := func() [11]int {
		return [...]int{
			b.terms.used, b.phrases.used, b.conjunctions.used, b.disjunctions.used, b.exclusions.used, b.preferences.used, b.children.used, b.bounds.used,
			len(b.openTerms), len(b.openPhrases), len(b.children.chunks),
		}
	}
	var first [11]int
	for run := range 3 {
		if _, err := p.RunCPU(t.Context(), sc, nil, nil); err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			first = used()
		}
	}
	if slices.Contains(first[:], 0) {
		t.Errorf("used %v: want iterators of every kind", first)
	}
	if now := used(); now != first {
		t.Errorf("the third run uses %v, the first %v", now, first)
	}
}
