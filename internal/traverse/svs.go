package traverse

import (
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// svs intersects lists pairwise, small versus small: the shortest list's postings are looked up
// in the next longer one, the matches in the one after that (Demaine, López-Ortiz and Munro,
// SODA 2000, see conjunction; Culpepper and Moffat, "Efficient set intersection for inverted
// indexing", ACM TOIS 29(1), 2010, §2). Look-ups gallop through the directory and decode only
// blocks that may match.
//
// We differ: one block of the shortest list at a time goes through the lists, which takes 2 KiB
// and finds hits in increasing DocID order. Once there are k hits, blocks whose bounds cannot
// reach the threshold are not decoded (Ding and Suel, SIGIR 2011, §4; see blockMaxAnd).
//
// In each list, all blocks are located and prefetched, then decoded and matched; only documents
// in all lists are scored. Most time is memory latency: early prefetching and late scoring
// saved a fifth (wiki passages, k=10, one Zen 5).
type svs struct{}

var _ Traversal = svs{}

func (svs) Name() string { return "svs" }

func (svs) Mode() Mode { return And }

// Its memory is reused.
type intersection struct {
	q     *Query
	queue *topk.Queue
	stats *Stats

	need base.Score  // least score that can enter the result
	legs []*legState // in increasing order of DocFreq

	// Remaining postings of a block of legs[0]: DocIDs, positions. Invariant:
	// docIDs[n:][:behind] is NoDocID.
	n      int
	docIDs [codec.BlockLen + behind]uint32
	at     [codec.BlockLen]uint8

	lookups     [codec.BlockLen]lookup
	looked      int                   // blocks of the other lists, not yet counted for the context
	of, matchAt [codec.BlockLen]uint8 // matches in a block: indexes of the candidate and the posting

	// Frequencies in the other lists, by leg minus one, then position in the block of legs[0];
	// and buffers for scores.
	freqs                [][codec.BlockLen]uint32
	column, sums, scores [codec.BlockLen]uint32
}

// DocIDs compared at a time.
const behind = 4

// A block that may contain candidates from index from on.
type lookup struct{ block, from uint32 }

func (svs) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	if !q.narrow() {
		return exhaustiveDAAT{And}.Run(stop, s, q, queue)
	}
	legs := s.open(q)
	if s.intersection == nil {
		s.intersection = new(intersection)
	}
	x := s.intersection
	x.q, x.queue, x.stats = q, queue, &s.Stats
	err := s.close(x.run(stop, legs))
	x.q, x.queue, x.stats = nil, nil, nil
	return err
}

func (x *intersection) run(stop Interrupt, legs []legState) error {
	x.legs = x.legs[:0]
	for i := range legs {
		if legs[i].List.DocFreq == 0 {
			return nil
		}
		x.legs = append(x.legs, &legs[i])
	}
	if len(x.legs) == 0 {
		return nil
	}
	slices.SortFunc(x.legs, byDocFreq)
	x.freqs = slices.Grow(x.freqs[:0], len(x.legs)-1)[:len(x.legs)-1]
	x.need = max(x.q.Threshold, x.queue.Need())
	if len(x.legs) == 1 {
		x.need = max(x.need, x.legs[0].kthScore(x.q, x.queue.K()))
	}
	p := poll{stop: stop}
	x.looked = 0
	first := x.legs[0]
	for lo := x.q.From; ; {
		lo = x.nextBlock(lo)
		if lo >= x.q.end() {
			return nil
		}
		if x.load(lo) {
			for i := 1; i < len(x.legs) && x.n > 0; i++ {
				x.apply(i)
			}
			x.finish()
		}
		if first.last >= x.q.end() { // the range or the list ends here, or is corrupt
			return nil
		}
		lo = first.last + 1
		if err := p.after((2 + x.looked) * codec.BlockLen); err != nil {
			return err
		}
		x.looked = 0
	}
}

// nextBlock returns a DocID, lo or above, such that by the directories no document before it can
// enter, or NoDocID. The bounds from it to the end of legs[0]'s block reach need.
func (x *intersection) nextBlock(lo base.DocID) base.DocID {
	first := x.legs[0]
search:
	for {
		if !first.locate(lo) {
			return base.NoDocID
		}
		lo = max(lo, first.first)
		others := x.legs[1:]
		if x.need == 0 {
			others = others[:min(1, len(others))]
		}
		for _, l := range others {
			if !l.locate(lo) {
				return base.NoDocID
			}
			if l.first > lo {
				lo = l.first
				if lo > first.last {
					continue search
				}
			}
		}
		if x.need == 0 || x.reachable(lo) {
			return lo
		}
		if first.last >= x.q.end() {
			return base.NoDocID
		}
		lo = first.last + 1
	}
}

// reachable reports whether a document from lo to the end of legs[0]'s block may reach need,
// and stores the lists' bounds in the legs.
func (x *intersection) reachable(lo base.DocID) bool {
	first := x.legs[0]
	first.bound = first.upper(first.located)
	sum := first.bound
	for _, l := range x.legs[1:] {
		l.bound = l.MaxScore
		sum += l.bound
	}
	if sum < x.need {
		return false
	}
	span := uint64(first.last-lo) + 1
	for _, l := range x.legs[1:] {
		if span*uint64(l.cursor.NumBlocks()) > maxBlocksForBound*uint64(x.q.NumDocs) {
			continue
		}
		b := l.upper(l.cursor.ShallowMax(lo, first.last))
		sum = sum - l.bound + b
		l.bound = b
		if sum < x.need {
			return false
		}
	}
	return true
}

// locate is shallow without the bound as a score.
func (l *legState) locate(lo base.DocID) (ok bool) {
	l.located, l.first, l.last, ok = l.cursor.ShallowNextGEQ(lo)
	return ok
}

// places are the positions in a block.
var places = func() (p [codec.BlockLen]uint8) {
	for i := range p {
		p[i] = uint8(i)
	}
	return p
}()

// Postings of legs[0] from lo to the end of its block become the candidates; false if there are
// none.
func (x *intersection) load(lo base.DocID) bool {
	c := &x.legs[0].cursor
	if c.NextGEQ(lo) == base.NoDocID {
		return false
	}
	if next := c.BlockIndex() + 1; next < c.NumBlocks() {
		c.Prefetch(next)
	}
	from := c.BlockPos()
	docIDs := c.BlockDocIDs()[from:]
	for end := uint32(x.q.end()); len(docIDs) > 0 && docIDs[len(docIDs)-1] >= end; docIDs = docIDs[:len(docIDs)-1] {
	}
	n := len(docIDs)
	if x.q.NumLive > 0 && x.q.NumLive < x.q.NumDocs/2 {
		n = scoring.Intersect((*[codec.BlockLen]uint32)(x.docIDs[:]), &x.at, docIDs, x.q.Live)
		for i := range x.at[:n] {
			x.at[i] += uint8(from)
		}
	} else {
		copy(x.docIDs[:], docIDs)
		copy(x.at[:n], places[from:])
	}
	x.keep(n)
	return true
}

// apply drops candidates that are not in list i or cannot reach need, and stores the
// others' frequencies.
func (x *intersection) apply(i int) {
	l := x.legs[i]
	c, freqs := &l.cursor, &x.freqs[i-1]
	// The required bound of this list's block.
	least := base.Score(0)
	if x.need > 0 {
		rest := base.Score(0)
		for j, other := range x.legs {
			if j != i {
				rest += other.bound
			}
		}
		if x.need > rest {
			least = x.need - rest
		}
	}
	kept := 0
	lookups := x.find(l, least)
	x.looked += len(lookups)
	for _, g := range lookups {
		if block := int(g.block); block != c.BlockIndex() && c.LoadBlock(block) == base.NoDocID {
			break
		}
		from := int(g.from)
		_, found := scoring.Match(&x.of, &x.matchAt, x.docIDs[from:x.n], c.Block(), uint32(c.BlockLastDocID()))
		for m, of := range x.of[:found] {
			i := (from + int(of)) & (codec.BlockLen - 1)
			x.docIDs[kept], x.at[kept] = x.docIDs[i], x.at[i]
			freqs[x.at[i]&(codec.BlockLen-1)] = c.BlockFreq(int(x.matchAt[m]))
			kept++
		}
	}
	x.keep(kept)
}

func (x *intersection) keep(n int) {
	x.n = n
	for i := range behind {
		x.docIDs[n+i] = uint32(base.NoDocID)
	}
}

// find returns blocks that may contain candidates and begins to load them, so that they arrive
// while the first is decoded.
func (x *intersection) find(l *legState, least base.Score) []lookup {
	c := &l.cursor
	n := 0
	for j := 0; j < x.n; {
		d := base.DocID(x.docIDs[j])
		b, first, last, ok := c.ShallowNextGEQ(d)
		if !ok {
			break
		}
		if first > d || least > 0 && l.upper(b) < least {
			j++
			continue
		}
		block := c.ShallowBlock()
		if block != c.BlockIndex() {
			c.Prefetch(block)
		}
		x.lookups[n&(codec.BlockLen-1)] = lookup{block: uint32(block), from: uint32(j)}
		n++
		j++
		for { // skip the candidates in the block, without a branch for each
			next := x.docIDs[j : j+behind : j+behind]
			in := atMost(next[0], last) + atMost(next[1], last) + atMost(next[2], last) + atMost(next[3], last)
			j += in
			if in < behind {
				break
			}
		}
	}
	return x.lookups[:n]
}

func (x *intersection) finish() {
	n := x.n
	if n == 0 {
		return
	}
	c := &x.legs[0].cursor
	for j, at := range x.at[:n] {
		x.column[j] = c.BlockFreq(int(at))
	}
	scoring.Contributions(x.sums[:n], x.docIDs[:n], x.column[:n], x.legs[0].Lengths, &x.legs[0].term)
	for i, l := range x.legs[1:] {
		freqs := &x.freqs[i]
		for j, at := range x.at[:n] {
			x.column[j] = freqs[at&(codec.BlockLen-1)]
		}
		scoring.Contributions(x.scores[:n], x.docIDs[:n], x.column[:n], l.Lengths, &l.term)
		for j, s := range x.scores[:n] {
			x.sums[j] += s
		}
	}
	x.stats.Candidates += int64(n)
	x.stats.PostingsScored += int64(n * len(x.legs))
	for j, d := range x.docIDs[:n] {
		if sum := base.Score(x.sums[j]); sum >= x.need && x.q.live(d) {
			x.queue.Add(base.Hit{DocID: x.q.Base + base.DocID(d), Score: sum})
			x.need = max(x.need, x.queue.Need())
		}
	}
	x.n = 0
}

func atMost(d uint32, last base.DocID) int { return int((uint64(d) - uint64(last) - 1) >> 63) }
