package regret

import (
	"context"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/query"
)

// Query is a query of the log.
type Query struct {
	ID   string
	Node query.Node
}

// Options configure Measure.
type Options struct {
	// Searcher, with dispatch.PolicyCost if there is a GPU, answers the queries. Analyzer is
	// its index's.
	Searcher *dispatch.Searcher
	Analyzer string
	// Exec holds options, such as Mode and K, for all variants.
	Exec dispatch.Options
	// Policies are measured in this order, each as a Variant of its name.
	Policies []dispatch.Policy
	// Own, if set, opens a Searcher with equal answers but another GPU or its own GPU memory,
	// for each of the Policies but cpu: otherwise lists that one policy leaves in short memory
	// would affect the next.
	Own func(context.Context, dispatch.Policy) (OwnSearcher, error)
	// Others are further variants to measure.
	Others []Variant
	// Oracle enables the measurement of placements.
	Oracle bool
	// Rounds is the number of measurements of each query in each way, at least 2; 0:
	// DefaultRounds.
	Rounds int
	// Batch is the number of queries in a GPU batch, to measure shares; 0: none.
	Batch int
	// Progress, if set, receives the number of completed passes.
	Progress func(done, total int)
}

// OwnSearcher is a policy's own Searcher, which Measure closes.
type OwnSearcher struct {
	*dispatch.Searcher
	Close func() error
}

// DefaultRounds suffices for a median that one disturbance does not change.
const DefaultRounds = 5

// Variant is a way to answer the queries.
type Variant struct {
	Name string
	// Searcher may have another index of the same documents in the same order.
	Searcher *dispatch.Searcher
	Exec     dispatch.Options
}
