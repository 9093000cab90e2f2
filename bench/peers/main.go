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
	"strings"
	"time"

	"github.com/griffin-search/griffin/trec"
)

// searchOptions are the settings of the query runs.
type searchOptions struct {
	k    int
	runs int
}

// options are the program's flags.
type options struct {
	docs, numQueries      int
	queries, binary, json string
	only                  string
	bleve                 bleveOptions
	search                searchOptions
	check                 bool
	passages              []string
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: peers [flags] PASSAGES.jsonl[.zst]…\n\n"+
			"example: peers -docs 100000 -queries tb05-1000.tsv -check wiki-passages-*.jsonl.zst\n\n")
		flags.PrintDefaults()
	}
	flags.IntVar(&o.docs, "docs", 100_000, "index the first N passages; 0: all")
	flags.StringVar(&o.queries, "queries", "", "topic file, for example TSV of id and text (required)")
	flags.IntVar(&o.numQueries, "num-queries", 0, "take the first N queries; 0: all")
	flags.StringVar(&o.binary, "griffin", "", "griffin command to measure; built from this checkout if not given")
	flags.StringVar(&o.json, "json", "", "write the result to this file")
	flags.StringVar(&o.only, "only", "", "measure one engine: bleve or griffin")
	flags.IntVar(&o.bleve.batchSize, "batch", 1000, "documents in a batch of bleve")
	flags.IntVar(&o.bleve.threads, "threads", runtime.NumCPU(), "processors for indexing, both engines")
	flags.IntVar(&o.search.k, "k", 10, "results of a query")
	flags.IntVar(&o.search.runs, "runs", 3, "runs of the queries; the least time of each counts")
	flags.BoolVar(&o.check, "check", false, fmt.Sprintf("fail unless Griffin is %d times faster to index and %d times on OR", leastIndexRatio, leastOrRatio))
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.passages = flags.Args()
	switch {
	case len(o.passages) == 0 || o.queries == "":
		return o, errors.New("want -queries and at least one file of passages; see -help")
	case o.only != "" && o.only != "bleve" && o.only != "griffin":
		return o, fmt.Errorf("-only %s: want bleve or griffin", o.only)
	case o.check && o.only != "":
		return o, errors.New("-check needs both engines, not -only")
	case o.docs < 0 || o.numQueries < 0 || o.bleve.batchSize < 1 || o.bleve.threads < 1 || o.search.k < 1 || o.search.runs < 1:
		return o, errors.New("a number is too small; see -help")
	}
	return o, nil
}

func main() {
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	work, err := os.MkdirTemp("", "griffin-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	topics, err := readQueries(o.queries, o.numQueries)
	if err != nil {
		return err
	}
	in, err := writeSubset(filepath.Join(work, "passages.jsonl"), o.passages, o.docs)
	if err != nil {
		return err
	}
	r := &report{
		Time: time.Now().UTC().Truncate(time.Second), Command: command(), Machine: thisMachine(),
		NumDocs: in.numDocs, NumBytes: in.numBytes, NumQueries: len(topics),
		K: o.search.k, Runs: o.search.runs, Threads: o.bleve.threads,
	}
	if o.only != "griffin" {
		if r.Bleve, err = bleveInProcess(work, in, topics, o); err != nil {
			return fmt.Errorf("bleve: %w", err)
		}
	}
	if o.only != "bleve" {
		if r.Griffin, err = griffinAsCommand(ctx, work, in, topics, o); err != nil {
			return fmt.Errorf("griffin: %w", err)
		}
	}
	if r.Bleve != nil && r.Griffin != nil {
		r.Ratios = compareEngines(r.Bleve, r.Griffin)
	}
	if err := r.writeTable(os.Stdout); err != nil {
		return err
	}
	if o.json != "" {
		if err := r.writeJSON(o.json); err != nil {
			return err
		}
	}
	if r.Ratios == nil {
		return nil
	}
	if err := r.sameWork(); err != nil {
		return err
	}
	if o.check {
		return r.fastEnough()
	}
	return nil
}

func bleveInProcess(work string, in subset, topics []trec.Topic, o options) (*engineResult, error) {
	before := runtime.GOMAXPROCS(o.bleve.threads)
	defer runtime.GOMAXPROCS(before)
	result, err := measureBleve(filepath.Join(work, "bleve"), in, topics, o.bleve, o.search)
	return &result, err
}

func griffinAsCommand(ctx context.Context, work string, in subset, topics []trec.Topic, o options) (*engineResult, error) {
	binary := o.binary
	if binary == "" {
		var err error
		if binary, err = buildGriffin(ctx, work); err != nil {
			return nil, err
		}
	}
	queries := filepath.Join(work, "queries.tsv")
	if err := writeQueries(queries, topics); err != nil {
		return nil, err
	}
	result, err := measureGriffin(ctx, binary, filepath.Join(work, "griffin.index"), in, queries, o.bleve.threads, o.search)
	return &result, err
}

// command returns how the program was called, files without their folders,
// which differ from machine to machine.
func command() string {
	words := []string{"peers"}
	for _, arg := range os.Args[1:] {
		words = append(words, filepath.Base(arg))
	}
	return strings.Join(words, " ")
}
