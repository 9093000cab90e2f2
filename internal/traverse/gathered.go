package traverse

import (
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// gathered are the contributions of lists of one block each, sorted by cell: 1<<cellBits DocIDs from a multiple of
// it on, the windows of a run. Queries of hundreds of short lists, as of the terms similar to a word, otherwise
// spend most time in finding each list's part of each window, and in looking candidates up in those that are
// nonEssential. Within a cell the order is by list.
//
// On 100,000 passages, the top 10 of the terms within 2 edits of a word take 234 µs so, 339 µs with all lists in
// windows (mean of five words, one thread of a Zen 5).
type gathered struct {
	// In order of cells.
	docIDs, scores []uint32
	ends           []uint32 // by cell, in docIDs
	cellBits       int
	bound          base.Score // of a document's sum

	// In order of lists.
	readDocIDs, readScores []uint32
}

const (
	// With fewer short lists, or if they are less than half of all, they are not gathered: windows at the
	// boundaries of blocks prune more.
	leastGathered = 8
	// maxGathered bounds the postings, and so the memory: 16 bytes each.
	maxGathered = 1 << 15
)

// gather moves short lists from byMaxScore to gathered, if that pays.
func (m *maxScore) gather() {
	g := &m.gathered
	g.docIDs, g.scores, g.readDocIDs, g.readScores, g.bound = g.docIDs[:0], g.scores[:0], g.readDocIDs[:0], g.readScores[:0], 0
	short, numPostings := 0, 0
	for _, l := range m.byMaxScore {
		numPostings += int(l.List.DocFreq)
		if l.List.DocFreq <= codec.BlockLen {
			short++
		}
	}
	if !paysToGather(short, len(m.byMaxScore)) {
		return
	}
	rest := m.byMaxScore[:0]
	for _, l := range m.byMaxScore {
		if !g.read(l) {
			rest = append(rest, l)
		}
	}
	m.byMaxScore = rest
	m.stats.PostingsScored += int64(len(g.readDocIDs))
	cell := max(int(m.leastWindow), min(m.q.NumDocs*codec.BlockLen/numPostings, maxWindow/2))
	g.cellBits = bits.Len(uint(cell)) - 1
	g.sort(m.q.NumDocs)
}

func paysToGather(short, all int) bool { return short >= leastGathered && 2*short >= all }

// gathers reports whether block-max-maxscore gathers lists.
func gathers(legs []Leg) bool {
	short, all := 0, 0
	for i := range legs {
		switch n := legs[i].List.DocFreq; {
		case n == 0:
			continue
		case n <= codec.BlockLen:
			short++
		}
		all++
	}
	return paysToGather(short, all)
}

// read scores a list that is short, and false for another one.
func (g *gathered) read(l *legState) bool {
	n := int(l.List.DocFreq)
	from := len(g.readDocIDs)
	if n > codec.BlockLen || from+n > maxGathered {
		return false
	}
	if l.cursor.NextBlock() == base.NoDocID {
		return true // damaged: the run reports it
	}
	freqs := l.cursor.BlockFreqs()
	if freqs == nil {
		return true
	}
	g.readDocIDs = append(g.readDocIDs, l.cursor.BlockDocIDs()...)
	g.readScores = slices.Grow(g.readScores, n)[:from+n]
	scoring.Contributions(g.readScores[from:], g.readDocIDs[from:], freqs, l.Lengths, &l.term)
	g.bound += l.MaxScore
	return true
}

// sort is a counting sort by cell.
func (g *gathered) sort(numDocs int) {
	numCells := (numDocs-1)>>g.cellBits + 1
	g.ends = slices.Grow(g.ends[:0], numCells+1)[:numCells+1]
	clear(g.ends)
	for _, d := range g.readDocIDs {
		g.ends[d>>g.cellBits+1]++
	}
	for i := range numCells {
		g.ends[i+1] += g.ends[i]
	}
	// ends[i] is the start of cell i, and becomes its end.
	n := len(g.readDocIDs)
	g.docIDs, g.scores = slices.Grow(g.docIDs, n)[:n], slices.Grow(g.scores, n)[:n]
	for i, d := range g.readDocIDs {
		at := &g.ends[d>>g.cellBits]
		g.docIDs[*at], g.scores[*at] = d, g.readScores[i]
		*at++
	}
}

// cell returns the postings of the cell that begins at lo.
func (g *gathered) cell(lo base.DocID) (docIDs, scores []uint32) {
	if len(g.docIDs) == 0 {
		return nil, nil
	}
	i := int(lo) >> g.cellBits
	from := uint32(0)
	if i > 0 {
		from = g.ends[i-1]
	}
	return g.docIDs[from:g.ends[i]], g.scores[from:g.ends[i]]
}

// boundAt is the bound in the cell that begins at lo.
func (g *gathered) boundAt(lo base.DocID) base.Score {
	if docIDs, _ := g.cell(lo); len(docIDs) == 0 {
		return 0
	}
	return g.bound
}

// nextCell is nextWindow if lists are gathered. lo is the end of a cell, or 0.
func (m *maxScore) nextCell(lo base.DocID) (base.DocID, base.DocID) {
	g := &m.gathered
	essential := m.byMaxScore[m.nonEssential:]
	for numDocs := m.q.end(); lo < numDocs; {
		hi := min(lo+1<<g.cellBits, numDocs)
		sum := m.sums[m.nonEssential] + g.boundAt(lo)
		for _, l := range essential {
			l.shallow(lo) // at the list's end, first is NoDocID
			switch {
			case l.first >= hi:
				l.bound = 0
			case l.last < hi-1: // more than one block
				l.bound = l.upper(l.cursor.ShallowMax(lo, hi-1))
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
