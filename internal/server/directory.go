package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

// newDirectoryHandler serves a directory: the API of package rest, and the page and /search of one
// index, which the parameter index names.
func newDirectoryHandler(o Options) *Handler {
	dir, runtime := o.Directory, o.Directory.Runtime()
	h := makeHandler(o, backend{
		stats: dir.Stats, gpu: runtime.GPUStats, dispatch: runtime.DispatchStats,
		results: func() (stats griffin.ResultCacheStats, used bool) { return stats, false },
		refresh: func() (changed bool, err error) { return false, nil },
	})
	h.api = rest.New(rest.Options{Directory: dir, Timeout: h.Timeout * apiTimeouts, Admit: h.admit, Logger: h.Logger})
	h.metrics.registry.MustRegister(h.api.Collectors()...)
	return &Handler{state: h, routes: compressed(h.directoryRoutes())}
}

// apiRoute is the name of the API in metrics.
const apiRoute = "api"

// apiTimeouts: a write may take longer than a search.
const apiTimeouts = 6

// admit lets a search or a multi-search of the API begin.
func (h *handler) admit(r *http.Request, multi bool) (leave func(answered, shed bool), refused *rest.Error) {
	kind := h.searches
	if multi {
		kind = h.multi
	}
	admitted, e := kind.enter(clientOf(r), h.Timeout, waited(r, time.Now()))
	if e != nil {
		return nil, rest.TooBusy(e.Message, e.retryAfter)
	}
	return func(answered, shed bool) { kind.leave(admitted, answered, shed) }, nil
}

func (h *handler) directoryRoutes() http.Handler {
	mux := http.NewServeMux()
	api := h.isolate(apiRoute, h.api.ServeHTTP)
	page := h.guard("page", h.chosen((*handler).page, failPage))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			page.ServeHTTP(w, r)
		} else {
			api.ServeHTTP(w, r)
		}
	})
	mux.Handle("/search", h.guard("search", h.chosen((*handler).search, failJSON)))
	mux.Handle("/document", h.guard("document", h.chosen((*handler).document, failPage)))
	mux.Handle("/healthz", h.guard("healthz", h.healthz))
	mux.Handle("/metrics", h.guard("metrics", h.metrics.handler().ServeHTTP))
	mux.Handle("/icon.svg", h.guard("icon", icon))
	mux.Handle("/", api)
	return mux
}

// maxListed is the number of indexes that an error lists.
const maxListed = 20

// chosen runs f for the index that the request names, or for the only one. Else fail answers.
func (h *handler) chosen(f func(*handler, http.ResponseWriter, *http.Request), fail func(*handler, http.ResponseWriter, *http.Request, *apiError)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		values, _ := parametersOf(r) // f reports the error
		name := values.Get("index")
		if name == "" {
			names := h.Directory.Names()
			if len(names) != 1 {
				fail(h, w, r, unchosen(names))
				return
			}
			name = names[0]
		}
		ix, err := h.Directory.Open(name)
		switch {
		case errors.Is(err, griffin.ErrNotFound):
			h.indexes.Delete(name)
			fail(h, w, r, &apiError{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("there is no index %.100q; %s", name, listed(h.Directory.Names()))})
		case err != nil:
			fail(h, w, r, &apiError{Status: http.StatusServiceUnavailable, Code: "internal", Message: fmt.Sprintf("index %q cannot be opened; the reason is in the server's log", name)})
		default:
			f(h.of(name, ix), w, r)
		}
	}
}

// unchosen is the error of a request without an index.
func unchosen(names []string) *apiError {
	if len(names) == 0 {
		return &apiError{Status: http.StatusNotFound, Code: "not_found", Message: listed(names)}
	}
	return badParameter("choose an index with ?index=NAME; %s", listed(names))
}

// listed returns the part of a message that lists the indexes.
func listed(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "there are no indexes; PUT /NAME makes one, and so does PUT /NAME/_doc/ID with its first document"
	case n > maxListed:
		return fmt.Sprintf("there are %d: %s, …", n, strings.Join(names[:maxListed], ", "))
	default:
		return "there are: " + strings.Join(names, ", ")
	}
}

func failJSON(h *handler, w http.ResponseWriter, _ *http.Request, e *apiError) { h.fail(w, e) }

// failPage answers with a page that keeps the query and offers the indexes. The start page without an
// index is no error.
func failPage(h *handler, w http.ResponseWriter, r *http.Request, e *apiError) {
	req, _ := h.parseRequest(r, false /* strict */)
	data := h.newPage(req)
	data.NumDocs = -1 // of all indexes
	if r.URL.Path != "/" || strings.TrimSpace(req.Text) != "" || r.URL.Query().Get("index") != "" {
		data.Title, data.Error = "Error – Griffin", e
	}
	h.writePage(w, data)
}

// ofIndex is a handler of one index while it is open.
type ofIndex struct {
	ix *griffin.Index
	h  *handler
}

// of is a handler of one index that shares limits and metrics with h.
func (h *handler) of(name string, ix *griffin.Index) *handler {
	if known, ok := h.indexes.Load(name); ok && known.(ofIndex).ix == ix {
		return known.(ofIndex).h
	}
	one := &handler{
		Options: h.Options, backend: indexBackend(ix), index: name, api: h.api, metrics: h.metrics,
		searches: h.searches, multi: h.multi, documents: h.documents, reading: h.reading,
	}
	h.indexes.Store(name, ofIndex{ix, one})
	return one
}
