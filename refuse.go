package griffin

import (
	"cmp"
	"context"

	"github.com/griffin-search/griffin/internal/dispatch"
)

// refuse returns *Overload for a query that is shed before it is planned. With a result cache, prepare does so after it has
// looked there.
func refuse(ctx context.Context, ix *Index, q *Query) error {
	if ix.results != nil || q.Trace || q.needsMatches() {
		return nil
	}
	o := q.options(true /* cached */)
	o.K, o.Refusal = cmp.Or(q.K, DefaultK)+q.Offset, refusalOf(ctx) // K is not checked yet
	if err := ix.runtime.dispatcher.Refuse(&o); err != nil {
		return cmp.Or(ctx.Err(), publicError(err))
	}
	return nil
}

func refusalOf(ctx context.Context) dispatch.Refusal {
	deadline, _ := ctx.Deadline()
	return dispatch.Refusal{Allowed: true, Deadline: deadline}
}
