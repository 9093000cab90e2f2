package imagesearch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/score"
)

type reader struct {
	shape Shape
	parts layout
	image []byte
}

func (r *reader) word(part uint32, i int) uint32 {
	return binary.LittleEndian.Uint32(r.image[int(part)*layoutUnit+4*i:])
}

func (r *reader) byte(part uint32, i int) uint32 { return uint32(r.image[int(part)*layoutUnit+i]) }

func (r *reader) half(part uint32, i int) uint32 {
	return uint32(binary.LittleEndian.Uint16(r.image[int(part)*layoutUnit+2*i:]))
}

func (r *reader) steps(i int) uint32 {
	if r.shape.kind() == packed {
		return r.half(r.parts.docIDs, i) >> 8
	}
	return r.byte(r.parts.sat, i)
}

func (r *reader) freq(i int) uint32 {
	switch r.shape.freqBytes() {
	case 0:
		return r.steps(i)
	case 2:
		return uint32(binary.LittleEndian.Uint16(r.image[int(r.parts.freq)*layoutUnit+2*i:]))
	}
	f := r.byte(r.parts.freq, i)
	if f < freqEscape {
		return f
	}
	mask := uint32(r.shape.escapes() - 1)
	for h := hash(uint32(i), mask); ; h = (h + 1) & mask {
		slot := binary.LittleEndian.Uint64(r.image[int(r.parts.escapes)*layoutUnit+8*int(h):])
		if slot>>32 == uint64(i+1) {
			return uint32(slot)
		}
		if slot == 0 {
			return 0
		}
	}
}

func (r *reader) check(tb testing.TB, name string, c *collection, l querytest.List) {
	tb.Helper()
	superMax := make([]uint32, numSupers(c.NumDocs))
	rangeMax := make([]uint32, len(superMax)*superRanges)
	step := Term{Image: Image{shape: r.shape, unit: r.shape.unit()}, Leg: leg.Leg{Scale: score.NewScale(score.DefaultBM25.NewTerm(3, 1, c.Saturation.AvgLen), c.Saturation.AvgLen, c.Saturation.AvgLen)}}
	term := score.DefaultBM25.NewTerm(3, 1, c.Saturation.AvgLen)
	if c.Saturation.Linear {
		term = score.NewLinearTerm(3, 1)
		step.Scale = score.NewScale(term, 0, 0)
	}
	for i, d := range l.DocIDs {
		steps := r.steps(i)
		superMax[d/superDocs] = max(superMax[d/superDocs], steps)
		rangeMax[d/rangeDocs] = max(rangeMax[d/rangeDocs], steps)
		if got := r.freq(i); got != l.Freqs[i] {
			tb.Fatalf("%s: posting %d has frequency %d, want %d", name, i, got, l.Freqs[i])
		}
		if s := term.Score(l.Freqs[i], c.Lengths[d]); uint64(steps)*step.step(0) < uint64(s) {
			tb.Fatalf("%s: posting %d, of %d steps of %d, scores %d", name, i, steps, step.step(0), s)
		} else if slack := uint64(steps)*step.step(0) - uint64(s); slack > 2*step.step(0) {
			tb.Fatalf("%s: posting %d, of %d steps of %d, scores only %d", name, i, steps, step.step(0), s)
		}
		switch r.shape.kind() {
		case dense:
			bits := r.word(r.parts.bitmap, int(d/rangeDocs))
			if bits>>(d%rangeDocs)&1 == 0 {
				tb.Fatalf("%s: document %d is not in the bitmap", name, d)
			}
		case packed:
			if got, want := r.half(r.parts.docIDs, i)&0xff, d%(1<<r.shape.bucketShift()); got != want {
				tb.Fatalf("%s: DocID %d is %d in its bucket, want %d", name, i, got, want)
			}
		default:
			if got := r.word(r.parts.docIDs, i); got != d {
				tb.Fatalf("%s: DocID %d is %d, want %d", name, i, got, d)
			}
		}
	}
	for i, want := range superMax {
		if got := r.byte(r.parts.superMax, i); got != want {
			tb.Fatalf("%s: superblock %d has bound %d, want %d", name, i, got, want)
		}
	}
	first := func(doc int) uint32 {
		i, _ := slices.BinarySearch(l.DocIDs, uint32(doc))
		return uint32(i)
	}
	if r.shape.kind() != sparse {
		for i, want := range rangeMax {
			if got := r.byte(r.parts.rangeMax, i); got != want {
				tb.Fatalf("%s: range %d has bound %d, want %d", name, i, got, want)
			}
		}
	}
	if r.shape.kind() < packed {
		for b := range r.shape.numBuckets() + 1 {
			if got := r.word(r.parts.starts, b); got != first(b<<r.shape.bucketShift()) {
				tb.Fatalf("%s: bucket %d starts at %d, want %d", name, b, got, first(b<<r.shape.bucketShift()))
			}
		}
		return
	}
	for super := range superMax {
		base := first(super * superDocs)
		if got := r.word(r.parts.base, super); got != base {
			tb.Fatalf("%s: superblock %d starts at %d, want %d", name, super, got, base)
		}
		part, n, docs := r.parts.rank, superRanges, rangeDocs
		if r.shape.kind() == packed {
			part, docs = r.parts.starts, 1<<r.shape.bucketShift()
			n = superDocs/docs + 1
		}
		for i := range n {
			if got, want := base+r.half(part, super*n+i), first(super*superDocs+i*docs); got != want {
				tb.Fatalf("%s: the postings of superblock %d from document %d on start at %d, want %d", name, super, i*docs, got, want)
			}
		}
	}
}

// Encode and Build agree, except for padding and hash slots, and have the lists.
func TestImages(t *testing.T) {
	for seed, numDocs := range []int{1, 31, 4096, 9001} {
		for _, linear := range []uint32{0, 255, 4000} {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(linear)))
			maxFreq := linear
			if linear == 0 {
				maxFreq = 2000
			}
			c := randomCollection(t, rng, numDocs, len(densities), linear > 0, maxFreq)
			c.filled = true
			c.toDevice()
			for i, l := range c.Plain {
				name := fmt.Sprintf("docs=%d/linear=%d/list=%d", numDocs, linear, i)
				shape := c.shape(i)
				encoded, err := Encode(nil, shape, l.DocIDs, l.Freqs, c.Lengths)
				must(t, err)
				r := reader{shape, shape.layout(), encoded}
				r.check(t, name+"/encoded", c, l)
				built := reader{shape, r.parts, gputest.Download(c.Session, c.data[i])}
				built.check(t, name+"/built", c, l)
				for j := range l.DocIDs {
					if r.steps(j) != built.steps(j) {
						t.Fatalf("%s: posting %d has %d steps on the device, %d on the CPU", name, j, built.steps(j), r.steps(j))
					}
				}
			}
		}
	}
}

func TestShapesThatAreNone(t *testing.T) {
	for _, s := range []Shape{
		{},
		{NumDocs: 10, DocFreq: 11, CollFreq: 11, Max: 1},
		{NumDocs: 10, DocFreq: 0, CollFreq: 11, Max: 1},
		{NumDocs: 10, DocFreq: 5, CollFreq: 4, Max: 1},
		{NumDocs: 10, DocFreq: 5, CollFreq: 5},
	} {
		if _, err := Encode(nil, s, make([]uint32, 10), make([]uint32, 10), make([]uint32, 10)); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	s := Shape{NumDocs: 10, DocFreq: 5, CollFreq: 5, Max: 1}
	if _, err := Encode(nil, s, make([]uint32, 4), make([]uint32, 10), make([]uint32, 10)); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("too few postings: %v", err)
	}
}
