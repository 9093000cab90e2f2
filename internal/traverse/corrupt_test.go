package traverse_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Bytes that are wrong past the checksums end a traversal with an error, or
// make a wrong result, but neither a panic nor an endless loop.
func TestCorruptLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	var s traverse.Scratch
	var queue topk.Queue
	failed := 0
	for range 300 {
		x := randomCollection(t, rng, codec.SIMDBP{}, natural, false)
		index := x.segments[0].index
		good := index.Postings
		for range 25 {
			if len(good) == 0 {
				break
			}
			index.Postings = bytes.Clone(good)
			for range 1 + rng.IntN(30) {
				index.Postings[rng.IntN(len(good))] ^= byte(1 << rng.IntN(8))
			}
			q := &x.queries(t)[0]
			for _, mode := range []traverse.Mode{traverse.Or, traverse.And} {
				for _, name := range traverse.Names(mode) {
					tr, err := traverse.Lookup(mode, name)
					if err != nil {
						t.Fatal(err)
					}
					queue.Reset(10)
					if err := tr.Run(t.Context(), &s, q, &queue); err != nil {
						failed++
						if !errors.Is(err, base.ErrCorrupt) {
							t.Fatalf("%s %s: error of another kind: %v", mode, name, err)
						}
					}
				}
			}
		}
		index.Postings = good
	}
	if failed == 0 {
		t.Error("no traversal noticed anything")
	}
}
