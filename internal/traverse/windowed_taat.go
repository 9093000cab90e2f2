package traverse

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/accumulate"
	"github.com/griffin-search/griffin/internal/simd/scoring"
	"github.com/griffin-search/griffin/internal/topk"
)

// windowedTAAT scores every posting, list at a time, in windows of DocIDs whose accumulators fit in
// the processor's cache. Lists of weights are read from uncompressed copies, in the order in which these are
// stored (Li et al., "SINDI: an efficient index for approximate maximum inner product search on sparse
// vectors", arXiv:2509.08395, 2025).
//
// In long queries of similar weights, little can be skipped, and what decides is the time of a posting: here
// an addition, of a score from a table by weights, in sequential memory. Traversals that prune score a
// tenth of the postings for k=10, but wait for memory at each place where they continue
// (docs/benchmarks/sparse.md). Looking up non-essential lists' postings for the candidates of a window takes
// longer than adding all of them.
//
// We differ: exact, and the copies are derived structures. Other lists, or without room, are decoded.
//
// The accumulators have 32 bits; a query whose scores may exceed that runs on exhaustive-daat.
type windowedTAAT struct{}

var _ Traversal = windowedTAAT{}

func (windowedTAAT) Name() string { return "windowed-taat" }

func (windowedTAAT) Mode() Mode { return Or }

// maxTable is the number of scores in the greatest table: 16 KiB, half a level 1 cache.
const maxTable = 1 << 12

// windows is the state of a run of windowedTAAT. Its memory is reused.
type windows struct {
	q     *Query
	queue *topk.Queue
	stats *Stats

	need base.Score // least score that can enter the result

	legs   []windowLeg
	tables []uint32 // of all legs

	// Invariant: all 0 between windows. While need is 0, bit i%64 of touched[i/64] means that document i
	// of the window has a posting.
	accs    [maxWindow]uint32
	touched [maxWindow / 64]uint64

	scores [scoring.BlockLen]uint32
}

type windowLeg struct {
	*legState
	copied *windowPostings // nil: read the list
	table  []uint32        // by weight: scores; nil: compute them
}

func (windowedTAAT) Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error {
	if err := q.check(); err != nil {
		return err
	}
	if !q.narrow() {
		return exhaustiveDAAT{Or}.Run(stop, s, q, queue)
	}
	legs := s.open(q)
	if s.windows == nil {
		s.windows = new(windows)
	}
	w := s.windows
	w.q, w.queue, w.stats = q, queue, &s.Stats
	err := w.open(stop, legs)
	if err == nil {
		err = w.run(stop)
	}
	clear(w.legs) // release the copies
	w.q, w.queue, w.stats = nil, nil, nil
	return s.close(err)
}

// open finds the copies of the lists, computes the tables, and finds the first need.
func (w *windows) open(stop Interrupt, legs []legState) error {
	w.need = max(w.q.Threshold, w.queue.Need())
	w.legs, w.tables = w.legs[:0], w.tables[:0]
	for i := range legs {
		l := &legs[i]
		if l.List.DocFreq == 0 {
			continue
		}
		if err := stop.Err(); err != nil { // reading a long list takes time
			return err
		}
		copied, err := l.openWindows()
		if err != nil {
			return fmt.Errorf("leg %d: %w", l.index, err)
		}
		w.legs = append(w.legs, windowLeg{legState: l, copied: copied, table: w.tableOf(l, copied)})
		w.need = max(w.need, l.kthScore(w.q, w.queue.K()))
	}
	return nil
}

// tableOf returns the scores of the weights up to the greatest, or nil if there are too many weights.
func (w *windows) tableOf(l *legState, copied *windowPostings) []uint32 {
	n := int(l.List.Max) + 1
	if copied == nil || n > maxTable {
		return nil
	}
	from := len(w.tables)
	w.tables = slices.Grow(w.tables, n)[:from+n]
	table := w.tables[from:]
	scoring.Contributions(table, firstWeights[:n], firstWeights[:n], nil, &l.term)
	return table
}

var firstWeights = func() (weights [maxTable]uint32) {
	for i := range weights {
		weights[i] = uint32(i)
	}
	return weights
}()

func (w *windows) run(stop Interrupt) error {
	p := poll{stop: stop}
	for lo, hi := w.q.From, base.DocID(0); lo < w.q.end(); lo = hi {
		hi = lo + min(maxWindow, w.q.end()-lo)
		scored := w.stats.PostingsScored
		for i := range w.legs {
			if err := w.add(&w.legs[i], lo, hi); err != nil {
				clear(w.accs[:])
				clear(w.touched[:])
				return err
			}
		}
		if w.need == 0 {
			w.collectAny(lo)
		} else {
			w.collect(lo, hi)
		}
		if err := p.after(int(w.stats.PostingsScored-scored) + maxWindow/16); err != nil {
			return err
		}
	}
	return nil
}

// add adds a leg's scores in the window [lo, hi).
func (w *windows) add(l *windowLeg, lo, hi base.DocID) error {
	if l.copied != nil {
		w.addCopy(l, lo, hi)
		return nil
	}
	c := &l.cursor
	for next := lo; next < hi && c.NextGEQ(next) < hi; {
		docIDs, freqs := c.BlockBefore(hi)
		if freqs == nil {
			break
		}
		scores := w.scores[:len(docIDs)]
		scoring.Contributions(scores, docIDs, freqs, l.Lengths, &l.term)
		for i, d := range docIDs {
			w.accs[(d-uint32(lo))%maxWindow] += scores[i]
		}
		if w.need == 0 {
			touch(&w.touched, docIDs, uint32(lo))
		}
		w.stats.PostingsScored += int64(len(docIDs))
		next = c.LeaveBlock(c.BlockPos() + len(docIDs))
	}
	return c.Err()
}

// addCopy is add from the leg's copy. lo is a multiple of RangeDocs, hi, too, or the end.
func (w *windows) addCopy(l *windowLeg, lo, hi base.DocID) {
	c := l.copied
	from, to := c.starts[lo/RangeDocs], c.starts[numParts(int(hi))]
	docIDs := c.docIDs[from:to]
	switch {
	case c.small != nil:
		addWeights(&w.accs, docIDs, c.small[from:to], l.table, uint16(lo))
	case l.table != nil:
		addWeights(&w.accs, docIDs, c.large[from:to], l.table, uint16(lo))
	default:
		weights := c.large[from:to]
		for i, d := range docIDs {
			w.accs[(d-uint16(lo))%maxWindow] += uint32(l.Term.Score(uint32(weights[i]), 0))
		}
	}
	if w.need == 0 {
		touch(&w.touched, docIDs, uint16(lo))
	}
	w.stats.PostingsScored += int64(len(docIDs))
}

func addWeights[W uint8 | uint16](accs *[maxWindow]uint32, docIDs []uint16, weights []W, table []uint32, lo uint16) {
	weights = weights[:len(docIDs)]
	for i, d := range docIDs {
		accs[(d-lo)%maxWindow] += table[weights[i]]
	}
}

func touch[D uint16 | uint32](touched *[maxWindow / 64]uint64, docIDs []D, lo D) {
	for _, d := range docIDs {
		at := (d - lo) % maxWindow
		touched[at/64] |= 1 << (at % 64)
	}
}

// collect queues the window's documents that reach need, which is not 0, and zeroes the accumulators.
func (w *windows) collect(lo, hi base.DocID) {
	accs := w.accs[:(int(hi-lo)+accumulate.Line-1)/accumulate.Line*accumulate.Line]
	if w.need > math.MaxUint32 {
		clear(accs)
		return
	}
	for len(accs) > 0 {
		at, high := accumulate.Drain(accs, uint32(w.need))
		if high == 0 {
			return
		}
		lo += base.DocID(at)
		line := accs[at:][:accumulate.Line]
		for ; high != 0; high &= high - 1 {
			i := bits.TrailingZeros64(high)
			w.offer(lo+base.DocID(i), line[i])
		}
		clear(line)
		lo += accumulate.Line
		accs = accs[at+accumulate.Line:]
	}
}

// collectAny is collect for all documents with postings, while need is 0.
func (w *windows) collectAny(lo base.DocID) {
	for i, word := range w.touched {
		for ; word != 0; word &= word - 1 {
			at := i*64 + bits.TrailingZeros64(word)
			w.offer(lo+base.DocID(at), w.accs[at])
			w.accs[at] = 0
		}
		w.touched[i] = 0
	}
}

// offer queues a document if its sum reaches need.
func (w *windows) offer(d base.DocID, sum uint32) {
	if base.Score(sum) < w.need || !w.q.live(uint32(d)) {
		return
	}
	w.stats.Candidates++
	if w.queue.Add(base.Hit{DocID: w.q.Base + d, Score: base.Score(sum)}) {
		w.need = max(w.need, w.queue.Need())
	}
}
