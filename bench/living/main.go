// Command living measures an index that takes writes while it is searched: the highest rate of synced
// writes, the times to acknowledge and to show a write, queries beside half that rate, and the bytes
// written to the disk. The result is JSON.
//
//	go run ./bench/living --passages wiki.jsonl --queries tb05-1000.tsv --seconds 60 --dir /var/tmp
//
// Writes go through griffin.Writer, without HTTP (bench/living/http measures that). When all passages are
// written, they are written again under new ids.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/bench/living/process"
)

type options struct {
	passages, queries, dir string
	seconds, clients, base int
	batch                  int
	memory                 int64
}

// report is the result, with bytes of titles and texts.
type report struct {
	Documents      int     `json:"documents"`
	Processors     int     `json:"processors"`
	MBPerSecond    float64 `json:"mb_per_second"` // acknowledged
	DocsPerSecond  float64 `json:"docs_per_second"`
	LongestPauseMS float64 `json:"longest_pause_ms"` // between two acknowledgements
	AmplifiedBytes float64 `json:"written_per_byte"` // to the disk, all of the process
	SegmentsAtEnd  int     `json:"segments_at_end"`
	SingleP50MS    float64 `json:"single_ack_p50_ms"`
	SingleP99MS    float64 `json:"single_ack_p99_ms"`
	VisibleP50MS   float64 `json:"visible_p50_ms"` // after a refresh on request, beside full-rate writes
	VisibleP99MS   float64 `json:"visible_p99_ms"`
	// Queries beside writes at half the rate, on the same segments after the writes, and on one
	// segment.
	HalfP50MS       float64 `json:"query_p50_beside_half_rate_ms"`
	HalfP99MS       float64 `json:"query_p99_beside_half_rate_ms"`
	IdleP50MS       float64 `json:"idle_query_p50_ms"`
	IdleP99MS       float64 `json:"idle_query_p99_ms"`
	MergedP50MS     float64 `json:"merged_query_p50_ms"`
	MergedP99MS     float64 `json:"merged_query_p99_ms"`
	HalfMBPerSecond float64 `json:"half_rate_mb_per_second"`
	MaxRSSBytes     int64   `json:"max_rss_bytes"`
}

func main() {
	var o options
	flag.StringVar(&o.passages, "passages", "", "JSON Lines with id, title and text")
	flag.StringVar(&o.queries, "queries", "", "id, tab and query in each line")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "folder for the index")
	flag.IntVar(&o.seconds, "seconds", 30, "duration of each phase")
	flag.IntVar(&o.clients, "clients", 4, "concurrent writers")
	flag.IntVar(&o.base, "base", 100_000, "documents before the measurement")
	flag.IntVar(&o.batch, "batch", 1000, "documents of a call")
	flag.Int64Var(&o.memory, "memory", 0, "bytes of WriterOptions.MemoryBytes")
	flag.Parse()
	r, err := measure(context.Background(), o)
	if err != nil {
		fatal(err)
	}
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		fatal(err)
	}
	fmt.Println(string(out))
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "living:", err)
	os.Exit(1)
}

type bench struct {
	options
	docs    []griffin.Document
	queries []string
	ix      *griffin.Index
	w       *griffin.Writer
	next    atomic.Int64 // document to write
}

func measure(ctx context.Context, o options) (r report, err error) {
	b := &bench{options: o}
	if b.docs, err = readDocs(o.passages); err != nil {
		return r, err
	}
	if b.queries, err = readQueries(o.queries); err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp(o.dir, "living")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if b.ix, err = griffin.Create(filepath.Join(dir, "ix"), griffin.Settings{Analyzer: "english"}, griffin.Options{}); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.ix.Close()) }()
	if b.w, err = b.ix.Writer(ctx, griffin.WriterOptions{MemoryBytes: b.memory, OnError: func(err error) { slog.Error("in the background", "error", err) }}); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.w.Close(ctx)) }()
	return b.phases(ctx)
}

func (b *bench) phases(ctx context.Context) (r report, err error) {
	r.Processors = runtime.GOMAXPROCS(0)
	for int(b.next.Load()) < b.base {
		if _, err := b.write(ctx, b.batch); err != nil {
			return r, err
		}
	}
	if err := b.w.Merge(ctx, 1); err != nil {
		return r, err
	}
	single, err := b.singles(ctx)
	if err != nil {
		return r, err
	}
	r.SingleP50MS, r.SingleP99MS = at(single, 50), at(single, 99)

	before, began := process.Self().WrittenBytes(), time.Now()
	docs := b.next.Load()
	var visible []time.Duration
	rate, pause, err := b.load(ctx, 0, func(until time.Time) {
		for time.Now().Before(until) && ctx.Err() == nil {
			visible = append(visible, b.visible(ctx))
			time.Sleep(200 * time.Millisecond)
		}
	})
	if err != nil {
		return r, err
	}
	took := time.Since(began).Seconds()
	r.MBPerSecond, r.DocsPerSecond = rate/1e6, float64(b.next.Load()-docs)/took
	r.LongestPauseMS = ms(pause)
	slices.Sort(visible)
	r.VisibleP50MS, r.VisibleP99MS = at(visible, 50), at(visible, 99)
	if err := b.w.Flush(ctx); err != nil {
		return r, err
	}
	r.AmplifiedBytes = float64(process.Self().WrittenBytes()-before) / (rate * took)

	var beside []time.Duration
	half, _, err := b.load(ctx, rate/2, func(until time.Time) { beside = b.search(ctx, until) })
	if err != nil {
		return r, err
	}
	r.HalfMBPerSecond = half / 1e6
	r.HalfP50MS, r.HalfP99MS = at(beside, 50), at(beside, 99)
	stats, err := b.ix.Stats()
	if err != nil {
		return r, err
	}
	r.SegmentsAtEnd, r.Documents, r.MaxRSSBytes = len(stats.Segments), stats.NumDocs, process.Self().Memory().Peak
	time.Sleep(2 * time.Second) // for merges that run
	idle := b.search(ctx, time.Now().Add(b.phase()/2))
	r.IdleP50MS, r.IdleP99MS = at(idle, 50), at(idle, 99)
	if err := b.w.Merge(ctx, 1); err != nil {
		return r, err
	}
	merged := b.search(ctx, time.Now().Add(b.phase()/2))
	r.MergedP50MS, r.MergedP99MS = at(merged, 50), at(merged, 99)
	return r, nil
}

func (o *options) phase() time.Duration { return time.Duration(o.seconds) * time.Second }

// load writes with all clients, at a rate in bytes a second (0: the highest), while beside runs.
func (b *bench) load(ctx context.Context, rate float64, beside func(until time.Time)) (bytesPerSecond float64, pause time.Duration, err error) {
	began := time.Now()
	until := began.Add(b.phase())
	var bytes atomic.Int64
	var mu sync.Mutex
	last := began
	var group sync.WaitGroup
	for range b.clients {
		group.Go(func() {
			for time.Now().Before(until) {
				if due := time.Duration(float64(bytes.Load()) / rate * 1e9); rate > 0 && time.Since(began) < due {
					time.Sleep(min(due-time.Since(began), 20*time.Millisecond))
					continue
				}
				n, writeErr := b.write(ctx, b.batch)
				bytes.Add(int64(n))
				mu.Lock()
				now := time.Now()
				pause, last = max(pause, now.Sub(last)), now
				err = errors.Join(err, writeErr)
				failed := err != nil
				mu.Unlock()
				if failed {
					return
				}
			}
		})
	}
	group.Go(func() { beside(until) })
	group.Wait()
	return float64(bytes.Load()) / time.Since(began).Seconds(), pause, err
}

// write writes the next n documents and returns the bytes of their texts.
func (b *bench) write(ctx context.Context, n int) (bytes int, err error) {
	from := int(b.next.Add(int64(n))) - n
	writes := make([]griffin.Write, n)
	for i := range writes {
		d := b.docs[(from+i)%len(b.docs)]
		d.ID = fmt.Sprint(from + i)
		writes[i].Document = d
		bytes += len(d.Title) + len(d.Text)
	}
	_, err = b.w.Apply(ctx, writes...)
	return bytes, err
}

// singles measures writes of one document at a time.
func (b *bench) singles(ctx context.Context) (took []time.Duration, err error) {
	for range 2000 {
		began := time.Now()
		if _, err := b.write(ctx, 1); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took, nil
}

// visible measures the time from an acknowledged write to its visibility, with a refresh on request.
func (b *bench) visible(ctx context.Context) time.Duration {
	began := time.Now()
	if _, err := b.write(ctx, 1); err != nil {
		fatal(err)
	}
	if err := b.w.Refresh(ctx); err != nil {
		fatal(err)
	}
	return time.Since(began)
}

// search runs top-10 OR queries, one after another, and returns their sorted times.
func (b *bench) search(ctx context.Context, until time.Time) (took []time.Duration) {
	for i := 0; time.Now().Before(until); i++ {
		began := time.Now()
		if _, err := b.ix.Search(ctx, griffin.Query{Text: b.queries[i%len(b.queries)], K: 10, Load: griffin.LoadNone}); err != nil {
			fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

func at(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return ms(sorted[min(len(sorted)*percent/100, len(sorted)-1)])
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func readDocs(name string) (docs []griffin.Document, err error) {
	err = eachLine(name, func(line []byte) error {
		var d griffin.Document
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		docs = append(docs, d)
		return nil
	})
	return docs, err
}

func readQueries(name string) (queries []string, err error) {
	err = eachLine(name, func(line []byte) error {
		_, text, _ := strings.Cut(string(line), "\t")
		queries = append(queries, text)
		return nil
	})
	return queries, err
}

func eachLine(name string, do func([]byte) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		if err := do(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return lines.Err()
}
