package postings

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

const entrySize = 16

func (e *BlockEntry) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, e.First)
	dst = binary.LittleEndian.AppendUint32(dst, e.Last)
	dst = binary.LittleEndian.AppendUint32(dst, e.Offset)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(e.Bound))
	return append(dst, e.DocWidth, e.FreqWidth)
}

// BlockEntry has the same layout in memory and file.
var sameLayout = unsafe.Sizeof(BlockEntry{}) == entrySize &&
	binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// viewDirectory returns src's n entries: a view if alignment and byte order allow, as in
// files mapped on little-endian processors, otherwise a copy.
func viewDirectory(src []byte, n int) []BlockEntry {
	if len(src) < n*entrySize || n == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(src))
	if sameLayout && uintptr(p)%unsafe.Alignof(BlockEntry{}) == 0 {
		return unsafe.Slice((*BlockEntry)(p), n)
	}
	dir := make([]BlockEntry, n)
	for i := range dir {
		s := src[i*entrySize:]
		dir[i] = BlockEntry{
			First:     binary.LittleEndian.Uint32(s),
			Last:      binary.LittleEndian.Uint32(s[4:]),
			Offset:    binary.LittleEndian.Uint32(s[8:]),
			Bound:     score.Bound(binary.LittleEndian.Uint16(s[12:])),
			DocWidth:  s[14],
			FreqWidth: s[15],
		}
	}
	return dir
}

// prefetchFirst begins to load the first entries, at least one, of a directory.
func prefetchFirst(dir []BlockEntry) {
	first := (*[entrySize]byte)(unsafe.Pointer(&dir[0])) //nolint:gosec // the entry has that size
	scoring.Prefetch(first[:])
}

// view returns the length bytes at offset of file. If they are not inside, the error
// names what and wraps base.ErrCorrupt.
func view(what string, file []byte, offset, length uint64) ([]byte, error) {
	if size := uint64(len(file)); offset > size || length > size-offset {
		return nil, fmt.Errorf("%s at %d, %d bytes, of a file of %d: %w", what, offset, length, size, base.ErrCorrupt)
	}
	return file[offset : offset+length : offset+length], nil
}
