package sched

import (
	"testing"
	"time"
)

// The classes of waits are contiguous and disjoint.
func TestWaitClasses(t *testing.T) {
	for class := range NumWaits {
		if class > 0 && waitClass(WaitBound(class-1)) != class {
			t.Errorf("a wait of %v is in class %d, want %d", WaitBound(class-1), waitClass(WaitBound(class-1)), class)
		}
		if below := WaitBound(class) - 1; waitClass(below) != class {
			t.Errorf("a wait of %v is in class %d, want %d", below, waitClass(below), class)
		}
	}
	if first, last := WaitBound(0), WaitBound(NumWaits-2); first != us || last != us<<24 || WaitBound(NumWaits-1) != Never {
		t.Errorf("the bounds go from %v to %v, then %v; want 1 µs, 16.8 s, never", first, last, WaitBound(NumWaits-1))
	}
	if waitClass(-5) != 0 || waitClass(3*time.Microsecond) != 2 {
		t.Error("the classes of -5 ns and 3 µs are not 0 and 2")
	}
}
