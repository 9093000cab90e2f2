package server

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/griffin-search/griffin"
)

// The limits that hold where Options does not say.
const (
	DefaultMaxQueryBytes = 4096
	DefaultMaxK          = 1000
	DefaultMaxConcurrent = 32
	DefaultTimeout       = 10 * time.Second
)

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
	// Timeout bounds the time of one search. Default DefaultTimeout.
	Timeout time.Duration
	// MaxConcurrent bounds how many searches run at the same time; more wait a
	// moment and are then refused. Default DefaultMaxConcurrent.
	MaxConcurrent int
	// Logger gets failures and panics, not single requests. Default slog.Default().
	Logger *slog.Logger
}

// handler is what the routes share.
type handler struct {
	Options
	backend backend
	metrics *metrics
	slots   chan struct{} // one taken for each running search
}

// New returns the handler of all routes. It is an error if there is no index or
// a limit is negative.
func New(o Options) (http.Handler, error) {
	if o.Index == nil {
		return nil, errors.New("server: no index")
	}
	if min(o.MaxQueryBytes, o.MaxK, o.MaxConcurrent) < 0 || o.Timeout < 0 {
		return nil, errors.New("server: a limit is negative")
	}
	return newHandler(o, indexBackend(o.Index)), nil
}

func newHandler(o Options, b backend) http.Handler {
	o.MaxQueryBytes = cmp.Or(o.MaxQueryBytes, DefaultMaxQueryBytes)
	o.MaxK = cmp.Or(o.MaxK, DefaultMaxK)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, DefaultMaxConcurrent)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	h := &handler{Options: o, backend: b, slots: make(chan struct{}, o.MaxConcurrent)}
	h.metrics = newMetrics(b)

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
