package traverse

import (
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/topk"
)

type contractedBy uint8

const (
	byLine contractedBy = iota
	byHash
	byInterpolation
)

// contracted is the state of linear-regression, hash-segmentation or interpolation:
// conjunctions that look up each candidate in a contracted range of the list. If the codec
// decodes single DocIDs (raw, and Regression with more than one block), the range is of DocIDs,
// and no block of longer lists is decoded. Otherwise it is of blocks, by last DocIDs, and the
// block found is decoded and searched.
//
// Ao, Zhang, Wu, Stones, Wang, Liu, Liu and Lin, "Efficient parallel lists intersection and
// index compression algorithms using graphics processing units", PVLDB 4(8), 2011, §4.2 to §4.4
// and §5.3, on one CPU thread. We differ: lines, ranges and tables in codecs other than the
// paper's are derived structures; and matches are scored.
type contracted struct {
	by       contractedBy
	size     int // of hash buckets
	universe uint64
	legs     []contractedLeg // by legState.index
	find     search          // the method, bound once: each run would allocate a closure
	elements int64           // number of single DocIDs read
	err      error           // the first error, with its leg
}

type contractedLeg struct {
	ready  bool
	ranges *contractedRanges // nil if the list's codec needs no ranges
	access access
	list   *postings.List
	whole  codec.RegressionList
	native bool // whole.Search performs the complete search
}

type access uint8

const (
	byBlock access = iota // blocks are decoded
	byRaw                 // codec.Raw: 4 bytes each
	byLists               // codec.Regression
)

// The search range is over lasts, or over the DocIDs if that is nil.
type contractedRanges struct {
	lasts   []uint32 // last DocIDs of the blocks
	safe    contraction.SafeRange
	buckets *contraction.Buckets
}

var contractedRangesOf = derived.NewKind[contractedRanges]("contracted ranges")

func runContracted(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue, by contractedBy, size int) error {
	t := s.contracted
	if t == nil {
		t = new(contracted)
		t.find = t.search
		s.contracted = t
	}
	if cap(t.legs) < len(q.Legs) {
		t.legs = make([]contractedLeg, len(q.Legs))
	}
	t.legs = t.legs[:len(q.Legs)]
	for i := range t.legs {
		t.legs[i].ready = false
	}
	t.by, t.size, t.universe = by, size, uint64(max(q.NumDocs, 1))
	t.elements, t.err = 0, nil
	err := runConjunction(stop, s, q, queue, t.find)
	s.Stats.PostingsDecoded += t.elements
	for i := range t.legs {
		t.legs[i].list, t.legs[i].ranges = nil, nil
	}
	if err == nil {
		err = t.err
	}
	return err
}

func (t *contracted) search(x *conjunction, l *legState) {
	if t.err != nil {
		return
	}
	c := &t.legs[l.index]
	if !c.ready {
		if err := t.open(c, l); err != nil {
			t.err = fmt.Errorf("leg %d: %w", l.index, err)
			return
		}
	}
	if c.access == byBlock {
		t.searchBlocks(x, l, c)
		return
	}
	for i := range x.n {
		d := x.docIDs[i&127]
		at, found, err := t.lookUp(c, d)
		if err == nil && found == d {
			err = x.matchAlone(l, i, at, c.access)
		}
		if err != nil {
			t.err = fmt.Errorf("leg %d: %w", l.index, err)
			return
		}
	}
}

func (t *contracted) open(c *contractedLeg, l *legState) error {
	c.list, c.ranges, c.access, c.native = l.List, nil, byBlock, false
	switch cd := l.List.Codec.(type) {
	case codec.Raw:
		c.access = byRaw
	case codec.Regression:
		list, ok := l.List.Whole()
		if !ok {
			break
		}
		c.access = byLists
		if err := c.whole.Reset(cd, list, int(l.List.DocFreq)); err != nil {
			return err
		}
		// hs-lrc has no line of the list, and only buckets of its own size.
		c.native = t.by == byLine && cd.Scheme != codec.HSLRC || t.by == byHash && cd.Scheme == codec.HSLRC && cd.Segment() == t.size
	}
	c.ready = true
	if c.native || t.by == byInterpolation && c.access != byBlock {
		return nil
	}
	key := uint64(t.size)<<2 | uint64(t.by)
	var err error
	c.ranges, err = contractedRangesOf.Get(l.Derived, key, func() (*contractedRanges, int64, error) { return t.contract(c) })
	return err
}

func (t *contracted) contract(c *contractedLeg) (*contractedRanges, int64, error) {
	r := new(contractedRanges)
	seq := lastDocIDs(c.list)
	if c.access == byBlock {
		r.lasts = seq
	} else {
		var err error
		if seq, err = allDocIDs(c.list); err != nil {
			return nil, 0, err
		}
	}
	for i, d := range seq {
		if uint64(d) >= t.universe || i > 0 && d <= seq[i-1] {
			return nil, 0, fmt.Errorf("DocID %d of %d documents: %w", d, t.universe, base.ErrCorrupt)
		}
	}
	size := int64(len(r.lasts))*4 + 96
	switch t.by {
	case byLine:
		r.safe = contraction.NewSafeRange(seq)
	case byHash:
		r.buckets = contraction.NewBucketsOf(seq, contraction.BucketBits(int(c.list.DocFreq), t.universe, t.size))
		size += r.buckets.SizeBytes()
	}
	return r, size, nil
}

func lastDocIDs(l *postings.List) []uint32 {
	lasts := make([]uint32, l.NumBlocks())
	for i := range lasts {
		lasts[i] = l.Block(i).Last
	}
	return lasts
}

func allDocIDs(l *postings.List) ([]uint32, error) {
	docIDs := make([]uint32, 0, l.DocFreq)
	var block [codec.BlockLen]uint32
	for i := range l.NumBlocks() {
		if _, err := l.DecodeDocIDs(i, &block); err != nil {
			return nil, err
		}
		docIDs = append(docIDs, block[:l.BlockSize(i)]...)
	}
	return docIDs, nil
}

// within returns the range of the sequence that contains x. It is not for interpolation.
func (t *contracted) within(r *contractedRanges, x uint32) (lo, hi int) {
	if t.by == byLine {
		return r.safe.Range(x)
	}
	return r.buckets.Range(x)
}

func (t *contracted) searchBlocks(x *conjunction, l *legState, c *contractedLeg) {
	lasts, cur := c.ranges.lasts, &l.cursor
	for i := 0; i < x.n; {
		if d := x.docIDs[i&127]; cur.DocID() == base.NoDocID || d > uint32(cur.BlockLastDocID()) {
			var at int
			if t.by == byInterpolation {
				at = contraction.Interpolate(lasts, d)
			} else {
				lo, hi := t.within(c.ranges, d)
				at = contraction.Binary(lasts, lo, hi, d)
			}
			if at < len(lasts) && l.List.Block(at).First > d { // between two blocks
				i++
				continue
			}
			if cur.LoadBlock(max(at, cur.BlockIndex()+1)) == base.NoDocID {
				return
			}
		}
		i = x.searchBlock(l, i)
	}
}

// lookUp finds the first DocID that is at least x. If there is none, the position is undefined.
func (t *contracted) lookUp(c *contractedLeg, x uint32) (at int, found uint32, err error) {
	if c.native {
		before := c.whole.Elements
		at, found, err = c.whole.Search(x)
		t.elements += c.whole.Elements - before
		return at, found, err
	}
	if t.by == byInterpolation {
		return t.interpolate(c, x)
	}
	lo, hi := t.within(c.ranges, x)
	if c.access == byLists {
		before := c.whole.Elements
		at, found, err = c.whole.SearchIn(lo, hi, x)
		t.elements += c.whole.Elements - before
		return at, found, err
	}
	return t.searchRaw(c, lo, hi, x)
}

// searchRaw is lookUp among DocIDs lo to hi of a list in codec.Raw: it finds the block,
// then the DocID.
func (t *contracted) searchRaw(c *contractedLeg, lo, hi int, x uint32) (at int, found uint32, err error) {
	last := (int(c.list.DocFreq) - 1) / codec.BlockLen
	block, end := lo/codec.BlockLen, min(hi/codec.BlockLen, last)
	for block < end {
		mid := int(uint(block+end) / 2)
		if c.list.Block(mid).Last < x {
			block = mid + 1
		} else {
			end = mid
		}
	}
	if block > last {
		return 0, codec.NoBase, nil
	}
	b, err := c.list.BlockBytes(block)
	size := c.list.BlockSize(block)
	if err == nil && len(b) < 4*size {
		err = fmt.Errorf("block %d of %d bytes: %w", block, len(b), base.ErrCorrupt)
	}
	if err != nil {
		return 0, 0, err
	}
	from := block * codec.BlockLen
	lo, hi = max(lo-from, 0), min(hi-from+1, size) // hi is included
	found = codec.NoBase
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		t.elements++
		if d := binary.LittleEndian.Uint32(b[4*mid:]); d < x {
			lo = mid + 1
		} else {
			hi, found = mid, d
		}
	}
	return from + lo, found, nil
}

func (t *contracted) interpolate(c *contractedLeg, x uint32) (at int, found uint32, err error) {
	lo, hi := 0, int(c.list.DocFreq)-1
	first, last := c.list.Block(0).First, uint32(c.list.LastDocID())
	if x <= first {
		return lo, first, nil
	}
	if x > last {
		return hi, codec.NoBase, nil
	}
	for hi-lo > 1 {
		mid := contraction.Interpolation(lo, hi, first, last, x)
		d, err := t.docIDAt(c, mid)
		switch {
		case err != nil:
			return 0, 0, err
		case d < x:
			lo, first = mid, d
		default:
			hi, last = mid, d
		}
	}
	return hi, last, nil
}

func (t *contracted) docIDAt(c *contractedLeg, i int) (uint32, error) {
	t.elements++
	if c.access == byLists {
		return c.whole.DocIDAt(i)
	}
	b, err := c.list.BlockBytes(i / codec.BlockLen)
	if err != nil {
		return 0, err
	}
	at := 4 * (i % codec.BlockLen)
	if len(b) < at+4 {
		return 0, fmt.Errorf("DocID %d: block of %d bytes: %w", i, len(b), base.ErrCorrupt)
	}
	return binary.LittleEndian.Uint32(b[at:]), nil
}

// matchAlone keeps candidate i, found at position at of the list, and adds its
// contribution. Its frequency is read alone.
func (x *conjunction) matchAlone(l *legState, i, at int, how access) error {
	block, docSize := at/codec.BlockLen, 0
	if how == byRaw {
		docSize = 4 * l.List.BlockSize(block)
	}
	f, err := l.List.FreqAt(block, docSize, at%codec.BlockLen)
	if err != nil {
		return err
	}
	d := x.docIDs[i&127]
	sum := x.sums[i&127] + l.Term.Score(f, l.Lengths[d])
	x.docIDs[x.kept&127], x.at[x.kept&127], x.sums[x.kept&127] = d, x.at[i&127], sum
	x.kept++
	return nil
}
