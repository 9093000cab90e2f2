package postings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func vbytes(numbers ...uint32) (b []byte) {
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func TestDecodePositionsLimits(t *testing.T) {
	for _, test := range []struct {
		name string
		src  []byte
		freq uint32
		ok   bool
	}{
		{"first position 0", vbytes(0, 1), 2, true},
		{"highest position", vbytes(math.MaxUint32-1, 1), 2, true},
		{"the same position again", vbytes(3, 0), 2, false},
		{"a position above 32 bits", vbytes(math.MaxUint32, 1), 2, false},
		{"gaps that sum to more than 32 bits", vbytes(1<<31, 1<<31), 2, false},
		{"cut off", vbytes(3), 2, false},
		{"gaps of a byte", vbytes(0, 1, 2, 3, 4, 5, 6, 7, 127), 9, true},
		{"gaps of a byte before longer ones", vbytes(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 300, 13, 14, 15, 16, 17), 18, true},
		{"the same position again among gaps of a byte", vbytes(1, 1, 1, 0, 1, 1, 1, 1, 1), 9, false},
		{"the same position again after eight", vbytes(1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1), 16, false},
		{"a position above 32 bits by gaps of a byte", vbytes(math.MaxUint32, 1, 1, 1, 1, 1, 1, 1, 1), 9, false},
		{"cut off after gaps of a byte", vbytes(1, 2, 3, 4, 5, 6, 7, 8), 9, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			positions, next, err := DecodePositions(nil, test.src, 0, test.freq)
			if test.ok && (err != nil || len(positions) != int(test.freq) || next != len(test.src)) {
				t.Errorf("positions %v, next %d, %v", positions, next, err)
			}
			if !test.ok && !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("positions %v, error %v, want ErrCorrupt", positions, err)
			}
		})
	}
}

func TestSkipVbytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		ends := []int{0}
		var src []byte
		for range rng.IntN(200) {
			src = binary.AppendUvarint(src, uint64(rng.Uint32())>>(25*min(1, rng.IntN(40))))
			ends = append(ends, len(src))
		}
		for range 20 {
			from, to := rng.IntN(len(ends)), 0
			to = from + rng.IntN(len(ends)-from)
			if got := skipVbytes(src, ends[from], to-from); got != ends[to] {
				t.Fatalf("vbytes %d to %d of %v: %d, want %d", from, to, src, got, ends[to])
			}
		}
		if got := skipVbytes(src, 0, len(ends)); got != -1 {
			t.Fatalf("more vbytes than there are: %d", got)
		}
	}
}

func TestFrontierLimits(t *testing.T) {
	const top = math.MaxUint32
	for _, test := range []struct {
		name string
		src  []byte // number of pairs, then (freq gap - 1, length gap) each
		want []pair // nil: corrupt
	}{
		{"highest frequency", vbytes(1, top-1, 5), []pair{{top, 5}}},
		{"frequency above 32 bits", vbytes(1, top, 5), nil},
		{"frequencies that sum to more than 32 bits", vbytes(2, top-1, 5, 0, 0), nil},
		{"highest length", vbytes(1, 0, top), []pair{{1, top}}},
		{"lengths that sum to more than 32 bits", vbytes(2, 0, top, 0, 0), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := frontierReader{src: test.src}
			var got []pair
			err := r.next(128, func(p pair) { got = append(got, p) })
			if test.want == nil && !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("pairs %v, error %v, want ErrCorrupt", got, err)
			}
			if test.want != nil && (err != nil || fmt.Sprint(got) != fmt.Sprint(test.want)) {
				t.Errorf("pairs %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestPadding(t *testing.T) {
	for _, test := range []struct {
		rest      []byte
		directory bool
		want      bool
	}{
		{nil, false, true},
		{nil, true, true},
		{make([]byte, 3), true, true},
		{make([]byte, 4), true, false},
		{make([]byte, 64), true, false},
		{make([]byte, 1), false, false},
		{[]byte{0, 1}, true, false},
	} {
		t.Run(fmt.Sprintf("%v directory=%v", test.rest, test.directory), func(t *testing.T) {
			if got := isPadding(test.rest, test.directory); got != test.want {
				t.Errorf("isPadding is %v", got)
			}
		})
	}
}
