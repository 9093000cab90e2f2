package traverse_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
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
