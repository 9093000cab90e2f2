package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// rebuildAndCompare compares the index with a new one of its documents.
func rebuildAndCompare(t *testing.T, ix *Index, window uint32) Comparison {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	return compareSnapshot(t, s, window)
}

func compareSnapshot(t *testing.T, s *Snapshot, window uint32) Comparison {
	t.Helper()
	dir := filepath.Join(filepath.Dir(s.index.dir), "rebuilt")
	check(t, s.Rebuild(t.Context(), dir, RebuildOptions{}))
	fresh, err := Open(s.index.fs, dir)
	check(t, err)
	f, err := fresh.Snapshot()
	check(t, err)
	defer func() {
		f.Release()
		check(t, errors.Join(fresh.Close(), s.index.fs.RemoveAll(dir)))
	}()
	if window == 0 {
		last := int64(-1)
		c, err := s.Compare(t.Context(), f, CompareOptions{MaxDifferences: 50, SampleTerms: 20, Seed: 1, Progress: func(done, total int64) {
			if done < last || done > total {
				t.Errorf("progress %d of %d after %d", done, total, last)
			}
			last = done
		}})
		check(t, err)
		return c
	}
	c := &comparer{ctx: t.Context(), s: s, rebuilt: f, options: CompareOptions{MaxDifferences: 50}, sampler: newTermSampler(0, 0), maxWindow: window}
	if err := c.compare(); !errors.Is(err, errEnoughDifferences) {
		check(t, err)
	}
	return c.result
}

// An index after any history has no difference, with every codec and analyzer, several fields, and
// small windows of lists of reordered segments.
func TestRebuildHistories(t *testing.T) {
	t.Parallel()
	codecs, analyzers := codec.Names(), analysis.Names()
	for i := range max(len(codecs), len(analyzers)) {
		opts := Options{Codec: codecs[i%len(codecs)], Analyzer: analyzers[i%len(analyzers)], Positions: i%3 > 0}
		if i%2 == 0 {
			opts.Fields = []string{"author", "title"}
		}
		t.Run(opts.Codec+" "+opts.Analyzer, func(t *testing.T) {
			t.Parallel()
			ix, live := scattered(t, vfstest.NewMem(), opts, randomDocs(uint64(i), sampletest.UnderRace(500, 150), true))
			defer ix.Close()
			for _, o := range []MergeOptions{{MaxSegments: 100}, {MaxSegments: 2, Reorder: ReorderBP}, {}} {
				if o.MaxSegments != 100 {
					_, err := ix.Merge(t.Context(), o)
					check(t, err)
					remove := live[i : i+3]
					check(t, commitChange(t.Context(), ix, remove, nil))
					live = slices.Delete(live, i, i+3)
				}
				for _, window := range []uint32{0, 1, 7} {
					c := rebuildAndCompare(t, ix, window)
					if len(c.Differences) > 0 || c.Docs != int64(len(live)) || c.Terms == 0 || c.Postings < c.Terms {
						t.Fatalf("window %d: %d documents of %d, %d terms, %d postings, differences %+v",
							window, c.Docs, len(live), c.Terms, c.Postings, c.Differences)
					}
					if want := min(40, 2*int(c.Terms)); window == 0 && len(c.Sample) != want { // of two kinds
						t.Errorf("%d terms in the sample, want %d", len(c.Sample), want)
					}
				}
			}
		})
	}
}

func TestRebuildEmpty(t *testing.T) {
	docs := randomDocs(1, 1, false)
	ix, _ := build(t, docs, Options{}, BuildOptions{})
	defer ix.Close()
	check(t, commitChange(t.Context(), ix, docs, nil))
	if c := rebuildAndCompare(t, ix, 0); len(c.Differences) > 0 || c.Docs != 0 {
		t.Errorf("%+v", c)
	}
}

func TestCanRebuild(t *testing.T) {
	for _, opts := range []Options{{NoStored: true}, {WeightScale: 10}} {
		ix, err := Create(vfstest.NewMem(), "ix", opts)
		check(t, err)
		s, err := ix.Snapshot()
		check(t, err)
		if err := s.Rebuild(t.Context(), "rebuilt", RebuildOptions{}); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "store") {
			t.Errorf("%+v: error %v", opts, err)
		}
		s.Release()
		check(t, ix.Close())
	}
}

func TestRebuildCancelled(t *testing.T) {
	ix, _ := build(t, randomDocs(1, 300, false), Options{}, BuildOptions{})
	defer ix.Close()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	check(t, s.Rebuild(ctx, dir, RebuildOptions{}))
	cancel()
	if err := s.Rebuild(ctx, filepath.Join(t.TempDir(), "again"), RebuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("rebuild: error %v", err)
	}
	fresh, err := Open(ix.fs, dir)
	check(t, err)
	defer fresh.Close()
	f, err := fresh.Snapshot()
	check(t, err)
	defer f.Release()
	if _, err := s.Compare(ctx, f, CompareOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("compare: error %v", err)
	}
}

// Damage with valid checksums is found, with its place.
func TestRebuildFindsDamage(t *testing.T) {
	t.Parallel()
	docs := randomDocs(3, 400, false)
	for name, c := range map[string]struct {
		change alteredSource
		what   string
	}{
		"missing posting":   {alteredSource{block: func(b *segment.PostingBlock) { dropPosting(b) }}, "posting"},
		"frequency":         {alteredSource{block: func(b *segment.PostingBlock) { b.Freqs[0]++; b.Positions = append([]byte{0}, b.Positions...) }}, "posting"},
		"position":          {alteredSource{block: func(b *segment.PostingBlock) { b.Positions = slices.Clone(b.Positions); b.Positions[0]++ }}, "posting"},
		"length":            {alteredSource{length: 1}, "length"},
		"order":             {alteredSource{swap: true}, "posting"},
		"none, only copied": {alteredSource{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, reorder := range []string{ReorderNone, ReorderBP} {
				if c.change.swap && reorder == ReorderNone {
					continue
				}
				ix, _ := build(t, docs, Options{Positions: true}, BuildOptions{Reorder: reorder})
				defer ix.Close()
				s, err := ix.Snapshot()
				check(t, err)
				defer s.Release()
				change := c.change
				change.Source, err = s.Segments[0].Source(nil)
				check(t, err)
				damaged, err := Create(vfstest.NewMem(), "damaged", Options{Positions: true})
				check(t, err)
				defer damaged.Close()
				_, err = damaged.Import(t.Context(), &change, ImportOptions{})
				check(t, err)
				got := rebuildAndCompare(t, damaged, 0)
				checkReverse(t, s, damaged, c.what)
				if c.what == "" {
					if len(got.Differences) > 0 {
						t.Fatalf("differences %+v", got.Differences)
					}
					continue
				}
				if !slices.ContainsFunc(got.Differences, func(d Difference) bool {
					return d.What == c.what && d.HasField && d.ID != "" && strings.Contains(d.Place(), d.ID)
				}) {
					t.Errorf("reorder %s: differences %+v, want %s", reorder, got.Differences, c.what)
				}
			}
		})
	}
}

// checkReverse compares a sound snapshot with a damaged index in the place of the rebuilt one: a
// missing item is then a surplus one.
func checkReverse(t *testing.T, s *Snapshot, damaged *Index, what string) {
	t.Helper()
	d, err := damaged.Snapshot()
	check(t, err)
	defer d.Release()
	if d.Segments[0].isReordered() || s.Segments[0].isReordered() {
		return // the rebuilt index is in the order of writing
	}
	for _, most := range []int{0, 50} {
		c, err := s.Compare(t.Context(), d, CompareOptions{MaxDifferences: most})
		check(t, err)
		if (len(c.Differences) > 0) != (what != "") || most == 0 && len(c.Differences) > 1 {
			t.Errorf("reverse, at most %d: differences %+v, want %s", most, c.Differences, what)
		}
		if what == "posting" && most > 0 && !slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.What == what }) {
			t.Errorf("reverse: differences %+v, want %s", c.Differences, what)
		}
	}
}

// isReordered reports whether the view is reordered.
func (v *View) isReordered() bool {
	numbers, _, err := v.Written()
	return numbers != nil || err != nil
}

// alteredSource changes a list of the default field, a length, or the order of two documents.
type alteredSource struct {
	segment.Source
	block  func(b *segment.PostingBlock)
	length uint32
	swap   bool
}

func (s *alteredSource) Lists() (segment.ListIterator, error) {
	lists, err := s.Source.Lists()
	return &alteredLists{ListIterator: lists, s: s}, err
}

func (s *alteredSource) Lengths(f base.FieldID) []uint32 {
	lengths := slices.Clone(s.Source.Lengths(f))
	lengths[7] += s.length
	return lengths
}

func (s *alteredSource) Order() ([]uint32, error) {
	order, err := s.Source.Order()
	if s.swap {
		order = slices.Clone(order)
		order[3], order[9] = order[9], order[3]
	}
	return order, err
}

type alteredLists struct {
	segment.ListIterator
	s    *alteredSource
	done bool
}

func (l *alteredLists) ReadBlock(b *segment.PostingBlock) error {
	err := l.ListIterator.ReadBlock(b)
	if !l.done && l.s.block != nil && b.N > 3 && l.DocFreq() < 128 {
		l.done = true
		l.s.block(b)
	}
	return err
}

func (l *alteredLists) DocFreq() int { return l.ListIterator.DocFreq() }

// dropPosting drops the last posting of a block.
func dropPosting(b *segment.PostingBlock) {
	b.N--
	kept := uint32(0)
	for _, f := range b.Freqs[:b.N] {
		kept += f
	}
	b.Positions = b.Positions[:vbytesLen(b.Positions, kept)]
}

// Wrong counts of deleted documents are found, and wrong statistics.
func TestRebuildFindsWrongCounts(t *testing.T) {
	docs := randomDocs(5, 300, false)
	ix, _ := build(t, docs, Options{}, BuildOptions{})
	defer ix.Close()
	check(t, commitChange(t.Context(), ix, docs[10:12], nil))
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	damaged := &Snapshot{Segments: slices.Clone(s.Segments), Generation: 1, Options: s.Options, Fields: slices.Clone(s.Fields), NumDocs: s.NumDocs, NumLive: s.NumLive, index: s.index}
	v := &damaged.Segments[0]
	gone := v.Live.Complement()
	counts, err := v.CountDocs(t.Context(), gone)
	check(t, err)
	terms := v.Terms(0, nil)
	if !terms.Next() {
		t.Fatal("no term")
	}
	first := string(terms.Term())
	wrong := v.NewListCounts()
	wrong.AddTokens(0, counts.Tokens(0))
	v.Deletions = (*segment.Deletions)(nil).With(gone, wrong)
	damaged.Fields[1].TotalTokens++
	got := compareSnapshot(t, damaged, 0)
	found := 0
	for _, d := range got.Differences {
		switch {
		case d.What == "document frequency" && d.HasField && d.Term != "":
			found |= 1
		case d.What == "number of tokens" && d.Field == "title":
			found |= 2
		case d.What != "document frequency":
			t.Errorf("difference %+v", d)
		}
	}
	if found != 3 {
		t.Errorf("differences %+v, want document frequencies (first term %q) and the number of tokens", got.Differences, first)
	}
}

// The sample has each term once for each kind, prefers frequent terms in one, and depends on the
// seed.
func TestTermSampler(t *testing.T) {
	draw := func(seed uint64) []SampledTerm {
		s := newTermSampler(50, seed)
		for i := range 10_000 {
			s.add("f", fmt.Append(nil, i), 1+9999*uint64(1-min(i%100, 1)))
		}
		return s.terms()
	}
	first := draw(1)
	if !slices.Equal(first, draw(1)) || slices.Equal(first, draw(2)) {
		t.Error("the sample does not depend on the seed alone")
	}
	frequent := 0
	for _, s := range first {
		if strings.HasSuffix(s.Term, "00") || s.Term == "0" {
			frequent++
		}
	}
	if len(first) != 100 || frequent < 45 || frequent > 60 {
		t.Errorf("%d terms, %d of them frequent, want 100 and about 50", len(first), frequent)
	}
	few := newTermSampler(3, rand.Uint64())
	few.add("", []byte("x"), 1)
	if got := few.terms(); len(got) != 2 {
		t.Errorf("sample %v of one term", got)
	}
}

// Documents that are not in the order of the log are found.
func TestRebuildFindsOrderOfLog(t *testing.T) {
	docs := randomDocs(7, 40, false)
	for _, c := range []struct {
		name string
		seqs []uint64 // of the segments' first documents
		want int
	}{{"rising", []uint64{1, 100}, 0}, {"swapped", []uint64{100, 1}, 1}} {
		t.Run(c.name, func(t *testing.T) {
			ix, err := Create(vfstest.NewMem(), "ix", Options{})
			check(t, err)
			defer ix.Close()
			check(t, commitChange(t.Context(), ix, nil, docs[:5])) // without numbers
			l, err := ix.Live()
			check(t, err)
			for i, seq := range c.seqs {
				part, _ := build(t, docs[10+10*i:20+10*i], Options{}, BuildOptions{})
				defer part.Close()
				s, err := part.Snapshot()
				check(t, err)
				defer s.Release()
				source, err := s.Segments[0].Source(nil)
				check(t, err)
				_, err = l.Publish(t.Context(), []segment.Source{&numberedSource{source, seq}}, func() error { return nil }, nil, nil, 0, seq)
				check(t, err)
			}
			_, err = l.Flush(t.Context())
			check(t, errors.Join(err, l.Close()))
			verify(t, ix)
			got := rebuildAndCompare(t, ix, 0)
			if len(got.Differences) != c.want || c.want > 0 && (got.Differences[0].What != "number in the log" || got.Differences[0].ID != docs[20].ID) {
				t.Errorf("differences %+v, want %d", got.Differences, c.want)
			}
		})
	}
}

// numberedSource has documents with numbers in the log from first on.
type numberedSource struct {
	segment.Source
	first uint64
}

func (s *numberedSource) HasVersions() bool { return true }

func (s *numberedSource) Version(doc int) segment.Version {
	return segment.Version{Seq: s.first + uint64(doc), Number: 1}
}
