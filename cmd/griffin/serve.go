package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/server"
	"github.com/griffin-search/griffin/query"
)

type serveOptions struct {
	addr          string
	grace         time.Duration
	timeout       time.Duration
	maxK          int
	maxQuery      int
	maxConcurrent int
	perClient     int
	repositories  []string
	mergeRate     sizeFlag
	maxWait       time.Duration
	refresh       time.Duration
	deviceFlags
	cache     cacheFlag
	resident  residentFlag
	admission admissionFlags
	results   resultCacheFlag
}

// serveResultCache has room for the answers of some hundred thousand queries, or of some ten thousand with their documents.
const serveResultCache = 64 << 20

func newServeCommand(a *app) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve DATA",
		Short: "Serve a search page and a JSON API over HTTP",
		Long: `Serve listens on --addr: the search page at /, JSON at /search?q=…&k=…&mode=…,
health at /healthz, Prometheus metrics at /metrics, by HTTP/1.1 or HTTP/2 without TLS.
There is no log-in, so the default address is reachable from this machine only. Queries
also run on a GPU if there is one; --device cpu turns that off.

DATA is an index, or a folder of indexes, which is made if there is none. In a folder
with several indexes, searches name one: /search?q=…&index=NAME; the page offers them.
A folder of indexes is also written over HTTP, under paths of OpenSearch: PUT /NAME/_doc/ID,
POST /_bulk, GET /NAME/_search, … (docs/guides/http-api.md). Only this process may then
write to its indexes.

Commits of other processes (griffin index --update or --replace) are served within
a second (--refresh), and at once on SIGHUP. Running queries are not disturbed.

The server rejects a search with status 503 if it predicts that the search, with its
wait, would exceed its time limit (--timeout, or ?timeout= of the request), --deadline
or --max-wait, and with 429 if its client already has --per-client searches.

Ctrl-C lets running queries end, then stops.`,
		Example: `  griffin serve notes.idx
  griffin serve --addr :8080 notes.idx       # reachable from the network
  griffin serve data/                        # a folder of indexes, which takes writes
  griffin serve --resident notes.idx         # load all posting lists into GPU memory first
  curl 'http://127.0.0.1:7280/search?q=rate+limit&k=5'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.serve(cmd.Context(), o, args[0]) },
	}
	f := c.Flags()
	o.register(f, "auto")
	o.cache.register(f)
	o.resident.register(f)
	o.admission.register(f, serveQueue)
	o.results.register(f, serveResultCache)
	f.StringVar(&o.addr, "addr", "127.0.0.1:7280", "address to listen on; port 0: any free port")
	f.DurationVar(&o.grace, "grace", 10*time.Second, "time that running requests get when the server stops")
	f.DurationVar(&o.timeout, "timeout", server.DefaultTimeout, "time limit of a search, at most 90s; a request can set a shorter one")
	f.DurationVar(&o.maxWait, "max-wait", server.DefaultMaxWait, "reject searches that are predicted to take longer than this, with the wait (503)")
	f.IntVar(&o.maxK, "max-k", server.DefaultMaxK, "largest k of a request")
	f.IntVar(&o.maxQuery, "max-query", server.DefaultMaxQueryBytes, fmt.Sprintf("longest query in bytes, at most %d", query.MaxBytes))
	f.IntVar(&o.maxConcurrent, "max-concurrent", server.DefaultMaxConcurrent, "searches that may run or wait at the same time; more get 503")
	f.DurationVar(&o.refresh, "refresh", server.DefaultRefresh, "interval at which to look for commits of other processes; 0: only on SIGHUP")
	f.StringArrayVar(&o.repositories, "repository", nil, "place of snapshots that clients may use by name: `NAME=STORE`, where STORE is a folder or bucket as of griffin snapshot; may be repeated")
	f.Var(&o.mergeRate, "merge-rate", "limit of the bytes that merges of each index write in a second; `SIZE` is a number such as 20MB (default: none)")
	f.IntVar(&o.perClient, "per-client", 0, "searches that one client (an address) may have at the same time; more get 429 (default: any number)")
	return c
}

// noteDevices prints nothing for --device cpu.
func noteDevices(con *console, ix *griffin.Index, asked string) {
	s, used := ix.Runtime().GPUStats()
	if !used && asked == "auto" {
		con.notef("queries run on the CPU; griffin devices shows why not on a GPU")
	}
	for i := range s.Devices {
		con.notef("queries run on %s (%s); posting lists may take %s of it", s.Devices[i].Name, s.Devices[i].GPU, sizeOf(s.Devices[i].LimitBytes))
	}
}

// server returns the options of the server, but for the index or the directory. beside is as for shareProcessors.
func (o *serveOptions) server(logger *slog.Logger, beside int) server.Options {
	processors := shareProcessors(beside)
	return server.Options{
		Logger: logger, Modes: o.modes(),
		MaxK: o.maxK, MaxQueryBytes: o.maxQuery, Timeout: o.timeout, MaxConcurrent: o.maxConcurrent, PerClient: o.perClient, MaxWait: o.maxWait,
		Processors: min(cmp.Or(o.admission.cpus, processors), processors),
	}
}

func (a *app) serve(ctx context.Context, o serveOptions, dir string) (err error) {
	if o.maxK < 1 || o.maxQuery < 1 || o.maxConcurrent < 1 || o.timeout <= 0 || o.maxWait <= 0 || o.admission.queue == 0 || o.grace < 0 || o.perClient < 0 || o.refresh < 0 {
		return usagef("--max-k, --max-query, --max-concurrent, --queue, --timeout and --max-wait must be more than 0; --grace, --refresh and --per-client must not be negative")
	}
	if o.maxQuery > query.MaxBytes {
		return usagef("--max-query %d: must be at most %d", o.maxQuery, query.MaxBytes)
	}
	if o.timeout > server.MaxTimeout {
		return usagef("--timeout %v: must be at most %v", o.timeout, server.MaxTimeout)
	}
	if err := errors.Join(o.check(), o.resident.check(&o.deviceFlags), o.admission.check()); err != nil {
		return err
	}
	if _, port, err := net.SplitHostPort(o.addr); err != nil || port == "" {
		return usagef("--addr %q: want HOST:PORT, such as 127.0.0.1:7280, or :8080 for all interfaces", o.addr)
	}
	if directory, err := isDirectory(dir); err != nil || directory {
		if err != nil {
			return err
		}
		return a.serveDirectory(ctx, o, dir)
	}
	if o.mergeRate > 0 {
		return usagef("--merge-rate is for a folder of indexes, and %s is one index, which the server does not write", dir)
	}
	if len(o.repositories) > 0 {
		return usagef("--repository is for a folder of indexes, and %s is one index", dir)
	}
	ix, closeIndex, err := o.openIndex(dir, griffin.RuntimeOptions{Limits: o.admission.limits(), CacheBytes: o.cache.bytes()}, griffin.Options{ResultCache: int64(o.results.limit)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	if err := a.warm(ctx, o.resident, false /* impacts */, warmerOfIndex(ix)); err != nil {
		return err
	}
	if name := o.engineName(); name != "" {
		a.notef("the engine %s answers the queries", name)
	} else {
		noteDevices(a.console, ix, o.device)
	}
	logger := slog.New(slog.NewTextHandler(a.err, nil))
	options := o.server(logger, 0)
	options.Index = ix
	handler, err := server.New(options)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return err
	}
	stats, err := ix.Stats()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if a.json {
		if err := a.printJSON(map[string]any{"url": "http://" + listener.Addr().String() + "/", "num_docs": stats.NumDocs}); err != nil {
			return err
		}
	} else {
		a.printf("%s: %s on http://%s/ (Ctrl-C stops)\n", dir, plural(stats.NumDocs, "document"), listener.Addr())
	}
	stopFollowing := follow(ctx, o, ix, handler, logger)
	defer stopFollowing()
	return serveUntil(ctx, listener, handler, o.grace, logger)
}

// quietStop is how long a server stops without a word.
const quietStop = 500 * time.Millisecond

// serveUntil serves until ctx ends and tells when requests delay the end.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler, grace time.Duration, logger *slog.Logger) error {
	ended := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		select {
		case <-ended:
		case <-time.After(quietStop):
			logger.Info("the server stops when the running requests have ended; a second interrupt stops it at once", "latest", grace)
		}
	})
	err := server.Serve(ctx, listener, handler, grace)
	close(ended)
	telling.Wait()
	return err
}

// calibrateServed runs while the server answers searches.
func calibrateServed(ctx context.Context, ix *griffin.Index, logger *slog.Logger) {
	logger.Info("measuring the times of searches on this machine, once, for up to ten seconds (--no-calibrate leaves it out)")
	switch err := ix.Calibrate(ctx, nil); {
	case err == nil:
		logger.Info("the times of searches are measured")
	case ctx.Err() == nil:
		logger.Warn("the times of searches could not be measured; built-in times are used", "error", err)
	}
}

// follow serves the commits of other processes until stop, which waits.
func follow(ctx context.Context, o serveOptions, ix *griffin.Index, handler *server.Handler, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	now := make(chan os.Signal, 1)
	signal.Notify(now, syscall.SIGHUP)
	var background sync.WaitGroup
	if !o.noCalibrate && !ix.Calibrated() {
		background.Go(func() { calibrateServed(ctx, ix, logger) })
	}
	warming := make(chan struct{}, 1) // holds a token while lists are brought to the GPUs
	background.Go(func() {
		handler.Follow(ctx, server.FollowOptions{Every: o.refresh, Now: now, Changed: func() {
			if o.resident.minDocFreq == 0 {
				return
			}
			select {
			case warming <- struct{}{}:
			default:
				return // Queries bring the lists of this commit.
			}
			background.Go(func() {
				defer func() { <-warming }()
				warm := griffin.WarmOptions{MinDocFreq: o.resident.minDocFreq}
				if r, err := ix.Warm(ctx, warm); err != nil && ctx.Err() == nil {
					logger.Error("not all posting lists of the new commit were loaded into GPU memory", "lists", r.Lists, "total", r.Total, "error", err)
				}
			})
		}})
	})
	return func() {
		signal.Stop(now)
		cancel()
		background.Wait()
	}
}
