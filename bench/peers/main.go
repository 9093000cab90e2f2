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

type options struct {
	passages           []string
	docs               int
	queries            string
	numQueries         int
	binary             string
	only               string
	json               string
	batchSize, threads int
	builds             int
	search             searchOptions
	check              bool
	tasks              string
	lucene, java       string
	game               gameOptions
	isLiving           bool
	living             livingOptions
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
	flags.IntVar(&o.batchSize, "batch", 1000, "documents in a batch of bleve")
	flags.IntVar(&o.threads, "threads", runtime.NumCPU(), "processors for indexing, both engines")
	flags.IntVar(&o.builds, "builds", 3, "builds of each index; the least time counts")
	flags.IntVar(&o.search.k, "k", 10, "results of a query")
	flags.IntVar(&o.search.runs, "runs", 3, "runs of the queries; the least time of each counts")
	flags.BoolVar(&o.check, "check", false, fmt.Sprintf("fail unless Griffin is %d times faster to index and %d times on OR (-living: %d times the rate of writes, and p99 of queries %d times lower)",
		leastIndexRatio, leastOrRatio, leastWriteRatio, leastTailRatio))
	flags.StringVar(&o.tasks, "tasks", "", "run the filters, sorts, facets, prefixes and fuzzy terms of this file of luceneutil's tasks, instead of -queries; with -check, Griffin must be "+fmt.Sprint(leastTaskRatio)+" times faster")
	flags.StringVar(&o.lucene, "lucene", "", "-tasks, -game: also run Lucene 9.9 to 9.12, of this class path; -game then leaves out bleve")
	flags.StringVar(&o.java, "java", "java", "-lucene: the command of Java 21, and options")
	flags.StringVar(&o.game.queries, "game", "", "run the commands of search-benchmark-game with this file of its queries, instead of -queries; with -check, Griffin must be "+fmt.Sprint(leastGameRatio)+" times faster")
	flags.StringVar(&o.game.pisa, "pisa", "", "-game: also run PISA, of this folder of its commands, where it can; -game then leaves out bleve")
	flags.BoolVar(&o.game.bp, "bp", false, "-pisa: also run Griffin and PISA with their documents in BP order (recursive graph bisection), by turns with the others")
	flags.DurationVar(&o.game.warmUp, "warm-up", 5*time.Second, "-game: least time of an engine's warm-up for a command")
	flags.StringVar(&o.game.times, "times", "", "-game: write the time of each query to this file")
	o.livingFlags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.passages, o.game.runs = flags.Args(), o.search.runs
	switch {
	case len(o.passages) == 0 || o.queries == "" && o.tasks == "" && o.game.queries == "":
		return o, errors.New("want -queries, -tasks or -game, and at least one file of passages; see -help")
	case o.only != "" && o.only != "bleve" && o.only != "griffin":
		return o, fmt.Errorf("-only %s: want bleve or griffin", o.only)
	case o.check && o.only != "":
		return o, errors.New("-check needs both engines, not -only")
	case o.lucene != "" && o.tasks == "" && o.game.queries == "":
		return o, errors.New("-lucene needs -tasks or -game")
	case o.game.pisa != "" && o.game.queries == "":
		return o, errors.New("-pisa needs -game")
	case o.game.bp && o.game.pisa == "":
		return o, errors.New("-bp needs -pisa")
	case o.game.pisa != "" && o.lucene == "" && o.check:
		return o, errors.New("-check of -game needs Lucene or bleve: there is no bar beside PISA")
	case o.game.queries != "" && (o.tasks != "" || o.isLiving || o.only != ""):
		return o, errors.New("-game excludes -tasks, -living and -only")
	case o.tasks != "" && (o.isLiving || o.only != ""):
		return o, errors.New("-tasks excludes -living and -only")
	case o.isLiving && (o.only != "" || o.living.clients < 1 || o.living.base < 0 || o.living.duration <= 0 || o.living.rounds < 1 || o.living.queryRate < 0):
		return o, errors.New("-living: a number is too small, or -only is given; see -help")
	case o.docs < 0 || o.numQueries < 0 || o.batchSize < 1 || o.threads < 1 || o.builds < 1 || o.search.k < 1 || o.search.runs < 1:
		return o, errors.New("a number is too small; see -help")
	}
	return o, nil
}

func (o *options) livingFlags(flags *flag.FlagSet) {
	flags.BoolVar(&o.isLiving, "living", false, "measure writes and queries at the same time, instead of an index that is made once")
	flags.IntVar(&o.living.clients, "clients", 4, "-living: goroutines that write")
	flags.IntVar(&o.living.base, "base", 50_000, "-living: documents before each measurement")
	flags.DurationVar(&o.living.duration, "duration", 20*time.Second, "-living: of the writes at the highest rate, and again at half of it")
	flags.IntVar(&o.living.rounds, "rounds", 2, "-living: rounds of each engine; the best counts")
	flags.Float64Var(&o.living.queryRate, "query-rate", 50, "-living: most queries a second; 0: one after another")
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

	if o.isLiving {
		before := runtime.GOMAXPROCS(o.threads)
		defer runtime.GOMAXPROCS(before)
		return runLiving(ctx, o, work)
	}
	if o.game.queries != "" {
		return runGame(ctx, o, work)
	}
	if o.tasks != "" {
		return runTasks(ctx, o, work)
	}
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
		K: o.search.k, Runs: o.search.runs, Builds: o.builds, Threads: o.threads,
	}
	if err := r.measure(ctx, work, in, topics, o); err != nil {
		return err
	}
	if err := r.writeTable(os.Stdout); err != nil {
		return err
	}
	if o.json != "" {
		if err := writeJSON(o.json, r); err != nil {
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

func (r *report) measure(ctx context.Context, work string, in subset, topics []trec.Topic, o options) (err error) {
	var engines []engine
	if o.only != "griffin" {
		engines = append(engines, &bleveEngine{
			dir: filepath.Join(work, "bleve"), in: in, topics: topics,
			batchSize: o.batchSize, threads: o.threads, search: o.search,
		})
	}
	if o.only != "bleve" {
		g, err := newGriffinEngine(ctx, work, in, topics, o)
		if err != nil {
			return err
		}
		engines = append(engines, g)
	}
	defer func() {
		for _, e := range engines {
			err = errors.Join(err, e.close())
		}
	}()
	results, err := measure(ctx, engines, o.builds)
	if err != nil {
		return err
	}
	switch o.only {
	case "bleve":
		r.Bleve = results[0]
	case "griffin":
		r.Griffin = results[0]
	default:
		r.Bleve, r.Griffin = results[0], results[1]
		r.Ratios = compareEngines(r.Bleve, r.Griffin)
	}
	return nil
}

func newGriffinEngine(ctx context.Context, work string, in subset, topics []trec.Topic, o options) (*griffinEngine, error) {
	g := &griffinEngine{
		binary: o.binary, dir: filepath.Join(work, "griffin.index"), in: in,
		queries: filepath.Join(work, "queries.tsv"), threads: o.threads, search: o.search,
	}
	if g.binary == "" {
		var err error
		if g.binary, err = buildGriffin(ctx, work); err != nil {
			return nil, err
		}
	}
	return g, writeQueries(g.queries, topics)
}

// Paths are reduced to file names, because folders differ between machines.
func command() string {
	words := []string{"peers"}
	for _, arg := range os.Args[1:] {
		words = append(words, filepath.Base(arg))
	}
	return strings.Join(words, " ")
}
