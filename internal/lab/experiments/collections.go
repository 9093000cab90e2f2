package experiments

import (
	"context"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/lab"
)

// The collections of the papers, shared by experiments.

// More than any log has.
const allQueries = 1 << 30

// Similar to ao11's GOV (Crawl), GOVPR (Rank) or GOVR (Random).
func gov(ctx context.Context, env *lab.Env, order collection.Order) (*lab.Collection, []lab.Query, error) {
	return env.Generated(ctx, lab.Spec{Like: "gov", Order: order, Log: lab.TB06})
}

// Similar to ao11's GOV2 (Crawl) or GOV2R (Random): 5,038,710 of its documents.
func ao11GOV2(ctx context.Context, env *lab.Env, order collection.Order) (*lab.Collection, []lab.Query, error) {
	return env.Generated(ctx, lab.Spec{Like: "gov2", Order: order, Log: lab.TB06, Docs: 5_038_710, Queries: allQueries})
}

// Similar to the GOV2 of ding09 and saat, with ding09's 1,000 queries.
func gov2(ctx context.Context, env *lab.Env) (*lab.Collection, []lab.Query, error) {
	return env.Generated(ctx, lab.Spec{Like: "gov2", Order: collection.Crawl, Log: lab.TB05})
}

// A collection of a table's column.
type named struct {
	name string
	open func(context.Context, *lab.Env) (*lab.Collection, []lab.Query, error)
}

// ao11's collections except Baidu's.
var ao11Collections = []named{
	{"GOV", func(ctx context.Context, env *lab.Env) (*lab.Collection, []lab.Query, error) {
		return gov(ctx, env, collection.Crawl)
	}},
	{"GOVPR", func(ctx context.Context, env *lab.Env) (*lab.Collection, []lab.Query, error) {
		return gov(ctx, env, collection.Rank)
	}},
	{"GOVR", func(ctx context.Context, env *lab.Env) (*lab.Collection, []lab.Query, error) {
		return gov(ctx, env, collection.Random)
	}},
	{"GOV2", func(ctx context.Context, env *lab.Env) (*lab.Collection, []lab.Query, error) {
		return ao11GOV2(ctx, env, collection.Crawl)
	}},
	{"GOV2R", func(ctx context.Context, env *lab.Env) (*lab.Collection, []lab.Query, error) {
		return ao11GOV2(ctx, env, collection.Random)
	}},
}

const noBaidu = "Baidu's index and log are not public; the authors had them by private communication."
