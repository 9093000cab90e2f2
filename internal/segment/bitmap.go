package segment

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
)

// Bitmap is a set of documents of one segment or source; nil is empty. Reading is safe for
// concurrent use.
type Bitmap struct {
	words []uint64 // bit i%64 of words[i/64] is document i; bits from n on are 0
	n     int
	count int
}

// NewBitmap returns an empty set over [0, n).
func NewBitmap(n int) *Bitmap {
	return &Bitmap{words: make([]uint64, (n+63)/64), n: n}
}

// Len is the domain's size.
func (b *Bitmap) Len() int {
	if b == nil {
		return 0
	}
	return b.n
}

// Set adds document i in [0, Len) and reports whether it was new.
func (b *Bitmap) Set(i int) bool {
	w, bit := &b.words[i/64], uint64(1)<<(i%64)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	b.count++
	return true
}

// Has reports whether document i >= 0 is in the set.
func (b *Bitmap) Has(i int) bool {
	return b != nil && i < b.n && b.words[i/64]&(1<<(i%64)) != 0
}

// Count is the number of documents.
func (b *Bitmap) Count() int {
	if b == nil {
		return 0
	}
	return b.count
}

// Words returns the words, not to be changed: document i is bit i%64 of word i/64.
func (b *Bitmap) Words() []uint64 {
	if b == nil {
		return nil
	}
	return b.words
}

// Clone returns a copy; nil for nil.
func (b *Bitmap) Clone() *Bitmap {
	if b == nil {
		return nil
	}
	return &Bitmap{words: append([]uint64(nil), b.words...), n: b.n, count: b.count}
}

// AppendTo appends the domain's size as u64, then the words, little endian.
//
//	0     8         8+8*ceil(n/64)
//	+-----+---------+
//	| n   | words   |
//	+-----+---------+
func (b *Bitmap) AppendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(b.Len()))
	for _, w := range b.Words() {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// DecodeBitmap decodes all of src. The error wraps base.ErrCorrupt.
func DecodeBitmap(src []byte) (*Bitmap, error) {
	if len(src) < 8 {
		return nil, fmt.Errorf("bitmap of %d bytes: %w", len(src), base.ErrCorrupt)
	}
	n := binary.LittleEndian.Uint64(src)
	src = src[8:]
	if n > base.MaxDocs || uint64(len(src)) != (n+63)/64*8 {
		return nil, fmt.Errorf("bitmap over %d documents in %d bytes: %w", n, len(src), base.ErrCorrupt)
	}
	b := NewBitmap(int(n))
	for i := range b.words {
		b.words[i] = binary.LittleEndian.Uint64(src[8*i:])
		b.count += bits.OnesCount64(b.words[i])
	}
	if n%64 != 0 && b.words[n/64]>>(n%64) != 0 {
		return nil, fmt.Errorf("bitmap has bits past its %d documents: %w", n, base.ErrCorrupt)
	}
	return b, nil
}

// Complement returns the documents that are not in the set.
func (b *Bitmap) Complement() *Bitmap {
	c := &Bitmap{words: make([]uint64, len(b.words)), n: b.n, count: b.n - b.count}
	for i, w := range b.words {
		c.words[i] = ^w
	}
	if b.n%64 != 0 {
		c.words[len(c.words)-1] &= 1<<(b.n%64) - 1
	}
	return c
}

// Members returns the documents in rising order.
func (b *Bitmap) Members() []base.DocID {
	docs := make([]base.DocID, 0, b.Count())
	for i, w := range b.Words() {
		for ; w != 0; w &= w - 1 {
			docs = append(docs, base.DocID(64*i+bits.TrailingZeros64(w)))
		}
	}
	return docs
}

// Minus returns the documents of b that are not in a, a set over the same documents.
func (b *Bitmap) Minus(a *Bitmap) *Bitmap {
	c := &Bitmap{words: make([]uint64, len(b.words)), n: b.n}
	for i, w := range b.words {
		c.words[i] = w &^ a.words[i]
		c.count += bits.OnesCount64(c.words[i])
	}
	return c
}
