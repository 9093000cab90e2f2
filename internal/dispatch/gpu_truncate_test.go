package dispatch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/vfs"
)

// truncatePostings empties the first segment's posting lists and returns the name of the file.
func truncatePostings(t *testing.T, ix *index.Index, s *index.Snapshot) string {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("files are not mapped on this system")
	}
	name := filepath.Join(ix.Dir(), s.Segments[0].Name, "postings")
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	return name
}

// recovered turns a fault of a mapped file into an error, as the public API does.
func recovered(run func() (plan.Answer, error)) (a plan.Answer, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	return run()
}

// Only the queries of the truncated index fail, whichever query leads the batch.
func TestBatchWithTruncatedFile(t *testing.T) {
	damaged, sound := plantest.FrequentIndex(t, "simdbp", 600), plantest.FrequentIndex(t, "simdbp", 700)
	snapshots := []*index.Snapshot{indextest.Snapshot(t, damaged), indextest.Snapshot(t, sound)}
	type search struct {
		of   int // index into snapshots
		sc   *Scratch
		plan *Query
		want plan.Answer
		opts Options
		text string
	}
	var searches []*search
	for i := range 8 {
		s := &search{of: i % 2, sc: testScratch(t, "whitespace"), text: fmt.Sprintf("w%d w%d", i%4, (i+1)%4)}
		s.opts = Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd}[i/2%2], K: 10, Count: true}
		s.want = answer(t, NewSearcher(snapshots[s.of], nil), s.sc, plantest.Parse(t, s.text), s.opts)
		searches = append(searches, s)
	}
	file := truncatePostings(t, damaged, snapshots[0])
	g := testGPU(t, pipeline.Options{Lanes: 1})
	_, d := dispatched(t, snapshots[1], g, Config{Policy: PolicyGPU, CPUs: 1})
	for range 2 { // in the second round, the sound lists are resident
		for leader := range 2 {
			door := &gate{make(chan struct{}), make(chan struct{})}
			var wg sync.WaitGroup
			wg.Go(func() {
				j := sched.Job{Alone: true}
				j.Cost[sched.CPU], j.Cost[sched.GPU] = sched.Never, time.Millisecond
				if err := d.pool.Do(t.Context(), &j, door); err != nil {
					t.Error(err)
				}
			})
			<-door.entered
			for i := range searches {
				s := searches[(i+leader)%len(searches)]
				searcher := NewSearcher(snapshots[s.of], nil)
				searcher.Use(d)
				var err error
				if s.plan, err = searcher.Prepare(s.sc, plantest.Parse(t, s.text), s.opts); err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					a, err := recovered(func() (plan.Answer, error) { return s.plan.Run(t.Context(), s.sc, nil) })
					switch {
					case s.of == 0:
						if !errors.Is(err, base.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), file) {
							t.Errorf("%s over the truncated file: %v", s.text, err)
						}
					case err != nil:
						t.Errorf("%s over the other index: %v", s.text, err)
					default:
						checkRun(t, i, &queryRun{answer: a}, &s.want)
						if a.Traversal != TraversalGPU {
							t.Errorf("%s over the other index is answered by %s", s.text, a.Traversal)
						}
					}
				})
				waitUntil(t, func() bool { return d.Stats().Pool.Places[sched.GPU].Queued == i+1 }, func() string { return "a query does not wait" })
			}
			before := d.Stats().Pool
			close(door.open)
			wg.Wait()
			s := d.Stats().Pool
			if batches := s.Places[sched.GPU].Batches - before.Places[sched.GPU].Batches; batches != 1 || s.Failed-before.Failed != int64(len(searches)/2) {
				t.Errorf("%d batches, %d queries ran again; want 1 and those of the truncated file", batches, s.Failed-before.Failed)
			}
		}
	}
	if s := d.Stats(); s.Bugs != 0 {
		t.Errorf("%d bugs", s.Bugs)
	}
	checkClose(t, d)
}

// The fault neither stops the background loading nor counts as a bug.
func TestPreloadOfTruncatedFile(t *testing.T) {
	for _, path := range []pipeline.Path{pipeline.PathImages, pipeline.PathPacked} {
		ix := plantest.FrequentIndex(t, "simdbp", 600)
		snapshot := indextest.Snapshot(t, ix)
		g := testGPU(t, pipeline.Options{Lanes: 1})
		p, d := dispatched(t, snapshot, g, Config{})
		prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w2"), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		truncatePostings(t, ix, snapshot)
		w := &preloadRequest{d: d, snapshot: snapshot.Retain(), query: prepared.gpu.stages[0]}
		w.query.Path = path
		d.preloader.busy.Store(true)
		go w.serve()
		waitUntilRested(t, d)
		if s := d.Stats(); s.Bugs != 0 || s.Preloaded != 0 || w.done {
			t.Errorf("%s: %+v, done %t: want no bug, and no loaded lists", path, s, w.done)
		}
		if s := g.Stats().Devices[0]; s.Lists != 0 || s.Host.Lists != 0 || s.Errors != 0 {
			t.Errorf("%s: %+v: want no lists and no errors", path, s)
		}
		checkClose(t, d)
	}
}
