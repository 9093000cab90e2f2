// Package engine is the contract of engines: systems that answer queries by their own algorithms,
// end to end, in place of package dispatch. The engines of the papers, in the folders of
// internal/papers, register themselves; programs choose one by name:
//
//	spec, err := engine.Parse("griffin18:ratio=64,crossing=32")
//	e, err := spec.Open(engine.Resources{Device: "gpu"})
//	err = e.Search(ctx, queries)
//
// An engine gets planned queries (package plan), so that words, statistics and weights are the same
// for every engine. All engines return the hits of plan.Plan.RunCPU, to the last bit and in the same
// order, or refuse the query. The documentation of an engine lists the options that change the scores.
//
// The registry is filled by init functions and is read-only afterwards. An Engine is safe for
// concurrent use.
package engine
