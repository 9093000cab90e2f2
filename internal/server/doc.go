// Package server answers searches over HTTP: a JSON API, a search page that
// needs no JavaScript, a health check and metrics for Prometheus.
//
//	GET /             the search page; with ?q= its results
//	GET /search?q=    the results as JSON (k, mode, timeout, trace, …)
//	GET /document?id= one stored document as a page
//	GET /healthz      "ok" while the server answers
//	GET /metrics      counts, latencies, the index
//
// New makes the handler, Serve runs it on a listener and ends gracefully.
// Every request is bounded: its size, the number of results, the time that it
// may take, how many run at once; what would not be answered in time, searches and requests
// for documents, is refused at once (admission.go). What a client sends ends in an answer with
// a proper status, never in a panic that others notice.
//
// It is not a gateway: there are no users and no TLS, and a client is an address. Put
// a reverse proxy in front where strangers come in.
//
// Handlers are safe for concurrent use and keep no state but their metrics.
package server
