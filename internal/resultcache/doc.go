// Package resultcache caches the answers of queries.
//
// The key of an answer is the meaning of the query (plan.Plan.AppendKey), not its text. The first
// query on a newer snapshot, which every commit makes, drops older answers. A search on an older
// snapshot neither finds answers nor stores any.
//
// An Entry can also keep the document data that a search loaded for its answer (Documents).
//
// Equal concurrent queries run once; the others wait without a scheduler slot. If the running one
// fails or its context ends, another runs.
package resultcache
