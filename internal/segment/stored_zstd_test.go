package segment

import (
	"runtime"
	"testing"
)

// The one used last is taken first, and GOMAXPROCS are kept.
func TestFreeList(t *testing.T) {
	made := 0
	l := freeList[int]{make: func() int { made++; return made }}
	most := runtime.GOMAXPROCS(0)
	var taken []int
	for range most {
		n, kept := l.get()
		if !kept {
			t.Errorf("%d is not kept", n)
		}
		taken = append(taken, n)
	}
	extra, kept := l.get()
	if kept || extra != most+1 {
		t.Errorf("got %d, kept: %t, want a new one", extra, kept)
	}
	l.put(extra, kept)
	for _, n := range taken {
		l.put(n, true)
	}
	if n, kept := l.get(); n != taken[most-1] || !kept {
		t.Errorf("got %d, want the one used last, %d", n, taken[most-1])
	}
	if made != most+1 {
		t.Errorf("%d were made, want %d", made, most+1)
	}
}
