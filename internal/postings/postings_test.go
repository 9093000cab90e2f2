package postings_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
)

const numDocs = 20000

var saturation = score.Saturation{BM25: score.DefaultBM25, AvgLen: 60}

func randomLengths(rng *rand.Rand, n int) []uint32 {
	lengths := make([]uint32, n)
	for i := range lengths {
		lengths[i] = rng.Uint32N(120)
	}
	return lengths
}

// Sizes around the boundaries of blocks and Kth.
func collection(positions bool) (lengths []uint32, lists [][]postingstest.Posting) {
	rng := rand.New(rand.NewPCG(7, 7))
	lengths = randomLengths(rng, numDocs)
	for _, n := range []int{0, 1, 2, 9, 10, 127, 128, 129, 130, 255, 256, 257, 999, 1000, 1001, 5000, numDocs} {
		for _, shape := range []postingstest.Shape{postingstest.Uniform, postingstest.Clustered, postingstest.Dense} {
			lists = append(lists, postingstest.RandomList(rng, shape, n, numDocs, positions))
		}
	}
	return lengths, lists
}

// With a minimal ListCodec.
func allCodecs(t testing.TB) []codec.Codec {
	t.Helper()
	codecs := []codec.Codec{codectest.RawList{}}
	for _, name := range codec.Names() {
		c, err := codec.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		codecs = append(codecs, c)
	}
	return codecs
}

func forAllCodecs(t *testing.T, f func(t *testing.T, opts postings.Options)) {
	for _, c := range allCodecs(t) {
		for _, positions := range []bool{false, true} {
			t.Run(fmt.Sprintf("codec=%s/positions=%t", c.Name(), positions), func(t *testing.T) {
				f(t, postings.Options{Codec: c, Saturation: saturation, Positions: positions})
			})
		}
	}
}

func TestRoundTrip(t *testing.T) {
	forAllCodecs(t, func(t *testing.T, opts postings.Options) {
		lengths, lists := collection(opts.Positions)
		ix := postingstest.Write(t, opts, lengths, 100, lists...)
		for i, want := range lists {
			l := ix.Open(t, i)
			if int(l.DocFreq) != len(want) {
				t.Fatalf("list %d: DocFreq %d, want %d", i, l.DocFreq, len(want))
			}
			if err := l.Verify(lengths, opts.Saturation); err != nil {
				t.Fatalf("list %d of %d postings: %v", i, len(want), err)
			}
			var c postings.Cursor
			c.Reset(l, nil)
			for j, p := range want {
				if d := c.Next(); uint32(d) != p.DocID {
					t.Fatalf("list %d: posting %d has DocID %d, want %d (%v)", i, j, d, p.DocID, c.Err())
				}
				if f := c.Freq(); f != p.Freq {
					t.Fatalf("list %d: posting %d has frequency %d, want %d", i, j, f, p.Freq)
				}
				if opts.Positions && j%3 != 1 { // omit some
					got, err := c.Positions(nil)
					if err != nil || !slices.Equal(got, p.Positions) {
						t.Fatalf("list %d: posting %d has positions %v (%v), want %v", i, j, got, err, p.Positions)
					}
				}
			}
			checkDocIDAt(t, l, want)
			if d := c.Next(); d != base.NoDocID || c.Err() != nil {
				t.Fatalf("list %d: Next at the end: %d, %v", i, d, c.Err())
			}
			if d := c.NextGEQ(0); d != base.NoDocID {
				t.Fatalf("list %d: NextGEQ at the end: %d", i, d)
			}
		}
	})
}

func checkDocIDAt(t *testing.T, l *postings.List, want []postingstest.Posting) {
	t.Helper()
	for i := 0; i < len(want); i += 1 + len(want)/200 {
		if d, err := l.DocIDAt(i); err != nil || d != want[i].DocID {
			t.Fatalf("DocIDAt(%d) of %d is %d, %v; want %d", i, len(want), d, err, want[i].DocID)
		}
	}
	for _, i := range []int{-1, len(want)} {
		if _, err := l.DocIDAt(i); !errors.Is(err, base.ErrBadInput) {
			t.Fatalf("DocIDAt(%d) of %d: %v", i, len(want), err)
		}
	}
}

func TestAddBlockSteps(t *testing.T) {
	forAllCodecs(t, func(t *testing.T, opts postings.Options) {
		lengths, lists := collection(opts.Positions)
		want := postingstest.Write(t, opts, lengths, 128, lists...)
		for _, step := range []int{1, 7, 127, 129, 1 << 20} {
			got := postingstest.Write(t, opts, lengths, step, lists...)
			if !slices.Equal(got.Metas, want.Metas) || !slices.Equal(got.Postings, want.Postings) ||
				!slices.Equal(got.Positions, want.Positions) || !slices.Equal(got.Frontiers, want.Frontiers) {
				t.Errorf("step %d: other bytes than with 128", step)
			}
		}
	})
}

func TestMetaRoundTrip(t *testing.T) {
	for _, positions := range []bool{false, true} {
		lengths, lists := collection(positions)
		opts := postings.Options{Codec: codec.SIMDBP{}, Saturation: saturation, Positions: positions}
		for i, m := range postingstest.Write(t, opts, lengths, 128, lists...).Metas {
			rec := m.Append([]byte("x"))[1:]
			got, n, err := postings.DecodeMeta(append(rec[:len(rec):len(rec)], 0xff))
			if err != nil || n != len(rec) || got != m {
				t.Fatalf("list %d: %+v, %d, %v; want %+v, %d", i, got, n, err, m, len(rec))
			}
			for j := range rec {
				if _, _, err := postings.DecodeMeta(rec[:j]); !errors.Is(err, base.ErrCorrupt) {
					t.Fatalf("list %d: record cut at %d of %d: %v", i, j, len(rec), err)
				}
			}
		}
	}
}

func TestWriterRefusesBadInput(t *testing.T) {
	lengths := make([]uint32, 10)
	for _, tt := range []struct {
		name          string
		docIDs, freqs []uint32
		positions     []byte
	}{
		{"falling", []uint32{3, 2}, []uint32{1, 1}, []byte{1, 1}},
		{"twice", []uint32{3, 3}, []uint32{1, 1}, []byte{1, 1}},
		{"beyond", []uint32{10}, []uint32{1}, []byte{1}},
		{"no frequency", []uint32{1}, []uint32{0}, nil},
		{"uneven", []uint32{1}, nil, nil},
		{"positions missing", []uint32{1}, []uint32{2}, []byte{1}},
		{"positions cut", []uint32{1}, []uint32{1}, []byte{0x80}},
		{"positions over", []uint32{1}, []uint32{1}, []byte{1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := postings.NewWriter(postings.Options{Codec: codec.Raw{}, Saturation: saturation, Positions: true}, discard{}, discard{}, discard{})
			w.Begin(lengths)
			if err := w.AddBlock(tt.docIDs, tt.freqs, tt.positions); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", tt.name, err)
			}
		})
	}
}

// Bounds have 16 bits; a larger weight would be pruned.
func TestWriterRefusesWeightsAboveBounds(t *testing.T) {
	w := postings.NewWriter(postings.Options{Codec: codec.Raw{}, Saturation: score.Saturation{Linear: true}}, discard{}, discard{}, discard{})
	w.Begin(make([]uint32, 10))
	if err := w.AddBlock([]uint32{1, 2}, []uint32{1, 65535}, nil); err != nil {
		t.Errorf("the greatest weight: %v", err)
	}
	if err := w.AddBlock([]uint32{3}, []uint32{65536}, nil); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a greater one: %v", err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
