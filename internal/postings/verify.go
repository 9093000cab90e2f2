package postings

import (
	"bytes"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// Verify decodes the whole list and checks every invariant:
//
//   - DocIDs rise and stay below len(lengths), and directory entries match.
//   - Frequencies are at least 1 and sum to CollFreq.
//   - Blocks equal the codec's encoding, with minimal widths, and fill the list.
//   - Bound, Max and Kth are exact, and frontiers are complete and minimal.
//   - Each posting has Freq rising positions.
//
// The list must be open with all its parts, and the writer's lengths and s. The error wraps
// base.ErrCorrupt and names the block. A codec.ListCodec takes 4 bytes of memory a posting and
// the memory to encode the list.
func (l *List) Verify(lengths []uint32, s score.Saturation) error {
	v := verifier{list: l, lengths: lengths, sat: s, prev: codec.NoBase, frontiers: frontierReader{src: l.frontiers}}
	if err := v.start(); err != nil {
		return err
	}
	for i := range l.NumBlocks() {
		if err := v.block(i); err != nil {
			return err
		}
	}
	return v.whole()
}

type verifier struct {
	list    *List
	lengths []uint32
	sat     score.Saturation

	prev      uint32 // last DocID of the previous block
	collFreq  uint64
	maxBound  score.Bound
	kth       kthBest
	frontiers frontierReader
	offset    uint64 // end of the previous block in the payload
	posBytes  int    // bytes of positions in previous blocks

	listDocIDs    []uint32 // with a ListCodec: all DocIDs so far
	docIDs, freqs [codec.BlockLen]uint32
	pairs         frontierSet
	wanted        []pair // frontier of a block
	lowers        [codec.BlockLen]score.Bound
	buf           []byte
	positions     []uint32
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), base.ErrCorrupt)
}

func (v *verifier) start() error {
	l := v.list
	if l.lists == nil {
		return nil
	}
	size, err := l.lists.ListSize(l.payload, int(l.DocFreq))
	if err != nil {
		return err
	}
	v.offset = alignList(uint64(size))
	return nil
}

func (v *verifier) block(i int) error {
	l := v.list
	e, n := l.Block(i), l.BlockSize(i)
	if uint64(e.Offset) != v.offset {
		return corrupt("block %d: at offset %d, %d expected", i, e.Offset, v.offset)
	}
	docSize, err := l.DecodeDocIDs(i, &v.docIDs)
	if err != nil {
		return err
	}
	if err := l.DecodeFreqs(i, docSize, &v.freqs); err != nil {
		return err
	}
	if int(v.docIDs[n-1]) >= len(v.lengths) {
		return corrupt("block %d: DocID %d of %d documents", i, v.docIDs[n-1], len(v.lengths))
	}
	if err := v.encoding(i, e, v.docIDs[:n], v.freqs[:n]); err != nil {
		return err
	}
	var bound score.Bound
	for j, d := range v.docIDs[:n] {
		if v.sat.Linear && v.freqs[j] > uint32(score.MaxBound) {
			return corrupt("block %d: weight %d of DocID %d, at most %d", i, v.freqs[j], d, score.MaxBound)
		}
		lower, upper := v.sat.Bounds(v.freqs[j], v.lengths[d])
		bound = max(bound, upper)
		v.lowers[j] = lower
		v.pairs.add(v.freqs[j], v.lengths[d])
		v.collFreq += uint64(v.freqs[j])
	}
	if e.Bound != bound {
		return corrupt("block %d: bound %d, %d expected", i, e.Bound, bound)
	}
	v.kth.add(v.lowers[:n])
	v.maxBound = max(v.maxBound, bound)
	v.prev = e.Last
	v.wanted = v.pairs.take(v.wanted[:0])
	if err := v.frontier(i, v.wanted); err != nil {
		return err
	}
	return v.blockPositions(i, v.freqs[:n])
}

// encoding checks that the block equals the codec's encoding of its postings, so that
// widths are minimal and padding is zero.
func (v *verifier) encoding(i int, e *BlockEntry, docIDs, freqs []uint32) error {
	var docWidth, freqWidth uint8
	v.buf = v.buf[:0]
	if v.list.lists != nil {
		v.listDocIDs = append(v.listDocIDs, docIDs...)
	} else {
		v.buf, docWidth = v.list.Codec.AppendDocIDs(v.buf, v.prev, docIDs)
	}
	v.buf, freqWidth = v.list.Codec.AppendFreqs(v.buf, freqs)
	if docWidth != e.DocWidth || freqWidth != e.FreqWidth {
		return corrupt("block %d: widths %d and %d, %d and %d are minimal", i, e.DocWidth, e.FreqWidth, docWidth, freqWidth)
	}
	src, err := v.list.blockBytes(i)
	if err != nil {
		return err
	}
	if len(src) < len(v.buf) || string(src[:len(v.buf)]) != string(v.buf) {
		return corrupt("block %d: not the encoding of its postings", i)
	}
	v.offset += uint64(len(v.buf))
	return nil
}

func (v *verifier) frontier(i int, want []pair) error {
	j := 0
	same := true
	err := v.frontiers.next(v.list.BlockSize(i), func(p pair) {
		same = same && j < len(want) && p == want[j]
		j++
	})
	if err != nil {
		return fmt.Errorf("block %d: %w", i, err)
	}
	if !same || j != len(want) {
		return corrupt("block %d: the frontier is not that of its postings", i)
	}
	return nil
}

func (v *verifier) blockPositions(i int, freqs []uint32) error {
	l := v.list
	if !l.HasPositions() {
		return nil
	}
	src, err := l.PositionBytes(i)
	if err != nil {
		return err
	}
	v.posBytes += len(src)
	at := 0
	for _, f := range freqs {
		if v.positions, at, err = DecodePositions(v.positions[:0], src, at, f); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	rest := src[at:]
	if i+1 < l.NumBlocks() && len(rest) > 0 || !isPadding(rest, l.NumBlocks() > 1) {
		return corrupt("block %d: %d bytes behind its positions", i, len(rest))
	}
	return nil
}

// isPadding reports whether rest is the padding that a Writer puts before a directory.
func isPadding(rest []byte, directory bool) bool {
	if len(rest) > 3 || len(rest) > 0 && !directory {
		return false
	}
	for _, b := range rest {
		if b != 0 {
			return false
		}
	}
	return true
}

func (v *verifier) whole() error {
	l := v.list
	if err := v.wholeEncoding(); err != nil {
		return err
	}
	switch {
	case v.collFreq != l.CollFreq:
		return corrupt("frequencies sum to %d, CollFreq is %d", v.collFreq, l.CollFreq)
	case v.maxBound != l.Max:
		return corrupt("Max is %d, the greatest bound %d", l.Max, v.maxBound)
	case v.frontiers.at != len(l.frontiers):
		return corrupt("frontiers take %d bytes of %d", v.frontiers.at, len(l.frontiers))
	case !isPadding(l.payload[min(v.offset, uint64(len(l.payload))):], l.NumBlocks() > 1):
		return corrupt("blocks take %d bytes of %d", v.offset, len(l.payload))
	}
	if n := l.NumBlocks(); n > 1 && l.HasPositions() && v.posBytes != len(l.positions)-4*n {
		return corrupt("the blocks have %d bytes of positions of %d", v.posBytes, len(l.positions)-4*n)
	}
	if kth := v.kth.result(); kth != l.Kth {
		return corrupt("Kth is %v, %v expected", l.Kth, kth)
	}
	return nil
}

// wholeEncoding checks that a ListCodec's DocIDs equal its encoding, with zeros up to
// the first frequency.
func (v *verifier) wholeEncoding() error {
	l := v.list
	if l.lists == nil {
		return nil
	}
	v.buf = l.lists.AppendList(v.buf[:0], v.listDocIDs)
	for len(v.buf)%listAlign != 0 {
		v.buf = append(v.buf, 0)
	}
	if uint64(len(v.buf)) != uint64(l.dir[0].Offset) || !bytes.HasPrefix(l.payload, v.buf) {
		return corrupt("not the encoding of the list's DocIDs")
	}
	return nil
}
