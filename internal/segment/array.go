package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

// Little-endian 32-bit numbers in a sealed file.
type array struct {
	file   *sealed.File
	offset uint64
	n      int
}

// at verifies number i. A nil array is the identity.
func (c *array) at(i base.DocID) (uint32, error) {
	if c == nil {
		return uint32(i), nil
	}
	if int64(i) >= int64(c.n) {
		return 0, fmt.Errorf("%s: number %d of %d: %w", c.file.Name(), i, c.n, base.ErrBadInput)
	}
	b, err := c.file.Range(c.offset+4*uint64(i), 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// values requires check.
func (c *array) check() error { return c.file.Check(c.offset, 4*uint64(c.n)) }

// values returns the array, which a check must have covered.
func (c *array) values() []uint32 {
	return asUint32s(c.file.Bytes()[c.offset : c.offset+4*uint64(c.n)])
}

// asUint32s views bytes as numbers. They must be 4-aligned, and the processor
// little-endian.
func asUint32s(b []byte) []uint32 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

func writeUint32s(w io.Writer, values []uint32) error {
	var buf [4096]byte
	for len(values) > 0 {
		n := min(len(values), len(buf)/4)
		for i, v := range values[:n] {
			binary.LittleEndian.PutUint32(buf[4*i:], v)
		}
		if _, err := w.Write(buf[:4*n]); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

func closing(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
