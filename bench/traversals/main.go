// Traversals measures every traversal on an index and query logs, and writes
// JSON and the tables of docs/benchmarks/traversals.md.
//
//	go run ./bench/traversals -json traversals.json -markdown tables.md INDEX tb05.tsv tb06.tsv
//
// # Method
//
// For each query, all traversals run in turn: once as a warm-up (which also
// computes derived data of lists), then -runs times. The minimum counts,
// because other load only adds time; ratios are more reliable than times.
// -cpu-time measures the thread's CPU time, which excludes the time of other
// programs, and adds about 0.2 µs per query. Lists are looked up in advance;
// one thread. It is an error if traversals give different hits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "traversals:", err)
		os.Exit(1)
	}
}

type options struct {
	json, markdown, commit string
	runs, every            int
	cpuTime                bool
	ks                     []int
	index                  string
	logs                   []string
}

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("traversals", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: traversals [flags] INDEX LOG…\n\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.json, "json", "", "write the result to this file")
	flags.StringVar(&o.markdown, "markdown", "", "write the tables to this file instead of standard output")
	flags.StringVar(&o.commit, "commit", "", "measured commit, for the result")
	flags.IntVar(&o.runs, "runs", 5, "number of measurements of each query")
	flags.IntVar(&o.every, "every", 1, "measure every Nth query of a log")
	flags.BoolVar(&o.cpuTime, "cpu-time", false, "measure CPU time, for busy machines (Linux)")
	ks := flags.String("k", "10,1000", "hits for each query")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for text := range strings.SplitSeq(*ks, ",") {
		k, err := strconv.Atoi(text)
		if err != nil || k < 1 {
			return o, fmt.Errorf("-k %q: want numbers of at least 1, with commas between", *ks)
		}
		o.ks = append(o.ks, k)
	}
	if flags.NArg() < 2 || o.runs < 1 || o.every < 1 {
		return o, errors.New("usage: traversals [flags] INDEX LOG…; -runs and -every from 1 on")
	}
	if _, ok := latency.ThreadTime(); o.cpuTime && !ok {
		return o, errors.New("-cpu-time: this system does not measure the CPU time of threads")
	}
	o.index, o.logs = flags.Arg(0), flags.Args()[1:]
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	ix, err := index.Open(vfs.OS, o.index)
	if err != nil {
		return err
	}
	snapshot, err := ix.Snapshot()
	if err := errors.Join(err, ix.Close()); err != nil {
		return err
	}
	defer snapshot.Release()
	b := &bench{options: o, planner: plan.New(snapshot, nil), began: time.Now()}
	if b.scratch, err = plan.NewScratch(snapshot.Options.Analyzer); err != nil {
		return err
	}
	r := newResult(o, snapshot)
	runtime.LockOSThread() // whose CPU time is measured
	defer runtime.UnlockOSThread()
	for _, log := range o.logs {
		topics, err := readLog(log, o.every)
		if err != nil {
			return err
		}
		for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd} {
			for _, k := range o.ks {
				figures, err := b.measure(ctx, topics, mode, k)
				if err != nil {
					return fmt.Errorf("%s: %w", log, err)
				}
				r.Groups = append(r.Groups, group{Log: filepath.Base(log), Queries: len(topics), Mode: mode, K: k, Figures: figures})
			}
		}
	}
	return r.write(o)
}

func readLog(path string, every int) ([]trec.Topic, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	topics, err := trec.ReadTopics(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var some []trec.Topic
	for i := 0; i < len(topics); i += every {
		some = append(some, topics[i])
	}
	return some, nil
}

type bench struct {
	options
	planner *plan.Planner
	scratch *plan.Scratch
	began   time.Time
}

type figure struct {
	Traversal string          `json:"traversal"`
	Latency   latency.Summary `json:"latency_us"` // per query the minimum of its runs
	Ratio     float64         `json:"ratio"`      // of the mean to the fastest traversal's
	// Per query, for one pass.
	PostingsDecoded float64 `json:"postings_decoded"`
	PostingsScored  float64 `json:"postings_scored"`
}

// All traversals of a mode, fastest first.
func (b *bench) measure(ctx context.Context, topics []trec.Topic, mode plan.Mode, k int) ([]figure, error) {
	names := plan.Traversals(mode)
	times := make([][]time.Duration, len(names))
	work := make([]plan.Work, len(names))
	var want []base.Hit
	for _, topic := range topics {
		for i, name := range names {
			hits, w, least, err := b.query(ctx, topic.Title, plan.Options{Mode: mode, K: k, Traversal: name})
			if err != nil {
				return nil, fmt.Errorf("query %s: %s: %w", topic.ID, name, err)
			}
			if i == 0 {
				want = hits
			} else if !slices.Equal(hits, want) {
				return nil, fmt.Errorf("query %s, mode %s, k=%d: %s and %s differ", topic.ID, mode, k, name, names[0])
			}
			times[i] = append(times[i], least)
			work[i].Add(w)
		}
	}
	figures := make([]figure, len(names))
	n := float64(len(topics))
	for i, name := range names {
		figures[i] = figure{
			Traversal: name, Latency: latency.Summarize(times[i]),
			PostingsDecoded: float64(work[i].PostingsDecoded) / n, PostingsScored: float64(work[i].PostingsScored) / n,
		}
	}
	slices.SortFunc(figures, func(x, y figure) int { return int(x.Latency.Mean - y.Latency.Mean) })
	for i := range figures {
		figures[i].Ratio = float64(figures[i].Latency.Mean) / float64(max(figures[0].Latency.Mean, 1))
	}
	return figures, nil
}

// The hits, the work and the minimum time.
func (b *bench) query(ctx context.Context, text string, opts plan.Options) ([]base.Hit, plan.Work, time.Duration, error) {
	p, err := b.planner.Prepare(b.scratch, &query.Words{Text: text, Boost: 1}, opts)
	if err != nil {
		return nil, plan.Work{}, 0, err
	}
	answer, err := p.RunCPU(ctx, b.scratch, nil, nil) // warm-up
	if err != nil {
		return nil, plan.Work{}, 0, err
	}
	hits := slices.Clone(answer.Hits)
	least := time.Duration(1<<63 - 1)
	for range b.runs {
		start := b.now()
		if answer, err = p.RunCPU(ctx, b.scratch, answer.Hits, nil); err != nil {
			return nil, plan.Work{}, 0, err
		}
		least = min(least, b.now()-start)
	}
	return hits, answer.Work, least, nil
}

// Wall time or the thread's CPU time, for differences.
func (b *bench) now() time.Duration {
	if b.cpuTime {
		d, _ := latency.ThreadTime()
		return d
	}
	return time.Since(b.began)
}
