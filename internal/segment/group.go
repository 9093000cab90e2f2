package segment

import (
	"context"
	"sync"
)

// group runs functions at the same time; the first error cancels the others.
type group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

func newGroup(ctx context.Context) *group {
	g := new(group)
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

func (g *group) run(f func(context.Context) error) {
	g.wg.Go(func() {
		if err := f(g.ctx); err != nil {
			g.cancel(err)
		}
	})
}

// wait returns the first error, which may be that the group's parent was cancelled.
func (g *group) wait() error {
	g.wg.Wait()
	err := context.Cause(g.ctx)
	g.cancel(nil)
	return err
}
