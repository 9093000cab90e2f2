package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/qmx"
)

// QMX packs consecutive values of equal width into 128-bit words: 128 of 1 bit, 64 of 2, 40 of
// 3, … 4 of 32; values of 7, 9, 12 and 21 bits go into two words; 8 zeros take no word. A
// selector byte gives the width and the number of consecutive words or pairs. DocIDs are stored
// as gaps minus one, frequencies minus one.
//
// Values are interleaved over four 32-bit lanes, so that four are shifted and masked at once;
// wider vectors load a word several times:
//
//	lane      0            1            2            3
//	    +------------+------------+------------+------------+
//	    | 0 4 8 …    | 1 5 9 …    | 2 6 10 …   | 3 7 11 …   |   value 0 in the lowest bits
//	    +------------+------------+------------+------------+
//
//	+-----------------+------------------+--------------------------+
//	| selectors       | words            | values that fill no word |
//	| 4 bits selector | 16 bytes each    | 1 byte width, the values |
//	| 4 bits run - 1  |                  | side by side as simdbp   |
//	+-----------------+------------------+--------------------------+
//
// The width byte is 32 plus the number of selectors, or the width of the values if none fills a
// word.
//
// Worked bytes: 16 frequencies of 200 take one word of 8-bit values: the selector 8<<4 | 0 =
// 0x80 and 16 times 199 = 0xc7, width byte 33 (tested).
//
// Trotman, "Compression, SIMD, and Postings Lists", ADCS 2014: selectors and layout. Words need
// no alignment, and nothing is written beyond the last value, as in variants of Trotman and
// Lin, "In Vacuo and In Situ Evaluation of SIMD Codecs", ADCS 2016. We differ: blocks of 128
// values are independent, not whole lists. Values that fill no word are bit-packed; the paper
// pads with zeros (up to 15 bytes per block, which would double most short lists). Selectors
// precede the words; the paper puts them at the end, in reverse. Words are chosen to make the
// block smallest (dynamic programming); the paper fills them greedily. Zeros come in units of
// 8, not 256.
type QMX struct{}

var _ Codec = QMX{}

// Name returns "qmx".
func (QMX) Name() string { return "qmx" }

// Plus the number of selectors, a block's width byte.
const selectorsWidth = maxWidth

// Each selector covers at least 4 values.
const maxSelectors = BlockLen / 4

// AppendDocIDs implements Codec.
func (QMX) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	var gaps [BlockLen]uint32
	gapsLessOne(gaps[:], base, docIDs)
	return appendQMX(dst, gaps[:len(docIDs)])
}

// AppendFreqs implements Codec.
func (QMX) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	var less [BlockLen]uint32
	lessOne(less[:], freqs)
	return appendQMX(dst, less[:len(freqs)])
}

// DecodeDocIDs implements Codec.
func (QMX) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if width <= selectorsWidth {
		return SIMDBP{}.DecodeDocIDs(dst, src, base, n, width)
	}
	size, wide := -1, false
	if width <= selectorsWidth+maxSelectors {
		size, wide = qmx.DecodeGaps(dst, src, int(width-selectorsWidth), base, n)
	}
	if size < 0 {
		return 0, errQMX(src, n, width)
	}
	if wide {
		if err := checkRising("qmx", dst[:n], base); err != nil {
			return 0, err
		}
		return size, nil
	}
	if last := dst[n-1]; last < base+1 || last == NoBase {
		return 0, fmt.Errorf("qmx: DocIDs exceed 2^32: %w", ErrCorrupt)
	}
	return size, nil
}

// DecodeFreqs implements Codec.
func (QMX) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	if width <= selectorsWidth {
		return SIMDBP{}.DecodeFreqs(dst, src, n, width)
	}
	size, wide := -1, false
	if width <= selectorsWidth+maxSelectors {
		size, wide = qmx.Decode(dst, src, int(width-selectorsWidth), 1, n)
	}
	if size < 0 {
		return errQMX(src, n, width)
	}
	if wide {
		for i, f := range dst[:n] {
			if f == 0 {
				return fmt.Errorf("qmx: frequency %d exceeds 2^32: %w", i, ErrCorrupt)
			}
		}
	}
	return nil
}

// FreqAt implements Codec.
func (QMX) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	if width <= selectorsWidth {
		return SIMDBP{}.FreqAt(src, i, n, width)
	}
	if uint(i) >= uint(n) {
		return 0, fmt.Errorf("qmx: frequency %d of %d: %w", i, n, ErrCorrupt)
	}
	if width > selectorsWidth+maxSelectors {
		return 0, errQMX(src, n, width)
	}
	v, ok := qmx.At(src, int(width-selectorsWidth), i, n)
	if !ok {
		return 0, errQMX(src, n, width)
	}
	if v+1 == 0 {
		return 0, fmt.Errorf("qmx: frequency %d exceeds 2^32: %w", i, ErrCorrupt)
	}
	return v + 1, nil
}

func errQMX(src []byte, n int, width uint8) error {
	if err := checkBlock("qmx", len(src), int(width)-selectorsWidth, n, width, selectorsWidth+maxSelectors); err != nil {
		return err
	}
	return fmt.Errorf("qmx: %d selectors and their words do not hold %d values in %d bytes: %w", width-selectorsWidth, n, len(src), ErrCorrupt)
}

// planner finds a block's smallest encoding, from its end.
type planner struct {
	// Minimum bytes from value i on: in general, and for each selector if the word before has
	// it and can continue.
	fresh   [BlockLen + 1]uint16
	goingOn [BlockLen + 1][len(qmx.Selectors)]uint16
	// The first element of the smallest encoding from i on, or none for the tail.
	first [BlockLen]int8
	tail  [BlockLen]uint8 // width of the values from i on
}

const none = -1

func (p *planner) plan(values []uint32) {
	n := len(values)
	p.fresh[n] = 0
	p.goingOn[n] = [len(qmx.Selectors)]uint16{}
	var tooWide [len(qmx.Selectors)]int // index of the next value too wide for the selector
	for s := range tooWide {
		tooWide[s] = n
	}
	tail := uint8(0)
	for i := n - 1; i >= 0; i-- {
		width := uint8(bits.Len32(values[i]))
		tail = max(tail, width)
		p.tail[i] = tail
		best, first := ^uint16(0), none
		if size := (n - i) * int(tail); size <= qmx.MaxTailBits {
			best = uint16(1 + (size+7)/8)
			if i == 0 {
				best-- // the width byte of the block has it
			}
		}
		going := &p.goingOn[i]
		for s := range qmx.Selectors {
			going[s] = ^uint16(0)
			sel := &qmx.Selectors[s]
			if width > sel.Bits {
				tooWide[s] = i
			}
			next := i + int(sel.Count)
			if next > tooWide[s] {
				continue
			}
			going[s] = uint16(sel.Words)*qmx.WordSize + p.goingOn[next][s]
			if going[s]+1 < best {
				best, first = going[s]+1, s
			}
		}
		p.fresh[i], p.first[i] = best, int8(first)
		for s := range going {
			going[s] = min(going[s], best)
		}
	}
}

// appendQMX returns the block's width byte, too.
func appendQMX(dst []byte, values []uint32) ([]byte, uint8) {
	var p planner
	p.plan(values)
	if p.first[0] == none {
		return bitpack.Append(dst, values, p.tail[0]), p.tail[0]
	}
	var chosen [maxSelectors]struct{ selector, run uint8 }
	count, i := 0, 0
	for i < len(values) && p.first[i] != none {
		s, run := p.first[i], 1
		i += int(qmx.Selectors[s].Count)
		for ; run < qmx.MaxRun && p.goingOn[i][s] < p.fresh[i]; run++ {
			i += int(qmx.Selectors[s].Count)
		}
		chosen[count] = struct{ selector, run uint8 }{uint8(s), uint8(run)}
		count++
	}
	for _, c := range chosen[:count] {
		dst = append(dst, qmx.SelectorByte(int(c.selector), int(c.run)))
	}
	rest := values
	for _, c := range chosen[:count] {
		s := &qmx.Selectors[c.selector]
		for range c.run {
			dst = appendWords(dst, s, rest)
			rest = rest[s.Count:]
		}
	}
	if len(rest) > 0 {
		width := p.tail[i]
		dst = bitpack.Append(append(dst, width), rest, width)
	}
	return dst, uint8(selectorsWidth + count)
}

// appendWords appends the one or two words of s for the first values.
func appendWords(dst []byte, s *qmx.Selector, values []uint32) []byte {
	var lanes [4]uint64
	for i, v := range values[:s.Count] {
		lanes[i%4] |= uint64(v) << (i / 4 * int(s.Bits))
	}
	for w := range s.Words {
		for _, l := range lanes {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(l>>(32*w)))
		}
	}
	return dst
}
