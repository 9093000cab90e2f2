package codectest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
)

type list struct {
	name   string
	docIDs []uint32
}

// lists returns lists with lengths around block and segment boundaries, easy and hard to
// compress.
func lists() []list {
	rng := rand.New(rand.NewPCG(3, 4))
	var out []list
	shapes := []struct {
		name string
		gap  func(i, n int) uint64
	}{
		{"run", func(int, int) uint64 { return 0 }},
		{"dense", func(int, int) uint64 { return rng.Uint64N(2) }},
		{"uniform", func(int, int) uint64 { return rng.Uint64N(200) }},
		{"skewed", func(int, int) uint64 { return rng.Uint64() >> (34 + rng.IntN(30)) }},
		{"clusters", func(i, _ int) uint64 {
			if i%97 == 0 {
				return rng.Uint64N(100_000)
			}
			return rng.Uint64N(3)
		}},
		{"exceptions", func(i, _ int) uint64 {
			if i%10 == 3 {
				return 1 << 20
			}
			return 5
		}},
		{"adversarial", func(i, n int) uint64 { // no line fits, and the last gap is the largest possible
			switch {
			case i == n-1:
				return 1 << 32
			case i > n/2:
				return 1 << 16
			}
			return 0
		}},
		{"sparse", func(_, n int) uint64 { return (1<<32 - 2) / uint64(n) / 2 }},
		{"maximal", func(_, n int) uint64 { return (1<<32-2)/uint64(n) - 1 }},
	}
	for _, n := range []int{1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 2048, 5000} {
		for _, s := range shapes {
			l := list{name: fmt.Sprintf("%s/n=%d", s.name, n)}
			d := uint64(0)
			for i := range n {
				d += min(s.gap(i, n), uint64(1<<32-1)-uint64(n-i)-d) // stay below NoBase
				l.docIDs = append(l.docIDs, uint32(d))
				d++
			}
			out = append(out, l)
		}
	}
	return out
}

// RunList checks the additional contract of codec.ListCodec.
func RunList(t *testing.T, c codec.ListCodec) {
	for _, l := range lists() {
		n := len(l.docIDs)
		prefix := []byte("prefix")
		enc := c.AppendList(prefix, l.docIDs)
		if !bytes.Equal(enc[:6], prefix) || !bytes.Equal(enc[6:], c.AppendList(nil, l.docIDs)) {
			t.Fatalf("%s: AppendList: not appended, or not deterministic", l.name)
		}
		whole, src := guarded(enc[6:])
		for _, s := range [][]byte{src, whole[32:]} {
			if size, err := c.ListSize(s, n); err != nil || size != len(src) {
				t.Fatalf("%s: ListSize is %d, %v; %d bytes were written", l.name, size, err, len(src))
			}
			checkList(t, c, l, s)
		}
		for i, x := range whole {
			if (i < 32 || i >= 32+len(src)) && x != canary {
				t.Fatalf("%s: byte %d outside the list was written", l.name, i-32)
			}
		}
		for cut := range min(len(src), 40) {
			// Every truncation is detected.
			_, short := guarded(src[:len(src)-1-cut])
			if err := c.DecodeList(make([]uint32, n), short); !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("%s: DecodeList without the last %d bytes: %v", l.name, cut+1, err)
			}
		}
	}
	testListArguments(t, c)
	testListFenced(t, c)
}

func checkList(t *testing.T, c codec.ListCodec, l list, src []byte) {
	t.Helper()
	n := len(l.docIDs)
	got := make([]uint32, n+1)
	got[n] = canary
	if err := c.DecodeList(got[:n], src); err != nil || !slices.Equal(got[:n], l.docIDs) || got[n] != canary {
		t.Fatalf("%s: DecodeList: err %v\n got %v\nwant %v", l.name, err, got[:n], l.docIDs)
	}
	var block [codec.BlockLen]uint32
	for i := 0; i*codec.BlockLen < n; i++ {
		want := l.docIDs[i*codec.BlockLen : min((i+1)*codec.BlockLen, n)]
		size, err := c.DecodeBlock(&block, src, n, i)
		if err != nil || size != len(want) || !slices.Equal(block[:size], want) {
			t.Fatalf("%s: DecodeBlock(%d): %d, err %v\n got %v\nwant %v", l.name, i, size, err, block[:max(0, min(size, codec.BlockLen))], want)
		}
	}
	step := 1 + n/300
	for i := 0; i < n; i += step {
		if d, err := c.DocIDAt(src, n, i); err != nil || d != l.docIDs[i] {
			t.Fatalf("%s: DocIDAt(%d) = %d, %v; want %d", l.name, i, d, err, l.docIDs[i])
		}
	}
}

func testListArguments(t *testing.T, c codec.ListCodec) {
	l := lists()[len(lists())-7]
	n := len(l.docIDs)
	src := c.AppendList(nil, l.docIDs)
	var block [codec.BlockLen]uint32
	blocks := (n + codec.BlockLen - 1) / codec.BlockLen
	for _, i := range []int{-1, blocks, 1 << 40} {
		if _, err := c.DecodeBlock(&block, src, n, i); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("DecodeBlock(%d) of %d blocks: %v", i, blocks, err)
		}
	}
	for _, i := range []int{-1, n, 1 << 40} {
		if _, err := c.DocIDAt(src, n, i); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("DocIDAt(%d) of %d: %v", i, n, err)
		}
	}
	for _, n := range []int{0, -1} {
		if _, err := c.ListSize(src, n); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("ListSize of a list of %d: %v", n, err)
		}
	}
	for _, n := range []int{math.MinInt, math.MaxInt, math.MaxInt/33 + 1, 1 << 59, 1 << 33} {
		_, sizeErr := c.ListSize(src, n)
		_, blockErr := c.DecodeBlock(&block, src, n, 0)
		_, oneErr := c.DocIDAt(src, n, 0)
		for _, err := range []error{sizeErr, blockErr, oneErr} {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("a list of %d: %v", n, err)
			}
		}
	}
	if got := testing.AllocsPerRun(20, func() {
		_, _ = c.DecodeBlock(&block, src, n, blocks-1)
		_, _ = c.DocIDAt(src, n, n/2)
	}); got != 0 {
		t.Errorf("%v allocations to decode a block and a DocID", got)
	}
}

// FuzzDecodeList is FuzzDecode for list codecs: by list, by block and one by one, values agree.
func FuzzDecodeList(f *testing.F, c codec.ListCodec) {
	for i, l := range lists() {
		if i%11 == 0 && len(l.docIDs) < 1500 {
			f.Add(c.AppendList(nil, l.docIDs), len(l.docIDs))
		}
	}
	memory := newFence(f, 1<<14)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if n > 1<<14 {
			t.Skip() // the caller chooses the memory of dst
		}
		_, src := guarded(data)
		if at := memory.copies(data); at != nil {
			src = at[0] // reads beyond it crash
		}
		size, sizeErr := c.ListSize(src, n)
		if sizeErr == nil && (size < 0 || size > len(src)) {
			t.Fatalf("ListSize: %d of %d bytes", size, len(src))
		}
		whole := make([]uint32, max(n, 0))
		err := c.DecodeList(whole, src)
		for _, err := range []error{sizeErr, err} {
			if err != nil && !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
		}
		if err == nil {
			checkRising(t, whole)
		}
		for i := range 3 {
			checkFuzzedBlock(t, c, src, n, i, whole, err == nil)
		}
	})
}

// checkFuzzedBlock decodes block i; if the whole list is valid, both must agree.
func checkFuzzedBlock(t *testing.T, c codec.ListCodec, src []byte, n, i int, whole []uint32, valid bool) {
	var block [codec.BlockLen]uint32
	size, err := c.DecodeBlock(&block, src, n, i)
	if err != nil {
		if !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("DecodeBlock(%d): unexpected kind of error: %v", i, err)
		}
		if valid && i*codec.BlockLen < n {
			t.Fatalf("DecodeBlock(%d) of a list that DecodeList decodes: %v", i, err)
		}
		return
	}
	checkRising(t, block[:size])
	for j, d := range block[:size] {
		at := i*codec.BlockLen + j
		if valid && whole[at] != d {
			t.Fatalf("DecodeBlock(%d): DocID %d is %d, DecodeList returns %d", i, at, d, whole[at])
		}
		if j%31 != 0 {
			continue
		}
		one, err := c.DocIDAt(src, n, at)
		if err == nil && one != d || err != nil && valid {
			t.Fatalf("DocIDAt(%d) = %d, %v; DecodeBlock returns %d", at, one, err, d)
		}
	}
}

func checkRising(t *testing.T, docIDs []uint32) {
	t.Helper()
	for i, d := range docIDs {
		if d == codec.NoBase || i > 0 && d <= docIDs[i-1] {
			t.Fatalf("DocID %d is %d, not above the previous one, or not a DocID", i, d)
		}
	}
}
