package exec

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/query"
)

// termSample holds terms of the default field by the length of their lists, so that
// queries of any size can be made of them.
type termSample struct {
	weighted bool
	rng      *rand.Rand
	// strata holds, by the number of bits of the length, up to perStratum terms.
	strata [bits.UintSize][][]byte
	seen   [bits.UintSize]int
	// full are the strata that have terms.
	full []int
}

const (
	// perStratum bounds the terms of a stratum.
	perStratum = 64
	// samplingTime bounds the reading of dictionaries, which goes through some three
	// million terms in a second.
	samplingTime = time.Second
)

// sampleTerms samples terms of a snapshot, evenly from each stratum. It reads the
// dictionary of the largest segment, in pieces of a random order until they or the time
// end.
func sampleTerms(ctx context.Context, snapshot *index.Snapshot, rng *rand.Rand) (*termSample, error) {
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
	// Terms with the same first two bytes are a piece.
	prefixes := rng.Perm(1 << 16)
	began := time.Now()
	for i, p := range prefixes {
		if i%256 == 0 && (ctx.Err() != nil || time.Since(began) > samplingTime) {
			break
		}
		it := largest.Terms(0, []byte{byte(p >> 8), byte(p)})
		for n := 1; it.Next(); n++ {
			m, err := it.Meta()
			if err != nil {
				return nil, err
			}
			s.add(it.Term(), m.DocFreq)
			if n%4096 == 0 && time.Since(began) > samplingTime {
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

// add gives a term to its stratum, in the place of another if that is full (reservoir
// sampling).
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

// query makes a query of n terms, each of a stratum that is as likely as any other, so
// that all sizes, and all ratios of sizes, come up.
func (s *termSample) query(n int) query.Node {
	text := ""
	var terms []corpus.TermWeight
	for range n {
		stratum := s.strata[s.full[s.rng.IntN(len(s.full))]]
		term := string(stratum[s.rng.IntN(len(stratum))])
		text += term + " "
		terms = append(terms, corpus.TermWeight{Term: term, Weight: 1 + float64(s.rng.IntN(100))/100})
	}
	if s.weighted {
		return &query.Weights{Terms: terms}
	}
	return &query.Words{Text: text, Boost: 1}
}
