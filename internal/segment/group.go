package segment

import (
	"context"
	"sync"

	"github.com/griffin-search/griffin/internal/vfs"
)

// group runs functions concurrently; the first error cancels the others.
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
		if err := recoverFaults(g.ctx, f); err != nil {
			g.cancel(err)
		}
	})
}

// Faults of mapped files become errors.
func recoverFaults(ctx context.Context, f func(context.Context) error) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	return f(ctx)
}

// wait returns the first error, or the parent's reason.
func (g *group) wait() error {
	g.wg.Wait()
	err := context.Cause(g.ctx)
	g.cancel(nil)
	return err
}
