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
// Size, number of results, time and concurrency of requests are bounded. Searches
// and requests for documents that would miss their time limit are rejected at once
// (admission.go). Every input of a client gets an answer with a proper status; a
// panic of one request does not affect others.
//
// The package is not a gateway: it has no users and no TLS, and identifies a client
// by its address. Put a reverse proxy in front of a public server.
//
// Handlers are safe for concurrent use. Their state is the metrics and the estimates
// of admission.
package server
