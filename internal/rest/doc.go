// Package rest is the HTTP API of a folder of indexes, under the paths and with the JSON of
// OpenSearch. It is a subset: a request for anything else is an error that names it.
//
// A Directory owns the indexes of a folder, each with a writer. A Handler answers requests about
// them:
//
//	directory.go, index.go      indexes by name: open, create, delete
//	mapping.go, settings.go     bodies of PUT /{index}, _settings
//	handler.go, errors.go       routes, limits, answers, errors
//	source.go, json.go          a document's JSON, as text to index
//	document.go, update.go      single documents
//	bulk.go, bulk_reader.go     NDJSON
//	search.go, query.go         searches and counts
//	analyze.go                  _analyze
//	export.go, impacts.go       _export and _impacts, which OpenSearch lacks
//	by_query.go                 _delete_by_query, _update_by_query
//	admin.go, cat.go            refresh, flush, merge, health; _cat
//
// # Documents
//
// The JSON of a document is stored as the field "_source", which is not searched. Its strings are
// the text of the default field; values at a name that the mapping declares are also in the field
// of that dotted name. Names that it does not declare are added with the type of their first value, unless
// the mapping's "dynamic" forbids that.
//
// # Bulk requests
//
// A body is read in batches of bounded size, each of which is durable before the next is read. A
// line that cannot be read ends the request with an error; the operations before it have taken
// effect.
//
// It is not for pages that people read and not for metrics: package server has them.
//
// A Directory and a Handler are safe for concurrent use.
package rest
