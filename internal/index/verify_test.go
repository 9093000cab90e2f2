package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Progress rises through all segments and the impact-ordered lists to twice their size.
func TestVerifyProgressTotal(t *testing.T) {
	for name, impacts := range map[string]bool{"segments": false, "segments and impacts": true} {
		t.Run(name, func(t *testing.T) {
			ix, err := Create(vfstest.NewMem(), "ix", Options{})
			check(t, err)
			defer ix.Close()
			docs := randomDocs(120, 12, false)
			check(t, commitChange(t.Context(), ix, nil, docs[:8]))
			check(t, commitChange(t.Context(), ix, docs[:1], docs[8:]))
			if impacts {
				_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
				check(t, err)
			}
			s, err := ix.Snapshot()
			check(t, err)
			defer s.Release()
			segments := 2 * s.size().SizeBytes
			want := segments
			if impacts {
				x, err := s.StoredImpacts()
				check(t, err)
				want += 2 * x.SizeBytes()
			}
			var told []int64
			check(t, s.Verify(t.Context(), func(done, total int64) {
				if total != want {
					t.Errorf("total %d, want %d", total, want)
				}
				told = append(told, done)
			}))
			if len(told) == 0 || !slices.IsSorted(told) {
				t.Fatalf("told of %d, want a rise", told)
			}
			if last := told[len(told)-1]; last != want {
				t.Errorf("ended at %d of %d", last, want)
			}
			if !slices.Contains(told, segments) {
				t.Errorf("the segments do not end at %d", segments)
			}
		})
	}
}

// Verify returns only the context's error if that ends meanwhile, also after damage.
func TestVerifyCancelledAfterDamage(t *testing.T) {
	mem, _ := damagedIndex(t)
	data := mem.Get("ix/seg-000001/lengths")
	data[len(data)/3] ^= 1
	mem.Set("ix/seg-000001/lengths", data)
	ix, err := Open(mem, "ix")
	check(t, err)
	defer ix.Close()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	segments := 2 * s.size().SizeBytes
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = s.Verify(ctx, func(done, _ int64) {
		if done > segments {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, base.ErrCorrupt) {
		t.Errorf("error %v, want Canceled alone", err)
	}
}

func TestAvgLen(t *testing.T) {
	for _, c := range []struct {
		tokens, docs uint64
		want         float64
	}{{0, 0, 0}, {3, 0, 0}, {3, 1, 3}, {3, 2, 1.5}, {0, 2, 0}} {
		if got := (&FieldStats{TotalTokens: c.tokens, NumDocs: c.docs}).AvgLen(); got != c.want {
			t.Errorf("%d tokens of %d documents: mean length %g, want %g", c.tokens, c.docs, got, c.want)
		}
	}
}

// The limit holds for the cache of the index.
func TestSetCache(t *testing.T) {
	cache := derived.NewCache(derived.DefaultLimit)
	ix, err := CreateWithCache(vfstest.NewMem(), "ix", Options{}, cache)
	check(t, err)
	defer ix.Close()
	segment := cache.NewSegment()
	defer segment.Close()
	for _, limit := range []int64{1000, 0} {
		ix.SetCache(limit)
		for _, c := range []struct {
			size int64
			room bool
		}{{limit, true}, {limit + 1, false}} {
			if got := segment.List(1).Room(0, c.size); got != c.room {
				t.Errorf("limit %d: room for %d bytes: %t", limit, c.size, got)
			}
		}
	}
}

// Create reads the names in the folder only, and names a file of another program.
func TestCreateNamesForeignFile(t *testing.T) {
	mem := vfstest.NewMem()
	for _, name := range []string{impactsTemp, lockName, "seg-000001/ids"} {
		mem.Set("ix/"+name, []byte("text"))
	}
	faulty := vfstest.NewFaulty(mem, vfstest.Plan{})
	ix, err := Create(faulty, "ix", Options{})
	check(t, err)
	check(t, ix.Close())
	if got := faulty.Operations(); !slices.Equal(got, []string{"readdir ix"}) {
		t.Errorf("operations %q, want only the names", got)
	}
	mem = vfstest.NewMem()
	for _, name := range []string{impactsTemp, lockName, manifestName} {
		mem.Set("ix/"+name, []byte("text"))
	}
	if _, err = Create(mem, "ix", Options{}); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "("+manifestName+")") {
		t.Errorf("error %v does not name the manifest", err)
	}
}

func builderOf(t *testing.T, ix *Index) *impactBuild {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	t.Cleanup(s.Release)
	settings, err := new(ImpactOptions).settings(&s.Options)
	check(t, err)
	return &impactBuild{snapshot: s, settings: settings}
}

// The first error of a visit, or the end of the context, ends the pass over the lists.
func TestEachListStops(t *testing.T) {
	ix := severalSegments(t, vfstest.NewMem())
	defer ix.Close()
	fail := errors.New("injected into a visit")
	for _, at := range []int{1, 2, 5} {
		visits := 0
		err := builderOf(t, ix).eachList(t.Context(), func([]byte, []scoredPosting) error {
			if visits++; visits == at {
				return fail
			}
			return nil
		})
		if !errors.Is(err, fail) || visits != at {
			t.Errorf("visit %d fails: error %v after %d visits", at, err, visits)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	visits := 0
	err := builderOf(t, ix).eachList(ctx, func([]byte, []scoredPosting) error { visits++; return nil })
	if !errors.Is(err, context.Canceled) || visits != 0 {
		t.Errorf("cancelled: error %v after %d visits", err, visits)
	}
}

// A pass over damaged lists fails, at every byte.
func TestEachListOfDamagedLists(t *testing.T) {
	whole := vfstest.NewMem()
	ix, err := Create(whole, "ix", Options{})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, randomDocs(121, 4, false)))
	check(t, ix.Close())
	for _, file := range []string{"ids", "lengths", "postings", "records"} {
		t.Run(file, func(t *testing.T) {
			file := "ix/seg-000001/" + file
			size := len(whole.Get(file))
			for at := 0; at < size; at += 1 + size/40 {
				mem := whole.Clone()
				data := mem.Get(file)
				data[at] ^= 0x10
				mem.Set(file, data)
				ix, err := Open(mem, "ix")
				if err != nil {
					continue // the damage is in the head
				}
				err = builderOf(t, ix).eachList(t.Context(), func([]byte, []scoredPosting) error { return nil })
				if !errors.Is(err, base.ErrCorrupt) {
					t.Errorf("byte %d: error %v, want ErrCorrupt", at, err)
				}
			}
		})
	}
}

// Damage that a pass over the lists reaches late fails it, too.
func TestEachListOfLateDamage(t *testing.T) {
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{Analyzer: "whitespace", NoStored: true})
	check(t, err)
	var text strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&text, "w%d ", i*i)
	}
	check(t, commitChange(t.Context(), ix, nil, []corpus.Document{{ID: "a", Text: text.String()}}))
	check(t, ix.Close())
	data := mem.Get("ix/seg-000001/records")
	if len(data) < 2<<16 {
		t.Fatalf("%d bytes of records, the test needs several checksums", len(data))
	}
	data[len(data)-1<<10] ^= 1
	mem.Set("ix/seg-000001/records", data)
	ix, err = Open(mem, "ix")
	check(t, err)
	defer ix.Close()
	visits := 0
	err = builderOf(t, ix).eachList(t.Context(), func([]byte, []scoredPosting) error { visits++; return nil })
	if !errors.Is(err, base.ErrCorrupt) || visits == 0 {
		t.Errorf("error %v after %d lists, want ErrCorrupt after some", err, visits)
	}
}

// An unusable ranking or an ended context is noticed before the file is created.
func TestBuildImpactsFailsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		index   Options
		options ImpactOptions
		want    error
		says    string
	}{
		"unknown ranking": {t.Context(), Options{}, ImpactOptions{Ranking: "tfidf"}, base.ErrBadInput, "tfidf"},
		"weights":         {t.Context(), Options{WeightScale: 1}, ImpactOptions{Ranking: impact.RankingBM25}, base.ErrBadInput, "stores learned weights"},
		"cancelled":       {ctx, Options{}, ImpactOptions{}, context.Canceled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			faulty := vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{})
			ix, err := Create(faulty, "ix", c.index)
			check(t, err)
			defer ix.Close()
			check(t, commitChange(t.Context(), ix, nil, mergeDocs(c.index, 122, 5)))
			_, err = ix.BuildImpacts(c.ctx, c.options)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %v with %q", err, c.want, c.says)
			}
			if slices.Contains(faulty.Operations(), "create ix/"+impactsTemp) {
				t.Error("the file was created")
			}
		})
	}
}
