package imagesearch

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/leg"
)

// Pass answers queries over one segment whose images exceed the memory. It goes through the segment in bands of documents:
// for each, it makes the images of all lists from the compressed lists, each byte of which it reads once, and searches them
// for all queries, which keep their hits and thresholds from band to band. A band is filled while the one before is searched.
//
// Call order: Reset, AddList for each list, Add for each query, Run; the answers are then valid until the next Reset. Not safe
// for concurrent use.
type Pass struct {
	kernels *Kernels
	memory  passMemory
	segment Segment

	lists  []bandList
	cuts   []*Cuts
	images []Image // for checks only
	byFreq []int32 // lists, longest first
	// Cuts.at of byFreq, together because a plan mostly waits for these cache lines.
	cutsByFreq [][]uint32
	queries    []passQuery
	terms      []bandTerm
	numHits    int
	ranks      []int32 // by number from Add: places in queries, which Run sorts by cost
	numBlocks  int     // of a search

	maxTerms, maxK int
	stats          PassStats
}

type passQuery struct {
	params queryParams
	cost   uint64 // postings
	number int    // by Add
}

// PassList is a compressed list of codec simdbp in the device's memory or in page-locked host memory, with its directory as in
// the index's file and its payload padded to a multiple of 16 bytes. The memory is used until Run returns.
type PassList struct {
	Payload, Directory cuda.Ptr[uint32]
	Cuts               *Cuts
	Shape              Shape
	// Lengths are as in Term.
	Lengths cuda.Buffer[uint32]
}

// PassTerm is a term of a PassQuery: a list by its number from AddList.
type PassTerm struct {
	leg.Leg
	List int
}

// PassQuery is a query of a Pass; the fields are as in Query. K is from 1 to MaxPassK, and there are at most MaxPassTerms.
type PassQuery struct {
	Mode      Mode
	K         int
	Terms     []PassTerm
	Threshold base.Score
}

// Limits of a PassQuery.
const (
	MaxPassK     = 1000
	MaxPassTerms = 128
)

// PassStats describe the last Run of a Pass.
type PassStats struct {
	Bands int
	// Filling and Searching are the times of the kernels, which overlap; Took is the total time. Planning is the time
	// in which the host planned bands, Waiting the time in which it waited for the device.
	Filling, Searching, Took, Planning, Waiting time.Duration
	// Blocks are the compressed blocks that were read.
	Blocks int64
}

const blockLen = codec.BlockLen

// NewPass returns a Pass, which allocates memory when it runs.
func (k *Kernels) NewPass() (*Pass, error) {
	if err := k.bands(); err != nil {
		return nil, err
	}
	p := &Pass{kernels: k}
	if err := p.memory.open(k.device); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close frees the memory. No Run may be active.
func (p *Pass) Close() error { return p.memory.close() }

// Reset removes the lists and queries and sets the segment of the next ones.
func (p *Pass) Reset(segment Segment) {
	p.segment = segment
	p.lists, p.cuts, p.images, p.byFreq = p.lists[:0], p.cuts[:0], p.images[:0], p.byFreq[:0]
	p.queries, p.terms = p.queries[:0], p.terms[:0]
	p.numHits, p.maxTerms, p.maxK, p.stats = 0, 1, 1, PassStats{}
}

// Len returns the number of queries.
func (p *Pass) Len() int { return len(p.queries) }

// AddList adds a list, which must not be empty, and returns its number. The error wraps base.ErrBadInput or ErrUnsuited.
func (p *Pass) AddList(l *PassList) (int, error) {
	s := &l.Shape
	s.Compact = false
	if err := s.check(); err != nil {
		return 0, err
	}
	switch {
	case s.NumDocs != p.segment.NumDocs || l.Payload == 0 || l.Directory == 0 || l.Cuts == nil || l.Cuts.unit != p.kernels.passes.unit:
		return 0, fmt.Errorf("list of a segment of %d documents, not %d, or without memory or cuts: %w", s.NumDocs, p.segment.NumDocs, base.ErrBadInput)
	case !s.Saturation.Linear && l.Lengths.Len() < s.NumDocs:
		return 0, fmt.Errorf("%d lengths of %d documents: %w", l.Lengths.Len(), s.NumDocs, base.ErrBadInput)
	case int64(s.NumDocs) > MaxDocs:
		return 0, fmt.Errorf("%d documents: %w", s.NumDocs, ErrUnsuited)
	}
	freqBytes, err := l.Cuts.freqBytes(s)
	if err != nil {
		return 0, err
	}
	to := bandList{
		payload: l.Payload, directory: l.Directory, docFreq: uint32(s.DocFreq), kind: uint32(s.kind()), shift: uint32(s.bucketShift()),
		freqBytes: uint32(freqBytes), max: uint32(s.Max),
	}
	to.c0, to.c1, to.perUnit = s.saturation()
	if s.Saturation.Linear {
		to.linear = 1
	} else {
		to.lengths = l.Lengths.Ptr()
	}
	p.lists, p.cuts = append(p.lists, to), append(p.cuts, l.Cuts)
	p.images = append(p.images, Image{shape: *s, kind: s.kind(), unit: s.unit()})
	return len(p.lists) - 1, nil
}

// Add adds a query and returns its index. The error is ErrUnsuited or wraps base.ErrBadInput.
func (p *Pass) Add(q *PassQuery) (int, error) {
	switch {
	case q.Mode > And || q.K <= 0 || len(q.Terms) == 0:
		return 0, fmt.Errorf("mode %d, k %d, %d terms: %w", q.Mode, q.K, len(q.Terms), base.ErrBadInput)
	case q.K > MaxPassK || len(q.Terms) > MaxPassTerms:
		return 0, fmt.Errorf("k %d, %d terms: %w", q.K, len(q.Terms), ErrUnsuited)
	case !p.segment.Live.IsZero() && p.segment.Live.Len() < (p.segment.NumDocs+31)/32:
		return 0, fmt.Errorf("bitmap of %d words for %d documents: %w", p.segment.Live.Len(), p.segment.NumDocs, base.ErrBadInput)
	}
	if sharedBytes(max(p.maxTerms, len(q.Terms)), maxBandWindow, passCapacity(max(p.maxK, q.K))) > p.kernels.shared {
		return 0, fmt.Errorf("shared memory for %d terms and %d hits: %w", len(q.Terms), q.K, ErrUnsuited)
	}
	from, sum := len(p.terms), uint64(0)
	theta := q.Threshold
	cost := uint64(0)
	for i := range q.Terms {
		from := &q.Terms[i]
		if from.List < 0 || from.List >= len(p.lists) {
			p.terms = p.terms[:len(p.terms)-i]
			return 0, fmt.Errorf("term %d: list %d of %d: %w", i, from.List, len(p.lists), base.ErrBadInput)
		}
		t := Term{Leg: from.Leg, Image: p.images[from.List]}
		sum += t.most(0)
		if sum > math.MaxUint32 || t.Term.Linear != t.Image.shape.Saturation.Linear {
			p.terms = p.terms[:len(p.terms)-i]
			return 0, fmt.Errorf("term %d: scores of %d or more, or of weights: %w", i, sum, ErrUnsuited)
		}
		to := bandTerm{weight: t.Term.Weight, c0: t.Term.C0, c1: t.Term.C1, list: uint32(from.List), step: uint32(t.step(0))}
		if t.Term.Linear {
			to.linear = 1
		}
		p.terms = append(p.terms, to)
		if q.Mode == Or && p.segment.Live.IsZero() {
			theta = max(theta, from.KthScore(q.K))
		}
		cost += uint64(p.lists[from.List].docFreq)
	}
	p.sortTerms(p.terms[from:])
	number := len(p.queries)
	params := queryParams{
		firstTerm: uint32(from), numTerms: uint32(len(q.Terms)), k: uint32(q.K), threshold: narrow(theta, 0),
		firstHit: uint32(p.numHits),
	}
	if q.Mode == And {
		params.flags = flagAll
	}
	p.queries = append(p.queries, passQuery{params, cost, number})
	p.numHits += q.K
	p.maxTerms, p.maxK = max(p.maxTerms, len(q.Terms)), max(p.maxK, q.K)
	return number, nil
}

// sortTerms sorts by kind: dense, bounded, sparse.
func (p *Pass) sortTerms(terms []bandTerm) {
	base.SortFew(terms, func(a, b bandTerm) int { return cmp.Compare(p.lists[b.list].kind, p.lists[a.list].kind) })
}

// maxBandWindow is the window of a search of a band: all superblocks of the largest one.
const maxBandWindow = (maxBandSupers + minWindow - 1) / minWindow * minWindow

// passCapacity is capacity for a pass, which merges the hits of a band with k former ones.
func passCapacity(k int) int {
	c := capacity(k)
	for c < 2*k {
		c *= 2
	}
	return c
}

// AppendHits appends the hits of query i to dst, best first.
func (p *Pass) AppendHits(dst []base.Hit, i int) []base.Hit {
	rank := p.ranks[i]
	first := p.queries[rank].params.firstHit
	n := p.memory.host.counts.Data()[rank]
	for _, key := range p.memory.host.hits.Data()[first:][:n] {
		dst = append(dst, base.Hit{DocID: p.segment.Base + base.DocID(^uint32(key)), Score: base.Score(key >> 32)})
	}
	return dst
}

// Stats describes the last Run.
func (p *Pass) Stats() PassStats { return p.stats }

// Bytes returns the bytes of queries, results and descriptions of bands on the bus, without lists.
func (p *Pass) Bytes() (to, from int64) {
	to = int64(len(p.queries))*queryBytes + int64(len(p.terms))*32 + int64(len(p.lists))*(64+16*int64(p.stats.Bands))
	return to, int64(len(p.queries))*4 + int64(p.numHits)*hitBytes
}
