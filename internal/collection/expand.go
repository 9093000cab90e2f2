package collection

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
)

// How vectors are made of passages. All of it is assumed, so that vectors come out
// as those of models do: most of the terms are not in the text, those of the text
// weigh most, weights hardly depend on how rare a term is, and they are noisy
// (Mackenzie, Trotman and Lin: Wacky weights in learned sparse representations and
// the revenge of score-at-a-time query evaluation, arXiv 2110.11540, 2021).
const (
	// weightScale is what weights are kept as: 255 stands for one of 3.
	weightScale = 85
	// sizeSpread is the standard deviation of the logarithm of the number of terms.
	sizeSpread = 0.35
	// said is the part of the source passage's terms that a text has: a passage of
	// MS MARCO is about half as long as one of an encyclopaedia. At most saidMost of
	// a vector are of the text.
	said     = 0.6
	saidMost = 0.6
	// saidActivation and drawnActivation are the medians of a term of the text and of
	// one that expansion draws. A term drawn twice gets both.
	saidActivation  = 1.4
	drawnActivation = 0.22
	// askedActivation is that of a term that the query has itself, and addedActivation
	// that of one that its expansion draws: a query's weight is on few terms.
	askedActivation = 3.5
	addedActivation = 0.15
	// noiseSpread is the standard deviation of an activation's logarithm.
	noiseSpread = 0.7
	// middlingIDF is the idf of a term whose activations are neither raised nor
	// lowered; they go with the root of the idf.
	middlingIDF = 5
	// maxDraws is how many terms are drawn for each one that a vector has, at most.
	maxDraws = 32
)

// relatives are the passages that a vector's expansion draws from, in the place of
// the words that a model would know to go with a text: their number, and how far off
// in the order of topics their chapters are.
const (
	numRelatives  = 8
	ofChapter     = 4 // of the same chapter; the last comes from anywhere, others from near
	topicDistance = 3
)

// slots says which relative each draw is from.
var slots = [16]uint8{0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7}

// model is what all expanders share.
type model struct {
	f        *forward
	seed     uint64
	topics   []base.DocID // chapters in topic order
	place    []uint32     // of each chapter in topics
	shifts   []int16      // of quantiles of sizes, by chapter
	sizes    [256]uint16  // quantiles of the number of terms
	noise    [256]float32
	strength []float32 // by term: factor of its activations
	keep     []uint64  // by term: a draw is taken if 32 random bits are below
}

// newModel returns a model that takes every draw.
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

// expander makes vectors. It is for one goroutine.
type expander struct {
	*model
	document // made last

	activations []float32 // of document.terms
	relatives   [numRelatives]uint32
	seen, where []uint32 // by term: number of the vector; place in terms
	count       uint32
}

var _ maker = (*expander)(nil)

func newExpander(m *model) *expander {
	return &expander{model: m, seen: make([]uint32, m.f.numTerms), where: make([]uint32, m.f.numTerms)}
}

// compose implements maker: the document is the vector of passage start.
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

// begin starts a vector.
func (e *expander) begin() {
	e.terms, e.activations = e.terms[:0], e.activations[:0]
	if e.count++; e.count == 0 { // it wrapped
		clear(e.seen)
		e.count = 1
	}
}

// add raises the activation of a term.
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

// say adds at most the given number of terms of a passage.
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

// saidOften is the factor of a term that stands in a text so often.
var saidOften = [8]float32{0, 1, 1.35, 1.55, 1.69, 1.8, 1.9, 1.97} // 1 + ln(n)/2

// relate draws the passages that a passage is expanded from.
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

// expand draws terms of the relatives until the vector has size terms.
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

// weight is what an activation comes to: models take the logarithm (Formal,
// Piwowarski and Clinchant: SPLADE, SIGIR 2021).
func weight(activation float32) float64 { return math.Log1p(float64(activation)) }

// weigh makes the document of the activations.
func (e *expander) weigh() {
	e.freqs, e.length = e.freqs[:0], 0
	for _, a := range e.activations {
		w := uint8(max(1, min(math.MaxUint8, math.Round(weightScale*weight(a)))))
		e.freqs = append(e.freqs, w)
		e.length += uint32(w)
	}
}
