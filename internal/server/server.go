package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

// Default limits of Options.
const (
	DefaultMaxQueryBytes = 4096
	DefaultMaxK          = 1000
	DefaultMaxConcurrent = 1024
	DefaultTimeout       = 10 * time.Second
	// DefaultMaxWait keeps the queue after a burst short: at half of the capacity
	// it is empty within a second.
	DefaultMaxWait = 500 * time.Millisecond
)

// MaxTimeout is the longest Options.Timeout. Serve gives a request 30 seconds more to send
// its answer.
const MaxTimeout = 90 * time.Second

// Options are the index or the directory to serve and the limits; a zero limit is its default.
type Options struct {
	// One of them is set. The caller keeps ownership.
	Index     *griffin.Index
	Directory *rest.Directory
	// Modes of queries that the index's engine answers. The page offers them, and a request
	// without a mode has the first. Default: all, and or.
	Modes []griffin.Mode
	// Maximum text of a query.
	MaxQueryBytes int
	// Maximum number of results of a request.
	MaxK int
	// Time limit of a search, which a request can shorten, and of a request for a
	// document; at most MaxTimeout.
	Timeout time.Duration
	// Maximum number of searches that run or wait at the same time, and separately of
	// multi-searches and of requests for documents. Others are rejected.
	MaxConcurrent int
	// Maximum predicted time of a search, including the searches before it, and
	// separately of a multi-search and of a request for a document. Others are rejected: a longer queue
	// delays the requests after a burst and does not answer more of them.
	MaxWait time.Duration
	// Number of processors for searches, to predict their time, and of requests for
	// documents that run at the same time. Default GOMAXPROCS.
	Processors int
	// Maximum number of searches of one client (an address) that run or wait at the
	// same time, and separately of its multi-searches and of its requests for documents.
	// Default: no limit.
	PerClient int
	// For failures, panics and new commits, not single requests. Default
	// slog.Default().
	Logger *slog.Logger
}

type handler struct {
	Options
	backend   backend
	index     string        // of a directory, chosen by the request
	api       *rest.Handler // of a directory
	metrics   *metrics
	searches  *admission
	multi     *admission // of multi-searches
	documents *admission
	reading   chan struct{} // semaphore of running requests for documents
	indexes   sync.Map      // of a directory: ofIndex by name

	refreshFailed string      // of refresh, "" if it succeeded
	damaged       atomic.Bool // a request met a damaged file of the current commit
}

// Handler answers the requests of all routes.
type Handler struct {
	state  *handler
	routes http.Handler
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.routes.ServeHTTP(w, r) }

// New returns an error if there is not one index or directory, or a limit is negative or too high.
func New(o Options) (*Handler, error) {
	if (o.Index == nil) == (o.Directory == nil) {
		return nil, errors.New("server: no index, or an index and a directory")
	}
	if min(o.MaxQueryBytes, o.MaxK, o.MaxConcurrent, o.PerClient, o.Processors) < 0 || min(o.Timeout, o.MaxWait) < 0 {
		return nil, errors.New("server: a limit is negative")
	}
	if o.Timeout > MaxTimeout {
		return nil, fmt.Errorf("server: a timeout of %v is above %v", o.Timeout, MaxTimeout)
	}
	if o.Directory != nil {
		return newDirectoryHandler(o), nil
	}
	return newHandler(o, indexBackend(o.Index)), nil
}

func newHandler(o Options, b backend) *Handler {
	h := makeHandler(o, b)
	return &Handler{state: h, routes: compressed(h.routes())}
}

func makeHandler(o Options, b backend) *handler {
	o.MaxQueryBytes = cmp.Or(o.MaxQueryBytes, DefaultMaxQueryBytes)
	o.MaxK = cmp.Or(o.MaxK, DefaultMaxK)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxWait = cmp.Or(o.MaxWait, DefaultMaxWait)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, DefaultMaxConcurrent)
	o.Processors = cmp.Or(o.Processors, runtime.GOMAXPROCS(0))
	o.Logger = cmp.Or(o.Logger, slog.Default())
	h := &handler{
		Options: o, backend: b, searches: newAdmission("searches", &o), multi: newAdmission("multi-searches", &o), documents: newAdmission("requests for documents", &o),
		reading: make(chan struct{}, o.Processors),
	}
	h.metrics = newMetrics(b)
	h.metrics.registry.MustRegister(admissionCollector{"searches": h.searches, "multi-searches": h.multi, "documents": h.documents})
	return h
}

func (h *handler) routes() http.Handler {
	mux := http.NewServeMux()
	route := func(pattern, name string, f http.HandlerFunc) {
		mux.Handle(pattern, h.guard(name, f))
	}
	route("/{$}", "page", h.page)
	route("/search", "search", h.search)
	route("/document", "document", h.document)
	route("/healthz", "healthz", h.healthz)
	route("/metrics", "metrics", h.metrics.handler().ServeHTTP)
	route("/icon.svg", "icon", icon)
	route("/", "other", func(w http.ResponseWriter, _ *http.Request) {
		h.fail(w, &apiError{Status: http.StatusNotFound, Code: "not_found", Message: "no such address; searches are at /search?q="})
	})
	return mux
}

func (h *handler) healthz(w http.ResponseWriter, _ *http.Request) {
	status, text := http.StatusOK, "ok\n"
	if h.damaged.Load() || h.Directory != nil && len(h.Directory.Damaged()) > 0 {
		status, text = http.StatusServiceUnavailable, "a file of the index is damaged; the reason is in the server's log\n"
	}
	writeBody(w, status, plainType, []byte(text))
}
