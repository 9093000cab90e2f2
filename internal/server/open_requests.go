package server

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// bounded lets at most limit requests be open: over HTTP/2, a connection has several. It refuses others.
func bounded(next http.Handler, limit int) http.Handler {
	var open atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer open.Add(-1)
		if open.Add(1) <= int64(limit) {
			next.ServeHTTP(w, r)
			return
		}
		secure(w.Header())
		e := &apiError{Status: http.StatusServiceUnavailable, Code: "overloaded"}
		announce(w, e)
		writeBody(w, e.Status, jsonType, fmt.Appendf(nil, "{\"error\":{\"code\":%q,\"message\":\"%d requests are already open; try again in a moment\"}}\n", e.Code, limit))
	})
}
