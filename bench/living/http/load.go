package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/bench/living/process"
	"github.com/griffin-search/griffin/internal/latency"
)

type bench struct {
	o       options
	bodies  []*body
	queries []string
	server  *server
	data    string       // folder of the index
	next    atomic.Int64 // request
	ids     atomic.Int64 // documents written by requests
	found   int          // documents of --from
	first   int64        // number of the first document of requests
	probes  int
	// priority is whether the processes of the queries take a processor at once.
	priority bool
	visible  latency.Histogram
	probe    latency.Histogram
	shown    atomic.Int64 // ns, the longest visibility of the second
}

func (b *bench) phases(ctx context.Context, r *report) (err error) {
	if err := b.before(ctx, r); err != nil {
		return err
	}
	before := b.server.process.WrittenBytes()
	if r.Full, err = b.load(ctx, 0, b.o.duration, b.probeUntil); err != nil {
		return err
	}
	r.Visible, r.Probe = b.visible.Summary(), b.probe.Summary()
	if b.o.keep != "" {
		return nil
	}
	rate := r.Full.MBPerSecond / 2
	if b.o.besideRate > 0 {
		rate = b.o.besideRate
	}
	r.Half, err = b.load(ctx, rate*1e6, b.o.beside, func(ctx context.Context, until time.Time) (err error) {
		times, err := b.search(ctx, queryJob{Until: until})
		r.Queries.Beside, r.Queries.Slowest, r.Queries.AtOnce = times.Times, times.Slowest, b.priority
		return err
	})
	if err != nil {
		return err
	}
	if err := b.settle(ctx, r); err != nil {
		return err
	}
	written := float64(b.server.process.WrittenBytes() - before)
	r.WrittenPerByte = written / float64(r.Full.bytes+r.Half.bytes)
	r.WrittenPerDoc = written / float64(r.Full.docBytes+r.Half.docBytes)
	if r.Queries.After, err = b.idle(ctx); err != nil {
		return err
	}
	if err := b.mergeAll(ctx, r); err != nil {
		return err
	}
	r.Memory = b.server.process.Memory()
	if r.Documents, err = b.server.count(ctx); err != nil {
		return err
	}
	if want := b.found + int(b.ids.Load()) + b.o.singleCount + b.probes; r.Documents != want {
		return fmt.Errorf("%d documents, want %d", r.Documents, want)
	}
	return nil
}

// mergeAll measures queries after a merge of everything.
func (b *bench) mergeAll(ctx context.Context, r *report) (err error) {
	if b.o.noMerge {
		return nil
	}
	began := time.Now()
	if err := b.server.merge(ctx); err != nil {
		return err
	}
	r.MergeMillis = ms(time.Since(began))
	r.Queries.Merged, err = b.idle(ctx)
	return err
}

// before writes the base documents, unless there are documents, and measures single documents and queries without writes.
func (b *bench) before(ctx context.Context, r *report) (err error) {
	if b.o.from != "" {
		if b.found, err = b.server.count(ctx); err != nil {
			return err
		}
		b.first = int64(b.found)
	}
	for b.ids.Load() < int64(b.o.base) {
		if _, err := b.write(ctx, nil, &load{}); err != nil {
			return err
		}
	}
	if b.o.from == "" {
		if err := b.server.merge(ctx); err != nil {
			return err
		}
	}
	if r.Single, err = b.singles(ctx); err != nil {
		return err
	}
	if b.o.from == "" {
		if err := b.server.merge(ctx); err != nil {
			return err
		}
	}
	r.Queries.Idle, err = b.idle(ctx)
	return err
}

// singles measures writes of one document at a time.
func (b *bench) singles(ctx context.Context) (latency.Summary, error) {
	var took latency.Histogram
	body := b.bodies[0]
	source := body.data[len(operation):]
	source = source[:strings.IndexByte(string(source), '\n')]
	for i := range b.o.singleCount {
		began := time.Now()
		if err := b.server.put(ctx, fmt.Sprintf("single-%d-%d", b.found, i), string(source)); err != nil {
			return latency.Summary{}, err
		}
		took.Record(time.Since(began))
	}
	return took.Summary(), nil
}

// idle measures queries without writes, after all have run once.
func (b *bench) idle(ctx context.Context) (latency.Summary, error) {
	times, err := b.search(ctx, queryJob{Warm: true, Count: b.o.queryCount})
	return times.Times, err
}

// meter counts the acknowledgements of a load.
type meter struct {
	mu      sync.Mutex
	last    time.Time
	pause   time.Duration
	longest time.Duration
	ack     latency.Histogram
}

func (m *meter) acknowledged(began time.Time) {
	now := time.Now()
	m.ack.Record(now.Sub(began))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pause = max(m.pause, now.Sub(m.last))
	m.last = now
}

// lap returns the longest pause since the last call.
func (m *meter) lap() (pause time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pause, m.pause = m.pause, 0
	m.longest = max(m.longest, pause)
	return pause
}

// load writes with all clients, at a rate in bytes a second (0: the highest), while beside runs.
func (b *bench) load(ctx context.Context, rate float64, duration time.Duration, beside func(ctx context.Context, until time.Time) error) (l load, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began, cpu := time.Now(), b.server.process.CPUSeconds()
	until := began.Add(duration)
	m := &meter{last: began}
	errs := make([]error, b.o.clients+1)
	loads := make([]load, b.o.clients)
	var total atomic.Int64
	var group sync.WaitGroup
	for i := range b.o.clients {
		group.Go(func() {
			var buffer []byte
			for n := 0; (n == 0 || time.Now().Before(until)) && errs[i] == nil; {
				if due := time.Duration(float64(total.Load()) / rate * 1e9); rate > 0 && time.Since(began) < due {
					time.Sleep(min(due-time.Since(began), 20*time.Millisecond))
					continue
				}
				bytes := loads[i].bytes
				sent := time.Now()
				if buffer, errs[i] = b.write(ctx, buffer, &loads[i]); errs[i] != nil {
					cancel()
					return
				}
				n++
				m.acknowledged(sent)
				total.Add(loads[i].bytes - bytes)
			}
		})
	}
	group.Go(func() {
		if errs[b.o.clients] = beside(ctx, until); errs[b.o.clients] != nil {
			cancel()
		}
	})
	l.Samples = b.sample(ctx, began, until, m, &total)
	group.Wait()
	m.lap()
	l.Seconds, l.ServerCPU = time.Since(began).Seconds(), b.server.process.CPUSeconds()-cpu
	for i := range loads {
		l.bytes, l.docBytes, l.docs, l.Refused = l.bytes+loads[i].bytes, l.docBytes+loads[i].docBytes, l.docs+loads[i].docs, l.Refused+loads[i].Refused
	}
	l.MBPerSecond, l.DocMBPerSecond, l.DocsPerSecond = float64(l.bytes)/1e6/l.Seconds, float64(l.docBytes)/1e6/l.Seconds, float64(l.docs)/l.Seconds
	l.LongestPause, l.Ack = ms(m.longest), m.ack.Summary()
	return l, firstOf(errs)
}

// firstOf prefers errors that are not the end of the context, which another one caused.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

func (b *bench) sample(ctx context.Context, began, until time.Time, m *meter, total *atomic.Int64) (samples []sample) {
	bytes, written := int64(0), b.server.process.WrittenBytes()
	clients, server, machine := process.Self().CPUSeconds(), b.server.process.CPUSeconds(), process.MachineTime()
	for n := 1; ; n++ {
		end := began.Add(time.Duration(n) * time.Second)
		if end.After(until) || ctx.Err() != nil {
			return samples
		}
		time.Sleep(time.Until(end))
		nowBytes, nowWritten, memory := total.Load(), b.server.process.WrittenBytes(), b.server.process.Memory()
		samples = append(samples, sample{
			MB: float64(nowBytes-bytes) / 1e6, Pause: ms(m.lap()), RSS: memory.All / 1e6, Anonymous: memory.Anonymous / 1e6,
			WrittenMB: float64(nowWritten-written) / 1e6, VisibleMS: ms(time.Duration(b.shown.Swap(0))), NumSegments: b.numSegments(),
		})
		last := &samples[len(samples)-1]
		nowClients, nowServer, nowMachine := process.Self().CPUSeconds(), b.server.process.CPUSeconds(), process.MachineTime()
		last.StolenMS = 1000 * (nowMachine.Stolen - machine.Stolen)
		last.OthersMS = 1000 * (nowMachine.Busy - machine.Busy - (nowServer - server) - (nowClients - clients))
		bytes, written = nowBytes, nowWritten
		clients, server, machine = nowClients, nowServer, nowMachine
	}
}

// numSegments is the number of segments in the folder, with those that are being made or replaced.
func (b *bench) numSegments() int {
	names, _ := filepath.Glob(filepath.Join(b.data, indexName, "seg-??????"))
	return len(names)
}

// write sends the next request, again if it is refused, and adds it to l. buffer is used again.
func (b *bench) write(ctx context.Context, buffer []byte, l *load) ([]byte, error) {
	n := b.next.Add(1) - 1
	body := b.bodies[n%int64(len(b.bodies))]
	first := b.ids.Add(int64(len(body.ids))) - int64(len(body.ids))
	buffer = body.number(buffer, b.first+first)
	for {
		err := b.server.bulk(ctx, buffer)
		if !errors.Is(err, errBusy) {
			l.bytes, l.docBytes, l.docs = l.bytes+int64(len(buffer)), l.docBytes+int64(body.docBytes), l.docs+int64(len(body.ids))
			return buffer, err
		}
		l.Refused++
		time.Sleep(20 * time.Millisecond)
	}
}

// probeUntil writes documents, one after another, and searches them after a refresh.
func (b *bench) probeUntil(ctx context.Context, until time.Time) error {
	for ; b.probes == 0 || time.Now().Before(until); time.Sleep(b.o.probeInterval) {
		name := fmt.Sprintf("probe%d-%dq", b.found, b.probes)
		began := time.Now()
		err := b.server.put(ctx, name, `{"title":"a probe","text":"`+name+`"}`)
		if errors.Is(err, errBusy) {
			continue
		}
		if err != nil {
			return err
		}
		b.probes++
		acknowledged := time.Now()
		if err := b.server.post(ctx, "/_refresh"); err != nil {
			return err
		}
		ids, err := b.server.search(ctx, name)
		if err != nil {
			return err
		}
		if len(ids) != 1 || ids[0] != name {
			return fmt.Errorf("a search for %s after _refresh finds %q", name, ids)
		}
		b.visible.Record(time.Since(acknowledged))
		b.probe.Record(time.Since(began))
		if d := int64(time.Since(acknowledged)); d > b.shown.Load() {
			b.shown.Store(d)
		}
	}
	return nil
}

// settle flushes and waits until merges have ended.
func (b *bench) settle(ctx context.Context, r *report) error {
	if err := b.server.post(ctx, "/_flush"); err != nil {
		return err
	}
	began := time.Now()
	last, since := "", began
	for time.Since(since) < b.o.quiet {
		if now := fmt.Sprintf("%d %.1f", b.server.process.WrittenBytes(), b.server.process.CPUSeconds()); now != last {
			last, since = now, time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(b.o.quiet / 20):
		}
	}
	r.QuietAfterMS = ms(since.Sub(began))
	r.DiskBytesAtRest = diskBytes(filepath.Join(b.data, indexName))
	return nil
}

func diskBytes(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil // files come and go
	})
	return total
}
