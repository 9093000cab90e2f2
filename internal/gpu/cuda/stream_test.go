package cuda_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func newEvent(t testing.TB, d *cuda.Device, timing bool) *cuda.Event {
	t.Helper()
	e, err := d.NewEvent(timing)
	must(t, err)
	t.Cleanup(func() {
		if err := e.Close(); err != nil && d.Err() == nil {
			t.Error(err)
		}
	})
	return e
}

func add(t testing.TB, s *cuda.Stream, k *cuda.Kernel, dst, src cuda.Buffer[uint32], addend uint32) {
	t.Helper()
	must(t, cuda.Launch(s, k, cuda.D1((src.Len()+127)/128), cuda.D1(128), 0,
		&gputest.AddParams{Source: src.Ptr(), Target: dst.Ptr(), NumWords: uint32(src.Len()), Addend: addend}))
}

func TestEventsOrderStreams(t *testing.T) {
	d := gputest.Open(t)
	k := gputest.Kernel[gputest.AddParams](t, d, "gputest_add")
	first, second := newStream(t, d), newStream(t, d)
	a := alloc[uint32](t, d, 4096)
	b := alloc[uint32](t, d, 4096)
	e := newEvent(t, d, false)
	for round := range uint32(10) {
		must(t, cuda.FillWords(first, a, round))
		for range 20 {
			add(t, first, k, a, a, 1)
		}
		must(t, first.Record(e))
		must(t, second.Wait(e))
		add(t, second, k, b, a, 100)
		if got := read(t, second, b); got[0] != round+120 || slices.Min(got) != slices.Max(got) {
			t.Fatalf("round %d: between %d and %d, want %d", round, slices.Min(got), slices.Max(got), round+120)
		}
	}
	if done, err := e.Query(); !done || err != nil {
		t.Errorf("Query of a completed event = %t, %v", done, err)
	}
	if done, err := second.Query(); !done || err != nil {
		t.Errorf("Query of a completed stream = %t, %v", done, err)
	}
}

func TestEventsTellTime(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	b := alloc[uint32](t, d, 1<<12)
	sleeping, err := d.NewSleepingEvent()
	must(t, err)
	t.Cleanup(func() { must(t, sleeping.Close()) })
	events := [3]*cuda.Event{newEvent(t, d, true), newEvent(t, d, true), sleeping}
	start := time.Now()
	for i, e := range events {
		for range 100 * i {
			must(t, cuda.FillWords(s, b, 1))
		}
		must(t, s.Record(e))
	}
	must(t, events[2].Synchronize())
	wall := time.Since(start)
	between := func(from, to int) time.Duration {
		took, err := events[to].Elapsed(events[from])
		must(t, err)
		return took
	}
	first, second, both := between(0, 1), between(1, 2), between(0, 2)
	if first <= 0 || second <= 0 || both > wall || (both-first-second).Abs() > 3*time.Microsecond {
		t.Errorf("100 fills took %v, 200 more %v, all %v of %v on the clock", first, second, both, wall)
	}
	plain := newEvent(t, d, false)
	wantMisuse(t, "Elapsed without timing", func() error { _, err := plain.Elapsed(events[0]); return err })
}

func TestManyGoroutines(t *testing.T) {
	d := gputest.Open(t)
	k := gputest.Kernel[gputest.AddParams](t, d, "gputest_add")
	var wait sync.WaitGroup
	for g := range uint32(8) {
		s, a := newStream(t, d), alloc[uint32](t, d, 512)
		wait.Go(func() {
			for round := range uint32(10) {
				want := g*1000 + round + 3
				got := make([]uint32, a.Len())
				err := errors.Join(
					cuda.FillWords(s, a, g*1000+round),
					cuda.Launch(s, k, cuda.D1(4), cuda.D1(128), 0, &gputest.AddParams{Source: a.Ptr(), Target: a.Ptr(), NumWords: 512, Addend: 3}),
					cuda.CopyToHost(s, got, a),
					s.Synchronize(),
				)
				if err != nil || slices.Min(got) != want || slices.Max(got) != want {
					t.Errorf("goroutine %d, round %d: %v, %v, want %d", g, round, err, got[:4], want)
					return
				}
			}
		})
	}
	wait.Wait()
}

func TestGraph(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	k := gputest.Kernel[gputest.AddParams](t, d, "gputest_add")
	a := filled(t, s, 256, 1)
	b := filled(t, s, 256, 0)
	must(t, s.Synchronize())

	wantMisuse(t, "EndCapture without BeginCapture", func() error { _, err := s.EndCapture(); return err })
	must(t, s.BeginCapture())
	add(t, s, k, a, a, 1)
	must(t, cuda.CopyDevice(s, b, a))
	g, err := s.EndCapture()
	must(t, err)
	if got := read(t, s, a); got[0] != 1 {
		t.Errorf("the capture was executed: %d", got[0])
	}
	x, err := g.Instantiate()
	must(t, err)
	must(t, g.Close())
	must(t, x.Upload(s))
	for want := uint32(2); want < 6; want++ {
		must(t, x.Launch(s))
		if got := read(t, s, b); slices.Min(got) != want || slices.Max(got) != want {
			t.Errorf("launch %d of the graph gives %d, want %d", want-1, got[0], want)
		}
	}
	must(t, x.Close())
	wantMisuse(t, "the second Close of a graph", g.Close)
	wantMisuse(t, "the second Close of an executable", x.Close)
}

// The calls of a query in flight.
func TestHotCallsAllocateNothing(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	k := gputest.Kernel[gputest.AddParams](t, d, "gputest_add")
	a := filled(t, s, 64, 1)
	h := allocHost[uint32](t, d, 64)
	e := newEvent(t, d, false)
	must(t, s.BeginCapture())
	add(t, s, k, a, a, 1)
	g, err := s.EndCapture()
	must(t, err)
	x, err := g.Instantiate()
	must(t, err)
	must(t, g.Close())
	defer x.Close()
	for name, call := range map[string]func() error{
		"Launch": func() error {
			return cuda.Launch(s, k, cuda.D1(1), cuda.D1(64), 0, &gputest.AddParams{Source: a.Ptr(), Target: a.Ptr(), NumWords: 64})
		},
		"graph":        func() error { return x.Launch(s) },
		"CopyToDevice": func() error { return cuda.CopyToDevice(s, a, h.Data()) },
		"CopyToHost":   func() error { return cuda.CopyToHost(s, h.Data(), a) },
		"CopyDevice":   func() error { return cuda.CopyDevice(s, a.Slice(0, 8), a.Slice(8, 16)) },
		"Fill":         func() error { return cuda.Fill(s, a, 1) },
		"FillWords":    func() error { return cuda.FillWords(s, a, 1) },
		"Record":       func() error { return s.Record(e) },
		"Wait":         func() error { return s.Wait(e) },
		"Query":        func() error { _, err := e.Query(); return err },
		"Synchronize":  s.Synchronize,
		"event":        e.Synchronize,
	} {
		t.Run(name, func(t *testing.T) {
			n := gputest.AllocsPerRun(50, func() { must(t, call()) })
			if n != 0 {
				t.Errorf("%s allocates %.0f times a call", name, n)
			}
		})
	}
}
