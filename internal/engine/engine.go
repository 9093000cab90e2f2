package engine

import (
	"context"

	"github.com/griffin-search/griffin/internal/plan"
)

// Engine answers queries by the algorithms of one system. It is safe for concurrent use until Close.
type Engine interface {
	// Adapt sets the options of a query that the engine decides, before the query is planned.
	// The error wraps base.ErrBadInput if the system has no such queries.
	Adapt(o *plan.Options) error
	// BatchSize is the maximum number of queries that Search answers together, at least 1.
	BatchSize() int
	// Search answers queries and sets their Answer and Trace, or their Err, which wraps base.ErrBadInput
	// if the system cannot answer the planned query, and base.ErrCorrupt if a list is damaged. It
	// returns the context's error if that ends; then not all queries are answered. An error of a
	// GPU is none of a query: its answer comes from the CPU.
	Search(ctx context.Context, queries []*Query) error
	// Stats returns the counts since Open.
	Stats() Stats
	// Close releases the GPU. No Search may be running.
	Close() error
}

// Query is a planned query and its answer.
type Query struct {
	Plan *plan.Plan
	// Scratch is of the caller's goroutine. The queries of a batch can have the same.
	Scratch *plan.Scratch
	// Trace, if not nil, gets the steps.
	Trace *plan.Trace
	// Answer.Hits[:0] gets the hits. Search replaces the other fields.
	Answer plan.Answer
	Err    error
	// Settled means that the hits are the best Plan.K in their final order. Without it, they are
	// the best plan.SelectK, with ties broken by DocID, and the caller settles them (plan.Settle).
	Settled bool
}

// Stats count the work of an Engine. Fields that do not apply are 0.
type Stats struct {
	// Name is the engine with its options (Spec.String); Spec.Open adds it.
	Name string `json:"name"`
	// Queries that were answered, by the processor that completed them.
	OnCPU int64 `json:"on_cpu"`
	OnGPU int64 `json:"on_gpu"`
	// Migrations are changes of the processor within a query.
	Migrations int64 `json:"migrations,omitempty"`
	// BusBytes were copied to the GPU.
	BusBytes int64 `json:"bus_bytes,omitempty"`
	// Faults are queries during which the GPU failed and that the CPU therefore answered. Once the GPU is
	// lost, queries that never used it do not count.
	Faults int64 `json:"faults,omitempty"`
	// ListHits and ListMisses count the lists that the engine's cache had or lacked.
	ListHits   int64 `json:"list_hits,omitempty"`
	ListMisses int64 `json:"list_misses,omitempty"`
	// UnknownDocs are documents that a file of the engine's options names, and that the index of the last
	// query lacks.
	UnknownDocs int64 `json:"unknown_docs,omitempty"`
	// Stolen are queries that a processor took from the queue of another.
	Stolen int64 `json:"stolen,omitempty"`
}
