package invariant

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Group is a [sync.WaitGroup] for goroutines in which a bug may panic. The panic goes on
// in Wait, where whoever wants the work done can give back what he holds, and his caller
// is told; on a goroutine of its own it would end the process. The zero value is ready.
type Group struct {
	wait   sync.WaitGroup
	caught atomic.Pointer[Caught]
}

// Go calls f on a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		defer func() {
			if value := recover(); value != nil {
				g.caught.CompareAndSwap(nil, Catch(value))
			}
		}()
		f()
	})
}

// Wait waits until all goroutines have ended. If one panicked since the last Wait, it
// panics with the first one's *Caught.
func (g *Group) Wait() {
	g.wait.Wait()
	if c := g.caught.Swap(nil); c != nil {
		panic(c)
	}
}

// Caught is a panic that was recovered, with the stack that it had. As an error it tells
// both.
type Caught struct {
	Value any
	Stack []byte
}

// Catch returns what is known of a recovered value, in the function that defer called: of
// a *Caught, which has gone on from another goroutine, that itself.
func Catch(value any) *Caught {
	if c, ok := value.(*Caught); ok {
		return c
	}
	return &Caught{value, debug.Stack()}
}

// Error implements error.
func (c *Caught) Error() string { return fmt.Sprintf("panic: %v\n\n%s", c.Value, c.Stack) }

// Unwrap returns the value, if it is an error.
func (c *Caught) Unwrap() error {
	err, _ := c.Value.(error)
	return err
}
