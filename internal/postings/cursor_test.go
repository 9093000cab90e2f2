package postings_test

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
)

func TestCursorAgainstSlice(t *testing.T) {
	forAllCodecs(t, func(t *testing.T, opts postings.Options) {
		lengths, lists := collection(opts.Positions)
		ix := postingstest.Write(t, opts, lengths, 128, lists...)
		rng := rand.New(rand.NewPCG(5, 5))
		var c postings.Cursor
		for i, list := range lists {
			l := ix.Open(t, i)
			for _, maxJump := range []int{3, 200, 10000} {
				c.Reset(l, nil)
				driveCursor(t, rng, &c, list, maxJump, opts.Positions)
			}
		}
	})
}

// A PositionReader gives the positions of any postings, in any order.
func TestPositionReader(t *testing.T) {
	forAllCodecs(t, func(t *testing.T, opts postings.Options) {
		if !opts.Positions {
			return
		}
		lengths, lists := collection(true)
		ix := postingstest.Write(t, opts, lengths, 128, lists...)
		rng := rand.New(rand.NewPCG(6, 6))
		var c postings.Cursor
		var r postings.PositionReader
		for i, list := range lists {
			l := ix.Open(t, i)
			c.Reset(l, nil)
			r.Reset(l)
			var refs []postings.PostingRef
			for c.NextBlock() != base.NoDocID {
				for j := range c.BlockDocIDs() {
					refs = append(refs, c.Ref(uint8(j)))
				}
			}
			if len(refs) != len(list) {
				t.Fatalf("%d postings, want %d", len(refs), len(list))
			}
			at := 0
			for range min(len(refs), 500) {
				at = (at + rng.IntN([]int{3, 100, len(refs)}[rng.IntN(3)])) % len(refs)
				if f, err := r.Freq(refs[at]); err != nil || f != list[at].Freq {
					t.Fatalf("posting %d: frequency %d, %v, want %d", at, f, err, list[at].Freq)
				}
				if got, err := r.Append(nil, refs[at]); err != nil || !slices.Equal(got, list[at].Positions) {
					t.Fatalf("posting %d: positions %v, %v, want %v", at, got, err, list[at].Positions)
				}
			}
		}
	})
}

func driveCursor(t *testing.T, rng *rand.Rand, c *postings.Cursor, list []postingstest.Posting, maxJump int, positions bool) {
	t.Helper()
	at := -1 // index of the current posting in list
	for at < len(list) {
		var got base.DocID
		switch rng.IntN(3) {
		case 0:
			at++
			got = c.Next()
		default:
			target := uint32(rng.IntN(maxJump))
			if at >= 0 {
				target += list[at].DocID
			}
			if rng.IntN(4) == 0 {
				checkShallow(t, c, list, target)
			}
			at = max(at, sort.Search(len(list), func(i int) bool { return list[i].DocID >= target }))
			got = c.NextGEQ(base.DocID(target))
		}
		if at >= len(list) {
			if got != base.NoDocID || c.DocID() != base.NoDocID || c.Err() != nil {
				t.Fatalf("at the end: %d, err %v", got, c.Err())
			}
			return
		}
		want := list[at]
		if uint32(got) != want.DocID || c.DocID() != got {
			t.Fatalf("posting %d: DocID %d, want %d (err %v)", at, got, want.DocID, c.Err())
		}
		if rng.IntN(2) == 0 {
			if f := c.Freq(); f != want.Freq {
				t.Fatalf("posting %d: frequency %d, want %d", at, f, want.Freq)
			}
		}
		if positions && rng.IntN(3) == 0 {
			if got, err := c.Positions(nil); err != nil || !slices.Equal(got, want.Positions) {
				t.Fatalf("posting %d: positions %v, want %v (err %v)", at, got, want.Positions, err)
			}
		}
		block := list[at/codec.BlockLen*codec.BlockLen : min(len(list), (at/codec.BlockLen+1)*codec.BlockLen)]
		if last := block[len(block)-1].DocID; uint32(c.BlockLastDocID()) != last {
			t.Fatalf("posting %d: block ends at %d, want %d", at, c.BlockLastDocID(), last)
		}
		if ids := c.BlockDocIDs(); len(ids) != len(block) || ids[c.BlockPos()] != want.DocID {
			t.Fatalf("posting %d: block of %d, want %d", at, len(ids), len(block))
		}
	}
}

func checkShallow(t *testing.T, c *postings.Cursor, list []postingstest.Posting, target uint32) {
	t.Helper()
	before := c.DocID()
	_, first, last, ok := c.ShallowNextGEQ(base.DocID(target))
	if c.DocID() != before {
		t.Fatal("a shallow move moved the cursor")
	}
	at := sort.Search(len(list), func(i int) bool { return list[i].DocID >= target })
	if ok != (at < len(list)) {
		t.Fatalf("ShallowNextGEQ(%d): ok %t", target, ok)
	}
	if !ok {
		return
	}
	block := list[at/codec.BlockLen*codec.BlockLen : min(len(list), (at/codec.BlockLen+1)*codec.BlockLen)]
	if uint32(first) != block[0].DocID || uint32(last) != block[len(block)-1].DocID {
		t.Fatalf("ShallowNextGEQ(%d): block %d to %d, want %d to %d", target, first, last, block[0].DocID, block[len(block)-1].DocID)
	}
}

func TestShallowMax(t *testing.T) {
	lengths, lists := collection(false)
	opts := postings.Options{Codec: codec.SIMDBP{}, Saturation: saturation}
	ix := postingstest.Write(t, opts, lengths, 128, lists...)
	rng := rand.New(rand.NewPCG(6, 6))
	var c postings.Cursor
	for i, list := range lists {
		l := ix.Open(t, i)
		c.Reset(l, nil)
		for from := uint32(0); from < numDocs; from += rng.Uint32N(2000) {
			to := from + rng.Uint32N(3000)
			var want score.Bound
			for b := range l.NumBlocks() {
				if e := l.Block(b); e.Last >= from && e.First <= to {
					want = max(want, e.Bound)
				}
			}
			if got := c.ShallowMax(base.DocID(from), base.DocID(to)); got != want {
				t.Fatalf("list %d of %d: ShallowMax(%d, %d) = %d, want %d", i, len(list), from, to, got, want)
			}
		}
	}
}

func TestCursorDoesNotAllocate(t *testing.T) {
	lengths, lists := collection(true)
	opts := postings.Options{Codec: codec.SIMDBP{}, Saturation: saturation, Positions: true}
	ix := postingstest.Write(t, opts, lengths, 128, lists...)
	var c postings.Cursor
	var l postings.List
	positions := make([]uint32, 0, 1000)
	if n := testing.AllocsPerRun(5, func() {
		for _, m := range ix.Metas {
			if err := l.Open(m, opts.Codec, ix.Postings, ix.Positions, ix.Frontiers); err != nil {
				t.Fatal(err)
			}
			c.Reset(&l, nil)
			for d := c.Next(); d != base.NoDocID; d = c.NextGEQ(d + 50) {
				c.Freq()
				if _, err := c.Positions(positions); err != nil {
					t.Fatal(err)
				}
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCursorStats(t *testing.T) {
	lengths, lists := collection(false)
	opts := postings.Options{Codec: codec.SIMDBP{}, Saturation: saturation}
	ix := postingstest.Write(t, opts, lengths, 128, lists...)
	l := ix.Open(t, len(lists)-1)
	var c postings.Cursor
	c.Reset(l, nil)
	c.NextGEQ(0)
	c.NextGEQ(1000)
	c.NextGEQ(1001)
	c.NextGEQ(numDocs - 1)
	if got, want := c.Stats(), (postings.CursorStats{BlocksDecoded: 3, PostingsDecoded: 2*codec.BlockLen + l.BlockSize(l.NumBlocks()-1)}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// AppendCommon keeps the documents of a list, before and after other moves.
func TestAppendCommon(t *testing.T) {
	forAllCodecs(t, func(t *testing.T, opts postings.Options) {
		lengths, lists := collection(opts.Positions)
		ix := postingstest.Write(t, opts, lengths, 128, lists...)
		rng := rand.New(rand.NewPCG(6, 5))
		var c postings.Cursor
		for i, list := range lists {
			for range 4 {
				c.Reset(ix.Open(t, i), nil)
				var docs, want []uint32
				for d := uint32(rng.IntN(50)); int(d) < len(lengths); d += 1 + uint32(rng.IntN(1+rng.IntN(300))) {
					docs = append(docs, d)
				}
				for _, d := range docs {
					at := sort.Search(len(list), func(i int) bool { return list[i].DocID >= d })
					if at < len(list) && list[at].DocID == d {
						want = append(want, d)
					}
				}
				var got []uint32
				for len(docs) > 0 {
					n := 1 + rng.IntN(len(docs))
					if rng.IntN(2) == 0 {
						c.NextGEQ(base.DocID(docs[0]))
					}
					got, docs = c.AppendCommon(got, docs[:n], new(postings.Matched)), docs[n:]
				}
				if err := c.Err(); err != nil || !slices.Equal(got, want) {
					t.Fatalf("list %d: %v, want %v (err %v)", i, got, want, err)
				}
			}
		}
	})
}
