package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// livingEngine is an index that takes writes while it is searched. open makes a new one. write and
// search are called concurrently between open and close.
type livingEngine interface {
	name() string
	open(ctx context.Context, dir string) error
	// write adds passages under new ids. They are durable when it returns.
	write(ctx context.Context, passages []passage) error
	// search returns the number of the top results, at most 10, with any word of the text.
	search(ctx context.Context, text string) (hits int, err error)
	// numDocs makes all documents visible, and counts them.
	numDocs() (int, error)
	close(ctx context.Context) error
}

type livingOptions struct {
	clients   int
	batch     int
	base      int // documents before the measurement
	duration  time.Duration
	rounds    int
	queryRate float64
}

// living is a measurement of engines that write and search at the same time.
type living struct {
	livingOptions
	work     string
	passages []passage
	sizes    []int // of the passages as JSON lines
	queries  []string
	next     atomic.Int64 // passage
}

// measure runs the rounds of each engine in turn.
func (l *living) measure(ctx context.Context, engines []livingEngine) ([]*livingResult, error) {
	results := make([]*livingResult, len(engines))
	for i, e := range engines {
		results[i] = &livingResult{Engine: e.name()}
	}
	for range l.rounds {
		for i, e := range engines {
			round, err := l.round(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name(), err)
			}
			results[i].Rounds = append(results[i].Rounds, round)
		}
	}
	for _, r := range results {
		r.summarize()
	}
	return results, nil
}

// round measures a new index: the highest rate, then queries beside half of it.
func (l *living) round(ctx context.Context, e livingEngine) (r livingRound, err error) {
	runtime.GC() // garbage of the other engine
	dir := filepath.Join(l.work, "living")
	if err := e.open(ctx, dir); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, e.close(ctx), os.RemoveAll(dir)) }()
	l.next.Store(0)
	for int(l.next.Load()) < l.base {
		if _, err := l.write(ctx, e, l.base); err != nil {
			return r, err
		}
	}
	if err := l.checkDocs(e); err != nil {
		return r, err
	}
	if r.Full, err = l.load(ctx, e, 0, func(context.Context, time.Time) error { return nil }); err != nil {
		return r, err
	}
	var took latency.Histogram
	rate := r.Full.MBPerSecond * 1e6 / 2
	if r.Half, err = l.load(ctx, e, rate, func(ctx context.Context, until time.Time) (err error) {
		r.NoResult, err = l.search(ctx, e, until, &took)
		return err
	}); err != nil {
		return r, err
	}
	r.Query = took.Summary()
	return r, l.checkDocs(e)
}

// checkDocs makes all documents visible.
func (l *living) checkDocs(e livingEngine) error {
	n, err := e.numDocs()
	if want := int(l.next.Load()); err == nil && n != want {
		err = fmt.Errorf("%d documents, want %d", n, want)
	}
	return err
}

// load writes with all clients, at a rate in bytes a second (0: the highest), while beside runs.
func (l *living) load(ctx context.Context, e livingEngine, rate float64, beside func(ctx context.Context, until time.Time) error) (r livingLoad, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	until := began.Add(l.duration)
	firstDoc := l.next.Load()
	var bytes atomic.Int64
	var ack latency.Histogram
	var mu sync.Mutex
	last, pause := began, time.Duration(0)
	errs := make([]error, l.clients+1)
	var group sync.WaitGroup
	for i := range l.clients {
		group.Go(func() {
			for n := 0; (n == 0 || time.Now().Before(until)) && errs[i] == nil; {
				if due := time.Duration(float64(bytes.Load()) / rate * 1e9); rate > 0 && time.Since(began) < due {
					time.Sleep(min(due-time.Since(began), 20*time.Millisecond))
					continue
				}
				sent := time.Now()
				size, err := l.write(ctx, e, 0)
				if errs[i] = err; err != nil {
					cancel()
					return
				}
				now := time.Now()
				n++
				ack.Record(now.Sub(sent))
				bytes.Add(size)
				mu.Lock()
				pause, last = max(pause, now.Sub(last)), now
				mu.Unlock()
			}
		})
	}
	group.Go(func() {
		if errs[l.clients] = beside(ctx, until); errs[l.clients] != nil {
			cancel()
		}
	})
	group.Wait()
	seconds := time.Since(began).Seconds()
	r.MBPerSecond, r.DocsPerSecond = float64(bytes.Load())/1e6/seconds, float64(l.next.Load()-firstDoc)/seconds
	r.LongestPauseMS, r.Ack = float64(pause.Microseconds())/1000, ack.Summary()
	return r, errors.Join(errs...)
}

// write writes the next passages, up to the given number (0: no limit), and returns their size as JSON.
func (l *living) write(ctx context.Context, e livingEngine, limit int) (size int64, err error) {
	batch := make([]passage, l.batch)
	from := int(l.next.Add(int64(l.batch))) - l.batch
	if limit > 0 {
		batch = batch[:min(l.batch, limit-from)]
		l.next.Add(int64(len(batch) - l.batch))
	}
	for i := range batch {
		at := (from + i) % len(l.passages)
		batch[i] = l.passages[at]
		batch[i].ID = strconv.Itoa(from + i)
		size += int64(l.sizes[at])
	}
	return size, e.write(ctx, batch)
}

// search runs queries, at least one, one after another, at most at the rate.
func (l *living) search(ctx context.Context, e livingEngine, until time.Time, took *latency.Histogram) (noResult int, err error) {
	began := time.Now()
	for n := 0; ; n++ {
		if l.queryRate > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(float64(n) / l.queryRate * 1e9))))
		}
		started := time.Now()
		if n > 0 && !started.Before(until) {
			return noResult, nil
		}
		hits, err := e.search(ctx, l.queries[n%len(l.queries)])
		if err != nil {
			return noResult, err
		}
		took.Record(time.Since(started))
		if hits == 0 {
			noResult++
		}
	}
}

// livingResult is one engine's.
type livingResult struct {
	Engine string `json:"engine"`
	// MBPerSecond is the highest of the rounds, QueryP99 the lowest, in microseconds.
	MBPerSecond float64       `json:"mb_per_second"`
	QueryP50    float64       `json:"query_p50_us"`
	QueryP99    float64       `json:"query_p99_us"`
	Rounds      []livingRound `json:"rounds"`
}

func (r *livingResult) summarize() {
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	r.MBPerSecond = slices.MaxFunc(r.Rounds, func(a, b livingRound) int { return cmp.Compare(a.Full.MBPerSecond, b.Full.MBPerSecond) }).Full.MBPerSecond
	best := slices.MinFunc(r.Rounds, func(a, b livingRound) int { return cmp.Compare(a.Query.P99, b.Query.P99) }).Query
	r.QueryP50, r.QueryP99 = us(best.P50), us(best.P99)
}

type livingRound struct {
	Full livingLoad `json:"full_rate"`
	// Half is at half of that rate, with the queries.
	Half     livingLoad      `json:"half_rate"`
	Query    latency.Summary `json:"query_us"`
	NoResult int             `json:"no_result"`
}

// livingLoad is a phase of writes, in MB of JSON lines.
type livingLoad struct {
	MBPerSecond    float64         `json:"mb_per_second"`
	DocsPerSecond  float64         `json:"docs_per_second"`
	LongestPauseMS float64         `json:"longest_pause_ms"` // between two acknowledgements
	Ack            latency.Summary `json:"ack_us"`           // of a batch
}
