package invariant

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// The panic comes once, after the other goroutines have ended, with its original stack at any
// depth.
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
				t.Errorf("Error() = %s", text)
			}
		}()
		g.Wait()
		t.Error("Wait does not re-raise the panic")
	}()
	if n := ended.Load(); n != 3 {
		t.Errorf("%d goroutines ended normally, want 3", n)
	}
	g.Go(func() { ended.Add(1) })
	g.Wait()
	if c := Catch("no error"); c.Unwrap() != nil {
		t.Errorf("Unwrap() = %v", c.Unwrap())
	}
}

//go:noinline
func breaks(value any) { panic(value) }
