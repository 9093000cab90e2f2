package devicetest

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

//go:embed image/devicetest.ptx.zst
var image []byte

type params struct {
	a, b     cuda.Ptr[uint32]
	out      cuda.Ptr[uint32]
	numWords uint32
	_        uint32
}

const blockThreads = 256

type rig struct {
	t      *testing.T
	d      *cuda.Device
	m      *cuda.Module
	stream *cuda.Stream
}

func newRig(t *testing.T) *rig {
	t.Helper()
	d := gputest.Open(t)
	m, err := d.LoadImage("devicetest", image)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, d: d, m: m, stream: s}
}

// run returns a copy of out that the kernel updated.
func (r *rig) run(kernel string, blocks, shared int, a, b, out []uint32) []uint32 {
	r.t.Helper()
	k, err := cuda.LoadKernel[params](r.m, "devicetest_"+kernel)
	r.must(err)
	var buffers [3]cuda.Buffer[uint32]
	for i, words := range [][]uint32{a, b, out} {
		buffers[i], err = cuda.Alloc[uint32](r.d, len(words))
		r.must(err)
		defer buffers[i].Free()
		r.must(cuda.CopyToDevice(r.stream, buffers[i], words))
	}
	p := params{a: buffers[0].Ptr(), b: buffers[1].Ptr(), out: buffers[2].Ptr(), numWords: uint32(blocks * blockThreads)}
	r.must(cuda.Launch(r.stream, k, cuda.D1(blocks), cuda.D1(blockThreads), shared, &p))
	got := make([]uint32, len(out))
	r.must(cuda.CopyToHost(r.stream, got, buffers[2]))
	r.must(r.stream.Synchronize())
	return got
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func compare(t *testing.T, kernel string, got []uint32, numWords int, want func(i int) []uint32) {
	t.Helper()
	wrong := map[int]bool{}
	for i := range numWords {
		for f, w := range want(i) {
			if g := got[f*numWords+i]; g != w && !wrong[f] {
				wrong[f] = true
				t.Errorf("%s: result %d of word %d is %#x, want %#x", kernel, f, i, g, w)
			}
		}
	}
}

// Small, large, and at the ends of ranges.
func random(seed uint64, n int) []uint32 {
	r := rand.New(rand.NewPCG(seed, 1))
	ends := []uint32{0, 1, 2, 31, 32, 33, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff}
	words := make([]uint32, n)
	for i := range words {
		switch r.IntN(4) {
		case 0:
			words[i] = ends[r.IntN(len(ends))]
		case 1:
			words[i] = r.Uint32() >> r.IntN(32)
		default:
			words[i] = r.Uint32()
		}
	}
	return words
}

func TestIntegers(t *testing.T) {
	const n = 8 * blockThreads
	a, b := random(1, n), random(2, n)
	got := newRig(t).run("integers", n/blockThreads, 0, a, b, make([]uint32, n*len(integers(0, 0))))
	compare(t, "integers", got, n, func(i int) []uint32 { return integers(a[i], b[i]) })
}

func TestFloats(t *testing.T) {
	const n = 8 * blockThreads
	a, b := random(3, n), random(4, n)
	special := []float32{0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e9, 4294967040, 4294967296, 2147483520, 2147483648, -2147483648, 1e-40, 3e38, float32(math.Inf(1))}
	for i := range n {
		if i < 2*len(special) {
			a[i], b[i] = math.Float32bits(special[i%len(special)]), math.Float32bits(special[(i/2)%len(special)])
		}
		// NaN has many bit patterns, which differ between processors.
		for _, w := range []*uint32{&a[i], &b[i]} {
			if isNaN(*w) {
				*w = math.Float32bits(float32(i))
			}
		}
	}
	got := newRig(t).run("floats", n/blockThreads, 0, a, b, make([]uint32, n*len(floats(0, 0))))
	compare(t, "floats", got, n, func(i int) []uint32 {
		want := floats(a[i], b[i])
		for f, w := range want[:6] {
			if g := got[f*n+i]; isNaN(w) && isNaN(g) {
				want[f] = g
			}
		}
		return want
	})
}

func isNaN(bits uint32) bool { return math.IsNaN(float64(math.Float32frombits(bits))) }

func TestWarps(t *testing.T) {
	const n = 2 * blockThreads
	a, b := random(5, n), random(6, n)
	got := newRig(t).run("warps", n/blockThreads, 0, a, b, make([]uint32, n*len(warp(a[:32], b[:32], 0))))
	compare(t, "warps", got, n, func(i int) []uint32 {
		first := i &^ 31
		return warp(a[first:first+32], b[first:first+32], i%32)
	})
}

func TestBlocks(t *testing.T) {
	const n = 2 * blockThreads
	a, b := random(7, n), random(8, n)
	got := newRig(t).run("blocks", n/blockThreads, 0, a, b, make([]uint32, n*len(block(a[:1], b[:1], 0))))
	compare(t, "blocks", got, n, func(i int) []uint32 {
		first := i / blockThreads * blockThreads
		return block(a[first:first+blockThreads], b[first:first+blockThreads], i%blockThreads)
	})
}

func TestAtomics(t *testing.T) {
	a := random(9, blockThreads)
	start := make([]uint32, 20)
	start[1], start[3], start[5] = 12345, math.MaxUint32, math.MaxUint32
	start[12], start[13] = math.MaxUint32, math.MaxUint32
	got := newRig(t).run("atomics", 1, 0, a, a, start)
	want := slices.Clone(start)
	var sum, greatest uint64
	least := uint64(math.MaxUint64)
	for i := range 4 {
		want[14+i] = uint32(i)
	}
	for _, v := range a {
		want[0] += v
		want[1] -= v
		want[2] = max(want[2], v)
		want[3] = min(want[3], v)
		want[4] |= v
		want[5] &= v
		want[6] ^= v
		want[7] = max(want[7], v)
		wide := uint64(v) << 20
		sum, greatest, least = sum+wide, max(greatest, wide), min(least, wide)
		want[14+(v&3)]++
	}
	for i, v := range []uint64{sum, greatest, least} {
		copy(want[8+2*i:], words64(v))
	}
	want[18] = want[0]
	if !slices.Equal(got, want) {
		t.Errorf("got  %#x\nwant %#x", got, want)
	}
}

func TestUnpack(t *testing.T) {
	r := newRig(t)
	for width := range uint32(33) {
		values := random(uint64(width), blockThreads)
		packed := make([]uint32, (blockThreads*width+31)/32+1)
		for i := range values {
			values[i] = uint32(uint64(values[i]) & (uint64(1)<<width - 1))
			bit := uint32(i) * width
			wide := uint64(values[i]) << (bit % 32)
			packed[bit/32] |= uint32(wide)
			if bit/32+1 < uint32(len(packed)) {
				packed[bit/32+1] |= uint32(wide >> 32)
			}
		}
		// Exactly the words that contain a bit: reading one more is an error.
		words := packed[:max(1, len(packed)-1)]
		got := r.run("unpack", 1, 0, words, []uint32{width}, make([]uint32, blockThreads))
		if !slices.Equal(got, values) {
			t.Errorf("width %d: got %v, want %v", width, got, values)
		}
	}
}

// The error of line_position is within its margin on lines of any slope, and
// the margin within its bound.
func TestLines(t *testing.T) {
	const n = 32 * blockThreads
	a, b := random(8, n), random(9, n)
	got := newRig(t).run("lines", n/blockThreads, 0, a, b, make([]uint32, 4*n))
	result := func(f, i int) int { return int(uint64(got[(f+1)*n+i])<<32 | uint64(got[f*n+i])) }
	for i := range n {
		line := contraction.Line{Slope: max(uint64(b[i]&0x3ffffff)<<(b[i]>>26), 1<<32), Intercept: int64(int32(b[i] << 12))}
		position, margin, want := result(0, i), result(2, i), line.Position(a[i])
		if off := max(position-want, want-position); off > margin || margin > 3+off+max(want, -want)>>20 {
			t.Fatalf("%d on %+v: at %d, want %d with a margin of %d", a[i], line, position, want, margin)
		}
	}
}

func TestLoads(t *testing.T) {
	a := random(10, 4*blockThreads+4)
	got := newRig(t).run("loads", 1, 4*blockThreads, a, a, make([]uint32, 16*blockThreads))
	for i := range blockThreads {
		half := a[i/2] >> (16 * (i % 2)) & 0xffff
		one := a[i/4] >> (8 * (i % 4)) & 0xff
		first := uint32(i &^ 3)
		want := []uint32{
			a[4*i], a[4*i+1], a[4*i+2], a[4*i+3], a[2*i], a[2*i+1], half, one, a[i], a[i+1], 1, 2,
			first, first + 1, first + 2, first + 3,
		}
		if !slices.Equal(got[16*i:16*i+16], want) {
			t.Fatalf("thread %d: got %#x, want %#x", i, got[16*i:16*i+16], want)
		}
	}
}
