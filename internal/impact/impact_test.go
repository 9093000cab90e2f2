package impact_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type entry struct {
	term     string
	postings []impact.Posting
}

// All densities over numDocs documents, increasing terms.
func randomLists(rng *rand.Rand, numDocs, n int) []entry {
	lists := make([]entry, n)
	for i := range lists {
		lists[i].term = fmt.Sprintf("term%05d", i)
		gap := 1 + rng.IntN(1<<rng.IntN(9))
		impacts := 1 + rng.IntN(255)
		if rng.IntN(3) == 0 {
			impacts = 1 + rng.IntN(3)
		}
		for d := rng.IntN(gap + 1); d < numDocs; d += 1 + rng.IntN(gap) {
			lists[i].postings = append(lists[i].postings, impact.Posting{DocID: base.DocID(d), Impact: uint8(1 + rng.IntN(impacts))})
		}
	}
	return lists
}

func write(t testing.TB, lists []entry, o impact.Options) *impact.Index {
	t.Helper()
	fs := vfstest.NewMem()
	w, err := impact.Create(fs, "impacts", o)
	check(t, err)
	for _, l := range lists {
		check(t, w.Add([]byte(l.term), l.postings))
	}
	check(t, w.Close())
	x, err := impact.Open(fs, "impacts")
	check(t, err)
	t.Cleanup(func() { check(t, x.Close()) })
	size, err := fs.Stat("impacts")
	check(t, err)
	if got := x.SizeBytes(); got != size {
		t.Errorf("size %d, the file has %d", got, size)
	}
	return x
}

// read returns postings in DocID order and checks the segments' order.
func read(t testing.TB, x *impact.Index, l *impact.List) []impact.Posting {
	t.Helper()
	segments, err := l.AppendSegments(nil)
	check(t, err)
	if len(segments) != l.NumSegments() {
		t.Fatalf("%d segments, want %d", len(segments), l.NumSegments())
	}
	var out []impact.Posting
	for i := range segments {
		s := &segments[i]
		if i == 0 && s.Impact != l.Max || i > 0 && s.Impact >= segments[i-1].Impact {
			t.Fatalf("segment %d: impact %d", i, s.Impact)
		}
		docIDs, err := x.AppendDocIDs(nil, s)
		check(t, err)
		for _, d := range docIDs {
			out = append(out, impact.Posting{DocID: d, Impact: s.Impact})
		}
	}
	slices.SortFunc(out, func(a, b impact.Posting) int { return int(a.DocID) - int(b.DocID) })
	return out
}

func external(numDocs int, o impact.Options) impact.Options {
	o.NumDocs, o.Ranking.Name = numDocs, impact.RankingExternal
	return o
}

func TestRoundTrip(t *testing.T) {
	for _, name := range codec.Names() {
		for i, o := range []impact.Options{{}, {BitmapBits: -1, RawBelow: -1}, {BitmapBits: 64, RawBelow: 300}} {
			t.Run(fmt.Sprintf("codec=%s/options=%d", name, i), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(7, uint64(i)))
				o.Codec = name
				numDocs := 1 + rng.IntN(6000)
				lists := randomLists(rng, numDocs, 25)
				x := write(t, lists, external(numDocs, o))
				check(t, x.Verify(t.Context(), nil))
				want := uint64(0)
				for _, l := range lists {
					want += uint64(len(l.postings))
					var got impact.List
					found, err := x.Find([]byte(l.term), &got)
					check(t, err)
					if found != (len(l.postings) > 0) {
						t.Fatalf("term %q: found %v with %d postings", l.term, found, len(l.postings))
					}
					if found && (got.DocFreq != uint32(len(l.postings)) || !slices.Equal(read(t, x, &got), l.postings)) {
						t.Fatalf("term %q: not the postings that were written", l.term)
					}
				}
				if x.Meta().NumPostings != want {
					t.Errorf("%d postings, want %d", x.Meta().NumPostings, want)
				}
				forms := x.Meta()
				if i == 1 && (forms.Raw.Segments > 0 || forms.Bitmap.Segments > 0) || i == 2 && forms.Bitmap.Segments == 0 {
					t.Errorf("forms %+v", forms)
				}
				var l impact.List
				for _, term := range []string{"", "term", "term00000x", "zzz"} {
					if found, err := x.Find([]byte(term), &l); found || err != nil {
						t.Errorf("term %q: found %v, %v", term, found, err)
					}
				}
				if n := testing.AllocsPerRun(10, func() { _, _ = x.Find([]byte("term00001"), &l) }); n > 0 {
					t.Errorf("Find: %v allocations", n)
				}
			})
		}
	}
}

func TestListsAreInOrder(t *testing.T) {
	lists := randomLists(rand.New(rand.NewPCG(1, 1)), 500, 40)
	x := write(t, lists, external(500, impact.Options{}))
	lists = slices.DeleteFunc(lists, func(l entry) bool { return len(l.postings) == 0 })
	it := x.Lists()
	for _, l := range lists {
		if !it.Next() || string(it.Term()) != l.term || !slices.Equal(read(t, x, it.List()), l.postings) {
			t.Fatalf("term %q, want %q: %v", it.Term(), l.term, it.Err())
		}
	}
	if it.Next() || it.Err() != nil {
		t.Errorf("more lists, or %v", it.Err())
	}
}

func TestEmpty(t *testing.T) {
	x := write(t, nil, external(0, impact.Options{}))
	check(t, x.Verify(t.Context(), nil))
	var l impact.List
	if found, err := x.Find([]byte("a"), &l); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestAddRefuses(t *testing.T) {
	for name, lists := range map[string][]entry{
		"DocID past the end":  {{"a", []impact.Posting{{DocID: 10, Impact: 1}}}},
		"DocID twice":         {{"a", []impact.Posting{{DocID: 1, Impact: 1}, {DocID: 1, Impact: 2}}}},
		"DocIDs falling":      {{"a", []impact.Posting{{DocID: 2, Impact: 1}, {DocID: 1, Impact: 2}}}},
		"impact 0":            {{"a", []impact.Posting{{DocID: 2, Impact: 0}}}},
		"term twice":          {{"a", []impact.Posting{{DocID: 2, Impact: 1}}}, {"a", []impact.Posting{{DocID: 2, Impact: 1}}}},
		"terms out of order":  {{"b", []impact.Posting{{DocID: 2, Impact: 1}}}, {"a", []impact.Posting{{DocID: 2, Impact: 1}}}},
		"term without an end": {{string(make([]byte, 1<<17)), []impact.Posting{{DocID: 2, Impact: 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfstest.NewMem()
			w, err := impact.Create(fs, "impacts", external(10, impact.Options{}))
			check(t, err)
			for _, l := range lists {
				err = w.Add([]byte(l.term), l.postings)
			}
			if !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", name, err)
			}
			if err := w.Close(); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: Close: %v", name, err)
			}
			if _, err := fs.Stat("impacts"); err == nil {
				t.Errorf("%s: the file is there", name)
			}
		})
	}
	for _, o := range []impact.Options{
		{Ranking: impact.Ranking{Name: "tfidf"}},
		{Ranking: impact.Ranking{Name: impact.RankingBM25, BM25: score.BM25{K1: -1}}},
		{Codec: "none", Ranking: impact.Ranking{Name: impact.RankingExternal}},
		external(-1, impact.Options{}),
	} {
		if _, err := impact.Create(vfstest.NewMem(), "impacts", o); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestRankingWorkedNumber(t *testing.T) {
	atire := impact.Ranking{Name: impact.RankingATIRE, BM25: score.DefaultBM25}
	check(t, atire.Check())
	if got := atire.Term(1000, 10, 100).Score(3, 120).Float64(); math.Abs(got-3.4783) > 0.0001 {
		t.Errorf("ATIRE's score is %.4f, want 3.4783", got)
	}
	bm25 := impact.Ranking{Name: impact.RankingBM25, BM25: score.DefaultBM25}
	if got := bm25.Term(1000, 10, 100).Score(3, 120); got != 225583 {
		t.Errorf("BM25's score is %d, want 225583", got)
	}
}

func TestQuantizerWorkedNumber(t *testing.T) {
	q := impact.NewQuantizer()
	for _, s := range []base.Score{700, 100, 1116, 104} {
		q.See(s)
	}
	for s, want := range map[base.Score]uint8{100: 1, 103: 1, 104: 2, 1115: 254, 1116: 255} {
		if got := q.Impact(s); got != want {
			t.Errorf("impact of %d is %d, want %d", s, got, want)
		}
	}
	same := impact.NewQuantizer()
	same.See(9)
	if got := same.Impact(9); got != 1 {
		t.Errorf("the only score has impact %d, want 1", got)
	}
	small, large := impact.WeightQuantizer(77), impact.WeightQuantizer(1000)
	for w := range base.Score(255) {
		if got := small.Impact(w + 1); base.Score(got) != w+1 {
			t.Errorf("weight %d becomes %d", w+1, got)
		}
	}
	if got := large.Impact(1000); got != 255 {
		t.Errorf("the greatest weight becomes %d", got)
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	fs := vfstest.NewMem()
	w, err := impact.Create(fs, "impacts", external(300, impact.Options{}))
	check(t, err)
	for _, l := range randomLists(rand.New(rand.NewPCG(4, 4)), 300, 6) {
		check(t, w.Add([]byte(l.term), l.postings))
	}
	check(t, w.Close())
	f, err := fs.Open("impacts")
	check(t, err)
	size, err := fs.Stat("impacts")
	check(t, err)
	data := make([]byte, size)
	_, err = f.ReadAt(data, 0)
	check(t, err)
	check(t, f.Close())
	for i := range data {
		data[i] ^= 1 << (i % 8)
		if err := verify(t, data); !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
			t.Errorf("byte %d: %v", i, err)
		}
		data[i] ^= 1 << (i % 8)
	}
	for _, n := range []int{0, 1, 63, len(data) / 2, len(data) - 1} {
		if err := verify(t, data[:n]); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}

func verify(t testing.TB, data []byte) error {
	t.Helper()
	fs := vfstest.NewMem()
	f, err := fs.Create("impacts")
	check(t, err)
	_, err = f.Write(data)
	check(t, errors.Join(err, f.Close()))
	x, err := impact.Open(fs, "impacts")
	if err != nil {
		return err
	}
	defer x.Close()
	return x.Verify(context.Background(), nil)
}

func TestVerifyEndsWithContext(t *testing.T) {
	x := write(t, randomLists(rand.New(rand.NewPCG(5, 5)), 300, 6), external(300, impact.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Verify(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	x := write(t, randomLists(rand.New(rand.NewPCG(6, 6)), 300, 6), external(300, impact.Options{}))
	var done int64
	check(t, x.Verify(t.Context(), func(n int64) { done += n }))
	if want := 2 * x.SizeBytes(); done > want || done < want-1000 {
		t.Errorf("%d of %d bytes", done, want)
	}
}
