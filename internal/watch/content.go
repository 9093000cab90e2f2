package watch

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/internal/corpus"
)

// contentHash covers all that the index stores of a document, but for its id.
func contentHash(d *corpus.Document) uint64 {
	h := xxh3.New()
	var number [8]byte
	length := func(n int) {
		binary.LittleEndian.PutUint64(number[:], uint64(n))
		_, _ = h.Write(number[:])
	}
	text := func(s string) {
		length(len(s))
		_, _ = h.WriteString(s)
	}
	text(d.Title)
	text(d.Text)
	length(len(d.Extra))
	for _, f := range d.Extra {
		text(f.Name)
		text(f.Value)
	}
	length(len(d.Vector))
	for _, w := range d.Vector {
		text(w.Term)
		binary.LittleEndian.PutUint64(number[:], math.Float64bits(w.Weight))
		_, _ = h.Write(number[:])
	}
	return h.Sum64()
}
