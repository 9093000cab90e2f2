package postings

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// entrySize is the size of a BlockEntry in the file.
const entrySize = 16

// append appends the entry as it lies in the file.
func (e *BlockEntry) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, e.First)
	dst = binary.LittleEndian.AppendUint32(dst, e.Last)
	dst = binary.LittleEndian.AppendUint32(dst, e.Offset)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(e.Bound))
	return append(dst, e.DocWidth, e.FreqWidth)
}

// sameLayout says that a BlockEntry lies in memory as it does in the file.
var sameLayout = unsafe.Sizeof(BlockEntry{}) == entrySize &&
	binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// viewDirectory returns the n entries at the start of src, which has
// n*entrySize bytes: src itself, seen as entries, where it lies in memory as it
// must, as a mapped file on a little-endian processor does, and otherwise a copy.
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

// view returns the length bytes at offset of file.
func view(what string, file []byte, offset, length uint64) ([]byte, error) {
	if size := uint64(len(file)); offset > size || length > size-offset {
		return nil, fmt.Errorf("%s at %d, %d bytes, of a file of %d: %w", what, offset, length, size, base.ErrCorrupt)
	}
	return file[offset : offset+length : offset+length], nil
}
