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
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/rest"
	"github.com/griffin-search/griffin/query"
)

// statusClientGone is the status in the metrics for a client that left before its
// answer (as in nginx); never sent.
const statusClientGone = 499

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

// guard adds security headers, checks of method and body, metrics and recovery from
// panics.
func (h *handler) guard(route string, next http.HandlerFunc) http.Handler {
	return h.isolate(route, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			h.fail(w, &apiError{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Message: "only GET is answered here"})
		case r.ContentLength != 0:
			w.Header().Set("Connection", "close")
			h.fail(w, &apiError{Status: http.StatusRequestEntityTooLarge, Code: "body", Message: "requests must not have a body"})
		default:
			next(w, r)
		}
	})
}

// isolate adds security headers, metrics and recovery from panics.
func (h *handler) isolate(route string, next http.HandlerFunc) http.Handler {
	answered := h.metrics.requests.WithLabelValues(route, strconv.Itoa(http.StatusOK))
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &statusWriter{ResponseWriter: rw}
		h.metrics.inFlight.Inc()
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a recovered value, compared as net/http does
				h.metrics.panics.Inc()
				h.Logger.Error("request panicked", "route", route, "panic", p, "stack", string(debug.Stack()))
				switch {
				case w.status != 0:
				case route == apiRoute:
					h.api.Fail(w, r, &rest.Error{Status: http.StatusInternalServerError, Type: "exception", Reason: "the server failed on this request; the reason is in its log"})
				default:
					h.fail(w, &apiError{Status: http.StatusInternalServerError, Code: "internal", Message: "the server failed on this request; the reason is in its log"})
				}
				p = nil
			}
			h.metrics.inFlight.Dec()
			if status := cmp.Or(w.status, http.StatusOK); status == http.StatusOK {
				answered.Inc()
			} else {
				h.metrics.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
			}
			if p != nil {
				panic(p)
			}
		}()
		secure(w.Header())
		next(w, r)
	})
}

// secure forbids scripts, frames and content from elsewhere.
func secure(header http.Header) {
	for i := range securityHeaders {
		header[securityHeaders[i].name] = securityHeaders[i].value
	}
}

// securityHeaders have canonical names, and values in the memory that all answers share.
var securityHeaders = []struct {
	name  string
	value []string
}{
	{"Content-Security-Policy", []string{contentSecurityPolicy}},
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"X-Frame-Options", []string{"DENY"}},
	{"Referrer-Policy", []string{"no-referrer"}},
	{"Cross-Origin-Opener-Policy", []string{"same-origin"}},
	{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
	{"Cache-Control", []string{"no-store"}},
}

// run answers a search within its time limit, if admission lets it begin.
func (h *handler) run(r *http.Request, req searchRequest) (*griffin.Results, *apiError) {
	count := func(result string) { h.metrics.searches.WithLabelValues(req.Mode.String(), result).Inc() }
	budget := cmp.Or(req.Timeout, h.Timeout)
	late := waited(r, time.Now())
	admitted, refused := h.searches.enter(clientOf(r), budget, late)
	if refused != nil {
		count(refused.Code)
		return nil, refused
	}
	answered, shed := false, false
	defer func() { h.searches.leave(admitted, answered, shed) }()
	ctx, cancel := context.WithTimeout(r.Context(), budget-late)
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

// ended returns ErrClosed if the server stops and cancelled the request: the client is
// still there and must get an error.
func ended(r *http.Request, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(r.Context()), errStopping) {
		return griffin.ErrClosed
	}
	return err
}

// explain turns an error into an answer. asked names the request, such as "search", and
// budget is its time limit. Internal causes are logged and not sent.
func (h *handler) explain(asked string, err error, budget time.Duration) *apiError {
	var syntax *query.Error
	var overload *griffin.Overload
	switch {
	case errors.As(err, &overload) && overload.Reason == griffin.ReasonExpired:
		return &apiError{
			Status: http.StatusGatewayTimeout, Code: "timeout", retryAfter: overload.RetryAfter,
			Message: fmt.Sprintf("the %s waited for a processor until its time limit of %v had passed", asked, budget),
		}
	case errors.As(err, &overload) && overload.Reason == griffin.ReasonTooLate: // possibly on an idle server
		return &apiError{
			Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: overload.RetryAfter,
			Message: fmt.Sprintf("the %s is predicted to miss its time limit of %v, or the server's; use a longer limit, or try again later", asked, budget),
		}
	case errors.As(err, &overload):
		return &apiError{
			Status: http.StatusServiceUnavailable, Code: "overloaded", retryAfter: overload.RetryAfter,
			Message: fmt.Sprintf("the server is too busy: %v; try again in a moment", overload.Reason),
		}
	case errors.As(err, &syntax):
		e := &apiError{Status: http.StatusBadRequest, Code: "query_syntax", Message: syntax.Reason}
		if syntax.Text != "" { // otherwise it has no position
			e.Offset = &syntax.Offset
		}
		return e
	case errors.Is(err, griffin.ErrNoImpacts): // its text names the index folder
		return &apiError{
			Status: http.StatusBadRequest, Code: "no_impacts",
			Message: "mode saat needs impact-ordered lists, which nobody has made of the index; make them with griffin impacts",
		}
	case errors.Is(err, griffin.ErrBadInput):
		return &apiError{Status: http.StatusBadRequest, Code: "bad_query", Message: base.Message(err)}
	case errors.Is(err, context.DeadlineExceeded):
		return &apiError{
			Status: http.StatusGatewayTimeout, Code: "timeout",
			Message: fmt.Sprintf("the %s exceeded its time limit of %v", asked, budget),
		}
	case errors.Is(err, context.Canceled):
		return &apiError{Status: statusClientGone, Code: "client_gone", Message: "the client left"}
	case errors.Is(err, griffin.ErrClosed):
		return &apiError{Status: http.StatusServiceUnavailable, Code: "closing", Message: "the server is stopping"}
	}
	h.Logger.Error(asked+" failed", "error", err)
	if errors.Is(err, griffin.ErrCorrupt) {
		h.damaged.Store(true)
		if h.Directory != nil {
			h.Directory.NoteDamage(h.index)
		}
	}
	return &apiError{Status: http.StatusInternalServerError, Code: "internal", Message: "the " + asked + " failed; the reason is in the server's log"}
}
