package griffin18

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

const canary = 0xA5A5A5A5

// plainList is a list of codec.EF{Plain: true} in the form of lists.List.
type plainList struct {
	directory []uint32
	bytes     []byte
	want      []uint32 // [blocks][codec.BlockLen]: canaries behind the last DocID
	n         int
}

// add appends a block behind DocID before.
func (l *plainList) add(before uint32, docIDs []uint32) {
	at := uint32(len(l.bytes))
	var width uint8
	l.bytes, width = codec.EF{Plain: true}.AppendDocIDs(l.bytes, before, docIDs)
	l.directory = append(l.directory, docIDs[0], docIDs[len(docIDs)-1], at, uint32(width)<<16)
	l.want = append(l.want, docIDs...)
	for len(l.want)%codec.BlockLen != 0 {
		l.want = append(l.want, canary)
	}
	l.n += len(docIDs)
}

func (l *plainList) words() []uint32 {
	words := make([]uint32, (len(l.bytes)+3)/4)
	for i, b := range l.bytes {
		words[i/4] |= uint32(b) << (i % 4 * 8)
	}
	return words
}

type decodeRig struct {
	*gputest.Session
	kernels *kernels
}

func newDecodeRig(t *testing.T) *decodeRig {
	r := &decodeRig{Session: gputest.NewSession(t)}
	var err error
	r.kernels, err = loadKernels(r.Device)
	r.Must(err)
	t.Cleanup(func() { r.Must(r.kernels.close()) })
	return r
}

// check decodes some blocks of a list; nil: all.
func (r *decodeRig) check(what string, l *plainList, numbers []uint32) {
	r.Helper()
	c := coded{numPostings: l.n, directory: gputest.Upload(r.Session, l.directory), payload: gputest.Upload(r.Session, l.words())}
	want := l.want
	if numbers != nil {
		words, offsets := blocksOf(l.directory, l.words(), numbers)
		c.payload, c.numbers, c.offsets = gputest.Upload(r.Session, words), gputest.Upload(r.Session, numbers), gputest.Upload(r.Session, offsets)
		want = nil
		for _, n := range numbers {
			want = append(want, l.want[n*codec.BlockLen:][:codec.BlockLen]...)
		}
	}
	out := gputest.Alloc[uint32](r.Session, len(want))
	r.Must(cuda.FillWords(r.Stream, out, canary))
	r.Must(r.kernels.decodeEF(r.Stream, c, out))
	for i, got := range gputest.Download(r.Session, out) {
		if got != want[i] {
			r.Fatalf("%s: value %d of block %d is %#x, want %#x", what, i%codec.BlockLen, i/codec.BlockLen, got, want[i])
		}
	}
}

// The conformance cases of codec.Codec: all widths, lengths and bases.
func TestDecodeBlocks(t *testing.T) {
	r := newDecodeRig(t)
	for _, b := range codectest.Blocks() {
		l := &plainList{}
		var numbers []uint32
		if b.Base != codec.NoBase {
			// The second block of a list whose first one is only a directory entry.
			l.directory, l.n, numbers = []uint32{0, b.Base, 0, 0}, codec.BlockLen, []uint32{1}
			l.want = make([]uint32, codec.BlockLen)
		}
		l.add(b.Base, b.DocIDs)
		r.check(b.Name, l, numbers)
	}
}

func TestDecodeLists(t *testing.T) {
	r := newDecodeRig(t)
	rng := rand.New(rand.NewPCG(18, 1))
	for _, n := range []int{1, 2, 127, 128, 129, 1000, 12345} {
		for _, gap := range []uint32{1, 2, 30, 100000} {
			l := &plainList{}
			before, d := codec.NoBase, codec.NoBase
			var docIDs []uint32
			for range n {
				d += 1 + rng.Uint32N(gap)
				docIDs = append(docIDs, d)
			}
			for block := range slices.Chunk(docIDs, codec.BlockLen) {
				l.add(before, block)
				before = block[len(block)-1]
			}
			what := fmt.Sprintf("%d postings, gaps up to %d", n, gap)
			r.check(what, l, nil)
			var numbers []uint32
			for i := range uint32(len(l.directory) / 4) {
				if rng.IntN(3) == 0 || i == uint32(len(l.directory)/4-1) {
					numbers = append(numbers, i)
				}
			}
			r.check(what+", some blocks", l, numbers)
		}
	}
}

// Figure 4 of the paper.
func TestDecodeFigure4(t *testing.T) {
	l := &plainList{}
	l.add(codec.NoBase, []uint32{5, 6, 8, 15, 18, 33})
	newDecodeRig(t).check("Figure 4", l, nil)
}

func TestDecodeShapes(t *testing.T) {
	r := newDecodeRig(t)
	l := &plainList{}
	l.add(codec.NoBase, []uint32{5, 6, 8})
	c := coded{numPostings: l.n, directory: gputest.Upload(r.Session, l.directory), payload: gputest.Upload(r.Session, l.words())}
	if err := r.kernels.decodeEF(r.Stream, c, gputest.Alloc[uint32](r.Session, codec.BlockLen-1)); err == nil {
		t.Error("no error for a short output")
	}
	c.numPostings = codec.BlockLen + 1
	if err := r.kernels.decodeEF(r.Stream, c, gputest.Alloc[uint32](r.Session, 2*codec.BlockLen)); err == nil {
		t.Error("no error for a short directory")
	}
}

// Positions follow candidates through intersections, and blocks through compaction.
func TestPositions(t *testing.T) {
	r := newDecodeRig(t)
	const stride = 5
	prior := gputest.Upload(r.Session, []uint32{10, 11, 12, 13, 14, 20, 21, 22, 23, 24})
	pair := gputest.Upload(r.Session, []uint32{0, 2, 3, 7, 8, 9})
	next := gputest.Alloc[uint32](r.Session, 3*stride)
	p := followParams{pair: pair.Ptr(), next: next.Ptr(), numCandidates: 3, numPrior: 2, stride: stride, pairStride: 3}
	for _, tt := range []struct {
		prior cuda.Ptr[uint32]
		want  []uint32
	}{
		{prior.Ptr(), []uint32{10, 12, 13, 0, 0, 20, 22, 23, 0, 0, 7, 8, 9, 0, 0}},
		{0, []uint32{0, 2, 3, 0, 0, 0, 2, 3, 0, 0, 7, 8, 9, 0, 0}},
	} {
		p.prior = tt.prior
		r.Must(cuda.Fill(r.Stream, next, 0))
		r.Must(r.kernels.followPair(r.Stream, p))
		if got := gputest.Download(r.Session, next); !slices.Equal(got, tt.want) {
			t.Errorf("%v, want %v", got, tt.want)
		}
	}
	positions := gputest.Upload(r.Session, []uint32{128, 255, 3 * 128, 9*128 + 7})
	r.Must(r.kernels.compactPositions(r.Stream, positions, gputest.Upload(r.Session, []uint32{1, 2, 3, 9})))
	if got, want := gputest.Download(r.Session, positions), []uint32{0, 127, 2 * 128, 3*128 + 7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
