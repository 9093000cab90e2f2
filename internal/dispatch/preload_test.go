package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

const longWait = 3 * time.Minute

func waitUntil(t *testing.T, holds func() bool, told func() string) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(began) > longWait {
			t.Fatal(told())
		}
	}
}

func waitUntilFed(t *testing.T, d *Dispatcher) {
	t.Helper()
	waitUntil(t, func() bool { return d.Stats().Preloaded > 0 }, func() string {
		return fmt.Sprintf("nothing was brought: %+v, pool %+v", d.Stats(), d.Stats().Pool)
	})
}

func waitUntilRested(t *testing.T, d *Dispatcher) {
	t.Helper()
	waitUntil(t, func() bool { return !d.preloader.busy.Load() }, func() string { return "something is still being brought" })
}

// A query whose lists would take too long to load runs without; the next one is answered from
// images.
func TestPreload(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 50000, 2, 3, 5, 7))
	p, d := dispatched(t, snapshot, g, Config{})
	run := func(text string) *plan.Trace {
		q := plantest.Parse(t, text)
		prepared, err := p.gpu.Prepare(p.sc, q, Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		var trace plan.Trace
		a, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace)
		if err != nil {
			t.Fatal(err)
		}
		if want := answer(t, p.cpu, p.sc, q, Options{K: 10}); !slices.Equal(a.Hits, want.Hits) {
			t.Fatalf("%s: hits %v; the CPU has %v", text, a.Hits, want.Hits)
		}
		return &trace
	}
	if first := run("e2 e3 e5 e7").String(); strings.Contains(first, "(images)") {
		t.Fatalf("the first query was to run by images, of which there is none:\n%s", first)
	}
	waitUntilFed(t, d)
	next := run("e2 e3 e5 e7")
	if last := &next.Steps[len(next.Steps)-1]; !strings.Contains(next.String(), "(images)") || last.Device == nil || last.Device.ListsMissed > 0 {
		t.Errorf("the next query did not run by images:\n%s", next)
	}
	// A short query is not worth it.
	run("e7")
	if s := d.Stats(); s.Preloaded != 1 {
		t.Errorf("%d queries were fed", s.Preloaded)
	}
}

// Closing waits for a running load and prevents others.
func TestPreloadAfterClose(t *testing.T) {
	snapshot := indextest.Snapshot(t, spacedIndex(t, 50000, 2, 3, 5, 7))
	for range 3 {
		g := testGPU(t, pipeline.Options{})
		p, d := dispatched(t, snapshot, g, Config{})
		p.check(t, plantest.Parse(t, "e2 e3 e5 e7"), Options{K: 10})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		waitUntilRested(t, d)
		if after := p.check(t, plantest.Parse(t, "e2 e3 e5 e7"), Options{K: 10}); after.Traversal == TraversalGPU {
			t.Error("a query ran on a GPU that is closed")
		}
	}
}

func TestPreloadHasNoDeadline(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 50000, 2, 3, 5, 7))
	p, d := dispatched(t, snapshot, g, Config{Deadline: longWait})
	var slow []cost.Measured // a bus so slow that it is predicted to take hours
	for i := range 40 {
		slow = append(slow, cost.Measured{Kind: cost.BringImages, Features: cost.Features{Lists: 1 + i%4}, Took: time.Hour})
	}
	d.Costs().Calibrate(slow)
	p.check(t, plantest.Parse(t, "e2 e3 e5 e7"), Options{K: 10})
	waitUntilFed(t, d)
}
