package imagesearch

import (
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

const (
	// digitBits of a key or a place are counted by a launch, fewer at the end. The first digit has all, so that few
	// documents wait for each other's counts, and one launch often suffices.
	digitBits = 12
	// selectRoom is the maximum number of documents that the device returns, among which the host chooses.
	selectRoom = 1 << 14
)

// ByValue is an order of documents by a column, and by DocID if their values are equal.
type ByValue struct {
	// Words has numbers as Values.Words, of 16, 32 or 64 bits: Bytes is 2, 4 or 8. Most is the greatest number.
	Words cuda.Buffer[uint32]
	Bytes int
	Most  uint64
	// Rising puts the least numbers first, NoneFirst documents without a value, which are last otherwise.
	Rising, NoneFirst bool
	// Ties wants all documents with the Kth's value, in which other keys order them.
	Ties bool
	// Bounded leaves documents out, though not of the matches, whose keys are End or greater. The key of number n is n, or Most + 1 - n
	// with Rising; without a value 0, or Most + 1 with NoneFirst.
	Bounded bool
	End     uint64
}

// selectParams mirrors SelectParams, selectStep SelectStep.
type selectParams struct {
	tally tallyParams
	step  selectStep
}

type selectStep struct {
	most, prefix, equal uint64
	end                 uint64
	docs                cuda.Ptr[uint32]
	keys                cuda.Ptr[uint64]
	room, shift         uint32
	rising, noneFirst   uint32
	byPlace, bits       uint32
	bounded, _          uint32
}

// Select finds the best q.K matches of a query by a column, with by.Ties all of the Kth's value: it returns their DocIDs
// in the segment in any order. It counts the digits of keys, the highest first, until the documents that may be among the
// best are few, and then fetches these; Satish, Harris and Garland, "Designing efficient sorting algorithms for manycore GPUs",
// IPDPS 2009, have the counts of digits. Matches counts documents that are left out, too. Errors are as of Count; it is ErrUnsuited, too, if there are too many
// documents to return. docs is valid until the next call.
func (t *Tally) Select(stream *cuda.Stream, segment Segment, q *Query, by *ByValue) (docs []uint32, err error) {
	if err := t.checkSelect(&segment, q, by); err != nil {
		return nil, err
	}
	if err := t.reserve(&segment, []Values{{NumSlots: 1 << digitBits}}); err != nil {
		return nil, err
	}
	if t.docs.Data() == nil {
		if t.docs, err = cuda.AllocHost[uint32](t.kernels.device, selectRoom); err != nil {
			return nil, err
		}
	}
	if t.keys.Data() == nil {
		if t.keys, err = cuda.AllocHost[uint64](t.kernels.device, selectRoom); err != nil {
			return nil, err
		}
	}
	s := selection{Tally: t, stream: stream, segment: &segment, k: q.K}
	if err := s.run(q, by); err != nil {
		return nil, abandon(stream, err)
	}
	t.failed = false
	n := t.result.Data()[2]
	return best(t.docs.Data()[:n], t.keys.Data()[:n], q.K, by.Ties), nil
}

// best moves the k documents with the greatest keys to the front of docs, of equal keys the first ones, or with ties all
// that have the key of the last.
func best(docs []uint32, keys []uint64, k int, ties bool) []uint32 {
	if len(docs) <= k {
		return docs
	}
	type place struct {
		key uint64
		doc uint32
	}
	worse := func(a, b place) bool { return a.key < b.key || a.key == b.key && a.doc > b.doc }
	heap := make([]place, k) // the worst first
	down := func(i int, p place) {
		for child := 2*i + 1; child < k; child = 2*i + 1 {
			if child+1 < k && worse(heap[child+1], heap[child]) {
				child++
			}
			if !worse(heap[child], p) {
				break
			}
			heap[i], i = heap[child], child
		}
		heap[i] = p
	}
	for i := range heap {
		heap[i] = place{keys[i], docs[i]}
	}
	for i := k/2 - 1; i >= 0; i-- {
		down(i, heap[i])
	}
	for i := k; i < len(docs); i++ {
		if p := (place{keys[i], docs[i]}); worse(heap[0], p) {
			down(0, p)
		}
	}
	last, n := heap[0], 0
	for i, d := range docs {
		if p := (place{keys[i], d}); !worse(p, last) || ties && p.key == last.key {
			docs[n] = d
			n++
		}
	}
	return docs[:n]
}

func (t *Tally) checkSelect(segment *Segment, q *Query, by *ByValue) error {
	if q.K < 1 || q.K > MaxK || by.Bytes != 2 && by.Bytes != 4 && by.Bytes != 8 ||
		by.Words.Ptr()%16 != 0 || by.Words.Len()*4/max(by.Bytes, 1) < (segment.NumDocs+7)/8*8 || by.Most == ^uint64(0) {
		return fmt.Errorf("the best %d by %d words of %d bytes for %d documents: %w", q.K, by.Words.Len(), by.Bytes, segment.NumDocs, base.ErrBadInput)
	}
	return t.check(segment, q, nil)
}

// selection is a run of Select.
type selection struct {
	*Tally
	stream  *cuda.Stream
	segment *Segment
	kernel  *cuda.Kernel
	params  selectParams
	k       int // documents that are still wanted
	before  int // documents with a better prefix
}

func (s *selection) run(q *Query, by *ByValue) error {
	if err := s.begin(s.stream); err != nil {
		return err
	}
	if err := s.find(s.stream, s.segment, q); err != nil {
		return err
	}
	s.params.tally = s.Tally.params
	t := &s.params.tally
	t.values, t.counts, t.out = by.Words.Ptr(), s.counts.Ptr(), s.out.DevicePtr()
	p := &s.params.step
	p.most, p.room = by.Most, selectRoom
	if by.Bounded {
		p.bounded, p.end = 1, by.End
	}
	if by.Rising {
		p.rising = 1
	}
	if by.NoneFirst {
		p.noneFirst = 1
	}
	s.kernel = s.kernels.choose[bits.TrailingZeros(uint(by.Bytes))-1]
	few, err := s.narrow(bits.Len64(by.Most + 1))
	if err == nil && !few && !by.Ties { // the documents of a key are too many
		p.equal, p.prefix, p.byPlace = p.prefix, 0, 1
		few, err = s.narrow(bits.Len(uint(s.segment.NumDocs)))
	}
	switch {
	case err != nil:
		return err
	case !few:
		return fmt.Errorf("more than %d documents have the value of the last: %w", selectRoom, ErrUnsuited)
	}
	return s.fetch()
}

// narrow extends the prefix by digits until the documents with a better or the same one are few, or there is no
// digit left.
func (s *selection) narrow(width int) (few bool, err error) {
	p, t := &s.params.step, &s.params.tally
	for left := width; left > 0; {
		digit := min(left, digitBits)
		left -= digit
		p.shift, p.bits = uint32(left), uint32(digit)
		t.numSlots, t.copies = 1<<digit, copiesOf(1<<digit, s.kernels.device.Info().MaxSharedBytes-s.kernel.SharedBytes())
		if err := s.launchStep(4 << digit * int(t.copies)); err != nil {
			return false, err
		}
		if s.choose() {
			return true, nil
		}
	}
	return false, nil
}

// choose extends the prefix by the digit of the last wanted document; few reports whether no further one is needed.
func (s *selection) choose() (few bool) {
	p := &s.params.step
	counts := s.out.Data()[:1<<p.bits]
	digit := len(counts) - 1
	for ; digit > 0 && int(counts[digit]) < s.k; digit-- {
		s.k -= int(counts[digit])
		s.before += int(counts[digit])
	}
	p.prefix = p.prefix<<p.bits | uint64(digit)
	return s.before+int(counts[digit]) <= selectRoom
}

// fetch writes the documents to the host.
func (s *selection) fetch() error {
	s.params.step.docs, s.params.step.keys = s.docs.DevicePtr(), s.keys.DevicePtr()
	t := &s.params.tally
	t.clear, t.counts, t.out, t.numSlots, t.copies = 1, 0, 0, 0, 0
	if err := s.launchStep(0); err != nil {
		return err
	}
	return s.record(s.stream, s.ended)
}

// launchStep launches and waits.
func (s *selection) launchStep(shared int) error {
	blocks, err := s.blocks(s.kernel, shared, s.segment)
	if err != nil {
		return err
	}
	s.number()
	s.params.tally.launch, s.params.tally.units = s.launches, unitsOf(s.segment.NumDocs, blocks)
	if err := cuda.Launch(s.stream, s.kernel, cuda.D1(blocks), cuda.D1(tallyThreads), shared, &s.params); err != nil {
		return err
	}
	return s.awaitLaunch(s.stream)
}
