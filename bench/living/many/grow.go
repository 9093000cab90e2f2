package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/bench/living/process"
	"github.com/griffin-search/griffin/internal/index"
)

const logFolder = index.LogName

// sample is the state after a part of the writes.
type sample struct {
	Seconds      float64 `json:"seconds"`
	Documents    int     `json:"documents"` // live
	WritesPerSec float64 `json:"writes_per_second"`
	// CPUSeconds of the part, without the samples.
	CPUSeconds float64 `json:"cpu_seconds"`
	// PauseMS is the longest time between two acknowledgements, of any clients.
	PauseMS float64 `json:"pause_ms"`
	// Show is the time to index and show shownWrites writes, without others; of which ShowOne for a
	// single one.
	ShowMS    float64 `json:"show_ms"`
	ShowOneMS float64 `json:"show_one_ms"`
	Segments  int     `json:"segments"`
	// Deleted documents in percent: of all, and of the segment that has the most.
	Deleted       float64 `json:"deleted_percent"`
	MostDeleted   float64 `json:"most_deleted_percent"`
	MostDeletedOf int     `json:"most_deleted_of_documents"`
	HeapBytes     uint64  `json:"heap_bytes"` // after a collection
	WrittenBytes  int64   `json:"written_bytes"`
	process.Memory
}

// shownWrites are fewer than make a batch by themselves.
const shownWrites = 5000

type bench struct {
	options
	streams []stream
	ix      *griffin.Index
	w       *griffin.Writer
	bytes   atomic.Int64 // of texts
	acks    acknowledgements
}

// acknowledgements measures the longest time between two.
type acknowledgements struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

func (a *acknowledgements) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.longest = time.Now(), 0
}

func (a *acknowledgements) add() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.longest = max(a.longest, now.Sub(a.last))
	a.last = now
}

func newBench(o options) *bench {
	b := &bench{options: o, streams: make([]stream, o.clients)}
	words := newVocabulary(o.words)
	for i := range b.streams {
		b.streams[i] = stream{client: i, clients: o.clients, words: words}
	}
	return b
}

// grow makes the index, fills it and closes it.
func (b *bench) grow(ctx context.Context, path string, r *report) (err error) {
	if b.ix, err = griffin.Create(path, griffin.Settings{Analyzer: "english"}, griffin.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.ix.Close()) }()
	if b.w, err = b.ix.Writer(ctx, b.writer(0)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.w.Close(ctx)) }()
	writes := b.docs / 10 * 13
	began, writtenBefore := time.Now(), process.Self().WrittenBytes()
	for part := range b.parts {
		s, err := b.part(ctx, part, writes/b.parts)
		if err != nil {
			return err
		}
		s.Seconds, s.WrittenBytes = time.Since(began).Seconds(), process.Self().WrittenBytes()-writtenBefore
		r.Samples = append(r.Samples, s)
		fmt.Fprintf(os.Stderr, "%+v\n", s)
	}
	for i := range b.streams {
		s := &b.streams[i]
		r.Added, r.Replaced, r.Deleted, r.Live = r.Added+s.counts[kindAdd], r.Replaced+s.counts[kindReplace], r.Deleted+s.counts[kindDelete], r.Live+s.live
	}
	r.Seconds = time.Since(began).Seconds()
	r.WritesPerSec, r.MBPerSecond = float64(r.Added+r.Replaced+r.Deleted)/r.Seconds, float64(b.bytes.Load())/1e6/r.Seconds
	if err := b.settle(ctx); err != nil {
		return err
	}
	if r.Settled, err = b.state(); err != nil {
		return err
	}
	if r.Settled.Documents != r.Live {
		return fmt.Errorf("%d documents, want %d", r.Settled.Documents, r.Live)
	}
	if err := b.w.Flush(ctx); err != nil {
		return err
	}
	r.Settled.Seconds, r.Settled.WrittenBytes = time.Since(began).Seconds(), process.Self().WrittenBytes()-writtenBefore
	r.WrittenByByte = float64(r.Settled.WrittenBytes) / float64(b.bytes.Load())
	stats, err := b.ix.Stats()
	r.IndexBytes = stats.SizeBytes
	return err
}

func (b *bench) part(ctx context.Context, part, writes int) (s sample, err error) {
	stop, err := b.profile(fmt.Sprintf("part-%d", part+1))
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	began, cpu := time.Now(), process.Self().CPUSeconds()
	b.acks.begin()
	if err := b.write(ctx, writes); err != nil {
		return s, err
	}
	rate, used := float64(writes)/time.Since(began).Seconds(), process.Self().CPUSeconds()-cpu
	pause := ms(b.acks.longest)
	show, err := b.show(ctx, shownWrites)
	if err != nil {
		return s, err
	}
	one, err := b.show(ctx, 1)
	if err != nil {
		return s, err
	}
	if s, err = b.state(); err != nil {
		return s, err
	}
	s.WritesPerSec, s.CPUSeconds, s.PauseMS, s.ShowMS, s.ShowOneMS = rate, used, pause, ms(show), ms(one)
	return s, nil
}

// profile writes a CPU profile, until stop, and then one of the heap.
func (o *options) profile(name string) (stop func() error, err error) {
	if o.profiles == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(o.profiles, 0o755); err != nil {
		return nil, err
	}
	create := func(what string) (*os.File, error) {
		return os.Create(filepath.Join(o.profiles, what+"-"+name+".pprof"))
	}
	cpu, err := create("cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		heap, err := create("heap")
		if err != nil {
			return err
		}
		return errors.Join(pprof.WriteHeapProfile(heap), heap.Close(), cpu.Close())
	}, nil
}

// write applies about n writes of the streams, at the same time.
func (b *bench) write(ctx context.Context, n int) error {
	var group sync.WaitGroup
	errs := make([]error, len(b.streams))
	for i := range b.streams {
		group.Go(func() {
			for left := n / len(b.streams); left > 0 && errs[i] == nil; left -= b.batch {
				errs[i] = b.apply(ctx, &b.streams[i], min(b.batch, left))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (b *bench) apply(ctx context.Context, s *stream, n int) error {
	writes, total := make([]griffin.Write, n), 0
	for i := range writes {
		var size int
		writes[i], size = s.next()
		total += size
	}
	results, err := b.w.Apply(ctx, writes...)
	for errors.Is(err, griffin.ErrBusy) { // as a client of the server does
		time.Sleep(100 * time.Millisecond)
		results, err = b.w.Apply(ctx, writes...)
	}
	for i := range results {
		err = errors.Join(err, results[i].Err)
	}
	b.bytes.Add(int64(total))
	b.acks.add()
	return err
}

// show measures the time from the first of n writes until all are visible.
func (b *bench) show(ctx context.Context, n int) (time.Duration, error) {
	if err := b.w.Refresh(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := b.apply(ctx, &b.streams[0], n); err != nil {
		return 0, err
	}
	err := b.w.Refresh(ctx)
	return time.Since(began), err
}

// settle waits until merges have ended: nothing changes, is written or computed.
func (b *bench) settle(ctx context.Context) error {
	if err := b.w.Refresh(ctx); err != nil {
		return err
	}
	var last string
	for since := time.Now(); time.Since(since) < b.quiet; {
		stats, err := b.ix.Stats()
		if err != nil {
			return err
		}
		self := process.Self()
		if now := fmt.Sprintf("%v %d %.1f", stats.Segments, self.WrittenBytes(), self.CPUSeconds()); now != last {
			last, since = now, time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(b.quiet / 20):
		}
	}
	return nil
}

func (b *bench) state() (s sample, err error) {
	stats, err := b.ix.Stats()
	if err != nil {
		return s, err
	}
	s.Documents, s.Segments = stats.NumDocs, len(stats.Segments)
	s.Deleted = percent(stats.DeletedDocs, stats.NumDocs+stats.DeletedDocs)
	for _, seg := range stats.Segments {
		if p := percent(seg.DeletedDocs, seg.NumDocs); p > s.MostDeleted {
			s.MostDeleted, s.MostDeletedOf = p, seg.NumDocs
		}
	}
	s.Memory = process.Self().Memory()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.HeapBytes = m.HeapAlloc
	return s, nil
}

func percent(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(part) / float64(of)
}
