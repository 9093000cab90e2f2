// Package server answers searches over HTTP: a JSON API, a search page that
// needs no JavaScript, a health check and metrics for Prometheus.
//
//	GET /             the search page; with ?q= its results
//	GET /search?q=    the results as JSON (k, mode, timeout, trace, …)
//	GET /document?id= one stored document as a page
//	GET /healthz      "ok" while the server answers and has met no damaged file of the index
//	GET /metrics      counts, latencies, the index
//
// Size, number of results, time and concurrency of requests are bounded.
// Requests that would miss their time limit are rejected at once
// (admission.go). A panic of one request does not affect others.
//
// Plain searches over HTTP/1.1 are answered by a connection loop of this package (lean.go), all other requests by
// net/http, with the same handlers.
//
// There are no users and no TLS: put a reverse proxy in front of a public
// server.
//
// Handlers are safe for concurrent use.
package server
