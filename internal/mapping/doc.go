// Package mapping describes the fields of an index: their types, and how their values are read,
// compared and printed. It follows OpenSearch's mappings.
//
//	Parse(JSON) ──▶ Mapping ──▶ Field.Number, Field.Bytes   value in a document → indexed value
//	                   │        Field.AppendNumber          and back to text
//	                   └──────▶ Field.Date                  date maths of queries
//
// Values are texts, as documents have them: numbers as in JSON, booleans "true" and "false", points
// "lat,lon". Numbers, dates, booleans and points become int64 in the order of the values
// (Number); keywords and addresses become byte strings (Bytes).
//
// A Mapping only grows: Merge and With add fields behind the others, and a field that exists does not
// change.
//
// The package does not know how fields are stored, or what an analyzer is.
//
// # Concurrency
//
// Mappings and fields do not change. All functions are safe for concurrent use.
package mapping
