package griffin18

import (
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
)

// After a failed allocation, the memory of idle queries is freed and the segment begins again.
func TestOutOfMemory(t *testing.T) {
	s := frequent(t)
	for _, tt := range []struct {
		call string
		nth  int
		by   sched.Place
	}{
		{"cuMemAlloc_v2", 1, sched.GPU},
		{"cuMemAlloc_v2", 5, sched.GPU},
		{"cuMemHostAlloc", 1, sched.GPU},
		{"cuMemAlloc_v2", 0, sched.CPU},
		{"cuMemHostAlloc", 0, sched.CPU},
	} {
		d := gputest.Open(t)
		e := openOn(t, options{on: onGPU, crossing: 128}, d)
		idle := e.pool.take()
		answers(t, e, prepare(t, s, "w0 w1", and))
		used := e.pool.take()
		e.pool.put(used)
		e.pool.put(idle) // without memory, it answers the next query
		if used.memory == nil || idle.memory != nil {
			t.Fatal("the first query did not use the new workspace")
		}

		gputest.Fail(t, d, tt.call, tt.nth, cuda.OutOfMemory)
		q := prepare(t, s, "w1 w2", and)
		q.Trace = &plan.Trace{Mode: plan.ModeAnd}
		answers(t, e, q)
		d.InjectFaults(nil)
		got := e.Stats()
		if q.Answer.By != tt.by || got.Faults != int64(map[sched.Place]int{sched.CPU: 1}[tt.by]) {
			t.Errorf("%s/%d: by %v, %+v", tt.call, tt.nth, q.Answer.By, got)
		}
		if used.memory != nil {
			t.Errorf("%s/%d: the idle workspace keeps its memory", tt.call, tt.nth)
		}
		if notes := len(q.Trace.Notes); notes != map[sched.Place]int{sched.GPU: 1, sched.CPU: 2}[tt.by] {
			t.Errorf("%s/%d: notes %q", tt.call, tt.nth, q.Trace.Notes)
		}
		q = prepare(t, s, "w1 w2", and)
		if answers(t, e, q); q.Answer.By != sched.GPU {
			t.Errorf("%s/%d: the next query is answered by the %v", tt.call, tt.nth, q.Answer.By)
		}
	}
}

// A query whose memory is there only without the memory of idle queries.
func TestFullDevice(t *testing.T) {
	d := gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 64 << 20})[0]
	e, err := newEngine(options{on: onGPU, crossing: 128}, d)
	if err != nil {
		t.Fatal(err)
	}
	s := frequent(t)
	for range 2 { // the engine loads its kernels and memory
		answers(t, e, prepare(t, s, "w0 w1", and))
	}
	w := e.pool.take()
	answers(t, e, prepare(t, s, "w0 w1", and))
	e.pool.put(w)
	var ballast []cuda.Buffer[byte]
	for n := 32 << 20; n >= 256; n /= 2 {
		for {
			b, err := cuda.Alloc[byte](d, n)
			if errors.Is(err, cuda.ErrOutOfMemory) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			ballast = append(ballast, b)
		}
	}
	one, two := e.pool.take(), e.pool.take()
	if err := one.memory.close(); err != nil { // room for one query
		t.Fatal(err)
	}
	one.memory = nil
	b, err := cuda.Alloc[byte](d, 8<<10) // a bit too little
	if err != nil {
		t.Fatal(err)
	}
	e.pool.put(two)
	e.pool.put(one)
	answers(t, e, prepare(t, s, "w0 w1", and))
	if got := e.Stats(); got.OnCPU != 0 || got.Faults != 0 || two.memory != nil {
		t.Errorf("%+v", got)
	}
	errs := []error{e.Close(), b.Free()}
	for _, b := range ballast {
		errs = append(errs, b.Free())
	}
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// Queries on a device that has no room for all of them at the same time free each other's idle memory.
func TestSharedShortage(t *testing.T) {
	d := gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 512 << 10})[0]
	e, err := newEngine(options{ratio: 8, crossing: 4, cpuCrossing: 4}, d)
	if err != nil {
		t.Fatal(err)
	}
	texts := slices.Repeat([]string{"w0 w1", "w1 w2 w3", "w0 w3", "w2"}, sampletest.UnderRace(20, 4))
	enginetest.CompareAnswers(t, e, frequent(t), and, texts)
	if got := e.Stats(); got.OnGPU == 0 || d.Err() != nil {
		t.Errorf("%+v", got)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// The pool keeps a bounded number of workspaces with bounded memory, the last used.
func TestPool(t *testing.T) {
	var p pool
	var all []*workspace
	for range maxIdle + 3 {
		all = append(all, p.take())
	}
	for _, w := range all {
		p.put(w)
	}
	if len(p.idle) != maxIdle || p.take() != all[maxIdle+2] || p.idle[0] != all[3] {
		t.Errorf("%d workspaces are idle", len(p.idle))
	}

	d := gputest.Open(t)
	e := openOn(t, options{on: onGPU, crossing: 128}, d)
	s := frequent(t)
	a, b := e.pool.take(), e.pool.take()
	e.pool.put(a)
	answers(t, e, prepare(t, s, "w0 w1", and))
	one := a.memory.sizeBytes()
	if e.pool.take() != a || one < 10_000 {
		t.Fatalf("%d bytes", one)
	}
	e.pool.put(b)
	answers(t, e, prepare(t, s, "w0 w1", and))
	e.pool.put(a)
	if e.pool.maxBytes < 2*one || len(e.pool.idle) != 2 {
		t.Errorf("%d bytes, %d are idle", e.pool.maxBytes, len(e.pool.idle))
	}
	e.pool.maxBytes = one + one/2
	e.pool.put(e.pool.take())
	if len(e.pool.idle) != 1 || e.pool.idle[0] != a {
		t.Errorf("%d are idle", len(e.pool.idle))
	}
	e.pool.maxBytes = one / 2
	e.pool.put(e.pool.take())
	if len(e.pool.idle) != 0 {
		t.Errorf("%d are idle", len(e.pool.idle))
	}

	e = openOn(t, options{on: onCPU, cpuCrossing: 128}, nil)
	for i, n := range []int{1, 0} {
		answers(t, e, prepare(t, s, "w0 w1", and))
		if len(e.pool.idle) != n {
			t.Errorf("%d are idle on the CPU after %d queries", len(e.pool.idle), i+1)
		}
		e.pool.maxBytes = 100
	}
}

// The estimate of a workspace's memory is close to the allocated bytes.
func TestSizeBytes(t *testing.T) {
	dev := gputest.Open(t)
	d, err := newDevice(dev, 128)
	if err != nil {
		t.Fatal(err)
	}
	_, before := dev.Live()
	m, err := newMemory(d)
	if err != nil {
		t.Fatal(err)
	}
	const n = 200_000
	err = errors.Join(m.hold(3, n), m.intersection.hold(dev, n, 2*n), m.intersection.holdSelection(dev, n), m.grow(&m.decoded, n),
		m.ranking.hold(d.selector, n, 10, selection.Radix), cuda.Grow(dev, &m.from, n, cuda.AllocHost[uint32]))
	if err != nil {
		t.Fatal(err)
	}
	_, after := dev.Live()
	if got, want := m.sizeBytes(), after-before; got < want*4/5 || got > want*5/4 {
		t.Errorf("%d bytes, of %d allocated", got, want)
	}
	if err := errors.Join(m.close(), d.close()); err != nil {
		t.Error(err)
	}
}

// Lengths that a query reads are not freed.
func TestLengthsInUse(t *testing.T) {
	dev := gputest.Open(t)
	e := openOn(t, options{on: onGPU, crossing: 128}, dev)
	s := frequent(t)
	answers(t, e, prepare(t, s, "w0 w1", and))
	d := e.device
	stream, err := dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	l, copied, err := d.lengthsOf(stream, s.Segments[0].Segment, 0, nil)
	if err != nil || copied != 0 || l.users != 1 {
		t.Fatalf("%d bytes copied, %v", copied, err)
	}
	if err := e.freeMemory(); err != nil || len(d.lengths) != 1 {
		t.Errorf("%d lengths, %v", len(d.lengths), err)
	}
	d.release([]*lengths{l})
	if err := e.freeMemory(); err != nil || len(d.lengths) != 0 {
		t.Errorf("%d lengths, %v", len(d.lengths), err)
	}
	answers(t, e, prepare(t, s, "w0 w1", and))
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}
