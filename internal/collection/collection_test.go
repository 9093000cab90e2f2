package collection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/trec"
)

const testSourceDocs = 3000

// Zipf-distributed documents, in groups of 50 with their own topic, and a log of queries on the
// topics.
func testSource(t testing.TB) (*index.Snapshot, []trec.Topic) {
	t.Helper()
	ix, err := index.Create(vfs.OS, filepath.Join(t.TempDir(), "source"), index.Options{Analyzer: "simple", NoStored: true, Fields: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	words := func(topic, n int) string {
		var b strings.Builder
		for range n {
			rank := int(math.Pow(500, rng.Float64()))
			if rng.IntN(3) == 0 {
				fmt.Fprintf(&b, "t%dw%d ", topic, rank%20)
			} else {
				fmt.Fprintf(&b, "w%d ", rank)
			}
		}
		return b.String()
	}
	w, err := ix.Writer(index.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range testSourceDocs {
		if err := w.Add(&corpus.Document{ID: fmt.Sprint(i), Text: words(i/50, 20+rng.IntN(40))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Commit(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Release)
	var log []trec.Topic
	for i := range 300 {
		log = append(log, trec.Topic{ID: fmt.Sprint(i), Title: words(i%60, 1+i%5)})
	}
	return s, log
}

// Small enough to check every posting.
func testPreset() Preset {
	return Preset{
		Name: "test", NumDocs: 40_000, NumQueries: 100, MeanPostings: 12_000,
		Span: 1.5, Sites: 20, Breadth: 0.05, LengthSpread: 0.2, RankSite: 0.5, RankLength: 0.25,
	}
}

func generate(t *testing.T, source *index.Snapshot, log []trec.Topic, o Options) (*index.Snapshot, *Report) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made")
	r, err := Generate(t.Context(), vfs.OS, dir, source, log, o)
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Release)
	return s, r
}

func TestGenerateReachesTheTargets(t *testing.T) {
	sampletest.SkipRace(t)
	source, log := testSource(t)
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got/want-1) > tolerance {
			t.Errorf("%s: %g, want %g within %g", what, got, want, tolerance)
		}
	}
	s, r := generate(t, source, log, Options{Like: testPreset(), Order: Crawl, Seed: 1})
	if s.NumDocs != 40_000 || r.NumDocs != 40_000 || r.NumQueries != 100 {
		t.Errorf("%d documents, reported %d, %d queries", s.NumDocs, r.NumDocs, r.NumQueries)
	}
	near("postings of a query", r.Reached[1].Reached, 12_000, 0.02)
	if got := int64(s.Fields[0].NumPostings); got != r.NumPostings {
		t.Errorf("index has %d postings, reported %d", got, r.NumPostings)
	}
	// More postings than the source has: documents of more source documents.
	p := testPreset()
	p.MeanPostings, p.MeanShortest = 0, 6_000
	_, r = generate(t, source, log, Options{Like: p, Order: Crawl, Seed: 1})
	near("postings of the shortest list", r.Reached[2].Reached, 6_000, 0.03)
	if r.Span <= p.Span {
		t.Errorf("span %g, want more than %g", r.Span, p.Span)
	}
	// Half the documents, half the postings.
	_, r = generate(t, source, log, Options{Like: testPreset(), Order: Random, Seed: 1, NumDocs: 20_000})
	near("postings of a query of half the collection", r.Reached[1].Reached, 6_000, 0.02)
}

func TestGenerateIsDeterministic(t *testing.T) {
	source, log := testSource(t)
	sum := func(o Options) uint32 {
		o.Like = testPreset()
		o.NumDocs = sampletest.UnderRace(o.Like.NumDocs, 8_000)
		s, _ := generate(t, source, log, o)
		return s.Segments[0].Meta().Sum()
	}
	for _, order := range sampletest.Some(t, sampletest.UnderRace(len(Orders()), 1), Orders()) {
		one := sum(Options{Order: order, Seed: 7, Threads: 1})
		if three := sum(Options{Order: order, Seed: 7, Threads: 3}); three != one {
			t.Errorf("order %s: 1 and 3 threads make different collections", order)
		}
		if other := sum(Options{Order: order, Seed: 8, Threads: 1}); other == one {
			t.Errorf("order %s: seeds 7 and 8 make the same collection", order)
		}
	}
}

// Each document is composed separately.
func TestGenerateEqualsComposingEachDocument(t *testing.T) {
	sampletest.SkipRace(t)
	source, log := testSource(t)
	o := Options{Like: testPreset(), Order: Rank, Seed: 3, Threads: 2}
	s, r := generate(t, source, log, o)
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	none := func(int64, int64) {}
	_, v, err := drawQueries(source, log, &o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newForward(ctx, source, v, none)
	if err != nil {
		t.Fatal(err)
	}
	topics, err := topicOrder(ctx, f, 1, none)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlan(&o, f, topics)
	want := make([][]uint64, len(v.terms)) // DocID << 32 | frequency
	how, err := calibrate(ctx, &o, f, p, r.Queries, none)
	if err != nil {
		t.Fatal(err)
	}
	c := newComposer(f, p, o.Seed, newSpans(how.span), how.keep)
	for d := range s.NumDocs {
		c.compose(p.at(d), p.starts[p.at(d)])
		if got := s.Segments[0].Lengths(0)[d]; got != c.length {
			t.Fatalf("document %d: length %d, want %d", d, got, c.length)
		}
		for i, term := range c.terms {
			want[term] = append(want[term], uint64(d)<<32|uint64(c.freqs[i]))
		}
	}
	for i, term := range v.terms {
		if got := readList(t, s, term); !slices.Equal(got, want[i]) {
			t.Fatalf("term %q: %d postings, want %d, or others", term, len(got), len(want[i]))
		}
	}
	if id, err := s.Segments[0].ID(39_999); err != nil || string(id) != "test-39999" {
		t.Errorf("id of the last document: %q, %v", id, err)
	}
	if err := s.Segments[0].Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

func readList(t *testing.T, s *index.Snapshot, term string) (list []uint64) {
	t.Helper()
	var l postings.List
	found, err := s.Segments[0].Find(0, []byte(term), &l)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return nil
	}
	var docIDs, freqs [codec.BlockLen]uint32
	for b := range l.NumBlocks() {
		size, err := l.DecodeDocIDs(b, &docIDs)
		if err == nil {
			err = l.DecodeFreqs(b, size, &freqs)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range l.BlockSize(b) {
			list = append(list, uint64(docIDs[i])<<32|uint64(freqs[i]))
		}
	}
	return list
}

// The orders have the same documents; sites make lists less linear.
func TestOrders(t *testing.T) {
	sampletest.SkipRace(t)
	source, log := testSource(t)
	lengths := map[Order][]uint32{}
	ratio := map[Order]float64{}
	for _, order := range Orders() {
		s, r := generate(t, source, log, Options{Like: testPreset(), Order: order, Seed: 1})
		lengths[order] = slices.Sorted(slices.Values(s.Segments[0].Lengths(0)))
		for _, c := range r.Lists {
			if c.From == 1000 {
				ratio[order] = c.Ratio
			}
		}
	}
	if !slices.Equal(lengths[Crawl], lengths[Random]) || !slices.Equal(lengths[Crawl], lengths[Rank]) {
		t.Error("the orders have different documents")
	}
	if !(ratio[Random] < 0.04 && ratio[Random]*2 < ratio[Rank] && ratio[Random]*2 < ratio[Crawl]) {
		t.Errorf("contraction ratios %v: want the random order's small, and at most half of the others'", ratio)
	}
}

func TestGenerateLeavesNothingBehind(t *testing.T) {
	source, log := testSource(t)
	ctx, cancel := context.WithCancel(t.Context())
	dir := filepath.Join(t.TempDir(), "made")
	_, err := Generate(ctx, vfs.OS, dir, source, log, Options{Like: testPreset(), Order: Crawl, Seed: 1, Progress: func(phase string, _, _ int64) {
		if phase == "compose" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}

func TestGenerateRefuses(t *testing.T) {
	source, log := testSource(t)
	foreign := []trec.Topic{{ID: "1", Title: "nowhere"}}
	for name, do := range map[string]func(o *Options) []trec.Topic{
		"no answerable query": func(*Options) []trec.Topic { return foreign },
		"order":               func(o *Options) []trec.Topic { o.Order = "up"; return log },
		"documents":           func(o *Options) []trec.Topic { o.NumDocs = -1; return log },
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Like: testPreset(), Order: Crawl}
			queries := do(&o)
			_, err := Generate(t.Context(), vfs.OS, filepath.Join(t.TempDir(), "made"), source, queries, o)
			if !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestPresets(t *testing.T) {
	for _, name := range Names() {
		p, err := Lookup(name)
		if err != nil || p.Name != name || p.NumDocs == 0 || p.Says == "" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if _, err := Lookup("baidu"); !errors.Is(err, base.ErrBadInput) {
		t.Error(err)
	}
}
