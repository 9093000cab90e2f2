package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/griffin-search/griffin"
)

// The limits that hold where Options does not say.
const (
	DefaultMaxQueryBytes = 4096
	DefaultMaxK          = 1000
	DefaultMaxConcurrent = 1024
	DefaultTimeout       = 10 * time.Second
	// DefaultMaxWait: where half of what a server can do is asked for after a burst, what
	// waits from it is done within a second.
	DefaultMaxWait = 500 * time.Millisecond
)

// MaxTimeout is the longest Options.Timeout: Serve gives a request half a minute more to be
// answered, to a slow reader too.
const MaxTimeout = 90 * time.Second

// Options says what to serve and within which limits. The zero value of each
// limit is its default.
type Options struct {
	// Index is searched. It stays the caller's: New and Serve do not close it.
	Index *griffin.Index
	// MaxQueryBytes bounds the text of a query. Default DefaultMaxQueryBytes.
	MaxQueryBytes int
	// MaxK bounds how many results a request may ask for. Default
	// DefaultMaxK.
	MaxK int
	// Timeout bounds the time of one search, which a request may shorten for itself, and
	// that of a request for a document.
	// Default DefaultTimeout, at most MaxTimeout.
	Timeout time.Duration
	// MaxConcurrent bounds how many searches run or wait at the same time, and how many
	// requests for documents beside them; more are refused, and so are those that would
	// not be answered in time. Default DefaultMaxConcurrent.
	MaxConcurrent int
	// MaxWait bounds how long a search may be expected to take with all that wait before it, and
	// a request for a document beside them: what comes then is refused, since a longer queue delays all that come after a burst and
	// answers no more of them. Default DefaultMaxWait.
	MaxWait time.Duration
	// Processors is how many processors searches have, for the estimate of the time that
	// one will take. As many requests for documents run at the same time. Default
	// GOMAXPROCS.
	Processors int
	// PerClient bounds how many searches of one client (an address) run or wait at the
	// same time, and how many of its requests for documents. Default any number.
	PerClient int
	// Logger gets failures and panics, not single requests. Default slog.Default().
	Logger *slog.Logger
}

// handler is what the routes share.
type handler struct {
	Options
	backend   backend
	metrics   *metrics
	searches  *admission
	documents *admission
	reading   chan struct{} // has room for the requests for documents that run
}

// New returns the handler of all routes. It is an error if there is no index or
// a limit is negative or above what it can be.
func New(o Options) (http.Handler, error) {
	if o.Index == nil {
		return nil, errors.New("server: no index")
	}
	if min(o.MaxQueryBytes, o.MaxK, o.MaxConcurrent, o.PerClient, o.Processors) < 0 || min(o.Timeout, o.MaxWait) < 0 {
		return nil, errors.New("server: a limit is negative")
	}
	if o.Timeout > MaxTimeout {
		return nil, fmt.Errorf("server: a timeout of %v is above %v", o.Timeout, MaxTimeout)
	}
	return newHandler(o, indexBackend(o.Index)), nil
}

func newHandler(o Options, b backend) http.Handler { return makeHandler(o, b).routes() }

func makeHandler(o Options, b backend) *handler {
	o.MaxQueryBytes = cmp.Or(o.MaxQueryBytes, DefaultMaxQueryBytes)
	o.MaxK = cmp.Or(o.MaxK, DefaultMaxK)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxWait = cmp.Or(o.MaxWait, DefaultMaxWait)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, DefaultMaxConcurrent)
	o.Processors = cmp.Or(o.Processors, runtime.GOMAXPROCS(0))
	o.Logger = cmp.Or(o.Logger, slog.Default())
	h := &handler{
		Options: o, backend: b, searches: newAdmission("searches", &o), documents: newAdmission("requests for documents", &o),
		reading: make(chan struct{}, o.Processors),
	}
	h.metrics = newMetrics(b)
	h.metrics.registry.MustRegister(admissionCollector{"searches": h.searches, "documents": h.documents})
	return h
}

// routes returns the handler of all routes.
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
		h.fail(w, &apiError{Status: http.StatusNotFound, Code: "not_found", Message: "there is nothing at this address; searches are at /search?q="})
	})
	return mux
}

func (h *handler) healthz(w http.ResponseWriter, _ *http.Request) {
	writeBody(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
}
