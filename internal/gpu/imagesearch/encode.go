package imagesearch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// checkPostings returns an error that wraps base.ErrBadInput if the numbers differ from
// the shape's.
func (s *Shape) checkPostings(docIDs, freqs, lengths int) error {
	if docIDs < s.DocFreq || freqs < s.DocFreq || lengths < s.NumDocs && !s.Saturation.Linear {
		return fmt.Errorf("image of %d postings of %d documents: %d DocIDs, %d frequencies, %d lengths: %w", s.DocFreq, s.NumDocs, docIDs, freqs, lengths, base.ErrBadInput)
	}
	return nil
}

// Encode appends the image of a list to dst, as Build writes it, slowly. Padding is 0.
func Encode(dst []byte, shape Shape, docIDs, freqs, lengths []uint32) ([]byte, error) {
	if err := shape.check(); err != nil {
		return nil, err
	}
	if err := shape.checkPostings(len(docIDs), len(freqs), len(lengths)); err != nil {
		return nil, err
	}
	docIDs, freqs = docIDs[:shape.DocFreq], freqs[:shape.DocFreq]
	from := len(dst)
	dst = slices.Grow(dst, int(shape.SizeBytes()))[:from+int(shape.SizeBytes())]
	e := encoder{shape: shape, parts: shape.layout(), image: dst[from:]}
	clear(e.image)
	for i, d := range docIDs {
		length := uint32(0)
		if !shape.Saturation.Linear {
			length = lengths[d]
		}
		steps := shape.eighth(freqs[i], length)
		if shape.kind() != packed {
			e.image[int(e.parts.sat)*layoutUnit+i] = steps
		}
		raise(e.image, e.parts.superMax, int(d/superDocs), steps)
		e.freq(i, freqs[i])
		r := int(d / rangeDocs)
		if shape.kind() != sparse {
			raise(e.image, e.parts.rangeMax, r, steps)
		}
		switch shape.kind() {
		case dense:
			e.set(e.parts.bitmap, r, e.get(e.parts.bitmap, r)|1<<(d%rangeDocs))
		case packed:
			e.set16(e.parts.docIDs, i, d&(1<<shape.bucketShift()-1)|uint32(steps)<<8)
		default:
			e.set(e.parts.docIDs, i, d)
		}
	}
	e.directory(docIDs)
	return dst, nil
}

type encoder struct {
	shape Shape
	parts layout
	image []byte
}

func raise(image []byte, part uint32, i int, to byte) {
	p := &image[int(part)*layoutUnit+i]
	*p = max(*p, to)
}

func (e *encoder) get(part uint32, i int) uint32 {
	return binary.LittleEndian.Uint32(e.image[int(part)*layoutUnit+4*i:])
}

func (e *encoder) set(part uint32, i int, v uint32) {
	binary.LittleEndian.PutUint32(e.image[int(part)*layoutUnit+4*i:], v)
}

func (e *encoder) freq(i int, freq uint32) {
	at := int(e.parts.freq) * layoutUnit
	switch e.shape.freqBytes() {
	case 1:
		e.image[at+i] = byte(min(freq, freqEscape))
		if freq < freqEscape {
			return
		}
		mask := uint32(e.shape.escapes() - 1)
		slots := e.image[int(e.parts.escapes)*layoutUnit:]
		for h := hash(uint32(i), mask); ; h = (h + 1) & mask {
			if binary.LittleEndian.Uint64(slots[8*h:]) == 0 {
				binary.LittleEndian.PutUint64(slots[8*h:], uint64(i+1)<<32|uint64(freq))
				return
			}
		}
	case 2:
		binary.LittleEndian.PutUint16(e.image[at+2*i:], uint16(freq))
	}
}

// hash returns the first slot of a posting in the table of long frequencies.
func hash(posting, mask uint32) uint32 { return posting * 2654435761 >> 7 & mask }

func (e *encoder) set16(part uint32, i int, v uint32) {
	binary.LittleEndian.PutUint16(e.image[int(part)*layoutUnit+2*i:], uint16(v))
}

// directory writes the first posting of each range or bucket.
func (e *encoder) directory(docIDs []uint32) {
	from := func(docID int) uint32 {
		first, _ := slices.BinarySearchFunc(docIDs, docID, func(d uint32, docID int) int { return cmp.Compare(int(d), docID) })
		return uint32(first)
	}
	shift := e.shape.bucketShift()
	if e.shape.kind() < packed {
		for b := range e.shape.numBuckets() + 1 {
			e.set(e.parts.starts, b, from(b<<shift))
		}
		return
	}
	for super := range numSupers(e.shape.NumDocs) {
		base := from(super * superDocs)
		e.set(e.parts.base, super, base)
		if e.shape.kind() == dense {
			for r := super * superRanges; r < (super+1)*superRanges; r++ {
				e.set16(e.parts.rank, r, from(r*rangeDocs)-base)
			}
			continue
		}
		n := e.shape.superStarts()
		for b := range n {
			e.set16(e.parts.starts, super*n+b, from(super*superDocs+b<<shift)-base)
		}
	}
}

// eighth returns a contribution in steps of unit/255, rounded up.
func (s *Shape) eighth(freq, length uint32) uint8 {
	if s.Saturation.Linear {
		if s.freqBytes() == 0 {
			return uint8(freq)
		}
		most := uint32(s.Max)
		return uint8((freq*255 + most - 1) / most)
	}
	c0, c1, perUnit := s.saturation()
	f := float32(freq)
	k := float32(c0 + float32(c1*float32(length)))
	v := float32(float32(f/float32(f+k)) * perUnit)
	steps := uint32(v)
	if float32(steps) < v {
		steps++
	}
	return uint8(max(min(steps, 255), 1))
}
