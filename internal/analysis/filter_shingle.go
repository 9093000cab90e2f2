package analysis

// shingleFilter joins neighbours, as Lucene's ShingleFilter: "white whale" becomes "white", "white whale" and "whale". A gap between words, as
// of a stop word, counts as the filler. We differ: there is no gap behind the last word.
//
// All shingles that begin with a word are at its position and have the length 1, because OpenSearch does not make graphs of
// shingles.
type shingleFilter struct {
	least, most      int
	unigrams, ifNone bool
	separator        string
	filler           string

	cells []shingleCell
}

type shingleCell struct {
	word
	filler bool
}

var _ rewriter = (*shingleFilter)(nil)

const (
	// maxShingleDiff is OpenSearch's index.max_shingle_diff.
	maxShingleDiff = 3
	maxShingleSize = 64
)

func newShingles(p *parameters) filterMaker {
	f := shingleFilter{
		least: p.number("min_shingle_size", 2, 2, maxShingleSize), most: p.number("max_shingle_size", 2, 2, maxShingleSize),
		unigrams: p.boolean("output_unigrams", true), ifNone: p.boolean("output_unigrams_if_no_shingles", false),
		separator: p.text("token_separator", " "), filler: p.text("filler_token", "_"),
	}
	diff := f.most - f.least
	if f.unigrams {
		diff++
	}
	switch {
	case f.most < f.least:
		p.fail("parameter [max_shingle_size] is %d, less than [min_shingle_size], %d", f.most, f.least)
	case diff > maxShingleDiff:
		p.fail("the difference of [max_shingle_size] and [min_shingle_size], and 1 if [output_unigrams] is set, is %d, more than %d", diff, maxShingleDiff)
	case len(f.separator) > maxShingleSize || len(f.filler) > maxShingleSize:
		p.fail("[token_separator] or [filler_token] has more than %d bytes", maxShingleSize)
	}
	return fresh(func() filter { made := f; return &made })
}

func (f *shingleFilter) rewrite(dst, words []word, m *memory) []word {
	f.cells = f.cells[:0]
	next := 0
	for _, w := range words {
		for range min(w.position-next, f.most-1) {
			f.cells = append(f.cells, shingleCell{word{start: w.start, end: w.start}, true})
		}
		f.cells = append(f.cells, shingleCell{w, false})
		next = w.position + 1
	}
	alone := f.unigrams || f.ifNone && len(f.cells) < f.least
	position := 0
	for i := range f.cells {
		before := len(dst)
		if w := f.cells[i].word; alone && !f.cells[i].filler {
			w.position, w.length, w.step = position, 1, 0
			dst = append(dst, w)
		}
		dst = f.from(dst, i, position, m)
		if len(dst) > before {
			position++
		}
	}
	return dst
}

// from appends the shingles that begin with a cell.
func (f *shingleFilter) from(dst []word, first, position int, m *memory) []word {
	for size := f.least; size <= f.most && first+size <= len(f.cells); size++ {
		cells := f.cells[first : first+size]
		from, words := len(m.buffer), 0
		for i := range cells {
			if i > 0 {
				m.buffer = append(m.buffer, f.separator...)
			}
			if cells[i].filler {
				m.buffer = append(m.buffer, f.filler...)
				continue
			}
			m.buffer = append(m.buffer, cells[i].term...)
			words++
		}
		if words == 0 || len(m.buffer)-from > maxTermBytes {
			m.buffer = m.buffer[:from]
			continue
		}
		dst = append(dst, word{term: m.grown(from), start: cells[0].start, end: cells[size-1].end, position: position, length: 1})
	}
	return dst
}
