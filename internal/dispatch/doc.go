// Package dispatch decides where and when queries run, and runs them.
//
// A Searcher prepares queries (package plan), looks answers up in a result cache, and hands the
// rest to a Dispatcher. SearchBatch answers many queries together; its batches on a GPU, and
// those that the scheduler forms, run in the type batch. Without a GPU or an admission limit a
// query runs on the CPU at once. Otherwise one state machine runs it stage by stage; a
// conjunction can be split after any list, and its candidates then move to the other processor.
// Before each step the policy predicts the remaining time on each processor; afterwards the
// cost model learns from the measured time. A query that overruns on the CPU restarts on the
// GPU. Missing lists are loaded in the background. Each of several GPUs answers queries by itself
// (gpu_replicas.go). Filters and exclusions run there as bitmaps that the CPU computes (gpu_masks.go).
// The CPU reads the positions of a phrase in candidates from a GPU (gpu_phrase.go). The CPU answers the small segments of an index that takes writes (gpu_small.go);
// the lists that a GPU needs for a commit are brought before the commit is shown (gpu_ready.go). An engine chosen by name (package engine) answers in place of all this.
//
// The package does not parse or plan queries, schedule (package sched), manage GPU memory
// (package gpu/pipeline), or measure on purpose (package calibrate).
//
// # Concurrency
//
// A Dispatcher, a GPU and a Searcher are safe for concurrent use. A Query is read-only once
// prepared and may be run by several goroutines, each with its own Scratch.
package dispatch
