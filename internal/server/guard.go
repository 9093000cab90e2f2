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
	"github.com/griffin-search/griffin/internal/sched"
)

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

// run answers a search, if it may begin, within the limit of time.
func (h *handler) run(r *http.Request, req searchRequest) (*griffin.Results, *apiError) {
	count := func(result string) { h.metrics.searches.WithLabelValues(req.Mode.String(), result).Inc() }
	budget := cmp.Or(req.Timeout, h.Timeout)
	admitted, refused := h.searches.enter(clientOf(r), budget)
	if refused != nil {
		count(refused.Code)
		return nil, refused
	}
	answered, shed := false, false
	defer func() { h.searches.leave(admitted, answered, shed) }()
	ctx, cancel := context.WithTimeout(r.Context(), budget)
	defer cancel()
	results, err := h.backend.search(ctx, req)
	if err != nil {
		var overload *griffin.Overload
		shed = errors.As(err, &overload)
		apiErr := h.explain("search", ended(r, err), budget)
		count(apiErr.Code)
		return nil, apiErr
	}
	answered = true
	count("ok")
	h.metrics.latency.WithLabelValues(req.Mode.String()).Observe(results.Took.Seconds())
	return results, nil
}

// ended returns the error of a request, ErrClosed if it was cancelled since the server
// stops: the client is there, and must not take silence for an answer.
func ended(r *http.Request, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(r.Context()), errStopping) {
		return griffin.ErrClosed
	}
	return err
}

// explain turns the error of what was asked for, a search for one, that had budget into
// what the client is told. Causes inside the server are logged and not told.
func (h *handler) explain(asked string, err error, budget time.Duration) *apiError {
	var syntax *griffin.QueryError
	var overload *griffin.Overload
	switch {
	case errors.As(err, &overload) && overload.Reason == sched.Expired:
		return &apiError{
			Status: http.StatusGatewayTimeout, Code: "timeout", retryAfter: overload.RetryAfter,
			Message: fmt.Sprintf("the %s waited for a processor until there was no time left of its %v", asked, budget),
		}
	case errors.As(err, &overload) && overload.Reason == sched.TooLate: // be it that the server is idle
		return &apiError{
			Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: overload.RetryAfter,
			Message: fmt.Sprintf("the %s is not expected to end within %v, or what the server allows; give it more time, or try again when there is less to do", asked, budget),
		}
	case errors.As(err, &overload):
		return &apiError{
			Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: overload.RetryAfter,
			Message: fmt.Sprintf("the server is too busy: %v; try again in a moment", overload.Reason),
		}
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
			Message: fmt.Sprintf("the %s took longer than %v and was given up", asked, budget),
		}
	case errors.Is(err, context.Canceled):
		return &apiError{Status: statusClientGone, Code: "client_gone", Message: "the client left"}
	case errors.Is(err, griffin.ErrClosed):
		return &apiError{Status: http.StatusServiceUnavailable, Code: "closing", Message: "the server is stopping"}
	}
	h.Logger.Error(asked+" failed", "error", err)
	return &apiError{Status: http.StatusInternalServerError, Code: "internal", Message: "the " + asked + " failed; the server's log says why"}
}
