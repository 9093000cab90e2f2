package segment

import (
	"context"
	"sync"

	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
)

// group runs functions concurrently, in turns; the first error cancels the others.
type group struct {
	turns  *turns.Turns
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

func newGroup(ctx context.Context, t *turns.Turns) *group {
	g := &group{turns: t}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

func (g *group) run(f func(context.Context) error) {
	g.wg.Go(func() {
		g.turns.Take()
		defer g.turns.Give()
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

// send waits until c takes v, without the caller's turn.
func send[T any](ctx context.Context, t *turns.Turns, c chan<- T, v T) (err error) {
	select {
	case c <- v:
		t.Yield()
		return nil
	default:
	}
	t.Wait(func() {
		select {
		case c <- v:
		case <-ctx.Done():
			err = ctx.Err()
		}
	})
	return err
}

// receive waits for the next of c, without the caller's turn. It returns false at the end of c.
func receive[T any](ctx context.Context, t *turns.Turns, c <-chan T) (v T, ok bool, err error) {
	select {
	case v, ok = <-c:
		t.Yield()
		return v, ok, nil
	default:
	}
	t.Wait(func() {
		select {
		case v, ok = <-c:
		case <-ctx.Done():
			err = ctx.Err()
		}
	})
	return v, ok, err
}
