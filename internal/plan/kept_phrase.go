package plan

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// keptPhrase is the documents of a phrase with its frequencies, as a phraseFinder found them among the
// documents of the other parts of a query.
type keptPhrase struct {
	leaf        *leaf
	docs, freqs []uint32
}

// keptPhrases are the phrases whose frequencies are kept as their documents are found, and those that were.
type keptPhrases struct {
	scored []node
	found  []keptPhrase
	// bound drops documents of the only phrase that is scored; nil: none.
	bound *phraseBound
	own   phraseBound // memory for it
}

func (p *keptPhrases) begin(scored []node) { p.scored, p.found, p.bound = scored, p.found[:0], nil }

// keep returns memory for a phrase that is to be scored, else nil.
func (p *keptPhrases) keep(l *leaf) *keptPhrase {
	if !slices.Contains(p.scored, node(l)) {
		return nil
	}
	p.found = slices.Grow(p.found, 1)[:len(p.found)+1] // reuses the memory of an earlier phrase
	k := &p.found[len(p.found)-1]
	k.leaf, k.docs, k.freqs = l, k.docs[:0], k.freqs[:0]
	return k
}

func (k *keptPhrase) add(found *phraseFound) {
	k.docs = append(k.docs, found.docs[:found.n]...)
	k.freqs = append(k.freqs, found.freqs[:found.n]...)
}

// keptIterator yields the documents of a keptPhrase.
type keptIterator struct {
	docs     docsIterator
	freqs    []uint32
	scorer   score.Term
	lengths  []uint32
	maxScore base.Score
	scored   int64
}

var _ iterator = (*keptIterator)(nil)

func (k *keptIterator) DocID() base.DocID    { return k.docs.doc }
func (k *keptIterator) MaxScore() base.Score { return k.maxScore }
func (k *keptIterator) Cost() int            { return k.docs.count }

func (k *keptIterator) NextGEQ(target base.DocID) base.DocID { return k.docs.NextGEQ(target) }

func (k *keptIterator) Score() base.Score {
	k.scored++
	s := k.scorer.Score(k.freqs[len(k.freqs)-len(k.docs.docs)], k.lengths[k.docs.doc])
	invariant.Check(s <= k.maxScore, "phrase score %d of document %d above MaxScore %d", s, k.docs.doc, k.maxScore)
	return s
}

// keptPhrase builds the iterator of a phrase that was found; nil: it was not.
func (b *treeBuilder) keptPhrase(l *leaf) (iterator, error) {
	for i := range b.matcher.phrases.found {
		k := &b.matcher.phrases.found[i]
		if k.leaf != l {
			continue
		}
		scorer := b.words.scorer(l)
		most, err := b.words.phraseMax(&b.leg, b.segment, l, scorer)
		if err != nil {
			return nil, err
		}
		it := b.founds.one()
		*it = keptIterator{
			docs: docsIterator{docs: k.docs, doc: base.NoDocID, count: len(k.docs)}, freqs: k.freqs,
			scorer: scorer, lengths: b.leg.Lengths, maxScore: most,
		}
		b.openKept = append(b.openKept, it)
		return it, nil
	}
	return nil, nil
}

// phraseMax bounds the scores of a phrase of a segment, 0 if it has no document, with the memory of a leg.
func (ws *words) phraseMax(leg *traverse.Leg, segment int, l *leaf, scorer score.Term) (most base.Score, err error) {
	for i, t := range l.terms {
		if err := ws.leg(leg, segment, t, scorer); err != nil {
			return 0, err
		}
		if i == 0 || leg.MaxScore < most {
			most = leg.MaxScore // 0 of an empty list
		}
	}
	return most, nil
}
