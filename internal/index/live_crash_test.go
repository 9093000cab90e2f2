package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// liveHistory has the documents at each record of the log.
type liveHistory struct {
	mu sync.Mutex
	at map[uint64][]corpus.Document
}

func (h *liveHistory) add(seq uint64, docs []corpus.Document) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at[seq] = slices.Clone(docs)
}

func (h *liveHistory) get(t *testing.T, seq uint64) []corpus.Document {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	docs, ok := h.at[seq]
	if !ok {
		t.Fatalf("record %d was not published", seq)
	}
	return docs
}

// While Publish, Flush, Checkpoint and merges run beside each other, and some give up, a crash at any time leaves the
// documents of one record of the log, no earlier than the last Flush that returned. Close ends all of them.
func TestLiveCrashesConcurrent(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { liveCrashes(t, seed) })
	}
}

func liveCrashes(t *testing.T, seed uint64) {
	disk := vfstest.NewDisk()
	ix, err := Create(disk, "ix", Options{Analyzer: "whitespace"})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, nil))
	m := newLiveModel(t, ix, seed)
	history := &liveHistory{at: map[uint64][]corpus.Document{0: nil}}
	m.publishing = func() { history.add(m.seq, m.docs) }
	l := m.live
	var flushed atomic.Uint64
	var built atomic.Int64
	work := []func(ctx context.Context, rng *rand.Rand) error{
		func(ctx context.Context, rng *rand.Rand) error {
			seq, err := l.Flush(ctx)
			if err == nil {
				flushed.Store(seq)
			}
			return err
		},
		func(ctx context.Context, rng *rand.Rand) error { return l.Checkpoint(ctx) },
		func(ctx context.Context, rng *rand.Rand) error { return l.MergeAll(ctx, nil, joinAll) },
		func(ctx context.Context, rng *rand.Rand) error {
			_, err := l.Merge(ctx, nil, anyNeighbours(rng))
			return err
		},
		func(ctx context.Context, rng *rand.Rand) error { // publishes nothing
			_, err := l.Publish(ctx, nil, func() error { return nil }, map[string]struct{}{"none": {}}, nil, 0, 0)
			return err
		},
		func(ctx context.Context, rng *rand.Rand) error {
			_, err := l.BuildImpacts(ctx, &ImpactOptions{RawBelow: 1 + rng.IntN(3)})
			if err == nil || errors.Is(err, ErrChanged) {
				built.Add(1)
				return nil
			}
			return err
		},
	}
	work = append(work, work[3]) // two merges
	var group sync.WaitGroup
	defer group.Wait()
	defer l.Close() // ends the work
	for i, do := range work {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)+10))
			for {
				ctx, cancel := context.WithCancel(t.Context())
				if rng.IntN(4) == 0 { // at any time
					go cancel()
				}
				err := do(ctx, rng)
				cancel()
				if errors.Is(err, base.ErrClosed) {
					return
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("work %d: %v", i, err)
					return
				}
			}
		})
	}
	for round := range 45 {
		m.publish()
		sameLive(t, ix, m.docs)
		if round%3 > 0 {
			continue
		}
		least := flushed.Load()
		after := disk.AfterKill()
		if m.rng.IntN(2) == 0 {
			after = disk.AfterCrash(m.rng)
		}
		visible := m.seq
		again, err := Open(after, "ix")
		check(t, err)
		live, err := again.Live()
		check(t, err)
		seq := live.Seq()
		if seq < least || seq > visible {
			t.Fatalf("record %d is durable, %d were committed before, %d were visible", seq, least, visible)
		}
		sameLive(t, again, history.get(t, seq))
		adopted, err := live.Adopt(t.Context(), visible)
		check(t, err)
		if adopted < seq {
			t.Fatalf("the checkpoint has records up to %d, the commit up to %d", adopted, seq)
		}
		seq = adopted
		sameLive(t, again, history.get(t, seq))
		checkStatistics(t, again)
		checkImpacts(t, again)
		_, err = live.Flush(t.Context())
		check(t, err)
		check(t, errors.Join(live.Close(), again.Close()))
	}
	check(t, l.Close())
	group.Wait()
	if built.Load() == 0 {
		t.Error("no impact-ordered lists were built")
	}
	checkImpacts(t, ix)
	if n := len(l.files.making); n > 0 || l.merging.running > 0 || len(l.merging.busy) > 0 {
		t.Errorf("%d files are still being written, %d merges run, of %v", n, l.merging.running, l.merging.busy)
	}
	sameLive(t, ix, history.get(t, l.Seq()))
	checkStatistics(t, ix)
	check(t, commitChange(t.Context(), ix, nil, []corpus.Document{{ID: "last"}}))
	if left, err := (&session{ix: ix}).leftovers(); err != nil || len(left) > 0 {
		t.Errorf("files %q are left, %v", left, err)
	}
	check(t, ix.Close())
}
