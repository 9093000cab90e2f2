package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// For any parameters, also others than the bounds of the index have, the range of scores is the exact one.
func TestScoreRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	parameters := func() score.BM25 {
		return score.BM25{K1: []float32{0, 1e-30, 1e-6, 0.9, 1.2, 1000}[rng.IntN(6)], B: []float32{0, 1e-7, 0.4, 1}[rng.IntN(4)]}
	}
	for range 40 {
		own := parameters()
		ix := create(t, vfstest.NewMem(), Options{Analyzer: "whitespace", BM25: own})
		for range 3 {
			w := newWriter(t, ix)
			for range 1 + rng.IntN(30) {
				words := make([]string, 1+rng.IntN(1+rng.IntN(60)))
				for i := range words {
					words[i] = fmt.Sprint("w", 99-min(int(rng.ExpFloat64()*12), 99)) // common words are last
				}
				check(t, w.Add(&corpus.Document{ID: fmt.Sprint(rng.IntN(60)), Text: strings.Join(words, " ")}))
			}
			check(t, w.Delete(fmt.Sprint(rng.IntN(60))))
			check(t, w.Commit(t.Context()))
			check(t, w.Close())
			s, err := ix.Snapshot()
			check(t, err)
			ranking := impact.Ranking{Name: impact.Rankings[rng.IntN(2)], BM25: own}
			if rng.IntN(2) == 0 {
				ranking.BM25 = parameters()
			}
			r := scoreRange{snapshot: s, settings: &ImpactSettings{Ranking: ranking.Name, K1: ranking.K1, B: ranking.B}, quantizer: impact.NewQuantizer()}
			check(t, r.begin())
			_, err = r.find(nil)
			check(t, err)
			want := impact.NewQuantizer()
			b := &impactBuild{snapshot: s, settings: r.settings}
			check(t, b.eachList(t.Context(), func(_ []byte, postings []scoredPosting) error {
				for i := range postings {
					want.See(postings[i].score)
				}
				return nil
			}))
			if r.quantizer != want {
				t.Fatalf("%+v in an index with %+v: %+v, want %+v", ranking, own, r.quantizer, want)
			}
			s.Release()
		}
		check(t, ix.Close())
	}
}

type stopped struct{ error }

func (s stopped) Err() error { return s.error }

// A query that may not wait ends while another one computes, and its own computation ends, too. Statistics do not wait.
func TestImpactsUntil(t *testing.T) {
	ix := severalSegments(t, vfstest.NewMem())
	defer ix.Close()
	_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, randomDocs(70, 3, false)))
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	late := errors.New("late")
	check(t, s.impacts.computing.take(t.Context()))
	began := time.Now()
	if _, err := s.ImpactsUntil(stopped{late}); !errors.Is(err, late) || time.Since(began) > time.Second {
		t.Errorf("beside another query: %v", err)
	}
	if _, err := s.StoredImpacts(); !errors.Is(err, ErrNoImpacts) {
		t.Errorf("stored lists: %v", err)
	}
	s.impacts.computing.giveBack()
	if x, err := s.ImpactsUntil(stopped{}); err != nil || !x.IsComputed() {
		t.Errorf("in time: %v", err)
	}
}

// Queries that have too little time go on where the one before ended.
func TestImpactsUntilGoesOn(t *testing.T) {
	ix := create(t, vfstest.NewMem(), Options{Analyzer: "whitespace"})
	defer ix.Close()
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "w%d ", i)
	}
	check(t, commitChange(t.Context(), ix, nil, []corpus.Document{{ID: "a", Text: text.String()}}))
	_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, []corpus.Document{{ID: "b", Text: "w1 w1 w9"}}))
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	late := errors.New("late")
	for n := 1; ; n++ {
		if _, err = s.ImpactsUntil(stopped{late}); err == nil {
			if n < 4 {
				t.Errorf("%d queries were enough", n)
			}
			break
		}
		if !errors.Is(err, late) || n > 6 {
			t.Fatalf("query %d: %v", n, err)
		}
	}
	computedAre(t, s, expectImpacts(t, s, impact.Ranking{Name: impact.RankingBM25, BM25: score.DefaultBM25}))
}

// The settings of a file that an earlier version made are kept by the next commit, whether of a Live or not.
func TestImpactsOfEarlierVersion(t *testing.T) {
	for _, live := range []bool{false, true} {
		mem := vfstest.NewMem()
		ix := severalSegments(t, mem)
		_, err := ix.BuildImpacts(t.Context(), ImpactOptions{Ranking: impact.RankingATIRE, Codec: "raw"})
		check(t, err)
		m := ix.currentManifest().clone()
		m.Impacts = nil
		_, err = m.save(mem, ix.dir)
		check(t, errors.Join(err, ix.Close()))
		ix, err = Open(mem, ix.dir)
		check(t, err)
		if live {
			l := newLiveModel(t, ix, 5)
			for generation := ix.currentManifest().Generation; ix.currentManifest().Generation == generation; {
				l.publish()
			}
			_, err = l.live.Flush(t.Context())
			check(t, errors.Join(err, l.live.Close()))
		} else {
			check(t, commitChange(t.Context(), ix, nil, randomDocs(71, 3, false)))
		}
		s, err := ix.Snapshot()
		check(t, err)
		computedAre(t, s, expectImpacts(t, s, impact.Ranking{Name: impact.RankingATIRE, BM25: score.DefaultBM25}))
		if settings := s.ImpactSettings(); settings.Codec != "raw" {
			t.Errorf("live %t: %+v", live, settings)
		}
		s.Release()
		check(t, ix.Close())
	}
}

// A checkpoint of an earlier version has no settings.
func TestImpactsOfEarlierCheckpoint(t *testing.T) {
	disk := vfstest.NewDisk()
	ix, err := Create(disk, "ix", Options{})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, randomDocs(72, 20, false)))
	_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, err)
	m := ix.currentManifest().clone()
	m.Impacts = nil
	_, err = m.save(disk, "ix")
	check(t, errors.Join(err, ix.Close()))
	ix, err = Open(disk, "ix")
	check(t, err)
	l := newLiveModel(t, ix, 6)
	for l.seq == 0 || len(l.docs) == 0 {
		l.publish()
	}
	now := ix.currentManifest().clone()
	now.Impacts = nil
	ix.showing.Lock()
	check(t, ix.show(now))
	ix.showing.Unlock()
	check(t, l.live.Checkpoint(t.Context()))
	after := disk.AfterKill()
	check(t, errors.Join(l.live.Close(), ix.Close()))
	ix, err = Open(after, "ix")
	check(t, err)
	defer ix.Close()
	live, err := ix.Live()
	check(t, err)
	if seq, err := live.Adopt(t.Context(), l.seq); err != nil || seq != l.seq {
		t.Fatalf("adopted %d of %d, %v", seq, l.seq, err)
	}
	_, err = live.Flush(t.Context())
	check(t, err)
	checkImpacts(t, ix)
	check(t, live.Close())
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	if s.ImpactSettings() == nil {
		t.Error("the settings are lost")
	}
}

// Damaged lists, or ones that cannot be read, do not prevent commits, and a merge makes them again.
func TestUnreadableImpacts(t *testing.T) {
	mem := vfstest.NewMem()
	ix := severalSegments(t, mem)
	_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, err)
	_, err = ix.Merge(t.Context(), MergeOptions{})
	check(t, err)
	name := ix.path(impactsName(ix.currentManifest().Generation))
	check(t, ix.Close())
	data := mem.Get(name)
	data[len(data)-1] ^= 1
	mem.Set(name, data)
	ix, err = Open(mem, ix.dir)
	check(t, err)
	report, err := ix.Merge(t.Context(), MergeOptions{})
	if err != nil || report.Impacts != ImpactsRebuilt || !checkImpacts(t, ix) {
		t.Errorf("merge of damaged lists: %+v, %v", report, err)
	}
	m := ix.currentManifest().clone()
	m.Impacts = nil // as of an earlier version
	_, err = m.save(mem, ix.dir)
	check(t, errors.Join(err, ix.Close()))
	data = mem.Get(name)
	data[len(data)-1] ^= 1
	mem.Set(name, data)
	ix, err = Open(mem, ix.dir)
	check(t, err)
	defer ix.Close()
	check(t, commitChange(t.Context(), ix, nil, randomDocs(73, 3, false)))
}

// Of lists that are too much together, some are kept.
func TestComputedImpactsForget(t *testing.T) {
	const size = 25 << 20
	calls := map[string]int{}
	list := make([]impact.Posting, size/4)
	for i := range list {
		list[i] = impact.Posting{DocID: base.DocID(i), Impact: 1 + uint8(i%2)}
	}
	o := impact.Options{NumDocs: len(list), Ranking: impact.Ranking{Name: impact.RankingExternal}, Codec: "raw", BitmapBits: -1}
	x, err := impact.NewComputed(o, func(term []byte, dst []impact.Posting) ([]impact.Posting, error) {
		calls[string(term)]++
		return append(dst, list...), nil
	})
	check(t, err)
	const rounds = 4
	for range rounds {
		for _, term := range []string{"a", "b", "c"} {
			var l impact.List
			if found, err := x.Find([]byte(term), &l); err != nil || !found || int(l.DocFreq) != len(list) {
				t.Fatalf("%s: %v, %v", term, found, err)
			}
		}
	}
	if n := calls["a"] + calls["b"] + calls["c"]; n < 4 || n == 3*rounds {
		t.Errorf("%d of %d queries computed a list", n, 3*rounds)
	}
	check(t, x.Close())
}

// A file of another ranking than the manifest's is damage.
func TestImpactsOfAnotherRanking(t *testing.T) {
	mem := vfstest.NewMem()
	ix := severalSegments(t, mem)
	_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, err)
	m := ix.currentManifest().clone()
	other := *m.Impacts
	other.K1++
	m.Impacts = &other
	_, err = m.save(mem, ix.dir)
	check(t, errors.Join(err, ix.Close()))
	ix, err = Open(mem, ix.dir)
	check(t, err)
	defer ix.Close()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	if _, err := s.Impacts(); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}
