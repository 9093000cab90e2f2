package traverse_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// failingCodec fails at the call of the given number.
type failingCodec struct {
	codec.Codec
	left *int
}

func (c failingCodec) fail() error {
	if *c.left--; *c.left == 0 {
		return fmt.Errorf("injected: %w", base.ErrCorrupt)
	}
	return nil
}

func (c failingCodec) DecodeDocIDs(dst *[codec.BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if err := c.fail(); err != nil {
		return 0, err
	}
	return c.Codec.DecodeDocIDs(dst, src, base, n, width)
}

func (c failingCodec) DecodeFreqs(dst *[codec.BlockLen]uint32, src []byte, n int, width uint8) error {
	if err := c.fail(); err != nil {
		return err
	}
	return c.Codec.DecodeFreqs(dst, src, n, width)
}

func (c failingCodec) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	if err := c.fail(); err != nil {
		return 0, err
	}
	return c.Codec.FreqAt(src, i, n, width)
}

// failingDocIDs is failingCodec without frequencies.
type failingDocIDs struct {
	codec.Codec
	failing failingCodec
}

func (c failingDocIDs) DecodeDocIDs(dst *[codec.BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	return c.failing.DecodeDocIDs(dst, src, base, n, width)
}

// TestDecodeFaults lets each decoding of a block or a frequency fail. Every traversal
// returns the error.
func TestDecodeFaults(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	var lists [][]postingstest.Posting
	for _, n := range []int{100, 300, 1500} {
		lists = append(lists, postingstest.RandomList(rng, postingstest.Shape(0), n, 2000, false))
	}
	x := oneSegment(2000, []float64{3, 2, 1}, lists...)
	x.write(t, codec.SIMDBP{})
	forAllTraversals(t, func(t *testing.T, tr traverse.Traversal) {
		var s traverse.Scratch
		run := func(failAt int, long bool) (calls int, err error) {
			left := failAt
			q := x.queries(t)[0]
			for i := range q.Legs {
				list := *q.Legs[i].List
				list.Codec = failingCodec{list.Codec, &left}
				q.Legs[i].List = &list
			}
			if !long {
				q.Legs = q.Legs[:2]
			}
			var queue topk.Queue
			queue.Reset(10)
			err = tr.Run(t.Context(), &s, &q, &queue)
			return failAt - left, err
		}
		for _, long := range []bool{false, true} {
			calls, err := run(0, long)
			if err != nil || calls < 5 {
				t.Fatalf("%d decodings, %v: the test needs 5", calls, err)
			}
			for at := 1; at <= calls; at += 1 + calls/200 {
				if _, err := run(at, long); !errors.Is(err, base.ErrCorrupt) {
					t.Fatalf("decoding %d of %d fails: error %v, want ErrCorrupt", at, calls, err)
				}
			}
		}
	})
}

// TestAfterDecodeFault lets one list fail. No document gets more than its score, and the next run
// with the same memory is right. If DocIDs fail, the list is not read again.
func TestAfterDecodeFault(t *testing.T) {
	const numDocs, k = 7000, 300
	rng := rand.New(rand.NewPCG(63, 64))
	var lists [][]postingstest.Posting
	for _, n := range []int{2500, 3000, 4000} {
		list := postingstest.RandomList(rng, postingstest.Uniform, n, numDocs, false)
		for i := range list {
			list[i].Freq = 1 + list[i].DocID/700%9 // the best documents are not the first
		}
		lists = append(lists, list)
	}
	x := oneSegment(numDocs, []float64{3, 2, 2}, lists...)
	x.write(t, codec.SIMDBP{})
	runs := map[string]func(s *traverse.Scratch, q *traverse.Query, queue *topk.Queue) error{
		"and steps": func(s *traverse.Scratch, q *traverse.Query, queue *topk.Queue) error {
			first, rest := part(q, []int{0, 1, 2}, 0, 2), part(q, []int{0, 1, 2}, 2, 3)
			var c traverse.Candidates
			if err := traverse.Begin(t.Context(), s, &first, &c); err != nil {
				return err
			}
			return traverse.Finish(t.Context(), s, &rest, &c, queue, false)
		},
	}
	for _, tr := range allTraversals(t) {
		runs[tr.Mode().String()+" "+tr.Name()] = func(s *traverse.Scratch, q *traverse.Query, queue *topk.Queue) error {
			return tr.Run(t.Context(), s, q, queue)
		}
	}
	or, and := x.oracle(traverse.Or), x.oracle(traverse.And)
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			want := or
			if strings.HasPrefix(name, "and") {
				want = and
			}
			f := faults{x: x, want: want, run: run}
			for list := range lists {
				f.check(t, list, k, false)
				f.check(t, list, k, true)
			}
		})
	}
}

type faults struct {
	x    *collection
	s    traverse.Scratch
	want []base.Hit
	run  func(s *traverse.Scratch, q *traverse.Query, queue *topk.Queue) error
}

// check lets a list fail at several calls.
func (f *faults) check(t *testing.T, list, k int, docIDs bool) {
	t.Helper()
	run := func(failAt int) (calls int, hits []base.Hit, err error) {
		left := failAt
		q := f.x.queries(t)[0]
		for i := range q.Legs {
			q.Legs[i].Derived = derived.List{} // nothing is kept
		}
		failing := *q.Legs[list].List
		all := failingCodec{failing.Codec, &left}
		if failing.Codec = all; docIDs {
			failing.Codec = failingDocIDs{all.Codec, all}
		}
		q.Legs[list].List = &failing
		var queue topk.Queue
		queue.Reset(k)
		err = f.run(&f.s, &q, &queue)
		return failAt - left, queue.AppendSorted(nil), err
	}
	scores := map[base.DocID]base.Score{}
	for _, h := range f.want {
		scores[h.DocID] = h.Score
	}
	all, _, err := run(0)
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; at <= all; at += 1 + all/10 {
		calls, hits, err := run(at)
		if !errors.Is(err, base.ErrCorrupt) {
			t.Fatalf("list %d: decoding %d of %d fails: error %v, want ErrCorrupt", list, at, all, err)
		}
		if docIDs && calls != at {
			t.Fatalf("list %d: decoding %d of %d fails: %d decodings, want no more", list, at, all, calls)
		}
		for _, h := range hits {
			if h.Score > scores[h.DocID] {
				t.Fatalf("list %d: decoding %d of %d fails: hit %v, its score is %d", list, at, all, h, scores[h.DocID])
			}
		}
		if _, hits, err := run(0); err != nil || !slices.Equal(hits, f.want[:k]) {
			t.Fatalf("list %d: after decoding %d of %d has failed: error %v, %s", list, at, all, err, difference(hits, f.want[:k]))
		}
	}
}

// TestPruningAfterDecodeFault has a first run that fails after it has added a list, and a second
// run of fewer documents than the queue holds: no other document enters.
func TestPruningAfterDecodeFault(t *testing.T) {
	const numDocs = 1000
	x := oneSegment(numDocs, []float64{1, 1, 1}, listOf(0, 1, 900, always(1)), listOf(0, 1, 900, always(1)), listOf(5, 100, 9, always(1)))
	x.write(t, codec.SIMDBP{})
	tr, err := traverse.Lookup(traverse.Or, "block-max-pruning")
	if err != nil {
		t.Fatal(err)
	}
	sub := *x
	sub.terms = x.terms[2:]
	sub.segments = slices.Clone(x.segments)
	sub.segments[0].lists = x.segments[0].lists[2:]
	want := sub.oracle(traverse.Or)
	failed := 0
	for failAt := 1; failAt <= 40; failAt++ {
		q := x.queries(t)[0]
		for i := range q.Legs {
			q.Legs[i].Derived = derived.List{}
		}
		left := failAt
		failing := *q.Legs[1].List
		failing.Codec = failingCodec{failing.Codec, &left}
		bad, good := q, q
		bad.Legs, good.Legs = slices.Clone(q.Legs[:2]), q.Legs[2:]
		bad.Legs[1].List = &failing
		var s traverse.Scratch
		var queue topk.Queue
		queue.Reset(numDocs)
		if err := tr.Run(t.Context(), &s, &bad, &queue); err != nil {
			failed++
		}
		if got := run(t, tr, &s, []traverse.Query{good}, numDocs); !slices.Equal(got, want) {
			t.Fatalf("after decoding %d has failed: %s", failAt, difference(got, want))
		}
	}
	if failed < 20 {
		t.Errorf("%d runs failed, want 20", failed)
	}
}
