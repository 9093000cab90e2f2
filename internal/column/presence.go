package column

import (
	"encoding/binary"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	kernels "github.com/griffin-search/griffin/internal/simd/column"
)

// presence maps documents to their rank among the documents with a value, and back.
type presence struct {
	mode    presenceMode
	data    Data
	numDocs int
	numWith uint64
	words   uint64 // offset of the bitmap, then of the ranks
	list    rising
}

type presenceMode uint8

const (
	presentAll    presenceMode = iota // every document has a value
	presentBitmap                     // a bitmap, and the rank of each rankDocs-th document
	presentList                       // the documents, rising
	numPresenceModes
)

const (
	rankDocs = 1024
	// A list takes about log2(docs/numWith) + 3 bits a document with a value, a bitmap
	// docs/numWith.
	listRatio = 8
)

func presenceFor(numWith uint64, numDocs int) presenceMode {
	switch {
	case numWith == uint64(numDocs):
		return presentAll
	case numWith < uint64(numDocs)/listRatio:
		return presentList
	}
	return presentBitmap
}

func numWords(docs uint64) int { return int((docs + 63) / 64) }

// bitmap returns the checked bitmap.
func (p *presence) bitmap() ([]byte, error) {
	size, _ := p.sizes()
	return read(p.data, p.words, size)
}

// sizes are the bytes of the bitmap and of the ranks after it.
func (p *presence) sizes() (words, ranks uint64) {
	return 8 * uint64(numWords(uint64(p.numDocs))), 4 * ((uint64(p.numDocs) + rankDocs - 1) / rankDocs)
}

func word(words []byte, i int) uint64 { return binary.LittleEndian.Uint64(words[8*i:]) }

// lastMask has the bits of the last word's documents.
func lastMask(numDocs int) uint64 {
	if numDocs%64 == 0 {
		return ^uint64(0)
	}
	return 1<<(numDocs%64) - 1
}

// rank returns the rank of a document. x is a reader of the list, nil in other modes.
func (p *presence) rank(doc base.DocID, x *risingReader) (rank uint64, found bool, err error) {
	switch p.mode {
	case presentAll:
		return uint64(doc), true, nil
	case presentList:
		return x.find(uint64(doc))
	}
	at := int(doc / 64)
	first := at / (rankDocs / 64) * (rankDocs / 64)
	b, err := read(p.data, p.words+8*uint64(first), 8*uint64(at-first+1))
	if err != nil {
		return 0, false, err
	}
	w := word(b, at-first)
	bit := uint64(1) << (doc % 64)
	if w&bit == 0 {
		return 0, false, nil
	}
	size, _ := p.sizes()
	r, err := read(p.data, p.words+size+4*uint64(doc/rankDocs), 4)
	if err != nil {
		return 0, false, err
	}
	rank = uint64(binary.LittleEndian.Uint32(r))
	for i := range at - first {
		rank += uint64(bits.OnesCount64(word(b, i)))
	}
	rank += uint64(bits.OnesCount64(w & (bit - 1)))
	if rank >= p.numWith {
		return 0, false, corrupt("document %d: rank %d of %d", doc, rank, p.numWith)
	}
	return rank, true, nil
}

// deposit ORs the documents of the ranks in set into words.
func (p *presence) deposit(set rankBits, words []uint64) error {
	switch p.mode {
	case presentAll:
		for i := range numWords(p.numWith) {
			words[i] |= set[i]
		}
		return nil
	case presentList:
		return p.eachListed(set, func(_, doc uint64) { words[doc/64] |= 1 << (doc % 64) })
	}
	present, err := p.bitmap()
	if err != nil {
		return err
	}
	rank := uint64(0)
	last := len(present)/8 - 1
	for i := range len(present) / 8 {
		w := word(present, i)
		if i == last {
			w &= lastMask(p.numDocs)
		}
		n := uint64(bits.OnesCount64(w))
		if rank+n > p.numWith {
			return corrupt("more than %d documents with a value", p.numWith)
		}
		words[i] |= kernels.Deposit(set.from(rank), w)
		rank += n
	}
	return nil
}

// eachListed calls f for each rank in set (nil: all) with its document.
func (p *presence) eachListed(set rankBits, f func(rank, doc uint64)) error {
	x := newRisingReader(&p.list)
	for block := range p.list.gaps.numBlocks() {
		first := uint64(block) * blockLen
		mask := [2]uint64{^uint64(0), ^uint64(0)}
		if set != nil {
			mask = [2]uint64{set[first/64], set[first/64+1]}
		}
		if mask[0]|mask[1] == 0 {
			continue
		}
		if err := x.load(block); err != nil {
			return err
		}
		for i, doc := range x.values {
			if mask[i/64]>>(i%64)&1 != 0 {
				f(first+uint64(i), doc)
			}
		}
	}
	return nil
}

// exists ORs the documents with a value into words.
func (p *presence) exists(words []uint64) error {
	switch p.mode {
	case presentAll:
		setBits(words, 0, uint64(p.numDocs))
		return nil
	case presentList:
		return p.eachListed(nil, func(_, doc uint64) { words[doc/64] |= 1 << (doc % 64) })
	}
	present, err := p.bitmap()
	if err != nil {
		return err
	}
	last := len(present)/8 - 1
	for i := range last {
		words[i] |= word(present, i)
	}
	words[last] |= word(present, last) & lastMask(p.numDocs)
	return nil
}

// extract returns the ranks of the documents in words, borrowed, and their number.
func (p *presence) extract(words []uint64) (ranks rankBits, n int, err error) {
	ranks = borrow(p.numWith)
	switch p.mode {
	case presentAll:
		copy(ranks, words[:numWords(p.numWith)])
		if i := numWords(p.numWith) - 1; i >= 0 {
			ranks[i] &= lastMask(p.numDocs)
		}
	case presentList:
		err = p.eachListed(nil, func(rank, doc uint64) { ranks[rank/64] |= words[doc/64] >> (doc % 64) & 1 << (rank % 64) })
	case presentBitmap:
		err = p.extractBits(words, ranks)
	}
	if err != nil {
		giveBack(ranks)
		return nil, 0, err
	}
	return ranks, ranks.count(), nil
}

func (p *presence) extractBits(words []uint64, ranks rankBits) error {
	present, err := p.bitmap()
	if err != nil {
		return err
	}
	rank := uint64(0)
	last := len(present)/8 - 1
	for i := range len(present) / 8 {
		w := word(present, i)
		if i == last {
			w &= lastMask(p.numDocs)
		}
		n := uint64(bits.OnesCount64(w))
		if rank+n > p.numWith {
			return corrupt("more than %d documents with a value", p.numWith)
		}
		x := kernels.Extract(words[i], w)
		ranks[rank/64] |= x << (rank % 64)
		if rank%64 != 0 {
			ranks[rank/64+1] |= x >> (64 - rank%64)
		}
		rank += n
	}
	return nil
}

// each calls f for the documents in words (nil: all) that have a value, with their ranks.
func (p *presence) each(words []uint64, f func(doc base.DocID, rank uint64) error) (err error) {
	switch p.mode {
	case presentList:
		err2 := p.eachListed(nil, func(rank, doc uint64) {
			if err == nil && (words == nil || words[doc/64]>>(doc%64)&1 != 0) {
				err = f(base.DocID(doc), rank)
			}
		})
		if err2 != nil {
			return err2
		}
		return err
	case presentAll:
		return p.eachOf(nil, words, f)
	}
	present, err := p.bitmap()
	if err != nil {
		return err
	}
	return p.eachOf(present, words, f)
}

// A nil bitmap is of all documents.
func (p *presence) eachOf(present []byte, words []uint64, f func(doc base.DocID, rank uint64) error) error {
	rank := uint64(0)
	n := numWords(uint64(p.numDocs))
	for i := range n {
		w := ^uint64(0)
		if present != nil {
			w = word(present, i)
		}
		if i == n-1 {
			w &= lastMask(p.numDocs)
		}
		selected := w
		if words != nil {
			selected &= words[i]
		}
		for ; selected != 0; selected &= selected - 1 {
			below := w & (selected&-selected - 1)
			at := rank + uint64(bits.OnesCount64(below))
			if at >= p.numWith {
				return corrupt("more than %d documents with a value", p.numWith)
			}
			if err := f(base.DocID(64*i+bits.TrailingZeros64(selected)), at); err != nil {
				return err
			}
		}
		rank += uint64(bits.OnesCount64(w))
	}
	return nil
}
