package postings

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// Options configure a Writer.
type Options struct {
	Codec      codec.Codec
	Saturation score.Saturation // for the bounds
	Positions  bool             // postings have positions
}

// For lists of more than one block (package comment).
const listAlign = 16

// Writer writes posting lists: Begin, any number of AddBlock, Finish, repeatedly. Its memory is
// reused and constant, except for the current list's directory (24 bytes a block) and, with
// positions, the positions of one block. With a codec.ListCodec it buffers the list's DocIDs (4
// bytes a posting), frequencies and encoding.
//
// After an error the Writer and its output are unusable.
type Writer struct {
	opts                           Options
	postings, positions, frontiers output

	// The codec if it encodes whole lists.
	lists codec.ListCodec

	lengths  []uint32
	meta     Meta
	dir      []BlockEntry
	posDir   []uint32
	kth      kthBest
	last     uint32 // last DocID of the last block written
	lastSeen uint32 // last DocID added

	// Lists of several blocks: all DocIDs except pending ones, and encoded frequencies.
	listDocIDs []uint32
	listFreqs  []byte

	// Unwritten postings: at most one block.
	docIDs, freqs [codec.BlockLen]uint32
	pending       int
	pendingPos    []byte

	buf   []byte
	block struct {
		frontier frontierSet
		pairs    []pair
		lengths  [codec.BlockLen]uint32
		lowers   [codec.BlockLen]score.Bound
		bounds   boundTable
	}
}

// boundTable has the bounds of frequent pairs, which take two divisions.
type boundTable [boundFreqs * boundLengths]struct{ lower, upper score.Bound } // upper 0: unknown

const boundFreqs, boundLengths = 4, 512

// known returns what compute returned for the pair; upper is 0 if it has to be called.
func (t *boundTable) known(freq, length uint32) (lower, upper score.Bound) {
	if freq-1 >= boundFreqs || length >= boundLengths {
		return 0, 0
	}
	b := t[(freq-1)*boundLengths+length]
	return b.lower, b.upper
}

// compute is Saturation.Bounds.
func (t *boundTable) compute(s *score.Saturation, freq, length uint32) (lower, upper score.Bound) {
	lower, upper = s.Bounds(freq, length)
	if freq-1 < boundFreqs && length < boundLengths {
		b := &t[(freq-1)*boundLengths+length]
		b.lower, b.upper = lower, upper
	}
	return lower, upper
}

type output struct {
	w      io.Writer
	offset uint64
}

func (o *output) write(p []byte) error {
	n, err := o.w.Write(p)
	o.offset += uint64(n)
	return err
}

var zeros [listAlign]byte

func (o *output) align(n uint64) error {
	if rest := o.offset % n; rest != 0 {
		return o.write(zeros[:n-rest])
	}
	return nil
}

// NewWriter returns a Writer. Offsets in its Metas are relative to the outputs' current ends,
// which must be multiples of 16 (postings) and 4 (positions) in the mapped files. Buffer them:
// each block is a write. positions is unused without opts.Positions.
func NewWriter(opts Options, postings, positions, frontiers io.Writer) *Writer {
	lists, _ := opts.Codec.(codec.ListCodec)
	return &Writer{
		opts:      opts,
		lists:     lists,
		postings:  output{w: postings},
		positions: output{w: positions},
		frontiers: output{w: frontiers},
	}
}

// Begin starts a list. lengths holds each document's tokens in the list's field, by DocID,
// retained until Finish.
func (w *Writer) Begin(lengths []uint32) {
	w.lengths = lengths
	w.meta = Meta{}
	w.dir = w.dir[:0]
	w.posDir = w.posDir[:0]
	w.listDocIDs, w.listFreqs = w.listDocIDs[:0], w.listFreqs[:0]
	w.kth.reset()
	w.last, w.lastSeen = codec.NoBase, codec.NoBase
	w.pending = 0
	w.pendingPos = w.pendingPos[:0]
}

// AddBlock adds postings, retaining no slices. DocIDs rise across calls; frequencies are at
// least 1, and weights (Saturation.Linear) at most score.MaxBound. positions holds Freq
// positions a posting as vbyte gaps; empty without Options.Positions. Invalid postings are
// errors that wrap base.ErrBadInput.
func (w *Writer) AddBlock(docIDs, freqs []uint32, positions []byte) error {
	if len(docIDs) != len(freqs) {
		return fmt.Errorf("%d DocIDs with %d frequencies: %w", len(docIDs), len(freqs), base.ErrBadInput)
	}
	lastSeen := w.lastSeen
	for i, d := range docIDs {
		if uint64(d) < uint64(lastSeen+1) || uint64(d) >= uint64(len(w.lengths)) || freqs[i] == 0 {
			return fmt.Errorf("posting with DocID %d after %d, frequency %d, of %d documents: %w",
				d, int64(lastSeen+1)-1 /* -1: none */, freqs[i], len(w.lengths), base.ErrBadInput)
		}
		if w.opts.Saturation.Linear && freqs[i] > uint32(score.MaxBound) { // more than a bound can hold
			return fmt.Errorf("posting with DocID %d: weight %d, at most %d: %w", d, freqs[i], score.MaxBound, base.ErrBadInput)
		}
		lastSeen = d
	}
	w.lastSeen = lastSeen
	for len(docIDs) > 0 {
		if w.pending == codec.BlockLen { // a further block follows
			if err := w.flushBlock(true /* directory */); err != nil {
				return err
			}
		}
		n := min(codec.BlockLen-w.pending, len(docIDs))
		copy(w.docIDs[w.pending:], docIDs[:n])
		copy(w.freqs[w.pending:], freqs[:n])
		w.pending += n
		if w.opts.Positions {
			size, err := positionsSize(positions, freqs[:n])
			if err != nil {
				return err
			}
			w.pendingPos = append(w.pendingPos, positions[:size]...)
			positions = positions[size:]
		}
		docIDs, freqs = docIDs[n:], freqs[n:]
	}
	if len(positions) != 0 {
		return fmt.Errorf("%d bytes of positions too many: %w", len(positions), base.ErrBadInput)
	}
	return nil
}

// positionsSize returns the bytes of the positions, at the start of src, of postings
// with the given frequencies.
func positionsSize(src []byte, freqs []uint32) (int, error) {
	n := uint64(0)
	for _, f := range freqs {
		n += uint64(f)
	}
	if size, ok := VbytesLen(src, n); ok {
		return size, nil
	}
	return 0, fmt.Errorf("%d positions in %d bytes: %w", n, len(src), base.ErrBadInput)
}

// Finish ends the list. An empty one takes no bytes and has the zero Meta.
func (w *Writer) Finish() (Meta, error) {
	if w.pending == 0 {
		return Meta{}, nil
	}
	single := len(w.dir) == 0
	if err := w.flushBlock(!single); err != nil {
		return Meta{}, err
	}
	if single {
		e := w.dir[0]
		w.meta.First, w.meta.Last = e.First, e.Last
		w.meta.DocWidth, w.meta.FreqWidth = e.DocWidth, e.FreqWidth
	} else if err := w.finishBlocks(); err != nil {
		return Meta{}, err
	}
	m := w.meta
	m.Length = w.postings.offset - m.Offset
	m.FrontierLength = w.frontiers.offset - m.FrontierOffset
	if w.opts.Positions {
		m.PosLength = w.positions.offset - m.PosOffset
	}
	m.Kth = w.kth.result()
	w.lengths = nil
	return m, nil
}

// finishBlocks writes the rest of a list of several blocks, which are all known.
func (w *Writer) finishBlocks() error {
	if w.lists != nil {
		if err := w.writeList(); err != nil {
			return err
		}
	}
	return w.writeDirectories()
}

// writeList writes all DocIDs, then frequencies, and corrects the directory's offsets.
func (w *Writer) writeList() error {
	w.buf = w.lists.AppendList(w.buf[:0], w.listDocIDs)
	start := alignList(uint64(len(w.buf)))
	if start+uint64(len(w.listFreqs)) > math.MaxUint32 {
		return errTooLong
	}
	for i := range w.dir {
		w.dir[i].Offset += uint32(start)
	}
	if err := w.postings.write(w.buf); err != nil {
		return err
	}
	if err := w.postings.align(listAlign); err != nil {
		return err
	}
	return w.postings.write(w.listFreqs)
}

// alignList returns the offset of the frequencies after size bytes of DocIDs of a
// ListCodec.
func alignList(size uint64) uint64 { return (size + listAlign - 1) / listAlign * listAlign }

var errTooLong = fmt.Errorf("posting list of more than 4 GiB: %w", base.ErrBadInput)

func (w *Writer) writeDirectories() error {
	if err := w.postings.align(4); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	for i := range w.dir {
		w.buf = w.dir[i].append(w.buf)
	}
	if err := w.postings.write(w.buf); err != nil || !w.opts.Positions {
		return err
	}
	if err := w.positions.align(4); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	for _, offset := range w.posDir {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, offset)
	}
	return w.positions.write(w.buf)
}

// flushBlock writes the pending postings, at least one, as a block. directory is true if
// the list has other blocks.
func (w *Writer) flushBlock(directory bool) error {
	n := w.pending
	docIDs, freqs := w.docIDs[:n], w.freqs[:n]
	if len(w.dir) == 0 {
		if directory {
			if err := w.postings.align(listAlign); err != nil {
				return err
			}
			if w.opts.Positions {
				if err := w.positions.align(4); err != nil {
					return err
				}
			}
		}
		w.meta.Offset = w.postings.offset
		w.meta.PosOffset = 0
		if w.opts.Positions {
			w.meta.PosOffset = w.positions.offset
		}
		w.meta.FrontierOffset = w.frontiers.offset
	}
	e := BlockEntry{First: docIDs[0], Last: docIDs[n-1]}
	offset := w.postings.offset - w.meta.Offset
	posOffset := w.positions.offset - w.meta.PosOffset
	if offset > math.MaxUint32 || w.opts.Positions && posOffset > math.MaxUint32 {
		return errTooLong
	}
	e.Offset = uint32(offset)

	e.Bound = w.addBounds(docIDs, freqs)
	w.meta.DocFreq += uint32(n)
	w.meta.Max = max(w.meta.Max, e.Bound)
	if int(w.meta.DocFreq) >= Kth[0] { // otherwise this is all of the list, and there is none
		w.kth.add(w.block.lowers[:n])
	}

	if err := w.writeBlock(&e, docIDs, freqs, directory); err != nil {
		return err
	}
	w.block.pairs = w.block.frontier.take(w.block.pairs[:0])
	w.buf = appendFrontier(w.buf[:0], w.block.pairs)
	if err := w.frontiers.write(w.buf); err != nil {
		return err
	}
	if w.opts.Positions {
		w.posDir = append(w.posDir, uint32(posOffset))
		if err := w.positions.write(w.pendingPos); err != nil {
			return err
		}
		w.pendingPos = w.pendingPos[:0]
	}
	w.dir = append(w.dir, e)
	w.last = e.Last
	w.pending = 0
	return nil
}

// addBounds returns the upper bound of a block. It sets the lower ones of its postings and adds to its frontier.
func (w *Writer) addBounds(docIDs, freqs []uint32) (bound score.Bound) {
	b, collFreq := &w.block, uint64(0)
	for i, d := range docIDs { // a loop of its own: reads that miss the cache overlap
		b.lengths[i] = w.lengths[d]
	}
	for i, f := range freqs {
		length := b.lengths[i]
		lower, upper := b.bounds.known(f, length)
		if upper == 0 {
			lower, upper = b.bounds.compute(&w.opts.Saturation, f, length)
		}
		bound = max(bound, upper)
		b.lowers[i] = lower
		b.frontier.add(f, length)
		collFreq += uint64(f)
	}
	w.meta.CollFreq += collFreq
	return bound
}

// writeBlock completes the directory entry and writes the block, unless writeList will.
func (w *Writer) writeBlock(e *BlockEntry, docIDs, freqs []uint32, directory bool) error {
	if w.lists != nil && directory {
		if len(w.listFreqs) > math.MaxUint32 {
			return errTooLong
		}
		e.Offset = uint32(len(w.listFreqs))
		w.listDocIDs = append(w.listDocIDs, docIDs...)
		w.listFreqs, e.FreqWidth = w.opts.Codec.AppendFreqs(w.listFreqs, freqs)
		return nil
	}
	w.buf, e.DocWidth = w.opts.Codec.AppendDocIDs(w.buf[:0], w.last, docIDs)
	w.buf, e.FreqWidth = w.opts.Codec.AppendFreqs(w.buf, freqs)
	return w.postings.write(w.buf)
}
