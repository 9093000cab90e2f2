package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/griffin-search/griffin"
)

// queueWait is how long a search waits for a free slot before it is refused:
// long enough to ride out a burst, short enough that nobody waits in vain.
const queueWait = 100 * time.Millisecond

// statusClientGone is what the metrics count for a client that left before
// its answer (nginx's number); nobody receives it.
const statusClientGone = 499

// statusWriter remembers the status that was sent.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// guard wraps a route: security headers, methods, bodies, metrics, panics.
func (h *handler) guard(route string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &statusWriter{ResponseWriter: rw}
		h.metrics.inFlight.Inc()
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a recovered value, compared as net/http does
				h.metrics.panics.Inc()
				h.Logger.Error("request panicked", "route", route, "panic", p, "stack", string(debug.Stack()))
				if w.status == 0 {
					h.fail(w, &apiError{Status: http.StatusInternalServerError, Code: "internal", Message: "the server failed on this request; its log says why"})
				}
				p = nil
			}
			h.metrics.inFlight.Dec()
			h.metrics.requests.WithLabelValues(route, strconv.Itoa(cmp.Or(w.status, http.StatusOK))).Inc()
			if p != nil {
				panic(p)
			}
		}()
		secure(w.Header())
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			h.fail(w, &apiError{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "only GET is answered here"})
		case r.ContentLength != 0:
			w.Header().Set("Connection", "close")
			h.fail(w, &apiError{Status: http.StatusRequestEntityTooLarge, Code: "body", Message: "a request here has no body"})
		default:
			next(w, r)
		}
	})
}

// secure sets the headers that keep a browser from doing more than showing
// the page: nothing is loaded from elsewhere, no script runs, no frame.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// run answers a search within the limits of time and concurrency.
func (h *handler) run(ctx context.Context, req searchRequest) (*griffin.Results, *apiError) {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	if apiErr := h.acquire(ctx); apiErr != nil {
		h.metrics.searches.WithLabelValues(req.Mode.String(), apiErr.Code).Inc()
		return nil, apiErr
	}
	defer func() { <-h.slots }()

	results, err := h.backend.search(ctx, req)
	if err != nil {
		apiErr := h.explain(err)
		h.metrics.searches.WithLabelValues(req.Mode.String(), apiErr.Code).Inc()
		return nil, apiErr
	}
	h.metrics.searches.WithLabelValues(req.Mode.String(), "ok").Inc()
	h.metrics.latency.WithLabelValues(req.Mode.String()).Observe(results.Took.Seconds())
	return results, nil
}

func (h *handler) acquire(ctx context.Context) *apiError {
	select {
	case h.slots <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(queueWait)
	defer wait.Stop()
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return h.explain(ctx.Err())
	case <-wait.C:
		return &apiError{
			Status: http.StatusServiceUnavailable, Code: "overloaded",
			Message: fmt.Sprintf("%d searches are running already; try again in a moment", h.MaxConcurrent),
		}
	}
}

// explain turns the error of a search into what the client is told. Causes
// inside the server are logged and not told.
func (h *handler) explain(err error) *apiError {
	var syntax *griffin.QueryError
	switch {
	case errors.As(err, &syntax):
		e := &apiError{Status: http.StatusBadRequest, Code: "query_syntax", Message: syntax.Reason}
		if syntax.Text != "" { // else of no certain place
			e.Offset = &syntax.Offset
		}
		return e
	case errors.Is(err, griffin.ErrNoImpacts): // whose text names the index's folder
		return &apiError{
			Status: http.StatusBadRequest, Code: "no_impacts",
			Message: "the index has no impact-ordered lists, which mode saat needs: griffin impacts makes them",
		}
	case errors.Is(err, griffin.ErrBadInput):
		return &apiError{Status: http.StatusBadRequest, Code: "bad_query", Message: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &apiError{
			Status: http.StatusGatewayTimeout, Code: "timeout",
			Message: fmt.Sprintf("the search took longer than %v and was given up", h.Timeout),
		}
	case errors.Is(err, context.Canceled):
		return &apiError{Status: statusClientGone, Code: "client_gone", Message: "the client left"}
	case errors.Is(err, griffin.ErrClosed):
		return &apiError{Status: http.StatusServiceUnavailable, Code: "closing", Message: "the server is stopping"}
	}
	h.Logger.Error("search failed", "error", err)
	return &apiError{Status: http.StatusInternalServerError, Code: "internal", Message: "the search failed; the server's log says why"}
}
