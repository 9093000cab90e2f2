// Traversals measures every traversal, and the planner's choice, on an index and query logs, and
// writes JSON and the tables of docs/benchmarks/traversals.md.
//
//	go run ./bench/traversals -json traversals.json -markdown tables.md INDEX tb05.tsv tb06.tsv
//
// With -sets it makes logs of long and of rare queries from a collection instead:
//
//	go run ./bench/traversals -sets FOLDER wiki-passages-0.jsonl.zst
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
	sets                   string
	runs, every            int
	cpuTime                bool
	skip                   []string
	ks                     []int
	index                  string
	logs                   []string
}

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("traversals", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: traversals [flags] INDEX LOG…\n       traversals -sets FOLDER COLLECTION…\n\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.json, "json", "", "write the result to this file")
	flags.StringVar(&o.markdown, "markdown", "", "write the tables to this file instead of standard output")
	flags.StringVar(&o.commit, "commit", "", "measured commit, for the result")
	flags.IntVar(&o.runs, "runs", 5, "number of measurements of each query")
	flags.IntVar(&o.every, "every", 1, "measure every Nth query of a log")
	skip := flags.String("skip", "", "names of traversals to leave out, with commas between")
	flags.StringVar(&o.sets, "sets", "", "write logs of long and rare queries of a collection to this folder, and measure nothing")
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
	if *skip != "" {
		o.skip = strings.Split(*skip, ",")
	}
	for _, name := range o.skip {
		if !slices.Contains(plan.Traversals(plan.ModeOr), name) && !slices.Contains(plan.Traversals(plan.ModeAnd), name) {
			return o, fmt.Errorf("-skip: there is no traversal %q", name)
		}
	}
	if o.sets != "" && flags.NArg() > 0 {
		o.logs = flags.Args()
		return o, nil
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
	if o.sets != "" {
		return writeSets(ctx, o.sets, o.logs)
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
	Ratio     float64         `json:"ratio"`      // of the mean to that of the fastest traversal with a name
	// Per query, for one pass.
	PostingsDecoded float64 `json:"postings_decoded"`
	PostingsScored  float64 `json:"postings_scored"`
}

// chosen is the name of the planner's choice in results.
const chosen = "the planner's choice"

// All traversals of a mode, fastest first.
func (b *bench) measure(ctx context.Context, topics []trec.Topic, mode plan.Mode, k int) ([]figure, error) {
	names := slices.DeleteFunc(plan.Traversals(mode), func(name string) bool { return slices.Contains(b.skip, name) })
	names = append(names, chosen)
	times := make([][]time.Duration, len(names))
	work := make([]plan.Work, len(names))
	var want []base.Hit
	for _, topic := range topics {
		for i, name := range names {
			opts := plan.Options{Mode: mode, K: k}
			if name != chosen {
				opts.Traversal = name
			}
			hits, w, least, err := b.query(ctx, topic.Title, opts)
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
	fastest := figures[0].Latency.Mean
	if figures[0].Traversal == chosen && len(figures) > 1 {
		fastest = figures[1].Latency.Mean
	}
	for i := range figures {
		figures[i].Ratio = float64(figures[i].Latency.Mean) / float64(max(fastest, 1))
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
