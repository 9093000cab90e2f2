package traverse

import (
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// blockMaxMaxScore is MaxScore over windows of DocIDs with block bounds.
//
// MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations", Information
// Processing & Management 31(6), 1995, §4): lists are ordered by MaxScore; those at the low end
// whose sum cannot reach the threshold are nonEssential. Only the essential others, one of
// which has each document that can enter, are read in full; their documents are looked up in
// the nonEssential lists, in descending order of bounds, while these can still lift them to the
// threshold.
//
// Block bounds (Ding and Suel, "Faster top-k document retrieval using block-max indexes", SIGIR
// 2011, §4) and intervals (Chakrabarti, Chaudhuri and Ganti, "Interval-based pruning for top-k
// processing over compressed lists", ICDE 2011): DocIDs are cut into windows at block
// boundaries of essential lists. A list's bound in a window is its greatest BlockMaxScore;
// windows with a too low sum are skipped without decoding, and lists are classified again in
// the others. As in Lucene's MaxScoreBulkScorer, several essential lists are added up in the
// window's accumulators, which avoids finding the least of several DocIDs.
//
// The first threshold is a lower bound of a list's k-th best contribution (Kane and Tompa,
// "Split-lists and initial thresholds for WAND-based search", SIGIR 2018).
//
// The kernels sum in 32 bits; a query whose scores may exceed that runs on exhaustive-daat.
//
// DocIDs increase, so a document that ties with the k-th hit is excluded: the limit is need,
// the least score that enters.
type blockMaxMaxScore struct{}

var _ Traversal = blockMaxMaxScore{}

func (blockMaxMaxScore) Name() string { return "block-max-maxscore" }

func (blockMaxMaxScore) Mode() Mode { return Or }

const (
	// 64 KiB of accumulators, for several essential lists. Short lists touch few lines; long
	// lists have far shorter windows.
	maxWindow = scoring.Window
	// firstWindow is the least length of the first window; each further one doubles it up to maxWindow. Long
	// windows share the cost of bounds and of partial blocks among more postings. Short ones at the start find
	// a threshold before much is read. With windows of at least 512 throughout, queries of the first 30 words of
	// passages took 1.8 times the time, the texts of SciFact's queries 1.5 times (250,000 passages, one thread
	// of a Zen 5). With more lists than listsPerWindow, the first window is longer in proportion. In a range of
	// documents, the windows begin as long as if the run had come there from document 0.
	firstWindow    = 1024
	listsPerWindow = 16
	// Blocks examined to bound a nonEssential list in a window; if there may be more, MaxScore
	// is the bound.
	maxBlocksForBound = 64
)

// maxScore is the state of a run of blockMaxMaxScore. Its memory is reused.
type maxScore struct {
	q     *Query
	queue *topk.Queue
	stats *Stats

	need        base.Score // least score that can enter the result
	leastWindow base.DocID

	// Invariant: byMaxScore is in increasing order of MaxScore, sums[i] sums byMaxScore[:i],
	// and byMaxScore[:nonEssential] sum to less than need.
	byMaxScore   []*legState
	sums         []base.Score
	nonEssential int

	// legs may have postings in the window. The bounds of the first windowNonEssential sum to
	// windowRest, less than need; byMaxScore[:nonEssential] are among these and come first.
	legs               []*legState
	windowNonEssential int
	windowRest         base.Score

	gathered gathered // short lists; without any, it has no postings

	accs  scoring.Accumulators
	found candidates
}

func (blockMaxMaxScore) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	if !q.narrow() {
		return exhaustiveDAAT{Or}.Run(stop, s, q, queue)
	}
	legs := s.open(q)
	if s.maxScore == nil {
		s.maxScore = new(maxScore)
	}
	m := s.maxScore
	m.q, m.queue, m.stats = q, queue, &s.Stats
	m.start(legs)
	err := s.close(m.run(stop))
	m.q, m.queue, m.stats = nil, nil, nil
	return err
}

// start orders the legs and finds the first need.
func (m *maxScore) start(legs []legState) {
	m.need = max(m.q.Threshold, m.queue.Need())
	m.byMaxScore = m.byMaxScore[:0]
	for i := range legs {
		l := &legs[i]
		if l.List.DocFreq == 0 {
			continue
		}
		m.byMaxScore = append(m.byMaxScore, l)
		m.need = max(m.need, l.kthScore(m.q, m.queue.K()))
	}
	m.leastWindow = base.DocID(min(firstWindow*max(1, len(m.byMaxScore)/listsPerWindow), maxWindow/2))
	if m.queue.Need() > 0 { // earlier ranges have found a threshold
		for m.leastWindow < m.q.From && m.leastWindow <= maxWindow/4 {
			m.leastWindow *= 2
		}
	}
	m.gather()
	slices.SortFunc(m.byMaxScore, byMaxScore)
	m.sums = append(m.sums[:0], 0)
	for i, l := range m.byMaxScore {
		m.sums = append(m.sums, m.sums[i]+l.MaxScore)
	}
	m.nonEssential = 0
	m.divide()
}

// divide makes further lists nonEssential if need permits.
func (m *maxScore) divide() {
	for m.nonEssential < len(m.byMaxScore) && m.sums[m.nonEssential+1] < m.need {
		m.nonEssential++
	}
}

func (m *maxScore) run(stop Interrupt) error {
	p := poll{stop: stop}
	for lo, hi := m.q.From, base.DocID(0); ; lo = hi {
		m.divide()
		if len(m.gathered.docIDs) > 0 {
			lo, hi = m.nextCell(lo)
		} else {
			lo, hi = m.nextWindow(lo)
			m.leastWindow = min(2*m.leastWindow, maxWindow)
		}
		if lo == base.NoDocID {
			return nil
		}
		scored := m.stats.PostingsScored
		var reaches bool
		if hi, reaches = m.divideWindow(lo, hi); reaches {
			essential := m.legs[m.windowNonEssential:]
			if short, _ := m.gathered.cell(lo); len(essential) == 1 && len(short) == 0 {
				m.scoreOne(essential[0], lo, hi)
			} else {
				m.scoreSeveral(essential, lo, hi)
			}
			m.finish()
		}
		// In each list, a few candidates may decode a block.
		if err := p.after(int(m.stats.PostingsScored-scored) + 64*(1+len(m.legs))); err != nil {
			return err
		}
	}
}

// nextWindow returns the first window [lo, hi), from the given lo, in which the bounds of
// essential lists' blocks and the others' MaxScores reach need, or NoDocID. It stores the
// bounds in the legs.
func (m *maxScore) nextWindow(lo base.DocID) (base.DocID, base.DocID) {
	numDocs := m.q.end()
	essential := m.byMaxScore[m.nonEssential:]
	others := m.sums[m.nonEssential]
	for lo < numDocs {
		start := base.NoDocID
		for _, l := range essential {
			l.shallow(lo) // at the list's end, first is NoDocID
			start = min(start, max(l.first, lo))
		}
		if start >= numDocs {
			break
		}
		lo = start
		hi := numDocs
		for _, l := range essential {
			if l.first > lo {
				hi = min(hi, l.first)
			} else if l.last < hi {
				hi = l.last + 1
			}
		}
		if len(essential) > 1 && hi-lo < m.leastWindow {
			hi = lo + min(m.leastWindow, numDocs-lo)
			for _, l := range essential {
				if l.last < hi-1 { // more than one block
					l.bound = l.upper(l.cursor.ShallowMax(lo, hi-1))
				}
			}
		}
		sum := others
		for _, l := range essential {
			if l.first >= hi {
				l.bound = 0
			}
			sum += l.bound
		}
		if sum >= m.need {
			return lo, hi
		}
		lo = hi
	}
	return base.NoDocID, base.NoDocID
}

// shallow finds the list's block at lo: its bound and range.
func (l *legState) shallow(lo base.DocID) bool {
	b, first, last, ok := l.cursor.ShallowNextGEQ(lo)
	l.first, l.last = first, last
	l.bound = l.upper(b)
	return ok
}

// upper converts a bound to a score; 0 for no postings.
func (l *legState) upper(b score.Bound) base.Score {
	if b == 0 {
		return 0
	}
	return max(min(l.Scale.Upper(b), l.MaxScore), 1)
}

// divideWindow bounds the nonEssential lists in the window, too, and makes more lists
// nonEssential for it; the others of m.legs are the window's essential lists. It returns the window's end,
// which it may reduce, and reports whether a document can reach need.
func (m *maxScore) divideWindow(lo, hi base.DocID) (end base.DocID, reaches bool) {
	sum := m.sums[m.nonEssential] + m.gathered.boundAt(lo)
	for _, l := range m.byMaxScore[m.nonEssential:] {
		sum += l.bound
	}
	m.legs = m.legs[:0]
	m.windowRest = 0
	for _, l := range m.byMaxScore[:m.nonEssential] {
		l.bound = l.MaxScore
		if uint64(hi-lo)*uint64(l.cursor.NumBlocks()) <= maxBlocksForBound*uint64(m.q.NumDocs) {
			l.bound = l.upper(l.cursor.ShallowMax(lo, hi-1))
			sum = sum - l.MaxScore + l.bound
			if sum < m.need {
				return hi, false
			}
		}
		if l.bound > 0 {
			m.legs = append(m.legs, l)
			m.windowRest += l.bound
		}
	}
	m.windowNonEssential = len(m.legs)
	for _, l := range m.byMaxScore[m.nonEssential:] {
		if l.bound > 0 {
			m.legs = append(m.legs, l)
		}
	}
	essential := m.legs[m.windowNonEssential:]
	for i := 1; i < len(essential); i++ { // insertion sort: few, and nearly sorted
		l, j := essential[i], i
		for ; j > 0 && essential[j-1].bound > l.bound; j-- {
			essential[j] = essential[j-1]
		}
		essential[j] = l
	}
	for len(essential) > 0 && m.windowRest+essential[0].bound < m.need {
		m.windowRest += essential[0].bound
		m.windowNonEssential++
		essential = essential[1:]
	}
	if invariant.Enabled && m.windowNonEssential > 0 && m.windowRest >= m.need {
		invariant.Check(false, "nonEssential lists reach %v, need %v", m.windowRest, m.need)
	}
	if len(essential) > 1 {
		hi = lo + min(hi-lo, maxWindow)
	}
	for _, l := range essential {
		l.prefetch()
	}
	return hi, true
}

// prefetch loads the block at the window's start and the next one, which the next
// windows usually need.
func (l *legState) prefetch() {
	c := &l.cursor
	at := c.ShallowBlock()
	if at >= c.NumBlocks() || at <= c.BlockIndex() {
		return
	}
	c.Prefetch(at)
	if at+1 < c.NumBlocks() {
		c.Prefetch(at + 1)
	}
}

// enough returns the least score in the window's essential lists with which a document
// can still reach need.
func (m *maxScore) enough() uint32 {
	return uint32(m.need - m.windowRest) // the bounds in the window sum to need or more
}

// scoreOne reads the postings of the window's only essential list; those with enough
// become candidates.
func (m *maxScore) scoreOne(l *legState, lo, hi base.DocID) {
	c, found := &l.cursor, &m.found
	enough := m.enough()
	lowest := leastFreq(&l.Term, base.Score(enough))
	// Invariant: n <= maxCandidates. The window contains at most one block, or has at most length maxWindow.
	n := 0
	for lo < hi && c.NextGEQ(lo) < hi {
		docIDs, freqs := c.BlockBefore(hi)
		if freqs == nil {
			return
		}
		lo = c.LeaveBlock(c.BlockPos() + len(docIDs))
		if lowest > 1 {
			kept := scoring.Select(found.docIDs[n:], found.freqs[:], docIDs, freqs, lowest)
			docIDs, freqs = found.docIDs[n:n+kept], found.freqs[:kept]
		}
		scores := found.scores[:len(docIDs)]
		scoring.Contributions(scores, docIDs, freqs, l.Lengths, &l.term)
		n += scoring.Select(found.docIDs[n:], found.sums[n:], docIDs, scores, enough)
		m.stats.PostingsScored += int64(len(docIDs))
	}
	found.n = n
}

// scoreSeveral adds up the postings of the window's essential lists; documents with
// enough become candidates.
func (m *maxScore) scoreSeveral(essential []*legState, lo, hi base.DocID) {
	found := &m.found
	enough := m.enough()
	anySum := enough == 0 || scoring.AnyPays()
	if short, scores := m.gathered.cell(lo); anySum {
		m.accs.AddAny(short, scores, uint32(lo))
	} else {
		m.accs.Add(short, scores, uint32(lo))
	}
	for _, l := range essential {
		c := &l.cursor
		for next := lo; next < hi && c.NextGEQ(next) < hi; {
			docIDs, freqs := c.BlockBefore(hi)
			if freqs == nil {
				break
			}
			scores := found.scores[:len(docIDs)]
			scoring.Contributions(scores, docIDs, freqs, l.Lengths, &l.term)
			if anySum {
				m.accs.AddAny(docIDs, scores, uint32(lo))
			} else {
				m.accs.Add(docIDs, scores, uint32(lo))
			}
			m.stats.PostingsScored += int64(len(docIDs))
			next = c.LeaveBlock(c.BlockPos() + len(docIDs))
		}
	}
	if anySum {
		found.n = m.accs.CollectAny(found.docIDs[:], found.sums[:], uint32(lo), int(hi-lo), enough)
	} else {
		found.n = m.accs.Collect(found.docIDs[:], found.sums[:], uint32(lo), int(hi-lo), enough)
	}
}

// finish completes candidates' scores, list by list in descending order of bounds, while they
// can reach need, and queues those that do.
func (m *maxScore) finish() {
	found := &m.found
	if invariant.Enabled {
		for i := 1; i < found.n; i++ {
			invariant.Check(found.docIDs[i-1] < found.docIDs[i], "candidates out of order")
		}
	}
	found.keepLive(m.q)
	m.stats.Candidates += int64(found.n)
	rest := m.windowRest
	for i := m.windowNonEssential - 1; i >= 0 && found.n > 0; i-- {
		l := m.legs[i]
		rest -= l.bound // bounds of the lists after this one
		least := base.Score(0)
		if m.need > rest {
			least = m.need - rest
		}
		m.stats.PostingsScored += found.add(l, least)
		found.keep(least)
	}
	for i, sum := range found.sums[:found.n] {
		if base.Score(sum) >= m.need {
			m.queue.Add(base.Hit{DocID: m.q.Base + base.DocID(found.docIDs[i]), Score: base.Score(sum)})
			m.need = max(m.need, m.queue.Need())
		}
	}
	found.n = 0
}

// narrow reports whether all scores fit in 32 bits, as the kernels require. Only queries
// with extreme boosts are not narrow.
func (q *Query) narrow() bool {
	sum := base.Score(0)
	for i := range q.Legs {
		sum += q.Legs[i].MaxScore
	}
	return sum <= math.MaxUint32
}

// kthScore returns a score that at least k documents reach by this leg alone, or 0 if
// none is known.
func (l *Leg) kthScore(q *Query, k int) base.Score {
	if q.Live != nil || k == 0 { // deleted documents may be among the best
		return 0
	}
	return l.kth(k)
}
