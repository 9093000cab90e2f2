package lists

import (
	"encoding/binary"
	"fmt"
	"sort"
	"unsafe"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
)

// EntryWords is the length of a directory entry, a postings.BlockEntry, in words.
const EntryWords = 4

// List is a posting list in a paper's code.
type List struct {
	Codec codec.Codec
	// NumPostings is at least 1.
	NumPostings int
	// Payload holds the blocks, or with a codec.ListCodec the whole list, padded with zeros to
	// whole words.
	Payload []uint32
	// Directory has EntryWords words for each block: first and last DocID, the block's byte in
	// Payload, and the width byte of its code. FreqWidth and Bound are 0. With a
	// codec.ListCodec, the last two words are 0.
	Directory []uint32
	// Freqs and FreqDirectory are the frequencies packed with codec.SIMDBP, in the form of
	// scoring.PackedFreqs, with a DocWidth of 0.
	Freqs, FreqDirectory []uint32

	bytes, freqBytes []byte // Payload and Freqs without padding, in the same memory
}

// A Kind keeps the lists of one engine.
type Kind struct{ kind *derived.Kind[List] }

// NewKind returns a Kind, made once as a package variable.
func NewKind(name string) Kind { return Kind{derived.NewKind[List](name)} }

// Get returns the copy of l in code c, and makes it if it is missing. number identifies the code
// within the Kind. The error wraps base.ErrCorrupt if l is damaged.
func (k Kind) Get(kept derived.List, l *postings.List, c codec.Codec, number uint64) (*List, error) {
	return k.kind.Get(kept, number, func() (*List, int64, error) {
		list, err := New(l, c)
		if err != nil {
			return nil, 0, err
		}
		return list, list.SizeBytes(), nil
	})
}

// New codes a list, which must not be empty.
func New(l *postings.List, c codec.Codec) (*List, error) {
	n := int(l.DocFreq)
	if n == 0 {
		return nil, fmt.Errorf("an empty list: %w", base.ErrBadInput)
	}
	list := &List{Codec: c, NumPostings: n}
	var docIDs []uint32
	var payload, packed []byte
	whole, isList := c.(codec.ListCodec)
	var cursor postings.Cursor
	cursor.Reset(l, nil)
	before := codec.NoBase
	for cursor.NextBlock() != base.NoDocID {
		block, freqs := cursor.BlockDocIDs(), cursor.BlockFreqs()
		first, last := block[0], block[len(block)-1]
		if isList {
			docIDs = append(docIDs, block...)
			list.Directory = append(list.Directory, first, last, 0, 0)
		} else {
			at, width := uint32(len(payload)), uint8(0)
			payload, width = c.AppendDocIDs(payload, before, block)
			list.Directory = append(list.Directory, first, last, at, uint32(width)<<16)
		}
		at, width := uint32(len(packed)), uint8(0)
		packed, width = codec.SIMDBP{}.AppendFreqs(packed, freqs)
		list.FreqDirectory = append(list.FreqDirectory, first, last, at, uint32(width)<<24)
		before = last
	}
	if err := cursor.Err(); err != nil {
		return nil, err
	}
	if isList {
		payload = whole.AppendList(nil, docIDs)
	}
	list.Payload, list.bytes = words(payload)
	list.Freqs, list.freqBytes = words(packed)
	return list, nil
}

// words copies bytes to whole words, at least one. bytes are a view of the words: a GPU takes these,
// a decoder takes bytes. On a big-endian processor they are src.
func words(src []byte) (dst []uint32, bytes []byte) {
	dst = make([]uint32, max((len(src)+3)/4, 1))
	if !littleEndian {
		for i := range src {
			dst[i/4] |= uint32(src[i]) << (i % 4 * 8)
		}
		return dst, src
	}
	bytes = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(src))
	copy(bytes, src)
	return dst, bytes
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// SizeBytes is the memory of the list.
func (l *List) SizeBytes() int64 {
	size := 4 * int64(len(l.Payload)+len(l.Directory)+len(l.Freqs)+len(l.FreqDirectory))
	if !littleEndian {
		size += int64(len(l.bytes) + len(l.freqBytes))
	}
	return size
}

// CodeBytes is the size of the coded DocIDs with their directory, as it goes to a GPU.
func (l *List) CodeBytes() int64 { return 4 * int64(len(l.Payload)+len(l.Directory)) }

// Bytes returns the coded DocIDs without padding.
func (l *List) Bytes() []byte { return l.bytes }

// NumBlocks returns the number of blocks.
func (l *List) NumBlocks() int { return len(l.Directory) / EntryWords }

// BlockLen returns the number of postings of block i.
func (l *List) BlockLen(i int) int { return min(codec.BlockLen, l.NumPostings-i*codec.BlockLen) }

// First returns the first DocID of block i, its skip pointer.
func (l *List) First(i int) uint32 { return l.Directory[i*EntryWords] }

// Last returns the last DocID of block i.
func (l *List) Last(i int) uint32 { return l.Directory[i*EntryWords+1] }

// DecodeBlock decodes block i into dst[:n].
func (l *List) DecodeBlock(i int, dst *[codec.BlockLen]uint32) (n int, err error) {
	if whole, ok := l.Codec.(codec.ListCodec); ok {
		return whole.DecodeBlock(dst, l.bytes, l.NumPostings, i)
	}
	before := codec.NoBase
	if i > 0 {
		before = l.Last(i - 1)
	}
	n = l.BlockLen(i)
	entry := l.Directory[i*EntryWords:]
	_, err = l.Codec.DecodeDocIDs(dst, l.bytes[entry[2]:], before, n, uint8(entry[3]>>16))
	return n, err
}

// FindBlock returns the first block at or after from that can contain docID or a greater one,
// NumBlocks if there is none: a binary search over the skip pointers.
func (l *List) FindBlock(from int, docID uint32) int {
	return from + sort.Search(l.NumBlocks()-from, func(i int) bool { return l.Last(from+i) >= docID })
}

// Freq returns the frequency of posting i, without decoding others.
func (l *List) Freq(i int) (uint32, error) {
	block := i / codec.BlockLen
	entry := l.FreqDirectory[block*EntryWords:]
	return codec.SIMDBP{}.FreqAt(l.freqBytes[entry[2]:], i%codec.BlockLen, l.BlockLen(block), uint8(entry[3]>>24))
}
