package traverse_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Corrupt bytes behind the checksums cause an error or a wrong result, but no panic or endless
// loop.
func TestCorruptLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	var s traverse.Scratch
	names := codec.Names()
	failed := 0
	rounds := 300
	if testing.Short() {
		rounds = 40
	}
	for i := range rounds {
		c, err := codec.Lookup(names[i%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		x := randomCollection(t, rng, c, natural, false)
		index := x.segments[0].index
		good := index.Postings
		for range 15 {
			if len(good) == 0 {
				break
			}
			index.Postings = bytes.Clone(good)
			for range 1 + rng.IntN(30) {
				index.Postings[rng.IntN(len(good))] ^= byte(1 << rng.IntN(8))
			}
			failed += runAllOnCorrupt(t, x, &s)
		}
		index.Postings = good
	}
	if failed == 0 {
		t.Error("no traversal returned an error")
	}
}

// The first segment may be damaged.
func runAllOnCorrupt(t *testing.T, x *collection, s *traverse.Scratch) (failed int) {
	q := &x.queries(t)[0]
	var queue topk.Queue
	for _, tr := range allTraversals(t) {
		queue.Reset(10)
		if err := tr.Run(t.Context(), s, q, &queue); err != nil {
			failed++
			if !errors.Is(err, base.ErrCorrupt) {
				t.Fatalf("%s %s: unexpected kind of error: %v", tr.Mode(), tr.Name(), err)
			}
		}
	}
	return failed
}

// damage has an offset (two bytes) and a value (one byte) for each overwritten byte of the
// lists.
func FuzzCorruptLists(f *testing.F) {
	for i := range codec.Names() {
		f.Add(byte(i), uint64(i), []byte{0, 0, 255, 0, 9, 1})
		f.Add(byte(i), uint64(i)+100, []byte{})
	}
	var s traverse.Scratch
	f.Fuzz(func(t *testing.T, codecIndex byte, seed uint64, damage []byte) {
		names := codec.Names()
		c, err := codec.Lookup(names[int(codecIndex)%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		x := smallCollection(t, c, seed%16) // few, for the fuzzer to learn the sensitive offsets
		index := x.segments[0].index
		for ; len(damage) >= 3; damage = damage[3:] {
			index.Postings[int(binary.BigEndian.Uint16(damage))%len(index.Postings)] = damage[2]
		}
		runAllOnCorrupt(t, x, &s)
	})
}

func smallCollection(t *testing.T, c codec.Codec, seed uint64) *collection {
	rng := rand.New(rand.NewPCG(seed, 0))
	const numDocs = 2000
	var lists [][]postingstest.Posting
	for i, n := range []int{130, 300, 700} {
		shape := postingstest.Shape((int(seed) + i) % 3)
		lists = append(lists, postingstest.RandomList(rng, shape, n, numDocs, false))
	}
	x := oneSegment(numDocs, []float64{3, 2, 1}, lists...)
	x.write(t, c)
	return x
}
