package column

import (
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	kernels "github.com/griffin-search/griffin/internal/simd/column"
)

// Scan calls f with the values of the documents in words (nil: all), in document order, a few
// hundred at a time: values[i] is of docs[i], and a document with several values repeats. The
// slices are valid during the call. An error of f ends the scan, which returns it.
func (c *Column) Scan(words []uint64, f func(docs []base.DocID, values []int64) error) error {
	if words != nil {
		if err := c.checkWords(words); err != nil {
			return c.fail(err)
		}
	}
	if c.direct() {
		return c.scanDirect(words, f)
	}
	s := &scanner{f: f, values: newReader(&c.values)}
	if c.multi {
		s.ends = newRisingReader(&c.ends)
	}
	err := c.presence.each(words, s.add)
	if err == nil {
		err = s.flush()
	}
	if s.failed != nil {
		return s.failed
	}
	return c.fail(err)
}

func (c *Column) scanDirect(words []uint64, f func(docs []base.DocID, values []int64) error) error {
	g := group{index: -1}
	var decoded, values [blockLen]int64
	var docs [blockLen]base.DocID
	last := numWords(uint64(c.numDocs)) - 1
	for block := range c.values.numBlocks() {
		if words != nil && words[2*block] == 0 && (2*block == last || words[2*block+1] == 0) {
			continue
		}
		if err := c.values.loadAt(&g, block/groupBlocks); err != nil {
			return c.fail(err)
		}
		n, err := g.block(block%groupBlocks, &decoded)
		if err != nil {
			return c.fail(err)
		}
		first := base.DocID(block) * blockLen
		if words == nil || n == blockLen && words[2*block]&words[2*block+1] == ^uint64(0) {
			for i := range docs {
				docs[i] = first + base.DocID(i)
			}
			if err := f(docs[:n], decoded[:n]); err != nil {
				return err
			}
			continue
		}
		k := 0
		for half := 0; 64*half < n; half++ {
			w := words[2*block+half]
			if rest := n - 64*half; rest < 64 {
				w &= 1<<rest - 1
			}
			for ; w != 0; w &= w - 1 {
				i := 64*half + bits.TrailingZeros64(w)
				docs[k], values[k] = first+base.DocID(i), decoded[i]
				k++
			}
		}
		if k == 0 {
			continue
		}
		if err := f(docs[:k], values[:k]); err != nil {
			return err
		}
	}
	return nil
}

// scanner collects values by rank for the function of Scan.
type scanner struct {
	f      func(docs []base.DocID, values []int64) error
	values *reader
	ends   *risingReader // nil: one value a document
	docs   []base.DocID
	out    []int64
	failed error // of f
}

const scanLen = 256

func (s *scanner) add(doc base.DocID, rank uint64) error {
	from, to := rank, rank+1
	if s.ends != nil {
		var err error
		if from, to, err = s.ends.span(rank); err != nil {
			return err
		}
	}
	for i := from; i < to; i++ {
		v, err := s.values.at(i)
		if err != nil {
			return err
		}
		s.docs, s.out = append(s.docs, doc), append(s.out, v)
		if len(s.docs) == scanLen {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scanner) flush() error {
	if len(s.docs) == 0 {
		return nil
	}
	s.failed = s.f(s.docs, s.out)
	s.docs, s.out = s.docs[:0], s.out[:0]
	return s.failed
}

// span returns the positions [from, to) of a rank's values.
func (x *risingReader) span(rank uint64) (from, to uint64, err error) {
	if err := x.load(int(rank / blockLen)); err != nil {
		return 0, 0, err
	}
	i := rank % blockLen
	from = x.first
	if i > 0 {
		from = x.values[i-1] + 1
	}
	return from, x.values[i] + 1, nil
}

// CountOrdinals adds 1 to counts[ord] for each ordinal of each document in words (nil: all), and
// returns the number of documents without one. counts has NumTerms elements or more.
func (c *Column) CountOrdinals(words []uint64, counts []uint32) (missing int, err error) {
	if c.kind != Ordinals {
		return 0, c.fail(fmt.Errorf("ordinals of a column of %v: %w", c.kind, base.ErrBadInput))
	}
	if len(counts) < c.NumTerms() {
		return 0, c.fail(fmt.Errorf("%d counts of %d terms: %w", len(counts), c.NumTerms(), base.ErrBadInput))
	}
	counts = counts[:c.NumTerms()]
	if words == nil {
		return c.numDocs - c.NumWith(), c.fail(c.values.count(nil, counts))
	}
	if err := c.checkWords(words); err != nil {
		return 0, c.fail(err)
	}
	if c.direct() {
		return 0, c.fail(c.values.count(words, counts))
	}
	set, with, err := c.presence.extract(words)
	if err != nil {
		return 0, c.fail(err)
	}
	last := numWords(uint64(c.numDocs)) - 1
	missing = kernels.Ones(words[:last]) + bits.OnesCount64(words[last]&lastMask(c.numDocs)) - with
	defer func() { giveBack(set) }()
	if c.multi {
		values, err := c.valuesOf(set)
		if err != nil {
			return 0, c.fail(err)
		}
		giveBack(set)
		set = values
	}
	return missing, c.fail(c.values.count(set, counts))
}
