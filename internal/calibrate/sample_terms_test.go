package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/query"
)

func newRng() *rand.Rand { return rand.New(rand.NewPCG(91, 8)) }

// seenOf returns the number of terms that a sample has seen.
func seenOf(s *termSample) (n int) {
	for _, seen := range s.seen {
		n += seen
	}
	return n
}

// The clock of the bubble stands still, so that only a negative limit is over.
func TestSampleTermsLimits(t *testing.T) {
	var one, many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&one, "aa%04d ", i)
	}
	letters := "abcdefghijklmnopqrstuvwxyz"
	for _, a := range letters {
		for _, b := range letters {
			fmt.Fprintf(&many, "%c%c1 %c%c2 ", a, b, a, b)
		}
	}
	onePrefix, manyPrefixes := textIndex(t, index.Options{}, []string{one.String()}), textIndex(t, index.Options{}, []string{many.String()})
	// Prefixes are read in groups of 256, up to the first group with a term.
	firstGroups := 0
	for i, p := range newRng().Perm(1 << 16) {
		if i%256 == 0 && firstGroups > 0 {
			break
		}
		if a, b := rune(p>>8), rune(p&255); strings.ContainsRune(letters, a) && strings.ContainsRune(letters, b) {
			firstGroups += 2
		}
	}
	for _, c := range []struct {
		name     string
		snapshot *index.Snapshot
		limit    time.Duration
		want     int
	}{
		{"no time in one prefix", onePrefix, -1, 4096},
		{"the limit in one prefix", onePrefix, 0, 5000},
		{"no time in many prefixes", manyPrefixes, -1, firstGroups},
		{"the limit in many prefixes", manyPrefixes, 0, 2 * 26 * 26},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sampleTerms(t.Context(), c.snapshot, newRng(), c.limit)
				if err != nil || seenOf(s) != c.want {
					t.Errorf("%d terms, %v; want %d", seenOf(s), err, c.want)
				}
			})
		})
	}
}

func TestSampleTermsOfLargestSegment(t *testing.T) {
	texts := []string{"first", "first", "largest", "largest", "largest", "last", "last"}
	for _, c := range []struct {
		texts    []string
		segments []int
		want     int
	}{
		{texts, []int{2, 3, 2}, 1},
		{texts[:4], []int{2, 2}, 0},
		{nil, nil, -1},
	} {
		s, err := sampleTerms(t.Context(), textIndex(t, index.Options{}, c.texts, c.segments...), newRng(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		if c.want < 0 {
			if len(s.full) > 0 || s.segment != nil {
				t.Errorf("of an empty index: %+v", s)
			}
			continue
		}
		want := []string{"first", "largest"}[c.want]
		if got := string(s.any()); got != want || seenOf(s) != 1 {
			t.Errorf("segments of %v documents: %d terms, such as %q, want %q", c.segments, seenOf(s), got, want)
		}
	}
}

// reopened returns an index of texts, with one segment, after a change of the
// middle byte of a file, if any.
func reopened(t *testing.T, texts []string, damaged string) *index.Snapshot {
	t.Helper()
	mem := vfstest.NewMem()
	ix, err := index.Create(mem, "ix", index.Options{Analyzer: "whitespace"})
	if err != nil {
		t.Fatal(err)
	}
	w, err := ix.Writer(index.WriterOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if err := w.Add(&corpus.Document{ID: fmt.Sprint(i), Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Commit(t.Context()), w.Close(), ix.Close()); err != nil {
		t.Fatal(err)
	}
	if damaged != "" {
		name := filepath.Join("ix", "seg-000001", damaged)
		data := mem.Get(name)
		data[len(data)/2] ^= 1
		mem.Set(name, data)
	}
	if ix, err = index.Open(mem, "ix"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	return indextest.Snapshot(t, ix)
}

// pairs returns texts of two words, which are in no other text.
func pairs(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("left%03d right%03d", i, i)
	}
	return texts
}

func TestSampleTermsErrors(t *testing.T) {
	if s, err := sampleTerms(t.Context(), reopened(t, pairs(300), "records"), newRng(), longWait); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("damage in records: %+v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sampleTerms(ctx, reopened(t, pairs(30), ""), newRng(), longWait); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, damaged := range []string{"records", "postings"} {
		s, err := sampleTerms(t.Context(), reopened(t, pairs(300), ""), newRng(), longWait)
		if err != nil {
			t.Fatal(err)
		}
		s.segment = &reopened(t, pairs(300), damaged).Segments[0]
		failed := 0
		for range 40 {
			q, _, err := s.random(false)
			if err != nil {
				failed++
			}
			if (err != nil) != errors.Is(err, base.ErrCorrupt) || (err != nil) != (q == nil) {
				t.Errorf("damage in %s: %v, %v", damaged, q, err)
			}
		}
		if failed == 0 || failed == 40 {
			t.Errorf("damage in %s: %d of 40 queries failed, want those with terms of one document", damaged, failed)
		}
		c := &calibrating{terms: *s}
		for err = nil; err == nil; {
			c.m, _ = scripted(t, nil, reopened(t, pairs(3), ""))
			err = c.query(t.Context())
		}
		if !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("damage in %s: %v", damaged, err)
		}
	}
}

// Each term of a stratum stays with the same probability, also the last ones.
func TestReservoir(t *testing.T) {
	const numTerms, rounds = 4 * perStratum, 400
	rng := newRng()
	kept := make([]int, numTerms)
	for range rounds {
		s := &termSample{rng: rng}
		var term []byte
		for i := range numTerms {
			term = append(term[:0], byte(i)) // reused by the caller
			s.add(term, 5)
		}
		if len(s.strata[3]) != perStratum || s.seen[3] != numTerms {
			t.Fatalf("%d terms of %d", len(s.strata[3]), s.seen[3])
		}
		for _, u := range s.strata[3] {
			kept[u[0]]++
		}
	}
	for from := 0; from < numTerms; from += perStratum {
		sum := 0
		for _, n := range kept[from : from+perStratum] {
			sum += n
		}
		if want := rounds * perStratum / 4; sum < want*9/10 || sum > want*11/10 {
			t.Errorf("of the terms from %d on, %d were kept, want about %d", from, sum, want)
		}
	}
}

// Terms come from one document, wherever the search begins.
func TestTogetherInOneDocument(t *testing.T) {
	const numDocs = 20
	s, err := sampleTerms(t.Context(), textIndex(t, index.Options{}, pairs(numDocs)), newRng(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	two := 0
	for range 300 {
		terms, err := s.together(3)
		switch {
		case err != nil:
			t.Fatal(err)
		case len(terms) == 1:
			continue
		case len(terms) != 2 || string(terms[0][len(terms[0])-3:]) != string(terms[1][len(terms[1])-3:]):
			t.Fatalf("%q are in one document", terms)
		}
		two++
	}
	if two < 150 {
		t.Errorf("%d of 300 times two terms were found", two)
	}
	texts := make([]string, 40)
	for i := range texts {
		texts[i] = fmt.Sprintf("common rare%d", i)
	}
	if s, err = sampleTerms(t.Context(), textIndex(t, index.Options{}, texts), newRng(), longWait); err != nil {
		t.Fatal(err)
	}
	others := map[string]bool{}
	for range 100 {
		terms, err := s.together(2)
		if err != nil {
			t.Fatal(err)
		}
		if len(terms) == 2 && string(terms[0]) == "common" {
			others[string(terms[1])] = true
		}
	}
	if len(others) < 5 {
		t.Errorf("a term that all documents have was found with %d others", len(others))
	}
}

// The terms of half of the queries come from one document.
func TestQueriesOfOneDocument(t *testing.T) {
	s, err := sampleTerms(t.Context(), textIndex(t, index.Options{}, pairs(20)), newRng(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	one := 0
	for range 400 {
		q, err := s.query(2)
		if err != nil {
			t.Fatal(err)
		}
		terms := strings.Fields(q.(*query.Words).Text)
		if terms[0] != terms[1] && strings.TrimLeft(terms[0], "lefright") == strings.TrimLeft(terms[1], "lefright") {
			one++
		}
	}
	// 78 % of the tries to find the other term succeed, and 3 % of the random terms.
	if one < 120 || one > 200 {
		t.Errorf("the terms of %d queries of 400 are of one document", one)
	}
}

func TestQueriesOfWeights(t *testing.T) {
	snapshot := indextest.Snapshot(t, indextest.Write(t, index.Options{WeightScale: 100}, func(w *indextest.Writer) {
		for i := range 50 {
			d := corpus.Document{ID: fmt.Sprint(i), Vector: []corpus.TermWeight{{Term: fmt.Sprint("term", i), Weight: 1}, {Term: "common", Weight: 2}}}
			w.Add(&d)
		}
	}))
	s, err := sampleTerms(t.Context(), snapshot, newRng(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	least, most := 9.0, 0.0
	for n := 1; n < 100; n++ {
		q, err := s.query(n)
		if err != nil {
			t.Fatal(err)
		}
		w, ok := q.(*query.Weights)
		if !ok || len(w.Terms) != n {
			t.Fatalf("query of %d terms: %+v", n, q)
		}
		for _, u := range w.Terms {
			least, most = min(least, u.Weight), max(most, u.Weight)
		}
	}
	if least != 1 || most != 1.99 {
		t.Errorf("weights from %g to %g, want 1 to 1.99", least, most)
	}
}

func TestRandomQueries(t *testing.T) {
	s, err := sampleTerms(t.Context(), textIndex(t, index.Options{}, pairs(20)), newRng(), longWait)
	if err != nil {
		t.Fatal(err)
	}
	for _, impacts := range []bool{false, true} {
		modes, ks := map[plan.Mode]int{}, map[int]int{}
		var sizes [7]int
		for range 600 {
			q, o, err := s.random(impacts)
			if err != nil {
				t.Fatal(err)
			}
			n := len(strings.Fields(q.(*query.Words).Text))
			if modes[o.Mode]++; o.Mode == plan.ModeAnd && n < 2 {
				t.Fatalf("AND of %d terms", n)
			}
			ks[o.K]++
			sizes[n]++
		}
		saat := modes[plan.ModeSaat]
		if and := modes[plan.ModeAnd]; and < 200 || and > 280 || saat+and+modes[plan.ModeOr] != 600 || !impacts && saat > 0 || impacts && (saat < 40 || saat > 80) {
			t.Errorf("impacts %v: modes %v", impacts, modes)
		}
		if ks[10] < 300 || ks[100] < 80 || ks[1000] < 80 || ks[10]+ks[100]+ks[1000] != 600 {
			t.Errorf("impacts %v: numbers of hits %v", impacts, ks)
		}
		if sizes[0] > 0 || slices.Min(sizes[1:]) < 20 {
			t.Errorf("impacts %v: queries by size %v", impacts, sizes)
		}
	}
}
