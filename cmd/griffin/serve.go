package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/server"
)

type serveOptions struct {
	addr          string
	grace         time.Duration
	timeout       time.Duration
	maxK          int
	maxQuery      int
	maxConcurrent int
	perClient     int
	maxWait       time.Duration
	deviceFlags
	cache     cacheFlag
	resident  residentFlag
	admission admissionFlags
	results   resultCacheFlag
}

// serveResultCache is how much memory answers may take in a server, if it is not told
// otherwise: those of some hundred thousand queries.
const serveResultCache = 64 << 20

func newServeCommand(a *app) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve INDEX",
		Short: "Serve a search page and a JSON API over HTTP",
		Long: `Serve answers on --addr: the search page at /, JSON at
/search?q=…&k=…&mode=…, the state at /healthz, Prometheus metrics at /metrics.
It listens on this machine only unless --addr says otherwise: there is no log-in.
If the machine has a GPU, queries run there too, as --policy says (--device cpu: they
do not).

A search that would not be answered within its time limit (--timeout, or ?timeout= of
the request), or for which it would have to wait too long (--max-wait), is refused at once with
status 503, and one for which too many of the same client are running (--per-client) with 429,
so that what is answered is answered in time, and a burst is over when it is over.
Ctrl-C lets running queries end, then stops.`,
		Example: `  griffin serve notes.idx
  griffin serve --addr :8080 notes.idx       # for the whole network
  griffin serve --resident notes.idx         # all posting lists in GPU memory first
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
	f.StringVar(&o.addr, "addr", "127.0.0.1:7280", "address to listen on; port 0 takes any free one")
	f.DurationVar(&o.grace, "grace", 10*time.Second, "how long running requests may take when stopping")
	f.DurationVar(&o.timeout, "timeout", server.DefaultTimeout, "longest time for one query, at most 90s; a request may ask for less")
	f.DurationVar(&o.maxWait, "max-wait", server.DefaultMaxWait, "a search that is expected to take longer, with those that wait before it, gets 503")
	f.IntVar(&o.maxK, "max-k", server.DefaultMaxK, "largest k of a request")
	f.IntVar(&o.maxQuery, "max-query", server.DefaultMaxQueryBytes, fmt.Sprintf("longest query in bytes, at most %d", query.MaxBytes))
	f.IntVar(&o.maxConcurrent, "max-concurrent", server.DefaultMaxConcurrent, "searches that run or wait at the same time; more get 503")
	f.IntVar(&o.perClient, "per-client", 0, "searches of one client (an address) at the same time; more get 429 (default: any number)")
	return c
}

// noteDevices says where queries run, unless the CPU was asked for.
func (a *app) noteDevices(ix *griffin.Index, asked string) {
	s, used := ix.GPUStats()
	if !used && asked == "auto" {
		a.notef("queries run on the CPU; why not on a GPU: griffin devices")
	}
	for i := range s.Devices {
		a.notef("queries run on %s (%s); posting lists may take %s of it", s.Devices[i].Name, s.Devices[i].GPU, sizeOf(s.Devices[i].LimitBytes))
	}
}

func (a *app) serve(ctx context.Context, o serveOptions, dir string) error {
	if o.maxK < 1 || o.maxQuery < 1 || o.maxConcurrent < 1 || o.timeout <= 0 || o.maxWait <= 0 || o.admission.queue == 0 || o.grace < 0 || o.perClient < 0 {
		return usagef("--max-k, --max-query, --max-concurrent, --queue, --timeout and --max-wait must be more than 0, --grace and --per-client not less")
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
		return usagef("--addr %q: want HOST:PORT, such as 127.0.0.1:7280, or :8080 for the whole network", o.addr)
	}
	ix, err := griffin.Open(dir, append(o.openOptions(), append(o.admission.options(), o.cache.option(), o.results.option())...)...)
	if err != nil {
		return err
	}
	defer ix.Close()
	if err := a.calibrateIndex(ctx, &o.deviceFlags, ix); err != nil {
		return err
	}
	if err := a.warm(ctx, o.resident, false /* impacts */, func(ctx context.Context, w exec.WarmOptions) (lists, total int64, err error) {
		r, err := ix.Warm(ctx, w)
		return r.Lists, r.Total, err
	}); err != nil {
		return err
	}
	a.noteDevices(ix, o.device)
	processors := shareProcessors()
	handler, err := server.New(server.Options{
		Index: ix, Logger: slog.New(slog.NewTextHandler(a.err, nil)),
		MaxK: o.maxK, MaxQueryBytes: o.maxQuery, Timeout: o.timeout, MaxConcurrent: o.maxConcurrent, PerClient: o.perClient, MaxWait: o.maxWait,
		Processors: min(cmp.Or(o.admission.cpus, processors), processors),
	})
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
	return server.Serve(ctx, listener, handler, o.grace)
}
