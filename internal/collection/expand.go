package collection

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
)

// Parameters of expanding passages to vectors, all assumed. Vectors resemble models' output:
// most terms are not in the text, whose terms weigh most; weights hardly depend on rarity and
// are noisy (Mackenzie, Trotman and Lin: Wacky weights in learned sparse representations and
// the revenge of score-at-a-time query evaluation, arXiv 2110.11540, 2021).
const (
	// 255 represents a weight of 3.
	weightScale = 85
	// The standard deviation of the logarithm of the number of terms.
	sizeSpread = 0.35
	// The share of the source passage's terms in a text (MS MARCO's passages have about half an
	// encyclopaedia's length), and the most that a vector takes from it.
	said     = 0.6
	saidMost = 0.6
	// Median activations of a term of the text and of one drawn by expansion; a term drawn
	// twice gets both.
	saidActivation  = 1.4
	drawnActivation = 0.22
	// Activations of an original query's term and of one drawn: a query's weight is on few
	// terms.
	askedActivation = 3.5
	addedActivation = 0.15
	// The standard deviation of an activation's logarithm.
	noiseSpread = 0.7
	// Activations are proportional to the root of the idf, unchanged at this one.
	middlingIDF = 5
	// For each term of a vector.
	maxDraws = 32
)

// Relatives are passages from which expansion draws terms, in place of a model's knowledge:
// their number, and their chapters' distance in topic order.
const (
	numRelatives  = 8
	ofChapter     = 4 // of the same chapter; the last is from anywhere, the others are from nearby
	topicDistance = 3
)

// Maps each draw to a relative.
var slots = [16]uint8{0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7}

// Shared by all expanders.
type model struct {
	f        *forward
	seed     uint64
	topics   []base.DocID // chapters in topic order
	place    []uint32     // index of each chapter in topics
	shifts   []int16      // of quantiles of sizes, by chapter
	sizes    [256]uint16  // quantiles of the number of terms
	noise    [256]float32
	strength []float32 // by term: factor of its activations
	keep     []uint64  // by term: a draw is accepted if 32 random bits are below
}

func newModel(f *forward, p *plan, o *Options) *model {
	m := &model{
		f: f, seed: o.Seed, topics: p.topics, place: make([]uint32, len(p.topics)), shifts: p.shifts,
		strength: make([]float32, f.numTerms), keep: make([]uint64, f.numTerms),
	}
	for i, chapter := range p.topics {
		m.place[chapter] = uint32(i)
	}
	for i := range m.noise {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/float64(len(m.noise))-1)
		m.noise[i] = float32(math.Exp(noiseSpread * z))
		m.sizes[i] = uint16(max(1, math.Round(o.Like.Vectors.MeanTerms*math.Exp(sizeSpread*(z-sizeSpread/2)))))
	}
	for t, df := range f.docFreqs() {
		idf := math.Log1p(float64(f.numDocs()) / float64(max(1, df)))
		m.strength[t] = float32(math.Sqrt(idf / middlingIDF))
		m.keep[t] = threshold(1)
	}
	return m
}

// Not safe for concurrent use.
type expander struct {
	*model
	document // the last one

	activations []float32 // of document.terms
	relatives   [numRelatives]uint32
	seen, where []uint32 // by term: number of the vector; index in terms
	count       uint32
}

var _ maker = (*expander)(nil)

func newExpander(m *model) *expander {
	return &expander{model: m, seen: make([]uint32, m.f.numTerms), where: make([]uint32, m.f.numTerms)}
}

func (e *expander) compose(g, start uint32) *document {
	rng := newStream(e.seed, streamDocument, uint64(g))
	size := int(e.sizes[quantile(&rng, e.shifts, int(start))])
	e.begin()
	e.say(&rng, start, int(saidMost*float64(size)))
	e.relate(&rng, start)
	e.expand(&rng, size, drawnActivation)
	e.weigh()
	return &e.document
}

func (e *expander) begin() {
	e.terms, e.activations = e.terms[:0], e.activations[:0]
	if e.count++; e.count == 0 { // overflow
		clear(e.seen)
		e.count = 1
	}
}

func (e *expander) add(rng *stream, term uint32, activation float32) {
	activation *= e.strength[term] * e.noise[rng.next()>>56]
	if e.seen[term] == e.count {
		e.activations[e.where[term]] += activation
		return
	}
	e.seen[term] = e.count
	e.where[term] = uint32(len(e.terms))
	e.terms = append(e.terms, term)
	e.activations = append(e.activations, activation)
}

func (e *expander) say(rng *stream, passage uint32, most int) {
	from, to := e.f.starts[passage], e.f.starts[passage+1]
	n := int(to - from)
	if n == 0 {
		return
	}
	first := rng.below(n)
	for i := 0; i < n && len(e.terms) < most; i++ {
		at := int(from) + (first+i)%n
		t := e.f.terms[at]
		if r := rng.next(); r&math.MaxUint32 < e.keep[t] && r>>32 < saidBelow {
			e.add(rng, t, saidActivation*saidOften[min(int(e.f.freqs[at]), len(saidOften)-1)])
		}
	}
}

var saidBelow = threshold(said)

// By the number of occurrences in a text.
var saidOften = [8]float32{0, 1, 1.35, 1.55, 1.69, 1.8, 1.9, 1.97} // 1 + ln(n)/2

func (e *expander) relate(rng *stream, passage uint32) {
	chapter := int(passage) / chapterDocs
	for i := range e.relatives {
		c := chapter
		switch {
		case i == numRelatives-1:
			c = rng.below(len(e.topics))
		case i >= ofChapter:
			near := int(e.place[chapter]) + rng.below(2*topicDistance+1) - topicDistance
			c = int(e.topics[max(0, min(len(e.topics)-1, near))])
		}
		first := c * chapterDocs
		e.relatives[i] = uint32(first + rng.below(min(chapterDocs, e.f.numDocs()-first)))
	}
}

// expand draws relatives' terms until the vector has size terms.
func (e *expander) expand(rng *stream, size int, activation float32) {
	for range maxDraws * size {
		if len(e.terms) >= size {
			return
		}
		r := rng.next()
		passage := e.relatives[slots[r&15]]
		from, to := e.f.starts[passage], e.f.starts[passage+1]
		if from == to {
			continue
		}
		const placeBits = 28
		t := e.f.terms[from+uint32((r>>4&(1<<placeBits-1))*uint64(to-from)>>placeBits)]
		if r>>32 < e.keep[t] {
			e.add(rng, t, activation)
		}
	}
}

// Models take the logarithm (Formal, Piwowarski and Clinchant: SPLADE, SIGIR 2021).
func weight(activation float32) float64 { return math.Log1p(float64(activation)) }

func (e *expander) weigh() {
	e.freqs, e.length = e.freqs[:0], 0
	for _, a := range e.activations {
		w := uint8(max(1, min(math.MaxUint8, math.Round(weightScale*weight(a)))))
		e.freqs = append(e.freqs, w)
		e.length += uint32(w)
	}
}
