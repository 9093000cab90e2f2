// Command http measures "griffin serve" while clients write over HTTP: requests to _bulk of about 1 MB of
// JSON, each durable before it is answered. It starts the server as a process of its own, and writes
// JSON.
//
//	go build -o /tmp/griffin ./cmd/griffin
//	go run ./bench/living/http --griffin /tmp/griffin --passages wiki.jsonl.zst --queries tb05-1000.tsv \
//		--seconds 600 --dir /var/tmp --json result.json
//
// The phases: base documents, which are merged; single documents, alone; queries, alone; the highest
// rate of writes, with probes of visibility; queries beside writes at half that rate; queries on the
// segments that are left; queries after _forcemerge. When all passages are written, they are written
// again under new ids. The clients share the processors with the server. The queries are sent by a process of their
// own, with a real-time priority if that is permitted, so that their times are the server's: it waits neither for the
// goroutines of the writers nor for a processor.
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
	"syscall"
	"time"
)

type options struct {
	griffin, dir, json string
	from, keep         string
	noMerge            bool
	passages           []string
	queries            string
	duration, quiet    time.Duration
	clients            int
	base, docs         int
	bodyBytes          int
	queryRate          float64
	beside             time.Duration
	besideRate         float64
	queryCount         int
	singleCount        int
	probeInterval      time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if os.Getenv(queryProcess) != "" {
		err = runQueries(ctx)
	} else {
		err = run(ctx, parseOptions())
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		os.Exit(1)
	}
}

func parseOptions() (o options) {
	var passages string
	flag.StringVar(&o.griffin, "griffin", "", "griffin command to measure")
	flag.StringVar(&passages, "passages", "", "files with JSON Lines of title and text, plain or .zst, separated by commas")
	flag.StringVar(&o.queries, "queries", "", "id, tab and query in each line")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "folder for the indexes")
	flag.StringVar(&o.from, "from", "", "folder of a server with documents before the measurement, which --keep has made; it is not changed")
	flag.StringVar(&o.keep, "keep", "", "make this folder, on the file system of --dir, with the documents of the writes at the highest rate, and end")
	flag.BoolVar(&o.noMerge, "no-merge", false, "end without _forcemerge and the queries after it")
	flag.StringVar(&o.json, "json", "", "write the result to this file instead of standard output")
	seconds := flag.Float64("seconds", 600, "duration of the writes at the highest rate")
	flag.DurationVar(&o.beside, "beside", 0, "duration of the writes beside queries (0: a quarter of --seconds)")
	flag.Float64Var(&o.besideRate, "beside-rate", 0, "their rate in MB a second (0: half of the highest)")
	flag.IntVar(&o.clients, "clients", 4, "clients that write")
	flag.IntVar(&o.base, "base", 100_000, "documents before the measurement")
	flag.IntVar(&o.docs, "docs", 250_000, "passages to read")
	flag.IntVar(&o.bodyBytes, "body", 1_000_000, "bytes of JSON of a request")
	flag.Float64Var(&o.queryRate, "query-rate", 100, "queries a second, at fixed times; 0: one after another")
	flag.IntVar(&o.queryCount, "query-count", 3000, "queries of each measurement without writes")
	flag.IntVar(&o.singleCount, "single-count", 1000, "documents that are written one at a time")
	flag.DurationVar(&o.probeInterval, "probe-interval", time.Second, "pause between two probes of visibility, each with a refresh")
	flag.DurationVar(&o.quiet, "quiet", 2*time.Second, "merges have ended when the server has not written for this time")
	flag.Parse()
	o.duration = time.Duration(*seconds * float64(time.Second))
	if o.beside == 0 {
		o.beside = o.duration / 4
	}
	o.passages = strings.Split(passages, ",")
	return o
}

func (o *options) check() error {
	switch {
	case o.griffin == "" || len(o.passages[0]) == 0 || o.queries == "":
		return errors.New("--griffin, --passages and --queries are needed; see --help")
	case o.duration <= 0 || o.clients < 1 || o.base < 1 || o.docs < 1 || o.bodyBytes < 1 || o.queryCount < 1 || o.singleCount < 1 || o.queryRate < 0 || o.beside < 0 || o.besideRate < 0:
		return errors.New("a number is too small; see --help")
	}
	return nil
}

func run(ctx context.Context, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	r, err := measure(ctx, o)
	if r == nil {
		return err
	}
	return errors.Join(err, r.write(o.json, err))
}

// measure returns what it has measured also with an error, and nil if it has not begun.
func measure(ctx context.Context, o options) (r *report, err error) {
	b := &bench{o: o}
	if b.bodies, err = readBodies(o.passages, o.docs, o.bodyBytes); err != nil {
		return nil, err
	}
	if b.queries, err = readQueries(o.queries); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.dir, "living-http")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r = &report{
		Time:    time.Now().UTC().Truncate(time.Second),
		Machine: fmt.Sprintf("%s/%s, %s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU()),
		Command: command(), Clients: o.clients, BodyBytes: o.bodyBytes, QueryRate: o.queryRate,
	}
	b.data = filepath.Join(dir, "data")
	if o.keep != "" {
		if _, err := os.Lstat(o.keep); err == nil {
			return nil, fmt.Errorf("--keep %s: it exists", o.keep)
		}
	}
	if o.from != "" {
		if err := linkData(b.data, o.from); err != nil {
			return nil, err
		}
	}
	if b.server, err = startServer(ctx, o.griffin, b.data); err != nil {
		return nil, err
	}
	if err = b.phases(ctx, r); err != nil {
		return r, errors.Join(err, b.server.kill())
	}
	began := time.Now()
	if err := b.server.stop(); err != nil {
		return r, err
	}
	if o.keep != "" {
		if err := os.Rename(b.data, o.keep); err != nil {
			return r, err
		}
	}
	r.StopMillis = ms(time.Since(began))
	return r, nil
}

// command is without folders, which differ between machines.
func command() string {
	words := []string{"http"}
	for _, arg := range os.Args[1:] {
		var names []string
		for name := range strings.SplitSeq(arg, ",") {
			names = append(names, filepath.Base(name))
		}
		words = append(words, strings.Join(names, ","))
	}
	return strings.Join(words, " ")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
