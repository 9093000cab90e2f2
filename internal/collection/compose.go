package collection

import "math"

// The same for all collections.
const (
	// The standard deviation of the logarithm of the number of source documents.
	spanSpread = 0.6
	// The most source documents.
	maxSpan = 48
	// The share of source documents after the first that are drawn from the whole source.
	foreign = 0.05
	// The share of postings whose frequency changes by one.
	altered = 0.25
)

// Quantiles of the number of source documents.
type spans [256]uint8

// newSpans returns a log-normal distribution over integers of at least 1 with the mean (1 to
// 16).
func newSpans(mean float64) *spans {
	var s spans
	fill := func(scale float64) (got float64) {
		for i := range s {
			z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/float64(len(s))-1)
			n := math.Round(scale * math.Exp(spanSpread*z))
			s[i] = uint8(min(maxSpan, max(1, n)))
			got += float64(s[i])
		}
		return got / float64(len(s))
	}
	low, high := 0.01, 32.0
	for range 40 {
		if middle := (low + high) / 2; fill(middle) < mean {
			low = middle
		} else {
			high = middle
		}
	}
	fill(high)
	return &s
}

// quantile draws an index in spans for a document that starts at start, moved by its chapter's
// shift and reflected at 0 and 255, so that over all chapters indexes remain about equally
// likely.
func quantile(rng *stream, shifts []int16, start int) int {
	q := int(rng.next()>>56) + int(shifts[start/chapterDocs])
	if q < 0 {
		q = -1 - q
	}
	if q > 255 {
		q = 511 - q
	}
	return q & 255
}

// Not safe for concurrent use.
type composer struct {
	f     *forward
	seed  uint64
	spans *spans
	shift []int16 // of quantiles, by chapter
	// A posting is kept if 32 random bits are below keep (by term; a fraction of 2^32) times
	// dense (by chapter; a fraction of 2^31).
	keep, dense []uint64

	document // the last one

	seen  []uint32 // by term: number of the document + 1
	where []uint32 // by term: index in terms
	count uint32
}

// A nil keep keeps all postings.
func newComposer(f *forward, p *plan, seed uint64, s *spans, keep []float64) *composer {
	c := &composer{
		f: f, seed: seed, spans: s, shift: p.shifts,
		keep: make([]uint64, f.numTerms), dense: make([]uint64, len(p.dense)),
		seen: make([]uint32, f.numTerms), where: make([]uint32, f.numTerms),
	}
	for t := range c.keep {
		c.keep[t] = threshold(1)
		if keep != nil {
			c.keep[t] = threshold(keep[t])
		}
	}
	for chapter, d := range p.dense {
		c.dense[chapter] = threshold(d) / 2
	}
	return c
}

// For the low 32 bits of a random number.
var (
	foreignBelow = threshold(foreign)
	alteredBelow = threshold(altered)
)

var _ maker = (*composer)(nil)

func (c *composer) compose(g, start uint32) *document {
	rng := newStream(c.seed, streamDocument, uint64(g))
	c.gather(&rng, int(start))
	dense := c.dense[start/chapterDocs]
	kept, tokens := 0, uint32(0)
	for i, t := range c.terms {
		r := rng.next()
		if r&math.MaxUint32 >= c.keep[t]*dense>>31 {
			continue
		}
		freq := c.freqs[i]
		if r >>= 32; r < alteredBelow {
			if r&1 == 0 && freq < 255 {
				freq++
			} else if freq > 1 {
				freq--
			}
		}
		c.terms[kept], c.freqs[kept] = t, freq
		kept++
		tokens += uint32(freq)
	}
	c.terms, c.freqs = c.terms[:kept], c.freqs[:kept]
	c.length = max(c.length, tokens)
	return &c.document
}

func (c *composer) gather(rng *stream, start int) {
	c.terms, c.freqs, c.length = c.terms[:0], c.freqs[:0], 0
	if c.count++; c.count == 0 { // overflow
		clear(c.seen)
		c.count = 1
	}
	n := int(c.spans[quantile(rng, c.shift, start)])
	for j := range n {
		d := start + j
		if j > 0 && rng.next()&math.MaxUint32 < foreignBelow {
			d = rng.below(c.f.numDocs())
		}
		if d >= c.f.numDocs() { // wrap around; a source can be shorter than a document
			d %= c.f.numDocs()
		}
		c.length += c.f.lengths[d]
		from, to := c.f.starts[d], c.f.starts[d+1]
		freqs := c.f.freqs[from:to]
		for i, t := range c.f.terms[from:to] {
			if c.seen[t] == c.count {
				at := c.where[t]
				c.freqs[at] = uint8(min(255, uint32(c.freqs[at])+uint32(freqs[i])))
				continue
			}
			c.seen[t] = c.count
			c.where[t] = uint32(len(c.terms))
			c.terms = append(c.terms, t)
			c.freqs = append(c.freqs, freqs[i])
		}
	}
}
