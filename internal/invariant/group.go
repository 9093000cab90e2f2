package invariant

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Group is a [sync.WaitGroup] for goroutines that may panic because of a bug: Wait re-raises
// the panic, which would otherwise end the process, so that the caller can release its
// resources and report it. The zero value is ready to use.
type Group struct {
	wait   sync.WaitGroup
	caught atomic.Pointer[Caught]
}

// Go calls f in a new goroutine.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		debug.SetPanicOnFault(true) // the caller decides about faults of mapped files, too: vfs.RecoverFault
		defer func() {
			if value := recover(); value != nil {
				g.caught.CompareAndSwap(nil, Catch(value))
			}
		}()
		f()
	})
}

// Wait waits for all goroutines and panics with the *Caught of the first that has panicked
// since the last Wait.
func (g *Group) Wait() {
	g.wait.Wait()
	if c := g.caught.Swap(nil); c != nil {
		panic(c)
	}
}

// Caught is a recovered panic with its stack. Error returns both.
type Caught struct {
	Value any
	Stack []byte
}

// Catch returns the Caught of a recovered value, a re-raised *Caught unchanged. It must be
// called in the deferred function.
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
