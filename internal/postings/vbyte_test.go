package postings

import "testing"

func TestVbytesLen(t *testing.T) {
	src := []byte{1, 0x80, 0x80, 2, 0x7f}
	for n, want := range []int{0, 1, 4, 5} {
		if got, ok := VbytesLen(src, uint64(n)); got != want || !ok {
			t.Errorf("%d numbers take %d bytes, %t, want %d", n, got, ok, want)
		}
	}
	for _, n := range []uint64{4, 5, 6} {
		if _, ok := VbytesLen(src, n); ok {
			t.Errorf("%d numbers are found", n)
		}
	}
	if _, ok := VbytesLen([]byte{0x80}, 1); ok {
		t.Error("a cut number is found")
	}
}
