// Command updates measures single queries on an index at rest, while documents of it are replaced at a
// rate, made visible every second, and merged, and at rest again: the times of top-10 OR and AND queries, on the CPU or
// a GPU. The result is JSON.
//
//	go run ./bench/living/updates --index INDEX --queries INDEX.queries.tsv --device gpu
//
// INDEX is an index of griffin lab generate, whose documents have only words of the queries, or any
// other without fields. It is changed: a new document has each word of the queries with the probability
// that it has in INDEX, and the id of a random document.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/griffin-search/griffin"
)

type options struct {
	index, queries, prefix, device, memory, policy string
	rate, resident                                 int
	idle, updating, refresh                        time.Duration
	cache                                          int64
}

// report is the result.
type report struct {
	Device     string  `json:"device"`
	Policy     string  `json:"policy"`
	Documents  int     `json:"documents"`
	Idle       phase   `json:"idle"`
	Updating   phase   `json:"updating"`
	After      phase   `json:"after"`        // at rest, with the segments that the updates left
	RatioOrP50 float64 `json:"or_p50_ratio"` // updating to idle
	RatioAnd50 float64 `json:"and_p50_ratio"`
}

// phase is a part of the measurement.
type phase struct {
	Seconds float64   `json:"seconds"`
	Or      quantiles `json:"or"`
	And     quantiles `json:"and"`
	// Replaced documents, and the segments at the end.
	Updates  int `json:"updates"`
	Segments int `json:"segments"`
	// Queries by the processor that completed them, and counts of the GPU's work.
	OnGPU         int64 `json:"on_gpu"`
	OnCPU         int64 `json:"on_cpu"`
	ListsMissed   int64 `json:"gpu_lists_missed"`
	BytesUploaded int64 `json:"gpu_bytes_uploaded"`
	ListBytes     int64 `json:"gpu_list_bytes"` // at the end
	Errors        int64 `json:"gpu_errors"`
}

type quantiles struct {
	Queries int     `json:"queries"`
	P50     float64 `json:"p50_us"`
	P90     float64 `json:"p90_us"`
	P99     float64 `json:"p99_us"`
	Max     float64 `json:"max_us"`
}

func main() {
	var o options
	flag.StringVar(&o.index, "index", "", "folder of the index, which is changed")
	flag.StringVar(&o.queries, "queries", "", "id, tab and query in each line")
	flag.StringVar(&o.prefix, "prefix", "gov2-", "of the ids of documents, before a number from 0 on")
	flag.StringVar(&o.device, "device", "cpu", "cpu, gpu or a number")
	flag.StringVar(&o.memory, "gpu-memory", "", "bytes of GPU memory for lists")
	flag.StringVar(&o.policy, "policy", "", "of the queries; gpu: all on the GPU")
	flag.IntVar(&o.rate, "rate", 1000, "updates a second")
	flag.IntVar(&o.resident, "resident", 1000, "load the lists of at least so many documents first")
	flag.DurationVar(&o.idle, "idle", 10*time.Second, "time at rest")
	flag.DurationVar(&o.updating, "updating", 30*time.Second, "time with updates")
	flag.DurationVar(&o.refresh, "refresh", time.Second, "time between refreshes")
	flag.Int64Var(&o.cache, "result-cache", 0, "bytes of cached answers")
	flag.Parse()
	r, err := measure(context.Background(), o)
	if err == nil {
		var out []byte
		if out, err = json.MarshalIndent(r, "", "  "); err == nil {
			fmt.Println(string(out))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "updates:", err)
		os.Exit(1)
	}
}

type bench struct {
	options
	queries []string
	words   []word
	numDocs int
	ix      *griffin.Index
	w       *griffin.Writer
	rng     *rand.Rand
}

// word is in a document with a probability.
type word struct {
	text        string
	probability float64
}

func measure(ctx context.Context, o options) (r report, err error) {
	b := &bench{options: o, rng: rand.New(rand.NewPCG(1, 1))}
	if b.queries, err = readQueries(o.queries); err != nil {
		return r, err
	}
	ro := griffin.RuntimeOptions{GPU: griffin.GPUOptions{Device: o.device}, Policy: griffin.Policy(o.policy)}
	if o.memory != "" {
		if _, err := fmt.Sscan(o.memory, &ro.GPU.Memory.Bytes); err != nil {
			return r, fmt.Errorf("--gpu-memory %s: %w", o.memory, err)
		}
	}
	runtime, err := griffin.NewRuntime(ro)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, runtime.Close()) }()
	if b.ix, err = griffin.Open(o.index, griffin.Options{Runtime: runtime, ResultCache: o.cache}); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.ix.Close()) }()
	if err := b.prepare(ctx); err != nil {
		return r, err
	}
	r.Device, r.Policy, r.Documents = o.device, cmp.Or(o.policy, "cost"), b.numDocs
	if r.Idle, err = b.phase(ctx, o.idle, 0); err != nil {
		return r, err
	}
	if b.w, err = b.ix.Writer(ctx, griffin.WriterOptions{RefreshInterval: o.refresh, OnError: func(err error) { slog.Error("in the background", "error", err) }}); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.w.Close(ctx)) }()
	if r.Updating, err = b.phase(ctx, o.updating, o.rate); err != nil {
		return r, err
	}
	if r.After, err = b.phase(ctx, o.idle, 0); err != nil {
		return r, err
	}
	r.RatioOrP50, r.RatioAnd50 = r.Updating.Or.P50/r.Idle.Or.P50, r.Updating.And.P50/r.Idle.And.P50
	return r, nil
}

// prepare counts the documents of each word, loads lists, and runs all queries once.
func (b *bench) prepare(ctx context.Context) error {
	stats, err := b.ix.Stats()
	if err != nil {
		return err
	}
	b.numDocs = stats.NumDocs
	seen := map[string]bool{}
	for _, q := range b.queries {
		for _, text := range strings.Fields(q) {
			if seen[text] {
				continue
			}
			seen[text] = true
			r, err := b.ix.Search(ctx, griffin.Query{Text: text, K: 1, Count: true, Lenient: true, Load: griffin.LoadNone, Policy: griffin.PolicyCPU})
			if err != nil {
				return err
			}
			b.words = append(b.words, word{text, float64(r.Matches) / float64(max(b.numDocs, 1))})
		}
	}
	if _, err := b.ix.Warm(ctx, griffin.WarmOptions{MinDocFreq: uint32(max(b.resident, 0))}); err != nil {
		return err
	}
	for i := range b.queries {
		for _, mode := range modes {
			if _, err := b.search(ctx, i, mode); err != nil {
				return err
			}
		}
	}
	return nil
}

var modes = [...]griffin.Mode{griffin.ModeOr, griffin.ModeAnd}

func (b *bench) search(ctx context.Context, i int, mode griffin.Mode) (time.Duration, error) {
	began := time.Now()
	_, err := b.ix.Search(ctx, griffin.Query{Text: b.queries[i%len(b.queries)], Mode: mode, K: 10, Lenient: true, Load: griffin.LoadNone})
	return time.Since(began), err
}

// phase runs queries one after another, OR and AND in turn, beside updates at a rate.
func (b *bench) phase(ctx context.Context, length time.Duration, rate int) (p phase, err error) {
	before := gpuCounts(b.ix.Runtime())
	began := time.Now()
	until := began.Add(length)
	var updates sync.WaitGroup
	var updateErr error
	if rate > 0 {
		updates.Go(func() { p.Updates, updateErr = b.update(ctx, began, until, rate) })
	}
	var took [len(modes)][]time.Duration
	for i := 0; (i < len(modes) || time.Now().Before(until)) && err == nil; i++ {
		mode := i % len(modes)
		var d time.Duration
		d, err = b.search(ctx, i/len(modes), modes[mode])
		took[mode] = append(took[mode], d)
	}
	updates.Wait()
	p.Seconds = time.Since(began).Seconds()
	p.Or, p.And = quantilesOf(took[0]), quantilesOf(took[1])
	after := gpuCounts(b.ix.Runtime())
	p.OnGPU, p.OnCPU = after.OnGPU-before.OnGPU, after.OnCPU-before.OnCPU
	p.ListsMissed, p.BytesUploaded = after.ListsMissed-before.ListsMissed, after.BytesUploaded-before.BytesUploaded
	p.ListBytes, p.Errors = after.ListBytes, after.Errors-before.Errors
	stats, statsErr := b.ix.Stats()
	p.Segments = len(stats.Segments)
	return p, errors.Join(err, updateErr, statsErr)
}

// update replaces documents, some at a time, as they are due. At the end it replaces all that were due by then.
func (b *bench) update(ctx context.Context, began, until time.Time, rate int) (n int, err error) {
	const pause = 20 * time.Millisecond
	for {
		now := time.Now()
		last := !now.Before(until)
		if last {
			now = until
		}
		due := int(now.Sub(began).Seconds() * float64(rate))
		var writes []griffin.Write
		for ; n < due; n++ {
			writes = append(writes, griffin.Write{Document: b.document()})
		}
		if len(writes) > 0 {
			if _, err := b.w.Apply(ctx, writes...); err != nil {
				return n, err
			}
		}
		if last {
			return n, nil
		}
		time.Sleep(pause)
	}
}

func (b *bench) document() griffin.Document {
	var text strings.Builder
	for _, w := range b.words {
		if b.rng.Float64() < w.probability {
			text.WriteString(w.text)
			text.WriteByte(' ')
		}
	}
	return griffin.Document{ID: fmt.Sprint(b.prefix, b.rng.IntN(b.numDocs)), Text: text.String()}
}

// gpuCounts sums over the devices.
func gpuCounts(r *griffin.Runtime) (p phase) {
	s, used := r.GPUStats()
	if !used {
		return p
	}
	p.OnGPU, p.OnCPU = s.OnGPU, s.OnCPU
	for i := range s.Devices {
		d := &s.Devices[i]
		p.ListsMissed += d.Misses
		p.BytesUploaded += d.BytesUploaded
		p.ListBytes += d.SizeBytes
		p.Errors += d.Errors
	}
	return p
}

func quantilesOf(took []time.Duration) (q quantiles) {
	if len(took) == 0 {
		return q
	}
	slices.Sort(took)
	at := func(percent int) float64 {
		return float64(took[min(len(took)*percent/100, len(took)-1)].Nanoseconds()) / 1000
	}
	return quantiles{Queries: len(took), P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
}

func readQueries(name string) (queries []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if _, text, ok := strings.Cut(lines.Text(), "\t"); ok {
			queries = append(queries, text)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("%s has no queries", name)
	}
	return queries, nil
}
