package collection

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// Composed together: their postings are sorted while in the processor's cache.
const chunkDocs = 1 << 15

// chunk has the postings of chunkDocs documents. Term t has the bytes data[ends[t-1]:ends[t]],
// a sequence of
//
//	+----------------+---------------------+-------------------+
//	| u8: gap, multi | u16: gap (escaped)  | u8: freq (multi)  |
//	+----------------+---------------------+-------------------+
//
// gap is the number of documents skipped before this one; 127 means that it follows in two
// bytes. multi means that a frequency other than 1 follows.
type chunk struct {
	data []byte
	ends []uint32
}

const gapEscape = 127

func appendPosting(dst []byte, gap uint32, freq uint8) []byte {
	multi := byte(0)
	if freq > 1 {
		multi = 1
	}
	if gap < gapEscape {
		dst = append(dst, byte(gap)<<1|multi)
	} else {
		dst = append(dst, gapEscape<<1|multi)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(gap))
	}
	if multi != 0 {
		dst = append(dst, freq)
	}
	return dst
}

func readPosting(src []byte) (gap uint32, freq uint8, size int) {
	gap, freq, size = uint32(src[0]>>1), 1, 1
	if gap == gapEscape {
		gap, size = uint32(binary.LittleEndian.Uint16(src[1:])), 3
	}
	if src[0]&1 != 0 {
		freq = src[size]
		size++
	}
	return gap, freq, size
}

func (c *chunk) run(term int) []byte {
	from := uint32(0)
	if term > 0 {
		from = c.ends[term-1]
	}
	return c.data[from:c.ends[term]]
}

// Not safe for concurrent use.
type maker interface {
	// compose creates document g from source document start on, valid until the next call and
	// independent of earlier ones.
	compose(g, start uint32) *document
}

type document struct {
	terms  []uint32 // each once, unordered
	freqs  []uint8  // at least 1
	length uint32   // in tokens
}

// Not safe for concurrent use.
type chunker struct {
	maker
	docFreqs []uint32 // of all its chunks, by term

	entries []uint64 // term << 32 | document in the chunk << 8 | frequency
	sorted  []uint32 // without the term
	starts  []uint32 // by term
	packed  []byte
}

func (c *chunker) chunk(p *plan, first int, lengths []uint32) chunk {
	c.entries = c.entries[:0]
	clear(c.starts)
	n := min(chunkDocs, p.numDocs()-first)
	for i := range n {
		g := p.at(first + i)
		d := c.compose(g, p.starts[g])
		lengths[first+i] = d.length
		for j, t := range d.terms {
			c.entries = append(c.entries, uint64(t)<<32|uint64(i)<<8|uint64(d.freqs[j]))
			c.starts[t+1]++
		}
	}
	for t := range c.docFreqs {
		c.docFreqs[t] += c.starts[t+1]
		c.starts[t+1] += c.starts[t]
	}
	if cap(c.sorted) < len(c.entries) {
		c.sorted = make([]uint32, len(c.entries)+len(c.entries)/8)
	}
	c.sorted = c.sorted[:len(c.entries)]
	for _, e := range c.entries {
		t := e >> 32
		c.sorted[c.starts[t]] = uint32(e)
		c.starts[t]++ // ends at the start of the next term
	}
	return c.pack()
}

// pack encodes chunk's sorted postings; starts[t] is the end of term t.
func (c *chunker) pack() chunk {
	out := chunk{ends: make([]uint32, len(c.docFreqs))}
	c.packed = c.packed[:0]
	from := uint32(0)
	for t := range c.docFreqs {
		next := uint32(0)
		for _, e := range c.sorted[from:c.starts[t]] {
			doc := e >> 8
			c.packed = appendPosting(c.packed, doc-next, uint8(e))
			next = doc + 1
		}
		from = c.starts[t]
		out.ends[t] = uint32(len(c.packed))
	}
	out.data = bytes.Clone(c.packed)
	return out
}

// Chunks, and the lengths of documents and lists. Each goroutine has its own maker.
func composeAll(ctx context.Context, o *Options, v *vocabulary, p *plan, newMaker func() maker, progress func(done, total int64)) (*source, error) {
	n, numTerms := p.numDocs(), len(v.terms)
	s := &source{
		prefix: o.Like.Name, terms: v.terms, lengths: make([]uint32, n),
		chunks: make([]chunk, (n+chunkDocs-1)/chunkDocs), docFreqs: make([]uint32, numTerms),
	}
	var next, done atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range o.Threads {
		wg.Go(func() {
			c := &chunker{maker: newMaker(), docFreqs: make([]uint32, numTerms), starts: make([]uint32, numTerms+1)}
			for i := int(next.Add(1)) - 1; i < len(s.chunks) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				s.chunks[i] = c.chunk(p, i*chunkDocs, s.lengths)
				mu.Lock()
				progress(done.Add(1)*chunkDocs, int64(len(s.chunks))*chunkDocs)
				mu.Unlock()
			}
			mu.Lock()
			defer mu.Unlock()
			for t, df := range c.docFreqs {
				s.docFreqs[t] += df
			}
		})
	}
	wg.Wait()
	return s, ctx.Err()
}
