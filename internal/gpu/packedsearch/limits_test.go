package packedsearch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

func TestSegmentSizes(t *testing.T) {
	c := newCollection(t, rand.New(rand.NewPCG(17, 17)), 1, true, nil)
	c.toDevice()
	for _, numDocs := range []int{1, 127, 128, 129, rangeDocs, rangeDocs + 1, 1 << 31, imagesearch.MaxDocs} {
		var l querytest.List
		for d := range min(numDocs, 128) { // with the last document: a block, or a block and a posting
			l.DocIDs, l.Freqs = append(l.DocIDs, uint32(d)), append(l.Freqs, 1)
		}
		if numDocs > 128 {
			l.DocIDs, l.Freqs = append(l.DocIDs, uint32(numDocs-1)), append(l.Freqs, 2)
		}
		list := c.open(&l)
		for _, conjunctive := range []bool{true, false} {
			if !conjunctive && numDocs > 1<<20 && (testing.Short() || !gputest.OnGPU()) {
				continue // half a million ranges take half a minute on the emulator
			}
			q := &testQuery{gpu: Query{Conjunctive: conjunctive, K: 3, Lists: []List{list, list}}}
			var want []base.Hit
			for i, d := range l.DocIDs {
				want = append(want, base.Hit{DocID: base.DocID(d), Score: 2 * list.Term.Score(l.Freqs[i], 0)})
			}
			querytest.SortHits(want)
			for _, k := range []int{3, 0} {
				q.gpu.K, q.gpu.Count = k, k == 0
				c.segment = imagesearch.Segment{NumDocs: numDocs}
				c.check(fmt.Sprintf("%d documents, conjunctive %v, k %d", numDocs, conjunctive, k), q, want)
			}
		}
	}
}

// open uploads a list of weights. A posting behind the first block has its own block, whose
// directory entry is set to its DocID.
func (c *collection) open(l *querytest.List) List {
	c.Helper()
	docIDs := slices.Clone(l.DocIDs)
	if len(docIDs) > codec.BlockLen {
		docIDs[codec.BlockLen] = codec.BlockLen
	}
	var p, f bytes.Buffer
	w := postings.NewWriter(postings.Options{Codec: codec.SIMDBP{}, Saturation: c.Saturation}, &p, nil, &f)
	w.Begin(make([]uint32, codec.BlockLen+1))
	c.Must(w.AddBlock(docIDs, l.Freqs, nil))
	m, err := w.Finish()
	c.Must(err)
	var list postings.List
	c.Must(list.Open(m, codec.SIMDBP{}, p.Bytes(), nil, f.Bytes()))
	placed := c.put(&list, onDevice)
	var entries []uint32
	for i := range list.NumBlocks() {
		e := *list.Block(i)
		if i > 0 {
			e.First, e.Last = l.DocIDs[codec.BlockLen], l.DocIDs[codec.BlockLen]
		}
		entries = append(entries, e.First, e.Last, e.Offset, uint32(e.Bound)|uint32(e.DocWidth)<<16|uint32(e.FreqWidth)<<24)
	}
	placed.Directory = gputest.Upload(c.Session, entries).Ptr()
	placed.Term = score.NewLinearTerm(1, 1)
	placed.Scale = score.NewScale(placed.Term, 0, 0)
	return placed
}
