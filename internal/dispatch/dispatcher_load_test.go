package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/resultcache"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
)

// leaver is a client under load: its queries have random policies, modes, deadlines and lengths
// of patience, and half of them use a cache.
type leaver struct {
	snapshots []*index.Snapshot
	d         *Dispatcher
	results   *resultcache.Cache
	rng       *rand.Rand
	sc        *Scratch

	answered, left, shed, panicked *atomic.Int64
}

// ask compares the answer, if there is one, with the CPU's.
func (l *leaver) ask() error {
	snapshot := l.snapshots[l.rng.IntN(len(l.snapshots))]
	o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[l.rng.IntN(3)], K: []int{1, 10, 1000}[l.rng.IntN(3)], Count: l.rng.IntN(2) == 0}
	q := frequentWords(l.rng, 1+l.rng.IntN(5))
	prepared, err := NewSearcher(snapshot, nil).Prepare(l.sc, q, o)
	if err != nil {
		return err
	}
	want, err := prepared.Run(context.Background(), l.sc, nil)
	if err != nil {
		return err
	}
	s := NewSearcher(snapshot, nil)
	s.Use(l.d)
	if l.rng.IntN(2) == 0 {
		s.UseResults(l.results)
		o.Cached, o.Refusal.Allowed = true, true
	} else {
		o.Policy = Policies()[l.rng.IntN(len(Policies()))].Name
	}
	var overload *sched.Overload
	prepared, err = s.Prepare(l.sc, q, o)
	if errors.As(err, &overload) {
		l.shed.Add(1)
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch l.rng.IntN(3) {
	case 0:
		patience := time.Duration(l.rng.IntN(3000)) * time.Microsecond
		defer time.AfterFunc(patience, cancel).Stop()
	case 1:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(l.rng.IntN(10000))*time.Microsecond)
		defer cancel()
	}
	if l.rng.IntN(12) == 0 && prepared.gpu.refusal == "" && prepared.cached == nil {
		prepared.poison(0)
	}
	var got plan.Answer
	if bug := caught(func() { got, err = prepared.Run(ctx, l.sc, nil) }); bug != nil {
		if !strings.Contains(bug.Error(), poisoned) {
			return bug
		}
		l.panicked.Add(1)
		l.sc, err = NewScratch("whitespace")
		return err
	}
	switch {
	case errors.As(err, &overload):
		l.shed.Add(1)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		l.left.Add(1)
	case err != nil:
		return fmt.Errorf("%s, %+v: %w", q, o, err)
	case !slices.Equal(got.Hits, want.Hits) || got.Matches != want.Matches || got.Mode != want.Mode:
		return fmt.Errorf("%s, %+v: mode %s, %d matches, hits %v; the CPU has mode %s, %d, %v", q, o, got.Mode, got.Matches, head(got.Hits), want.Mode, want.Matches, head(want.Hits))
	default:
		l.answered.Add(1)
	}
	return nil
}

// Clients that leave while they wait, run, lead a batch or follow one, keep no slot, view or
// answer, also with a device that fails or is lost, and with queries that panic there.
func TestCancelledClients(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 1))
	snapshots := []*index.Snapshot{
		indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 3, true)),
		indextest.Snapshot(t, plantest.RandomIndex(t, rng, 400, 1, false)),
	}
	for _, policy := range sampletest.Some(t, 2, []Policy{PolicyCost, PolicyBatch, PolicyQuery, PolicyRatio}) {
		t.Run("policy="+string(policy), func(t *testing.T) {
			var faults cuda.Faults
			e, err := pipeline.Open(pipeline.Options{
				Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: testMemory}, Lanes: 2, Faults: &faults,
			})
			if err != nil {
				t.Fatal(err)
			}
			d, err := NewDispatcher(NewGPU(e), Config{Policy: policy, CPUs: 1, MaxQueue: 5, Window: 200 * time.Microsecond, Pin: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				faults.Fail("cuLaunchKernel", 20+30*i, cuda.LaunchOutOfResources)
			}
			faults.Fail("cuEventRecord", 200, cuda.IllegalAddress)
			var answered, left, shed, panicked, bugs atomic.Int64
			d.onBug = func(*invariant.Caught) { bugs.Add(1) }
			results := resultcache.New(1 << 16)
			var wg sync.WaitGroup
			const clients, queries = 10, 20
			enough := func() bool {
				return answered.Load() >= clients*queries/5 && left.Load() > 0 && shed.Load() > 0 && panicked.Load() > 0
			}
			began := time.Now()
			for c := range clients {
				wg.Go(func() {
					l := leaver{snapshots, d, results, rand.New(rand.NewPCG(45, uint64(c))), testScratch(t, "whitespace"), &answered, &left, &shed, &panicked}
					for n := 0; n < queries || !enough() && time.Since(began) < longWait; n++ {
						if err := l.ask(); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			if !enough() {
				t.Errorf("%d answered, %d left, %d shed, %d panicked: want some of each", answered.Load(), left.Load(), shed.Load(), panicked.Load())
			}
			waitUntilRested(t, d)
			if n := d.Stats().Bugs; n != bugs.Load() {
				t.Errorf("%d bugs were reported, and %d counted", bugs.Load(), n)
			}
			if n := d.Stats().GPUSteps; policy == PolicyBatch && n == 0 {
				t.Error("the GPU answered nothing")
			}
			s := d.Stats().Pool
			out := s.Ended + s.Cancelled
			for _, n := range s.Shed {
				out += n
			}
			for at := range s.Places {
				if p := &s.Places[at]; p.Running != 0 || p.Queued != 0 {
					t.Errorf("%s: %d run and %d wait at the end", sched.Place(at), p.Running, p.Queued)
				}
			}
			if s.Arrived != out || s.Open != 0 {
				t.Errorf("%+v: %d of %d that arrived are accounted for", s, out, s.Arrived)
			}
			closed := make(chan error, 1)
			go func() { closed <- d.Close() }()
			select {
			case <-closed: // a device that is lost gives nothing back
			case <-time.After(longWait):
				t.Fatal("a view was not given back: Close waits for it")
			}
		})
	}
}
