package traverse

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
)

// blockMaxPruning is block-max pruning, BMP (Mallia, Suel and Tonellotto, "Faster learned
// sparse retrieval with block-max pruning", SIGIR 2024) with superblocks (Carlson, Xie, He and
// Yang, "Dynamic superblock pruning for fast learned sparse retrieval", SIGIR 2025), exact.
//
// All lists have bounds for the same ranges of 32 documents and superblocks of 64 ranges, so
// they are summed for every superblock without reading postings. Superblocks are visited in
// descending order of sums, until these cannot reach the threshold, which increases fast. In
// each, the lists are read only in ranges whose sums can reach it, into one accumulator per
// document.
//
// In long queries of similar weights, as of learned sparse models, no list stays nonEssential,
// and algorithms in DocID order lose more than they prune (Mackenzie, Trotman and Lin, "Wacky
// weights in learned sparse representations and the revenge of score-at-a-time query
// evaluation", arXiv:2110.11540, 2021).
//
// We differ: the bounds, and copies of postings by range instead of the paper's forward index,
// are derived structures. Lists without room for copies are read by their block directories.
// DocIDs do not increase, so documents that tie with the k-th hit are not pruned.
type blockMaxPruning struct{}

var _ Traversal = blockMaxPruning{}

func (blockMaxPruning) Name() string { return "block-max-pruning" }

func (blockMaxPruning) Mode() Mode { return Or }

// pruning is the state of a run of blockMaxPruning. Its memory is reused.
type pruning struct {
	q     *Query
	queue *topk.Queue
	stats *Stats

	least base.Score // least score that can enter the result

	legs []prunedLeg
	sums []base.Score // by superblock: sum of the legs' bounds
	// The superblocks to visit.
	order []uint32

	ranges [rangesPerSuper]base.Score // of the current superblock: sums of bounds
	// Invariant: all 0 between superblocks. Bit i of touched[r] means that document i of
	// range r has a posting.
	accs    [superDocs]base.Score
	touched [rangesPerSuper]uint64
}

type prunedLeg struct {
	*legState
	bounds  *rangeBounds
	copied  *rangePostings // nil: read the list
	unit    base.Score     // score of one step of the bounds
	used    uint64         // ranges of the current superblock with postings
	reached base.DocID     // the cursor cannot return to postings before it
	decoded int            // blocks decoded before the cursor was rewound
}

func (blockMaxPruning) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	legs := s.open(q)
	if s.pruning == nil {
		s.pruning = new(pruning)
	}
	p := s.pruning
	p.q, p.queue, p.stats = q, queue, &s.Stats
	err := p.open(stop, legs)
	if err == nil {
		err = p.run(stop)
	}
	p.countSkipped()
	p.q, p.queue, p.stats = nil, nil, nil
	return s.close(err)
}

// open finds the range bounds of the legs, sums them by superblock, and finds the first
// threshold.
func (p *pruning) open(stop Interrupt, legs []legState) error {
	numSupers := (p.q.NumDocs + superDocs - 1) / superDocs
	from, to := int(p.q.From)/superDocs, (int(p.q.end())+superDocs-1)/superDocs
	p.sums = append(p.sums[:0], make([]base.Score, numSupers)...)
	p.least = max(p.q.Threshold, p.atLeast())
	clear(p.legs[:cap(p.legs)]) // release the bounds of the previous query
	p.legs = p.legs[:0]
	for i := range legs {
		l := &legs[i]
		if l.List.DocFreq == 0 {
			continue
		}
		if err := stop.Err(); err != nil { // reading a long list takes time
			return err
		}
		bounds, err := l.openRanges(p.q.NumDocs)
		if err != nil {
			return fmt.Errorf("leg %d: %w", l.index, err)
		}
		copied, err := l.openPostings(bounds)
		if err != nil {
			return fmt.Errorf("leg %d: %w", l.index, err)
		}
		// Scale.Upper rounds up by one, more than the error of b times the integer part.
		leg := prunedLeg{legState: l, bounds: bounds, copied: copied, unit: score.NewScale(l.Term, 0, 0).Upper(bounds.step)}
		for s := from; s < to; s++ {
			p.sums[s] += base.Score(bounds.supers[s]) * leg.unit
		}
		p.legs = append(p.legs, leg)
		p.least = max(p.least, l.kthScore(p.q, p.queue.K()))
	}
	return nil
}

// atLeast returns the score with which a document of any DocID enters the queue.
func (p *pruning) atLeast() base.Score {
	if need := p.queue.Need(); need > 0 {
		return need - 1
	}
	return 0
}

// run visits the superblocks that can reach the threshold, in descending order of sums.
func (p *pruning) run(stop Interrupt) error {
	p.order = p.order[:0]
	for s, sum := range p.sums {
		if sum > 0 && sum >= p.least {
			p.order = append(p.order, uint32(s))
		}
	}
	slices.SortFunc(p.order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(p.sums[b], p.sums[a]), cmp.Compare(a, b))
	})
	poll := poll{stop: stop}
	for _, s := range p.order {
		if p.sums[s] < p.least {
			break
		}
		scored := p.stats.PostingsScored
		if err := p.visit(int(s)); err != nil {
			return err
		}
		if err := poll.after(int(p.stats.PostingsScored-scored) + 64*len(p.legs)); err != nil {
			return err
		}
	}
	return nil
}

// visit scores superblock s's ranges that can reach the threshold. It returns the error of a
// leg's cursor.
func (p *pruning) visit(s int) error {
	clear(p.ranges[:])
	for i := range p.legs {
		l := &p.legs[i]
		if l.used = 0; l.bounds.supers[s] > 0 {
			l.used = l.bounds.add(&p.ranges, s, l.unit)
		}
	}
	promising := uint64(0)
	for i, sum := range p.ranges {
		if sum > 0 && sum >= p.least {
			promising |= 1 << i
		}
	}
	if promising == 0 {
		return nil
	}
	for i := range p.legs {
		if l := &p.legs[i]; l.used&promising != 0 {
			if l.copied != nil {
				p.accumulateCopy(l, s, l.used&promising)
				continue
			}
			p.accumulate(l, base.DocID(s)*superDocs, l.used&promising)
			if err := l.cursor.Err(); err != nil { // rewinding a cursor clears its error
				clear(p.accs[:])
				clear(p.touched[:])
				return fmt.Errorf("leg %d: %w", l.index, err)
			}
		}
	}
	p.collect(base.DocID(s)*superDocs, promising)
	return nil
}

// accumulate adds a leg's scores to the accumulators of the superblock that begins at
// start. ranges is a bitmap of the superblock's ranges to read.
func (p *pruning) accumulate(l *prunedLeg, start base.DocID, ranges uint64) {
	c := &l.cursor
	if start < l.reached {
		p.rewind(l)
	}
	l.reached = start + superDocs
	t, lengths := l.Term, l.Lengths
	for ranges != 0 {
		first := bits.TrailingZeros64(ranges)
		n := bits.TrailingZeros64(^(ranges >> first))
		lo, hi := start+base.DocID(first)*rangeDocs, start+base.DocID(first+n)*rangeDocs
		ranges &^= (1<<n - 1) << first
		for next := lo; next < hi && c.NextGEQ(next) < hi; {
			freqs := c.BlockFreqs()
			if freqs == nil {
				break
			}
			docIDs := c.BlockDocIDs()
			freqs = freqs[:len(docIDs)]
			from := c.BlockPos()
			j := from
			for ; j < len(docIDs) && base.DocID(docIDs[j]) < hi; j++ {
				d := docIDs[j]
				at := d % superDocs
				p.accs[at] += t.Score(freqs[j], lengths[d])
				p.touched[at/rangeDocs] |= 1 << (at % rangeDocs)
			}
			p.stats.PostingsScored += int64(j - from)
			next = c.LeaveBlock(j)
		}
	}
}

// accumulateCopy is accumulate for superblock s, from the leg's copy of the postings.
func (p *pruning) accumulateCopy(l *prunedLeg, s int, ranges uint64) {
	if l.bounds.numbers == nil {
		for ; ranges != 0; ranges &= ranges - 1 {
			r := bits.TrailingZeros64(ranges)
			p.addRange(l, s, r, s*rangesPerSuper+r)
		}
		return
	}
	from := int(l.bounds.starts[s])
	for i, r := range l.bounds.numbers[from:l.bounds.starts[s+1]] {
		if ranges>>(r%rangesPerSuper)&1 == 1 {
			p.addRange(l, s, int(r%rangesPerSuper), from+i)
		}
	}
}

// addRange adds up the postings of range r of superblock s, which are entry i of the
// copy.
func (p *pruning) addRange(l *prunedLeg, s, r, i int) {
	from, to := l.copied.entry(s, i)
	at := l.copied.at[from:to]
	accs := (*[rangeDocs]base.Score)(p.accs[r*rangeDocs:])
	lengths := l.Lengths[s*superDocs+r*rangeDocs:]
	if l.copied.small != nil {
		p.touched[r] |= addPostings(accs, l.Term, at, l.copied.small[from:to], lengths)
	} else {
		p.touched[r] |= addPostings(accs, l.Term, at, l.copied.large[from:to], lengths)
	}
	p.stats.PostingsScored += int64(len(at))
}

// addPostings adds the scores of a range's postings to its accumulators and returns a
// bitmap of their documents.
func addPostings[F uint8 | uint16](accs *[rangeDocs]base.Score, t score.Term, at []uint8, freqs []F, lengths []uint32) (touched uint64) {
	freqs = freqs[:len(at)]
	if t.Linear {
		for j, a := range at {
			accs[a%rangeDocs] += t.Score(uint32(freqs[j]), 0)
			touched |= 1 << (a % rangeDocs)
		}
		return touched
	}
	for j, a := range at {
		accs[a%rangeDocs] += t.Score(uint32(freqs[j]), lengths[a])
		touched |= 1 << (a % rangeDocs)
	}
	return touched
}

// rewind places the cursor before the first posting again, and counts the decoded blocks
// first.
func (p *pruning) rewind(l *prunedLeg) {
	c := l.cursor.Stats()
	l.decoded += c.BlocksDecoded
	p.stats.BlocksDecoded += int64(c.BlocksDecoded)
	p.stats.PostingsDecoded += int64(c.PostingsDecoded)
	l.cursor.Reset(l.List, l.Bounds)
}

// countSkipped makes the count of skipped blocks a lower bound of those never decoded:
// Scratch.close assumes that only the last pass decoded.
func (p *pruning) countSkipped() {
	if p.q.To > 0 {
		return
	}
	for i := range p.legs {
		l := &p.legs[i]
		p.stats.BlocksSkipped -= int64(min(l.decoded, l.cursor.NumBlocks()-l.cursor.Stats().BlocksDecoded))
	}
}

// collect queues the documents of the given ranges that reach the threshold, and sets
// their accumulators to 0.
func (p *pruning) collect(start base.DocID, ranges uint64) {
	for ; ranges != 0; ranges &= ranges - 1 {
		r := bits.TrailingZeros64(ranges)
		accs := (*[rangeDocs]base.Score)(p.accs[r*rangeDocs:])
		for touched := p.touched[r]; touched != 0; touched &= touched - 1 {
			i := bits.TrailingZeros64(touched) % rangeDocs
			sum := accs[i]
			accs[i] = 0
			if sum < p.least {
				continue
			}
			d := start + base.DocID(r*rangeDocs+i)
			if !p.q.live(uint32(d)) {
				continue
			}
			p.stats.Candidates++
			if p.queue.Add(base.Hit{DocID: p.q.Base + d, Score: sum}) {
				p.least = max(p.least, p.atLeast())
			}
		}
		p.touched[r] = 0
	}
}
