package plan

import (
	"math/bits"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/postings"
	kernels "github.com/griffin-search/griffin/internal/simd/column"
)

// output is documents that are added in rising order: a list if there are few at most.
type output struct{ documents }

func (x narrower) output(most int) output {
	if isFew(most, x.m.in.size()) {
		return output{documents{docs: x.m.docList(most)}}
	}
	words := x.m.hold()
	return output{documents{words: words}}
}

func (o *output) add(doc uint32) {
	o.count++
	if o.words == nil {
		o.docs = append(o.docs, doc)
		return
	}
	o.words[doc/64] |= 1 << (doc % 64)
}

func (o *output) addAll(docs []uint32) {
	o.count += len(docs)
	if o.words == nil {
		o.docs = append(o.docs, docs...)
		return
	}
	kernels.Mark(o.words, docs)
}

// inList returns the documents of d with a term.
func (x narrower) inList(d documents, term int) (documents, error) {
	l := x.m.words.list(x.m.segment, term)
	if l.DocFreq == 0 {
		return documents{}, nil
	}
	if err := x.m.stop.Err(); err != nil {
		return documents{}, err
	}
	c := &x.m.cursor
	c.Reset(l, nil)
	out := x.output(min(d.count, int(l.DocFreq)))
	var err error
	if x.isTested(&d, l) {
		err = x.selectFrom(&out, c, d.words)
	} else {
		err = x.lookUp(c, d, out.addAll)
	}
	x.m.countWork(c)
	if err != nil {
		return documents{}, err
	}
	return x.compact(out.documents), x.m.termError(term, c.Err())
}

// isTested reports whether testing the documents of a list costs less than looking d up in it.
func (x narrower) isTested(d *documents, l *postings.List) bool {
	return d.words != nil && x.m.in.share(int(l.DocFreq), x.m.words.numDocs(x.m.segment)) <= d.count*lookUpCost
}

// countCommon counts the documents of d with a term.
func (x narrower) countCommon(d documents, term int) (n int, err error) {
	l := x.m.words.list(x.m.segment, term)
	if d.count == 0 || l.DocFreq == 0 {
		return 0, x.m.stop.Err()
	}
	c := &x.m.cursor
	c.Reset(l, nil)
	if x.isTested(&d, l) {
		blocks := pulse{stop: x.m.stop}
		for docs := x.m.in.next(c); len(docs) > 0 && !blocks.stopped(); docs = x.m.in.next(c) {
			for _, doc := range docs {
				n += int(d.words[doc/64] >> (doc % 64) & 1)
			}
		}
		err = blocks.err
	} else {
		err = x.lookUp(c, d, func(common []uint32) { n += len(common) })
	}
	x.m.countWork(c)
	if err != nil {
		return 0, err
	}
	return n, x.m.termError(term, c.Err())
}

// selectFrom adds the documents of a list that are in words. The error is stop's.
func (x narrower) selectFrom(o *output, c *postings.Cursor, words []uint64) error {
	blocks := pulse{stop: x.m.stop}
	for docs := x.m.in.next(c); len(docs) > 0 && !blocks.stopped(); docs = x.m.in.next(c) {
		if o.words == nil {
			var buf [codec.BlockLen]uint32
			o.docs = append(o.docs, selected(buf[:0], docs, words, false)...)
			o.count = len(o.docs)
			continue
		}
		for _, doc := range docs {
			w := words[doc/64] & (1 << (doc % 64))
			o.words[doc/64] |= w
			o.count += int(w >> (doc % 64))
		}
	}
	return blocks.err
}

// lookUpLen documents are looked up together. They touch at most lookUpLen blocks.
const lookUpLen = pulsePeriod

// lookUp calls f for the documents of d that are in a list, in parts. The error is stop's.
func (x narrower) lookUp(c *postings.Cursor, d documents, f func(common []uint32)) error {
	if x.m.looked == nil {
		x.m.looked = make([]uint32, 2*lookUpLen)
	}
	docs, common := d.docs, x.m.looked[lookUpLen:lookUpLen]
	for at := int(x.m.in.from / 64); ; docs = docs[min(lookUpLen, len(docs)):] {
		if d.words != nil {
			docs, at = nextBits(x.m.looked[:0:lookUpLen], d.words, at)
		}
		part := docs[:min(lookUpLen, len(docs))]
		if len(part) == 0 || c.Err() != nil {
			return nil //nolint:nilerr // the caller reports it
		}
		if err := x.m.stop.Err(); err != nil {
			return err
		}
		common = c.AppendCommon(common[:0], part, &x.m.matched)
		f(common)
	}
}

// nextBits appends the numbers of the next bits, from word at on, until a word's do not fit, and returns the
// word after them.
func nextBits(dst []uint32, words []uint64, at int) ([]uint32, int) {
	for ; at < len(words) && len(dst)+64 <= cap(dst); at++ {
		for w := words[at]; w != 0; w &= w - 1 {
			dst = append(dst, uint32(64*at+bits.TrailingZeros64(w)))
		}
	}
	return dst, at
}
