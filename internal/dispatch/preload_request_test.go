package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Lists are loaded if images have room, or copies save reads of the file, and images gain a
// fifth.
func TestPreloadLimits(t *testing.T) {
	ix := segmentedIndex(t, 100, 1, 2)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, ix), g)
	d := p.gpu.dispatcher
	if err := g.Close(); err != nil { // loads fail, and pause
		t.Fatal(err)
	}
	const room, file, packed = true, 1, true
	for _, c := range []struct {
		name     string
		located  pipeline.Located
		images   time.Duration
		cpu, gpu time.Duration
		mode     plan.Mode
		busy     bool
		next     time.Duration
		want     bool
	}{
		{name: "room", located: pipeline.Located{BytesImage: 1, ImageRoom: room}, images: 10, cpu: 99, gpu: 99, want: true},
		{name: "file", located: pipeline.Located{BytesImage: 1, BytesFile: file, Packed: packed}, images: 10, cpu: 99, gpu: 99, want: true},
		{name: "room and file", located: pipeline.Located{BytesImage: 1, ImageRoom: room, BytesFile: file, Packed: packed}, images: 10, cpu: 99, gpu: 99, want: true},
		{name: "neither", located: pipeline.Located{BytesImage: 1, Packed: packed}, images: 10, cpu: 99, gpu: 99},
		{name: "not read where they lie", located: pipeline.Located{BytesImage: 1, BytesFile: file}, images: 10, cpu: 99, gpu: 99},
		{name: "all images", located: pipeline.Located{ImageRoom: room}, images: 10, cpu: 99, gpu: 99},
		{name: "impacts", located: pipeline.Located{BytesImage: 1, ImageRoom: room}, images: 10, cpu: 99, gpu: 99, mode: plan.ModeSaat},
		{name: "least gain", located: pipeline.Located{BytesImage: 1, ImageRoom: room}, images: 10, cpu: 12, gpu: 99, want: true},
		{name: "least gain over the GPU", located: pipeline.Located{BytesImage: 1, ImageRoom: room}, images: 10, cpu: 99, gpu: 12, want: true},
		{name: "too small a gain", located: pipeline.Located{BytesImage: 1, ImageRoom: room}, images: 10, cpu: 11, gpu: 99},
		{name: "too small a gain over the GPU", located: pipeline.Located{BytesImage: 1, ImageRoom: room}, images: 1000, cpu: 1_199_000, gpu: 1199},
		{name: "another load runs", located: pipeline.Located{BytesImage: 1, ImageRoom: room}, images: 10, cpu: 99, gpu: 99, busy: true},
		{name: "too early", located: pipeline.Located{BytesImage: 1, ImageRoom: room}, images: 10, cpu: 99, gpu: 99, next: time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := describedQuery(t, p, d, "e1 e2", c.mode)
			defer r.end()
			r.predictor.located, r.predictor.imagesTime = c.located, c.images
			r.predictor.located.Forms = make([]pipeline.Form, 4)
			r.choices[sched.CPU].total, r.choices[sched.GPU].total = c.cpu, c.gpu
			d.preloader.busy.Store(c.busy)
			d.preloader.next.Store(int64(c.next))
			r.requestPreload()
			if !c.busy {
				waitUntilRested(t, d)
			}
			if got := time.Duration(d.preloader.next.Load()) != c.next; got != c.want {
				t.Errorf("requested %v, want %v", got, c.want)
			}
		})
	}
}

// A request does not use the memory of its query, which other queries reuse.
func TestPreloadRequestHasOwnMemory(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, segmentedIndex(t, 100, 1, 2)), nil, Config{Admit: true})
	for _, c := range []struct {
		images bool
		path   pipeline.Path
	}{{true, pipeline.PathImages}, {false, pipeline.PathPacked}} {
		r := describedQuery(t, p, d, "e1 e2", plan.ModeOr)
		r.predictor.located = pipeline.Located{Forms: make([]pipeline.Form, 4), BytesImage: 5, BytesFile: 2}
		w := r.preloadRequest(c.images)
		w.snapshot.Release()
		from := r.gpuQuery()
		if w.query.Path != c.path || len(w.query.Legs) != 4 || w.query.NumTerms != 2 || w.features != r.predictor.missingImages() || w.features.BytesBus != 3 {
			t.Errorf("request %+v", w)
		}
		for i := range w.query.Legs {
			own, leg := w.query.Legs[i].List, from.Legs[i].List
			if own == leg || own.DocFreq != leg.DocFreq || own.Offset != leg.Offset || &w.query.Legs[i] == &from.Legs[i] {
				t.Errorf("leg %d is %+v, of the query %+v", i, own, leg)
			}
		}
		r.end()
	}
}

// preloading returns a request for images of a query.
func preloading(t *testing.T, p *gpuPair, d *Dispatcher) *preloadRequest {
	t.Helper()
	r := describedQuery(t, p, d, "w0 w1", plan.ModeOr)
	defer r.end()
	r.predictor.located.Forms = make([]pipeline.Form, len(r.gpuQuery().Legs))
	return r.preloadRequest(true)
}

// A load is counted, gives its snapshot back, and is followed by a pause: after a failure a second.
func TestPreloadServes(t *testing.T) {
	for _, fails := range []bool{false, true} {
		g := testGPU(t, pipeline.Options{})
		files := vfstest.NewFaulty(vfs.OS, vfstest.Plan{})
		ix, err := index.Open(files, plantest.FrequentIndex(t, "simdbp", 600).Dir())
		if err != nil {
			t.Fatal(err)
		}
		snapshot, err := ix.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		p := newGPUPair(t, snapshot, g)
		d := p.gpu.dispatcher
		w := preloading(t, p, d)
		if fails {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		d.preloader.busy.Store(true)
		before := time.Since(d.start)
		w.serve()
		after, next := time.Since(d.start), time.Duration(d.preloader.next.Load())
		least, most := time.Duration(1), after-before // the pause is as long as the load
		if fails {
			least, most = preloadPause, preloadPause
		}
		if next < before+least || next > after+most || d.preloader.busy.Load() || w.done == fails || (d.Stats().Preloaded == 1) == fails {
			t.Errorf("fails %v: the load took %v, the next is %v later; done %v, %+v", fails, after-before, next-after, w.done, d.Stats())
		}
		if s := g.Stats(); !fails && s.Devices[0].Lists == 0 || d.Stats().Bugs != 0 {
			t.Errorf("fails %v: %+v, %d bugs", fails, s, d.Stats().Bugs)
		}
		g.Forget(ix)
		snapshot.Release()
		if err := ix.Close(); err != nil || len(files.StillOpen()) > 0 {
			t.Errorf("fails %v: %v are open, %v", fails, files.StillOpen(), err)
		}
	}
}

// A request waits in the queue of the GPU, alone, with the predicted time of its load.
func TestPreloadQueues(t *testing.T) {
	g := testGPU(t, pipeline.Options{Lanes: 1})
	p, d := dispatched(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 600)), g, Config{CPUs: 1})
	w := preloading(t, p, d)
	defer w.snapshot.Release()
	var slow []cost.Measured
	for i := range 40 {
		slow = append(slow, cost.Measured{Kind: cost.BringImages, Features: cost.Features{Lists: 1 + i%4}, Took: time.Hour})
	}
	d.costs.Calibrate(slow)
	door := &gate{make(chan struct{}), make(chan struct{})}
	held, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		j := sched.Job{Alone: true}
		j.Cost[sched.CPU], j.Cost[sched.GPU] = sched.Never, time.Millisecond
		held <- d.pool.Do(t.Context(), &j, door)
	}()
	<-door.entered
	go func() { ended <- w.ask() }()
	early := false
	waitUntil(t, func() bool {
		early = early || len(ended) > 0
		return early || d.Stats().Pool.Places[sched.GPU].Queued == 1
	}, func() string { return "the request does not wait" })
	if wait := d.pool.Wait(sched.GPU); early || wait < time.Minute {
		t.Errorf("the request ran %v beside a busy GPU, whose queue takes %v", early, wait)
	}
	close(door.open)
	for _, c := range []chan error{held, ended} {
		if err := <-c; err != nil {
			t.Error(err)
		}
	}
	if s := d.Stats(); !w.done || s.Pool.Places[sched.GPU].Runs != 2 || s.Pool.Places[sched.CPU].Runs != 0 || s.Bugs != 0 {
		t.Errorf("done %v, %+v, pool %+v", w.done, s, s.Pool)
	}
}

// A bug of a load, or the end of its context, is the error of the request; a batch of requests has
// the error of each.
func TestPreloadErrors(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 600)), g)
	d := p.gpu.dispatcher
	d.onBug = func(*invariant.Caught) {}
	w := preloading(t, p, d)
	defer w.snapshot.Release()
	w.query.Legs[0].Field = 99
	if err := w.ask(); !errors.As(err, new(*invariant.Caught)) || d.Stats().Bugs != 1 {
		t.Errorf("a bug: %v, %d bugs", err, d.Stats().Bugs)
	}
	w = preloading(t, p, d)
	defer w.snapshot.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx, sched.GPU); !errors.Is(err, context.Canceled) || w.done {
		t.Errorf("with a context that has ended: %v, done %v", err, w.done)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	outcomes := make([]error, 2)
	w.RunBatch(context.Background(), []sched.Work{w, w}, outcomes)
	for i, err := range outcomes {
		if !errors.Is(err, errGPUClosed) {
			t.Errorf("request %d: %v", i, err)
		}
	}
}
