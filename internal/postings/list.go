package postings

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// BlockEntry is a block's directory entry. In memory and file: 16 bytes, little endian, 4-byte
// aligned.
//
//	 0        4        8        12     14  15  16
//	+--------+--------+--------+------+---+---+
//	| First  | Last   | Offset | Bound| D | F |
//	+--------+--------+--------+------+---+---+
type BlockEntry struct {
	First, Last uint32      // first and last DocID of the block
	Offset      uint32      // byte offset in the payload of the block, or of its frequencies with a ListCodec
	Bound       score.Bound // BlockMaxScore without idf, rounded up
	DocWidth    uint8       // codec's width byte of the DocIDs; 0 with a ListCodec
	FreqWidth   uint8       // codec's width byte of the frequencies
}

// Kth are the k of stored k-th best saturations, the initial thresholds.
var Kth = [3]int{10, 100, 1000}

// Meta is the dictionary's record of a list; zero is an empty list.
type Meta struct {
	DocFreq  uint32
	CollFreq uint64
	// Offset and Length locate the list in the postings file: the payload (package comment)
	// and, if DocFreq > codec.BlockLen, the directory of NumBlocks entries, 4-byte aligned.
	Offset, Length uint64
	// The only block's directory entry if DocFreq <= codec.BlockLen; otherwise 0.
	First, Last         uint32
	DocWidth, FreqWidth uint8
	// Max bounds the list; Kth[i] is the Kth[i]-th best saturation, rounded down, or 0 if
	// DocFreq is less.
	Max score.Bound
	Kth [len(Kth)]score.Bound
	// Positions (0,0 if the index has none) and frontiers in their files.
	PosOffset, PosLength           uint64
	FrontierOffset, FrontierLength uint64
}

// List is a view of a posting list in mapped files, a plain value, safe for concurrent reads.
type List struct {
	Meta
	Codec codec.Codec
	// Codec if it encoded all DocIDs together, otherwise nil.
	lists codec.ListCodec
	// nil for a list of one block, which uses single, so that a List may be copied.
	dir     []BlockEntry
	single  [1]BlockEntry
	last    uint32 // last DocID according to the directory
	payload []byte
	// Empty if absent. positions ends with its directory.
	positions, frontiers []byte
}

// ID identifies a non-empty list in its segment: the offset of its frontiers, never empty or
// shared.
func (l *List) ID() base.ListID { return base.ListID(l.FrontierOffset) }

// Open makes l a view of the list of m; positions and frontiers may be nil. It checks that the
// list lies within the files, whose checksums the caller must have verified; decoding checks
// the directory. It allocates only if the postings file is not 4-byte aligned in memory or the
// processor is big endian.
func (l *List) Open(m Meta, c codec.Codec, postings, positions, frontiers []byte) error {
	*l = List{Meta: m, Codec: c}
	if m.DocFreq == 0 {
		return nil
	}
	bytes, err := view("postings", postings, m.Offset, m.Length)
	if err != nil {
		return err
	}
	if positions != nil {
		if l.positions, err = view("positions", positions, m.PosOffset, m.PosLength); err != nil {
			return err
		}
	}
	if frontiers != nil {
		if l.frontiers, err = view("frontiers", frontiers, m.FrontierOffset, m.FrontierLength); err != nil {
			return err
		}
	}
	n := m.NumBlocks()
	if n == 1 {
		l.payload, l.last = bytes, m.Last
		l.single[0] = BlockEntry{First: m.First, Last: m.Last, Bound: m.Max, DocWidth: m.DocWidth, FreqWidth: m.FreqWidth}
		return nil
	}
	size := n * entrySize
	if len(bytes) < size {
		return fmt.Errorf("list of %d bytes with a directory of %d: %w", len(bytes), size, base.ErrCorrupt)
	}
	l.payload = bytes[: len(bytes)-size : len(bytes)-size]
	l.dir = viewDirectory(bytes[len(bytes)-size:], n)
	l.last = l.dir[n-1].Last
	l.lists, _ = c.(codec.ListCodec)
	if len(l.positions) > 0 && len(l.positions) < 4*n {
		return fmt.Errorf("positions of %d bytes with a directory of %d: %w", len(l.positions), 4*n, base.ErrCorrupt)
	}
	return nil
}

// Block returns block i's directory entry, i in [0, NumBlocks), not to be changed.
func (l *List) Block(i int) *BlockEntry { return &l.directory()[i] }

func (l *List) directory() []BlockEntry {
	if l.dir == nil {
		return l.single[:min(1, l.DocFreq)]
	}
	return l.dir
}

// BlockSize returns block i's number of postings.
func (l *List) BlockSize(i int) int {
	return min(codec.BlockLen, int(l.DocFreq)-i*codec.BlockLen)
}

// Prefetch begins to load the beginning of a list and of its directory.
func (l *List) Prefetch() {
	const begin = 192
	if len(l.payload) > 0 {
		scoring.Prefetch(l.payload[:min(begin, len(l.payload))])
	}
	if len(l.dir) > 0 {
		prefetchFirst(l.dir)
	}
}

// HasPositions reports whether the list was opened with positions.
func (l *List) HasPositions() bool { return len(l.positions) > 0 }

// LastDocID returns a non-empty list's last DocID.
func (l *List) LastDocID() base.DocID { return base.DocID(l.last) }

// blockBytes returns the bytes of block i, followed by later blocks.
func (l *List) blockBytes(i int) ([]byte, error) {
	offset := uint64(l.Block(i).Offset)
	if offset > uint64(len(l.payload)) {
		return nil, fmt.Errorf("block %d at %d of %d bytes: %w", i, offset, len(l.payload), base.ErrCorrupt)
	}
	return l.payload[offset:], nil
}

// DecodeDocIDs decodes block i's DocIDs. size is the bytes before the frequencies, for
// DecodeFreqs and FreqAt; 0 with a ListCodec. The DocIDs are strictly rising, follow block i-1,
// and match the directory.
func (l *List) DecodeDocIDs(i int, dst *[codec.BlockLen]uint32) (size int, err error) {
	e, prev := l.Block(i), codec.NoBase
	if i > 0 {
		prev = l.dir[i-1].Last
	}
	n := l.BlockSize(i)
	if l.lists != nil {
		err = l.decodeOfList(i, dst, prev)
	} else {
		src, bytesErr := l.blockBytes(i)
		if bytesErr != nil {
			return 0, bytesErr
		}
		size, err = l.Codec.DecodeDocIDs(dst, src, prev, n, e.DocWidth)
	}
	if err != nil {
		return 0, fmt.Errorf("block %d: %w", i, err)
	}
	if dst[0] != e.First || dst[n-1] != e.Last {
		return 0, fmt.Errorf("block %d: decoded DocIDs %d to %d, but the directory of blocks has %d to %d: %w",
			i, dst[0], dst[n-1], e.First, e.Last, base.ErrCorrupt)
	}
	return size, nil
}

// decodeOfList decodes block i's DocIDs with a ListCodec. prev is the previous block's
// last DocID, above which they must be.
func (l *List) decodeOfList(i int, dst *[codec.BlockLen]uint32, prev uint32) error {
	n, err := l.lists.DecodeBlock(dst, l.payload, int(l.DocFreq), i)
	if err != nil {
		return err
	}
	if n != l.BlockSize(i) || dst[0] < prev+1 { // with NoBase, prev+1 wraps to 0
		return fmt.Errorf("%d DocIDs from %d on, after %d: %w", n, dst[0], prev, base.ErrCorrupt)
	}
	return nil
}

// A local array in DocIDAt would escape to the heap.
var scratch = sync.Pool{New: func() any { return new([codec.BlockLen]uint32) }}

// DocIDAt returns DocID i, in [0, DocFreq); another i is base.ErrBadInput. Only a
// codec.ListCodec decodes it without its block.
func (l *List) DocIDAt(i int) (uint32, error) {
	if uint(i) >= uint(l.DocFreq) {
		return 0, fmt.Errorf("DocID %d of %d: %w", i, l.DocFreq, base.ErrBadInput)
	}
	block := i / codec.BlockLen
	if l.lists == nil {
		dst := scratch.Get().(*[codec.BlockLen]uint32)
		_, err := l.DecodeDocIDs(block, dst)
		d := dst[i%codec.BlockLen]
		scratch.Put(dst)
		if err != nil {
			return 0, err
		}
		return d, nil
	}
	d, err := l.lists.DocIDAt(l.payload, int(l.DocFreq), i)
	if err != nil {
		return 0, fmt.Errorf("block %d: %w", block, err)
	}
	if e := &l.dir[block]; d < e.First || d > e.Last {
		return 0, fmt.Errorf("block %d: DocID %d outside %d to %d: %w", block, d, e.First, e.Last, base.ErrCorrupt)
	}
	return d, nil
}

// DecodeFreqs decodes block i's frequencies to dst; docSize is from DecodeDocIDs.
func (l *List) DecodeFreqs(i, docSize int, dst *[codec.BlockLen]uint32) error {
	src, err := l.blockBytes(i)
	if err != nil {
		return err
	}
	if docSize > len(src) {
		return fmt.Errorf("block %d: no frequencies: %w", i, base.ErrCorrupt)
	}
	if err := l.Codec.DecodeFreqs(dst, src[docSize:], l.BlockSize(i), l.Block(i).FreqWidth); err != nil {
		return fmt.Errorf("block %d: %w", i, err)
	}
	return nil
}

// DecodeBlock decodes the DocIDs and frequencies of block i and returns their number. All DocIDs are at most
// LastDocID.
func (l *List) DecodeBlock(i int, docIDs, freqs *[codec.BlockLen]uint32) (n int, err error) {
	size, err := l.DecodeDocIDs(i, docIDs)
	if err != nil {
		return 0, err
	}
	if l.Block(i).Last > l.last {
		return 0, errBeyondLast(i)
	}
	return l.BlockSize(i), l.DecodeFreqs(i, size, freqs)
}

// FreqAt decodes only posting j's frequency of block i.
func (l *List) FreqAt(i, docSize, j int) (uint32, error) {
	src, err := l.blockBytes(i)
	if err != nil {
		return 0, err
	}
	if docSize > len(src) {
		return 0, fmt.Errorf("block %d: no frequencies: %w", i, base.ErrCorrupt)
	}
	f, err := l.Codec.FreqAt(src[docSize:], j, l.BlockSize(i), l.Block(i).FreqWidth)
	if err != nil {
		return 0, fmt.Errorf("block %d: %w", i, err)
	}
	return f, nil
}

// PositionBytes returns block i's positions, as given to Writer.AddBlock. Padding may follow
// the last block's.
func (l *List) PositionBytes(i int) ([]byte, error) {
	n := l.NumBlocks()
	if n == 1 {
		return l.positions, nil
	}
	if len(l.positions) < 4*n {
		return nil, fmt.Errorf("block %d: no positions: %w", i, base.ErrCorrupt)
	}
	payload, dir := l.positions[:len(l.positions)-4*n], l.positions[len(l.positions)-4*n:]
	from, to := uint64(binary.LittleEndian.Uint32(dir[4*i:])), uint64(len(payload))
	if i+1 < n {
		to = uint64(binary.LittleEndian.Uint32(dir[4*i+4:]))
	}
	if from > to || to > uint64(len(payload)) {
		return nil, fmt.Errorf("block %d: positions at %d to %d of %d: %w", i, from, to, len(payload), base.ErrCorrupt)
	}
	return payload[from:to], nil
}
