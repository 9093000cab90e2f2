package invariant

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// A panic of one goroutine goes on in Wait, once, after the others have ended, and tells
// where it began, from however deep it comes.
func TestGroup(t *testing.T) {
	var g Group
	var ended atomic.Int32
	g.Go(func() {
		var inner Group
		inner.Go(func() { breaks(io.ErrUnexpectedEOF) })
		inner.Wait()
		ended.Add(1)
	})
	for range 3 {
		g.Go(func() { ended.Add(1) })
	}
	func() {
		defer func() {
			c, ok := recover().(*Caught)
			if !ok || !errors.Is(c, io.ErrUnexpectedEOF) || c.Value != any(io.ErrUnexpectedEOF) {
				t.Fatalf("recovered %v", c)
			}
			if text := c.Error(); !strings.HasPrefix(text, "panic: unexpected EOF\n") || !strings.Contains(text, "invariant.breaks") {
				t.Errorf("it says %s", text)
			}
		}()
		g.Wait()
		t.Error("the panic does not go on")
	}()
	if n := ended.Load(); n != 3 {
		t.Errorf("%d goroutines ended as they should, want 3", n)
	}
	g.Go(func() { ended.Add(1) })
	g.Wait()
	if c := Catch("no error"); c.Unwrap() != nil {
		t.Errorf("it wraps %v", c.Unwrap())
	}
}

//go:noinline
func breaks(value any) { panic(value) }
