package decode_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// regressions cover all schemes and code paths: short and long segments, with
// and without exceptions.
func regressions() []codec.Codec {
	var out []codec.Codec
	for _, s := range []codec.Scheme{codec.LRC, codec.LRCSeg, codec.SegLRC, codec.HSLRC} {
		out = append(out,
			codec.Regression{Scheme: s},
			codec.Regression{Scheme: s, SegmentLen: 16, Exceptions: 0.2},
			codec.Regression{Scheme: s, SegmentLen: 1 << 11, Exceptions: codec.SmallestSize},
		)
	}
	return out
}

// The conformance cases of codec.Codec: all widths, lengths and bases for rice,
// lists of one block for the others.
func TestRiceAndRegressionBlocks(t *testing.T) {
	for _, c := range append(regressions(), codec.Rice{}) {
		t.Run(c.Name(), func(t *testing.T) {
			_, whole := c.(codec.ListCodec)
			var lists []*hostList
			for k, b := range codectest.Blocks() {
				// For rice, a third of the cases and all full blocks.
				if whole && b.Base == codec.NoBase || !whole && (k%3 == 0 || len(b.DocIDs) == codec.BlockLen) {
					lists = append(lists, newBlockList(c, b))
				}
			}
			newRig(t).check(c, lists)
		})
	}
}

// The conformance cases of codec.ListCodec: whole lists, and some of their
// blocks in any order with repetitions.
func TestRiceAndRegressionLists(t *testing.T) {
	for _, c := range append(regressions(), codec.Rice{}) {
		t.Run(c.Name(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 8))
			var lists []*hostList
			for _, l := range codectest.Lists() {
				whole := newHostList(c, l.Name, l.DocIDs, freqsFor(rng, len(l.DocIDs)))
				some := make([]uint32, 1+rng.IntN(6))
				for i := range some {
					some[i] = rng.Uint32N(uint32(len(whole.want[0]) / codec.BlockLen))
				}
				lists = append(lists, whole.chosen(some), whole)
			}
			newRig(t).check(c, lists)
		})
	}
}

// Random bytes, and lists with some changed bytes: no access leaves the list or
// the output, and kernels terminate.
func TestDamagedRiceAndRegression(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(12, 13))
	for _, c := range append(regressions(), codec.Rice{}) {
		on, _ := decode.CodecOf(c)
		var lists []*hostList
		for i := range 24 {
			n := 1 + rng.IntN(5*codec.BlockLen)
			docIDs, freqs := benchList(n, 20, uint64(i))
			l := newHostList(c, "", docIDs, freqs)
			for k := range l.payload {
				if i%3 == 0 || rng.IntN(20) == 0 {
					l.payload[k] = byte(rng.Uint32())
				}
			}
			lists = append(lists, l)
		}
		d := r.upload(lists)
		batch := decode.Plan(d.lists)
		onDevice := gputest.Upload(r.Session, d.lists)
		for w := range decode.Freqs + 1 {
			r.Must(r.kernels.Decode(r.Stream, on, w, onDevice, batch))
		}
		r.Must(r.Stream.Synchronize())
	}
}

// Single DocIDs of the conformance lists, in any order.
func TestAt(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(9, 10))
	for _, c := range regressions() {
		for _, l := range codectest.Lists() {
			n := len(l.DocIDs)
			host := newHostList(c, l.Name, l.DocIDs, freqsFor(rng, n))
			indexes := []uint32{0, uint32(n - 1), uint32(n / 2)}
			for range min(n, 100) {
				indexes = append(indexes, rng.Uint32N(uint32(n)))
			}
			s := decode.Source{Payload: gputest.Upload(r.Session, wordsOf(host.payload)), Directory: gputest.Upload(r.Session, host.directory), NumPostings: n}
			out := gputest.Alloc[uint32](r.Session, len(indexes))
			r.Must(r.kernels.At(r.Stream, c.(codec.Regression), s, gputest.Upload(r.Session, indexes), out))
			got := make([]uint32, len(indexes))
			r.Must(cuda.CopyToHost(r.Stream, got, out))
			r.Must(r.Stream.Synchronize())
			for i, at := range indexes {
				if got[i] != l.DocIDs[at] {
					t.Fatalf("%s: %s: DocID %d is %d, want %d", c.Name(), l.Name, at, got[i], l.DocIDs[at])
				}
			}
		}
	}
}

func wordsOf(bytes []byte) []uint32 {
	words := make([]uint32, len(bytes)/4)
	for i, b := range bytes {
		words[i/4] |= uint32(b) << (i % 4 * 8)
	}
	return words
}

func TestAtRefuses(t *testing.T) {
	r := newRig(t)
	host := newHostList(codec.Regression{}, "", []uint32{3, 5, 9}, []uint32{1, 1, 1})
	s := decode.Source{Payload: gputest.Upload(r.Session, wordsOf(host.payload)), Directory: gputest.Upload(r.Session, host.directory), NumPostings: 3}
	indexes := gputest.Upload(r.Session, []uint32{0, 1})
	if r.kernels.At(r.Stream, codec.Regression{}, s, indexes, indexes.Slice(0, 1)) == nil {
		t.Error("an output that is too short is accepted")
	}
	if r.kernels.At(r.Stream, codec.Regression{Scheme: 9}, s, indexes, gputest.Alloc[uint32](r.Session, 2)) == nil {
		t.Error("an unknown scheme is accepted")
	}
	s.Directory = s.Directory.Slice(0, 3)
	if r.kernels.At(r.Stream, codec.Regression{}, s, indexes, gputest.Alloc[uint32](r.Session, 2)) == nil {
		t.Error("a list without a directory is accepted")
	}
}

// As BenchmarkDecode (ao11, Figure 8). The lists are nearly linear, which
// favours LRC.
func BenchmarkDecodeRegression(b *testing.B) {
	codecs := []codec.Codec{codec.Rice{}}
	for _, s := range []codec.Scheme{codec.LRC, codec.LRCSeg, codec.SegLRC, codec.HSLRC} {
		codecs = append(codecs, codec.Regression{Scheme: s}, codec.Regression{Scheme: s, Exceptions: 0.1})
	}
	for _, c := range codecs {
		for _, shape := range []struct{ n, gap, lists int }{{10_000_000, 12, 1}, {1_000_000, 12, 1}, {1_000_000, 12, 64}, {10_000, 100, 1}} {
			b.Run(fmt.Sprintf("codec=%s/n=%d/gap=%d/lists=%d/what=docids", c.Name(), shape.n, shape.gap, shape.lists), func(b *testing.B) {
				benchDecode(b, c, decode.DocIDs, shape.n, shape.gap, shape.lists)
			})
		}
	}
}

// Random indexes of a list of 10 million.
func BenchmarkAt(b *testing.B) {
	n := benchSize(10_000_000)
	docIDs, freqs := benchList(n, 12, 1)
	for _, c := range regressions() {
		if c.(codec.Regression).SegmentLen != 0 {
			continue
		}
		b.Run("codec="+c.Name(), func(b *testing.B) {
			r := newRig(b)
			host := newHostList(c, "", docIDs, freqs)
			s := decode.Source{Payload: gputest.Upload(r.Session, wordsOf(host.payload)), Directory: gputest.Upload(r.Session, host.directory), NumPostings: n}
			rng := rand.New(rand.NewPCG(1, 2))
			at := make([]uint32, benchSize(1<<20))
			for i := range at {
				at[i] = rng.Uint32N(uint32(n))
			}
			slices.Sort(at)
			indexes, out := gputest.Upload(r.Session, at), gputest.Alloc[uint32](r.Session, len(at))
			seconds := r.time(b, func() { r.Must(r.kernels.At(r.Stream, c.(codec.Regression), s, indexes, out)) })
			b.ReportMetric(float64(len(at))/seconds/1e9, "Gints/s")
		})
	}
}
