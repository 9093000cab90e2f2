package index

import (
	"bytes"
	"math"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
)

// computedImpacts are the lists that a file of the snapshot would have, each computed for the queries that need it.
// The range of all scores, which the quantiser needs, is found by bounds: most posting lists are not read.
func (s *Snapshot) computedImpacts(stop Interrupt) (*impact.Index, error) {
	settings := s.impacts.settings
	r := s.impacts.begun
	s.impacts.begun = nil // an error or a panic may leave it in the middle of a term
	if r == nil {
		r = &scoreRange{snapshot: s, settings: settings, quantizer: impact.NewQuantizer()}
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	switch stopped, err := r.find(stop); {
	case stopped:
		s.impacts.begun = r
		return nil, err
	case err != nil:
		return nil, err
	}
	q := r.quantizer
	if settings.Ranking == impact.RankingWeights {
		q = impact.WeightQuantizer(q.Max)
	}
	return impact.NewComputed(s.impactOptions(settings, q), func(term []byte, dst []impact.Posting) ([]impact.Posting, error) {
		lists := make([]termList, 0, len(s.Segments))
		for i := range s.Segments {
			t := termList{view: &s.Segments[i]}
			found, err := t.view.Find(0, term, &t.list)
			if err != nil {
				return dst, err
			}
			if found {
				lists = append(lists, t)
			}
		}
		docFreq := liveIn(lists)
		if docFreq == 0 {
			return dst, nil
		}
		scorer := s.impactScorer(settings, docFreq)
		dst = slices.Grow(dst, int(docFreq))
		err := eachLive(lists, func(doc base.DocID, freq, length uint32) {
			v := scorer(freq, length)
			invariant.Check(v >= q.Min && v <= q.Max, "score %d of term %q is not in %+v", v, term, q)
			dst = append(dst, impact.Posting{DocID: doc, Impact: q.Impact(v)})
		})
		return dst, err
	})
}

// termList is a term's list in a segment, in the default field.
type termList struct {
	view *View
	list postings.List
}

func liveIn(lists []termList) (docFreq uint64) {
	for i := range lists {
		docFreq += lists[i].view.Deletions.DocFreq(&lists[i].list)
	}
	return docFreq
}

// eachLive calls visit with the postings of live documents, by increasing DocID of the index.
func eachLive(lists []termList, visit func(doc base.DocID, freq, length uint32)) error {
	var docIDs, freqs [codec.BlockLen]uint32
	for i := range lists {
		v, l := lists[i].view, &lists[i].list
		lengths := v.Lengths(0)
		for block := range l.NumBlocks() {
			size, err := l.DecodeDocIDs(block, &docIDs)
			if err == nil {
				err = l.DecodeFreqs(block, size, &freqs)
			}
			if err != nil {
				return err
			}
			for j, d := range docIDs[:l.BlockSize(block)] {
				if v.Live == nil || v.Live.Has(int(d)) {
					visit(v.Base+base.DocID(d), freqs[j], lengths[d])
				}
			}
		}
	}
	return nil
}

// scoreRange finds the lowest and the highest score of all postings of live documents in the default field. It reads all
// terms, and the lists whose bounds exceed the range of those before.
type scoreRange struct {
	snapshot  *Snapshot
	settings  *ImpactSettings
	quantizer impact.Quantizer

	longest uint32 // document
	terms   []rangeTerms
	term    []byte     // the current one
	lists   []termList // its lists, of which next has only the metadata
}

type rangeTerms struct {
	view  *View
	terms *segment.TermIterator // nil: ended
}

func (r *scoreRange) begin() error {
	for i := range r.snapshot.Segments {
		v := &r.snapshot.Segments[i]
		if err := v.CheckLengths(0); err != nil {
			return err
		}
		if v.NumDocs() > 0 {
			r.longest = max(r.longest, slices.Max(v.Lengths(0)))
		}
		t := rangeTerms{v, v.Terms(0, nil)}
		if err := t.next(); err != nil {
			return err
		}
		r.terms = append(r.terms, t)
	}
	return nil
}

// find goes on to the last term, or, stopped, until stop has an error, which it returns.
func (r *scoreRange) find(stop Interrupt) (stopped bool, err error) {
	for n := 1; ; n++ {
		if n%1024 == 0 {
			if err := interrupted(stop); err != nil {
				return true, err
			}
		}
		more, err := r.next()
		if err != nil || !more {
			return false, err
		}
		docFreq := liveIn(r.lists)
		if docFreq == 0 {
			continue
		}
		if lower, upper := r.bounds(docFreq); lower >= r.quantizer.Min && upper <= r.quantizer.Max {
			continue
		}
		if err := r.see(docFreq); err != nil {
			return false, err
		}
	}
}

func (t *rangeTerms) next() error {
	if t.terms.Next() {
		return nil
	}
	err := t.terms.Err()
	t.terms = nil
	return err
}

// next takes the next term; false after the last.
func (r *scoreRange) next() (more bool, err error) {
	var term []byte
	for i := range r.terms {
		if t := r.terms[i].terms; t != nil && (term == nil || bytes.Compare(t.Term(), term) < 0) {
			term = t.Term()
		}
	}
	if term == nil {
		return false, nil
	}
	r.term, r.lists = append(r.term[:0], term...), r.lists[:0]
	for i := range r.terms {
		t := &r.terms[i]
		if t.terms == nil || !bytes.Equal(t.terms.Term(), r.term) {
			continue
		}
		meta, err := t.terms.Meta()
		if err != nil {
			return false, err
		}
		r.lists = append(r.lists, termList{t.view, postings.List{Meta: meta}})
		if err := t.next(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// bounds of the scores of the current term.
func (r *scoreRange) bounds(docFreq uint64) (lower, upper base.Score) {
	if r.settings.Ranking == impact.RankingWeights {
		for i := range r.lists {
			if upper = max(upper, base.Score(r.lists[i].list.Max)); r.lists[i].list.Max == score.MaxBound {
				return 0, math.MaxUint64 // the weights can be above it
			}
		}
		return math.MaxUint64, upper // WeightQuantizer has no lowest
	}
	f := &r.snapshot.Fields[0]
	term := r.settings.ranking().Term(f.NumDocs, docFreq, f.AvgLen())
	for i := range r.lists {
		l := &r.lists[i]
		if sat := l.view.Meta().Saturation(0); sat.BM25 == r.settings.ranking().BM25 {
			upper = max(upper, score.NewScale(term, sat.AvgLen, f.AvgLen()).Upper(l.list.Max))
			continue
		}
		most := l.list.CollFreq - uint64(l.list.DocFreq) + 1 // each other document has the term once at least
		upper = max(upper, above(term.Score(uint32(min(most, math.MaxUint32)), 0)))
	}
	return below(term.Score(1, r.longest)), upper
}

// Score rounds float32 values: a bound of it, by a higher frequency or length, can be off by less than 2^-20 of it.
const scoreSlack = 1 << 20

func above(s base.Score) base.Score { return s + s/scoreSlack + 1 }

func below(s base.Score) base.Score { return s - min(s, s/scoreSlack+1) }

// see extends the range to the current term's scores.
func (r *scoreRange) see(docFreq uint64) error {
	for i := range r.lists {
		l := &r.lists[i]
		if _, err := segment.FindCounted(l.view.Segment, 0, r.term, &l.list); err != nil {
			return err
		}
	}
	scorer := r.snapshot.impactScorer(r.settings, docFreq)
	return eachLive(r.lists, func(_ base.DocID, freq, length uint32) { r.quantizer.See(scorer(freq, length)) })
}
