package segment

import (
	"runtime"
	"testing"
)

// The one used last is taken first, and at most GOMAXPROCS are kept.
func TestFreeList(t *testing.T) {
	made := 0
	l := freeList[int]{make: func() int { made++; return made }}
	a, b := l.get(), l.get()
	if a != 1 || b != 2 {
		t.Fatalf("got %d and %d, want new ones", a, b)
	}
	l.put(a)
	l.put(b)
	for _, want := range []int{b, a, 3} {
		if got := l.get(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	most := runtime.GOMAXPROCS(0)
	for i := range 2 * most {
		l.put(i)
	}
	if len(l.free) != most {
		t.Errorf("%d are kept, want %d", len(l.free), most)
	}
}
