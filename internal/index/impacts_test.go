package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func severalSegments(t testing.TB, fs *vfstest.Mem) *Index {
	t.Helper()
	docs := randomDocs(50, 300, true)
	ix := create(t, fs, Options{})
	for i, part := range [][]corpus.Document{docs[:200], docs[200:280], docs[280:]} {
		w := newWriter(t, ix)
		addAll(t, w, part)
		if i > 0 {
			check(t, w.Delete(docs[7*i].ID))
		}
		check(t, w.Commit(t.Context()))
		check(t, w.Close())
	}
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	if len(s.Segments) < 2 || s.NumLive == s.NumDocs {
		t.Fatalf("%d segments, %d of %d documents live", len(s.Segments), s.NumLive, s.NumDocs)
	}
	return ix
}

func expectImpacts(t testing.TB, s *Snapshot, ranking impact.Ranking) map[string][]impact.Posting {
	t.Helper()
	type posting struct {
		doc          base.DocID
		freq, length uint32
	}
	live := map[string][]posting{}
	for i := range s.Segments {
		v := &s.Segments[i]
		for doc, d := range dumpSegment(t, v.Segment, len(s.Fields)) {
			for term, freq := range d.Terms[0] {
				if v.Live == nil || v.Live.Has(doc) {
					live[term] = append(live[term], posting{v.Base + base.DocID(doc), freq[0], d.Lengths[0]})
				}
			}
		}
	}
	scores := map[string][]base.Score{}
	q := impact.NewQuantizer()
	for term, list := range live {
		scorer := ranking.Term(s.Fields[0].NumDocs, uint64(len(list)), s.Fields[0].AvgLen())
		for _, p := range list {
			v := scorer.Score(p.freq, p.length)
			scores[term] = append(scores[term], v)
			q.See(v)
		}
	}
	out := map[string][]impact.Posting{}
	for term, list := range live {
		for i, p := range list {
			out[term] = append(out[term], impact.Posting{DocID: p.doc, Impact: q.Impact(scores[term][i])})
		}
	}
	return out
}

// postingsOf returns a list by DocID.
func postingsOf(t testing.TB, l *impact.List) (postings []impact.Posting) {
	t.Helper()
	segments, err := l.AppendSegments(nil)
	check(t, err)
	for i := range segments {
		docIDs, err := l.Index().AppendDocIDs(nil, &segments[i])
		check(t, err)
		for _, d := range docIDs {
			postings = append(postings, impact.Posting{DocID: d, Impact: segments[i].Impact})
		}
	}
	slices.SortFunc(postings, func(a, b impact.Posting) int { return int(a.DocID) - int(b.DocID) })
	return postings
}

func sameImpacts(t testing.TB, s *Snapshot, want map[string][]impact.Posting) {
	t.Helper()
	x, err := s.StoredImpacts()
	check(t, err)
	it := x.Lists()
	numTerms := 0
	for it.Next() {
		if got := postingsOf(t, it.List()); !slices.Equal(got, want[string(it.Term())]) {
			t.Fatalf("term %q: %v, want %v", it.Term(), got, want[string(it.Term())])
		}
		numTerms++
	}
	check(t, it.Err())
	if numTerms != len(want) {
		t.Errorf("%d terms, want %d", numTerms, len(want))
	}
}

func TestBuildImpacts(t *testing.T) {
	fs := vfstest.NewMem()
	ix := severalSegments(t, fs)
	defer ix.Close()
	for _, c := range []struct {
		options ImpactOptions
		want    impact.Ranking
	}{
		{ImpactOptions{}, impact.Ranking{Name: impact.RankingBM25, BM25: score.DefaultBM25}},
		{
			ImpactOptions{Ranking: impact.RankingATIRE, BM25: &score.BM25{K1: 2, B: 0.7}, Codec: "raw", BitmapBits: -1},
			impact.Ranking{Name: impact.RankingATIRE, BM25: score.BM25{K1: 2, B: 0.7}},
		},
	} {
		var done, total int64
		c.options.Progress = func(d, n int64) { done, total = d, n }
		meta, err := ix.BuildImpacts(t.Context(), c.options)
		check(t, err)
		if meta.Ranking != c.want.Name || meta.K1 != c.want.K1 || meta.B != c.want.B || c.options.Codec != "" && meta.Codec != c.options.Codec {
			t.Errorf("%+v", meta)
		}
		if done != total || total == 0 {
			t.Errorf("progress ends with %d of %d", done, total)
		}
		s, err := ix.Snapshot()
		check(t, err)
		sameImpacts(t, s, expectImpacts(t, s, c.want))
		check(t, s.Verify(t.Context(), nil))
		s.Release()
	}
}

// The next commit drops the file; older snapshots keep it. Lists are computed from then on.
func TestImpactsAreOfOneCommit(t *testing.T) {
	fs := vfstest.NewMem()
	ix := severalSegments(t, fs)
	defer ix.Close()
	before, err := ix.Snapshot()
	check(t, err)
	defer before.Release()
	_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, err)
	if _, err := before.Impacts(); !errors.Is(err, ErrNoImpacts) || !errors.Is(err, base.ErrBadInput) {
		t.Errorf("before the first lists: %v", err)
	}
	built, err := ix.Snapshot()
	check(t, err)
	defer built.Release()
	x, err := built.StoredImpacts()
	check(t, err)
	w := newWriter(t, ix)
	addAll(t, w, randomDocs(51, 3, false))
	if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{}); !errors.Is(err, base.ErrLocked) {
		t.Errorf("while a writer is open: %v", err)
	}
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	after, err := ix.Snapshot()
	check(t, err)
	defer after.Release()
	if _, err := after.StoredImpacts(); !errors.Is(err, ErrNoImpacts) {
		t.Errorf("after a commit: %v", err)
	}
	if i := slices.IndexFunc(fs.Names(), func(name string) bool { return strings.Contains(name, "impacts-") }); i >= 0 {
		t.Errorf("%s was left behind", fs.Names()[i])
	}
	if y, err := after.Impacts(); err != nil || !y.IsComputed() || x.IsComputed() {
		t.Errorf("after a commit: %v", err)
	}
	check(t, x.Verify(t.Context(), nil))
}

// computedAre compares computed lists with expected ones.
func computedAre(t testing.TB, s *Snapshot, want map[string][]impact.Posting) {
	t.Helper()
	x, err := s.Impacts()
	check(t, err)
	if !x.IsComputed() {
		t.Fatal("the lists are of a file")
	}
	for term, list := range want {
		var l impact.List
		found, err := x.Find([]byte(term), &l)
		check(t, err)
		if !found {
			t.Fatalf("term %q is not found", term)
		}
		if got := postingsOf(t, &l); !slices.Equal(got, list) {
			t.Fatalf("term %q: %v, want %v", term, got, list)
		}
	}
	var l impact.List
	if found, err := x.Find([]byte("no such term"), &l); found || err != nil {
		t.Errorf("a term of no document: %v, %v", found, err)
	}
}

// Computed lists are those of a file, for any ranking and after any changes.
func TestComputedImpacts(t *testing.T) {
	for _, r := range []impact.Ranking{
		{Name: impact.RankingBM25, BM25: score.DefaultBM25},
		{Name: impact.RankingBM25, BM25: score.BM25{K1: 0, B: 0}},
		{Name: impact.RankingATIRE, BM25: score.DefaultBM25},
		{Name: impact.RankingATIRE, BM25: score.BM25{K1: 2.5, B: 1}},
	} {
		ix := severalSegments(t, vfstest.NewMem())
		defer ix.Close()
		_, err := ix.BuildImpacts(t.Context(), ImpactOptions{Ranking: r.Name, BM25: &r.BM25, Codec: "pfordelta", BitmapBits: 4})
		check(t, err)
		for seed := range uint64(6) {
			docs := randomDocs(60+seed, 20+int(seed)*10, true)
			for i := range docs { // the lowest scores are of the last term
				docs[i].Text += " zz" + strings.Repeat(" other", i%7)
			}
			w := newWriter(t, ix)
			addAll(t, w, docs)
			for i := 0; i < len(docs); i += 3 {
				check(t, w.Delete(docs[i].ID))
			}
			check(t, w.Commit(t.Context()))
			check(t, w.Close())
			s, err := ix.Snapshot()
			check(t, err)
			computedAre(t, s, expectImpacts(t, s, r))
			s.Release()
		}
		report, err := ix.Merge(t.Context(), MergeOptions{})
		check(t, err)
		s, err := ix.Snapshot()
		check(t, err)
		x, err := s.StoredImpacts()
		check(t, err)
		if report.Impacts != ImpactsRebuilt || x.Meta().Codec != "pfordelta" {
			t.Errorf("impacts %d, %+v", report.Impacts, x.Meta())
		}
		sameImpacts(t, s, expectImpacts(t, s, r))
		s.Release()
	}
}

// A list that could not be computed is computed for the next query.
func TestComputedImpactsAfterError(t *testing.T) {
	fail := errors.New("injected")
	errs := []error{fail, nil}
	x, err := impact.NewComputed(impact.Options{NumDocs: 3, Ranking: impact.Ranking{Name: impact.RankingExternal}}, func(_ []byte, dst []impact.Posting) ([]impact.Posting, error) {
		err := errs[0]
		errs = errs[1:]
		return append(dst, impact.Posting{DocID: 2, Impact: 9}), err
	})
	check(t, err)
	var l impact.List
	for _, want := range []error{fail, nil, nil} { // the last is a kept list
		if found, err := x.Find([]byte("a"), &l); !errors.Is(err, want) || found != (want == nil) {
			t.Errorf("found %v, error %v, want %v", found, err, want)
		}
	}
	if l.DocFreq != 1 || l.Max != 9 {
		t.Errorf("%+v", l)
	}
}

func TestImpactsOfAnotherIndex(t *testing.T) {
	fs := vfstest.NewMem()
	ix := severalSegments(t, fs)
	defer ix.Close()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	for name, o := range map[string]impact.Options{
		"another index":      {IndexID: newID(), Generation: s.Generation, NumDocs: s.NumDocs},
		"another generation": {IndexID: s.indexID, Generation: s.Generation - 1, NumDocs: s.NumDocs},
		"more documents":     {IndexID: s.indexID, Generation: s.Generation, NumDocs: s.NumDocs + 1},
	} {
		t.Run(name, func(t *testing.T) {
			o.Ranking.Name = impact.RankingExternal
			w, err := impact.Create(fs, ix.path(impactsName(s.Generation)), o)
			check(t, err)
			check(t, w.Close())
			if _, err := s.Impacts(); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("lists of %s: %v", name, err)
			}
			if err := s.Verify(t.Context(), nil); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("Verify with lists of %s: %v", name, err)
			}
		})
	}
}

func TestBuildImpactsRefuses(t *testing.T) {
	fs := vfstest.NewMem()
	empty := create(t, fs, Options{})
	defer empty.Close()
	if _, err := empty.BuildImpacts(t.Context(), ImpactOptions{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("nothing committed: %v", err)
	}
	ix := severalSegments(t, vfstest.NewMem())
	defer ix.Close()
	for _, o := range []ImpactOptions{
		{Ranking: "tfidf"},
		{BM25: &score.BM25{K1: 1, B: 2}},
		{Codec: "none"},
	} {
		if _, err := ix.BuildImpacts(t.Context(), o); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestImpactsOfWeights(t *testing.T) {
	for _, greatest := range []uint32{200, 1000} {
		fs := vfstest.NewMem()
		ix := create(t, fs, Options{WeightScale: 1})
		defer ix.Close()
		w := newWriter(t, ix)
		want := map[string][]impact.Posting{}
		q := impact.WeightQuantizer(base.Score(greatest))
		for i := range uint32(40) {
			weight := 1 + i*(greatest-1)/39
			term := fmt.Sprintf("t%d", i%3)
			check(t, w.Add(&corpus.Document{ID: fmt.Sprint(i), Vector: []corpus.TermWeight{{Term: term, Weight: float64(weight)}}}))
			want[term] = append(want[term], impact.Posting{DocID: base.DocID(i), Impact: q.Impact(base.Score(weight))})
		}
		check(t, w.Commit(t.Context()))
		check(t, w.Close())
		_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
		check(t, err)
		if _, err := ix.BuildImpacts(t.Context(), ImpactOptions{Ranking: impact.RankingBM25}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("BM25 of weights: %v", err)
		}
		s, err := ix.Snapshot()
		check(t, err)
		defer s.Release()
		sameImpacts(t, s, want)

		w = newWriter(t, ix)
		check(t, w.Add(&corpus.Document{ID: "more", Vector: []corpus.TermWeight{{Term: "t1", Weight: float64(greatest)}}}))
		check(t, w.Delete("39")) // the only one of the greatest weight before
		check(t, w.Commit(t.Context()))
		check(t, w.Close())
		want["t0"] = slices.DeleteFunc(want["t0"], func(p impact.Posting) bool { return p.DocID == 39 })
		want["t1"] = append(want["t1"], impact.Posting{DocID: 40, Impact: 255})
		if greatest < 255 {
			want["t1"][len(want["t1"])-1].Impact = uint8(greatest)
		}
		grown, err := ix.Snapshot()
		check(t, err)
		defer grown.Release()
		computedAre(t, grown, want)
	}
}
