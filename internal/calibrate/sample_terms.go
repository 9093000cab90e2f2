package calibrate

import (
	"bytes"
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/query"
)

// Terms of the default field by the length of their lists.
type termSample struct {
	weighted bool
	rng      *rand.Rand
	segment  *index.View // the largest segment, source of the terms
	list     postings.List
	cursor   postings.Cursor
	// Up to perStratum terms for each number of bits of the length.
	strata [bits.UintSize][][]byte
	seen   [bits.UintSize]int
	// full lists the strata with terms.
	full []int
}

const (
	perStratum = 64
	// For dictionaries: about three million terms a second.
	samplingTime = time.Second
	// tries bounds the terms that together tests.
	tries = 60
)

// sampleTerms samples terms uniformly from each stratum. It reads the
// dictionary of the largest segment, in random order of two-byte prefixes,
// until the time limit, but at least until the first term.
func sampleTerms(ctx context.Context, snapshot *index.Snapshot, rng *rand.Rand, limit time.Duration) (*termSample, error) {
	s := &termSample{weighted: snapshot.Options.Weighted(), rng: rng}
	if len(snapshot.Segments) == 0 {
		return s, nil
	}
	largest := &snapshot.Segments[0]
	for i := range snapshot.Segments {
		if v := &snapshot.Segments[i]; v.NumDocs() > largest.NumDocs() {
			largest = v
		}
	}
	s.segment = largest
	prefixes := rng.Perm(1 << 16)
	began, found := time.Now(), false
	for i, p := range prefixes {
		if i%256 == 0 && (ctx.Err() != nil || found && time.Since(began) > limit) {
			break
		}
		it := largest.Terms(0, []byte{byte(p >> 8), byte(p)})
		for n := 1; it.Next(); n++ {
			m, err := it.Meta()
			if err != nil {
				return nil, err
			}
			s.add(it.Term(), m.DocFreq)
			found = true
			if n%4096 == 0 && time.Since(began) > limit {
				break
			}
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
	}
	for i := range s.strata {
		if len(s.strata[i]) > 0 {
			s.full = append(s.full, i)
		}
	}
	return s, ctx.Err()
}

// add is reservoir sampling.
func (s *termSample) add(term []byte, docFreq uint32) {
	i := bits.Len32(docFreq)
	s.seen[i]++
	if len(s.strata[i]) < perStratum {
		s.strata[i] = append(s.strata[i], slices.Clone(term))
		return
	}
	if j := s.rng.IntN(s.seen[i]); j < perStratum {
		s.strata[i][j] = slices.Clone(term)
	}
}

// A random term of a random stratum, both uniform.
func (s *termSample) any() []byte {
	stratum := s.strata[s.full[s.rng.IntN(len(s.full))]]
	return stratum[s.rng.IntN(len(stratum))]
}

// query draws half of the queries' terms independently from uniform strata, to
// cover all sizes and ratios of sizes, and the others' from one document, like
// real queries: their ORs have a higher threshold and take less time.
func (s *termSample) query(n int) (query.Node, error) {
	var terms [][]byte
	if s.rng.IntN(2) == 0 {
		var err error
		if terms, err = s.together(n); err != nil {
			return nil, err
		}
	}
	for len(terms) < n {
		terms = append(terms, s.any())
	}
	if !s.weighted {
		return &query.Words{Text: string(bytes.Join(terms, []byte(" "))), Boost: 1}, nil
	}
	weights := &query.Weights{}
	for _, t := range terms {
		weights.Terms = append(weights.Terms, query.TermWeight{Term: string(t), Weight: 1 + float64(s.rng.IntN(100))/100})
	}
	return weights, nil
}

// together returns up to n terms of one document, fewer after too many tries.
func (s *termSample) together(n int) ([][]byte, error) {
	terms := [][]byte{s.any()}
	doc, err := s.next(terms[0], base.DocID(s.rng.IntN(max(s.segment.NumDocs(), 1))))
	if doc >= base.DocID(s.segment.NumDocs()) && err == nil {
		doc, err = s.next(terms[0], 0)
	}
	for i := 0; i < tries && len(terms) < n && err == nil; i++ {
		t := s.any()
		if slices.ContainsFunc(terms, func(u []byte) bool { return bytes.Equal(t, u) }) {
			continue
		}
		var at base.DocID
		if at, err = s.next(t, doc); at == doc && err == nil {
			terms = append(terms, t)
		}
	}
	return terms, err
}

// next returns the first document of a term from one on, or NumDocs of the
// segment.
func (s *termSample) next(term []byte, from base.DocID) (base.DocID, error) {
	end := base.DocID(s.segment.NumDocs())
	found, err := s.segment.Find(0, term, &s.list)
	if err != nil || !found {
		return end, err
	}
	s.cursor.Reset(&s.list, nil)
	doc := s.cursor.NextGEQ(from)
	return min(doc, end), s.cursor.Err()
}
