package resultcache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

type prepared struct {
	*plan.Plan
	key []byte
}

func prepare(t *testing.T) *prepared {
	t.Helper()
	snapshot := indextest.Snapshot(t, indextest.Write(t, index.Options{Analyzer: "english", Positions: true}, func(w *indextest.Writer) {
		w.Add(&corpus.Document{ID: "1", Text: "cat"})
	}))
	sc, err := plan.NewScratch("english")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(snapshot, nil).Prepare(sc, plantest.Parse(t, "cat"), plan.Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	return &prepared{p, p.AppendKey(nil, sc)}
}

func (p *prepared) answer(ctx context.Context, c *Cache, run func() (plan.Answer, error)) (plan.Answer, error) {
	return c.Answer(ctx, p.key, p.Plan, nil, run)
}

// Concurrent equal queries run once. If the leader is cancelled, fails or panics, another runs. No
// query waits longer than its own context.
func TestFlight(t *testing.T) {
	for _, end := range []string{"answer", "cancel", "fail", "panic"} {
		t.Run(end, func(t *testing.T) {
			c := New(1 << 20)
			p := prepare(t)
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int64
				want := []base.Hit{{DocID: 7, Score: 9}}
				leader, cancel := context.WithCancel(t.Context())
				ask := func(ctx context.Context, first bool) (a plan.Answer, err error) {
					defer func() {
						if p := recover(); p != nil {
							err = fmt.Errorf("panic: %v", p)
						}
					}()
					return p.answer(ctx, c, func() (plan.Answer, error) {
						runs.Add(1)
						select {
						case <-time.After(time.Second):
						case <-ctx.Done():
							return plan.Answer{}, ctx.Err()
						}
						switch {
						case first && end == "fail":
							return plan.Answer{}, base.ErrCorrupt
						case first && end == "panic":
							panic("in a search")
						}
						return plan.Answer{Hits: want}, nil
					})
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					if a, err := ask(leader, true); (err == nil) != (end == "answer") || a.Cached {
						t.Errorf("the first: %+v, %v", a, err)
					}
				})
				synctest.Wait()
				for range 20 {
					wg.Go(func() {
						if a, err := ask(t.Context(), false); err != nil || !slices.Equal(a.Hits, want) {
							t.Errorf("%+v, %v", a, err)
						}
					})
				}
				short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer stop()
				wg.Go(func() {
					if _, err := ask(short, false); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("a short wait ends with %v", err)
					}
				})
				time.Sleep(500 * time.Millisecond)
				if end == "cancel" {
					cancel()
				}
				wg.Wait()
				cancel()
				wantRuns := int64(2)
				if end == "answer" {
					wantRuns = 1
				}
				if s := c.Stats(); runs.Load() != wantRuns || s.Entries != 1 || s.Misses != wantRuns || s.Waits < 19 ||
					s.HitRate != float64(s.Hits+s.Waits)/float64(s.Hits+s.Waits+s.Misses) {
					t.Errorf("%d runs, %+v", runs.Load(), s)
				}
			})
		})
	}
}

// A search on an old snapshot that ends after a commit caches nothing, and a search on the new
// snapshot does not wait for it.
func TestAcrossCommits(t *testing.T) {
	c := New(1 << 20)
	old := prepare(t)
	fresh := prepare(t) // newer snapshot, same key
	if string(old.key) != string(fresh.key) || old.Snapshot().Serial >= fresh.Snapshot().Serial {
		t.Fatal("unsuitable plans")
	}
	one, two := plan.Answer{Hits: []base.Hit{{DocID: 1}}}, plan.Answer{Hits: []base.Hit{{DocID: 2}}}
	ask := func(p *prepared, a plan.Answer, meanwhile func()) plan.Answer {
		got, err := p.answer(t.Context(), c, func() (plan.Answer, error) {
			if meanwhile != nil {
				meanwhile()
			}
			return a, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	ask(old, one, func() {
		if got := ask(fresh, two, nil); got.Hits[0].DocID != 2 {
			t.Errorf("the new snapshot got %+v", got)
		}
	})
	if got := ask(fresh, one, nil); got.Hits[0].DocID != 2 || !got.Cached {
		t.Errorf("the new snapshot got %+v the second time", got)
	}
	if got := ask(old, one, nil); got.Hits[0].DocID != 1 || got.Cached {
		t.Errorf("the old snapshot got %+v", got)
	}
}

func TestEdges(t *testing.T) {
	if New(0) != nil || New(-1) != nil || (*Cache)(nil).Stats() != (Stats{}) {
		t.Error("a limit of 0 or below gives a cache")
	}
	// An answer larger than a shard is not cached.
	small := New(numShards * 300)
	p := prepare(t)
	for range 2 {
		a, err := p.answer(t.Context(), small, func() (plan.Answer, error) { return plan.Answer{Hits: make([]base.Hit, 1000)}, nil })
		if err != nil || a.Cached || len(a.Hits) != 1000 {
			t.Errorf("%d hits, cached=%t, %v", len(a.Hits), a.Cached, err)
		}
	}
}

// SizeBytes is close to the heap used and not below it.
func TestMemory(t *testing.T) {
	if sampletest.Race {
		t.Skip("the race detector allocates on the heap")
	}
	const limit = 8 << 20
	p := *prepare(t)
	for _, hits := range []int{0, 10, 100} {
		before := plantest.HeapInUse()
		c := New(limit)
		c.advance(p.Snapshot().Serial)
		for i := range 60_000 {
			p.key = append(p.key[:0], fmt.Sprintf("a key as long as that of a query of a few words is: %d", i)...)
			if _, err := p.answer(t.Context(), c, func() (plan.Answer, error) { return plan.Answer{Hits: make([]base.Hit, hits)}, nil }); err != nil {
				t.Fatal(err)
			}
		}
		used, s := plantest.HeapInUse()-before, c.Stats()
		if s.SizeBytes > limit || s.SizeBytes < limit*9/10 || used > limit*11/10 || used < limit/2 {
			t.Errorf("%d hits: %d entries use %d bytes of heap, counted %d, limit %d", hits, s.Entries, used, s.SizeBytes, limit)
		}
		t.Logf("%d hits: %d bytes of heap, counted %d", hits, used, s.SizeBytes)
		runtime.KeepAlive(c)
	}
}
