package intersect

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Mirrors IntersectPairParams of pair.cuh.
type pairParams struct {
	slots            slotsParams
	listA, listB     cuda.Ptr[uint32]
	lengthA, lengthB cuda.Ptr[uint32]
	bounds           cuda.Ptr[uint32]
	parents          cuda.Ptr[uint32]
	ranks            cuda.Ptr[uint32]
	numA, numB       uint32
	crossing         uint32
	numGroups        uint32
}

// never is a crossing that no two lists reach.
const never = 1<<32 - 1

// pair is two lists and the destination of their candidates.
type pair struct {
	call string
	a, b List
	out  Candidates
	// A consists of these candidates of numPrior lists, whose positions are
	// inherited.
	prior    Candidates
	numPrior int
	// B consists of the decoded blocks of this selection, of 1<<blockShift
	// elements.
	selected   cuda.Buffer[uint32]
	blockShift int
}

// wantsPositions reports whether positions must be found.
func (p *pair) wantsPositions() bool { return !p.out.Positions.IsZero() }

// check returns an error if out lacks room for the shorter list or for
// requested positions.
func (p *pair) check() error {
	room, numLists := p.out.DocIDs.Len(), max(1, p.numPrior)+1
	switch {
	case p.a.bound()+p.b.bound() > MaxElements:
		return fmt.Errorf("intersect.%s: lists of %d and %d elements, together more than %d: %w", p.call, p.a.bound(), p.b.bound(), MaxElements, base.ErrBadInput)
	case room < min(p.a.bound(), p.b.bound()):
		return fmt.Errorf("intersect.%s: room for %d candidates of lists of %d and %d: %w", p.call, room, p.a.bound(), p.b.bound(), base.ErrBadInput)
	case p.out.Count.Len() != 1:
		return fmt.Errorf("intersect.%s: candidates without a count: %w", p.call, base.ErrBadInput)
	case p.wantsPositions() && p.out.Positions.Len() < numLists*room:
		return fmt.Errorf("intersect.%s: room for %d positions of %d candidates in %d lists: %w", p.call, p.out.Positions.Len(), room, numLists, base.ErrBadInput)
	}
	return nil
}

// params returns the parameters of the kernel that finds matches, which leaves them in
// slots.
func (p *pair) params(slots slotsParams) pairParams {
	return pairParams{
		slots: slots,
		listA: p.a.DocIDs.Ptr(), listB: p.b.DocIDs.Ptr(),
		lengthA: p.a.Len.Ptr(), lengthB: p.b.Len.Ptr(),
		numA: uint32(p.a.bound()), numB: uint32(p.b.bound()),
		crossing: never,
	}
}

// gathered returns the parameters of the kernel that compacts the matches in slots.
func (p *pair) gathered(slots slotsParams) gatherParams {
	g := gatherParams{slots: slots, docIDs: p.out.DocIDs.Ptr(), count: p.out.Count.Ptr(), blockShift: uint32(p.blockShift)}
	if !p.wantsPositions() {
		return g
	}
	g.listA, g.blocks = p.a.DocIDs.Ptr(), p.selected.Ptr()
	g.positions, g.stride = p.out.Positions.Ptr(), uint32(p.out.DocIDs.Len())
	if p.numPrior > 0 {
		g.prior, g.numPrior, g.priorStride = p.prior.Positions.Ptr(), uint32(p.numPrior), uint32(p.prior.DocIDs.Len())
	}
	return g
}

// Adaptive is Probe if B has at least x.Crossing times the elements of A,
// otherwise MergePath (PPoPP 2018, §3.1.2). If only the device knows a length,
// a kernel chooses there. A is not longer than B. Out, errors and the stream
// rule are as for MergePath.
func (x *Intersector) Adaptive(s *cuda.Stream, w *Workspace, a, b List, out Candidates) error {
	return x.adaptive(s, w, &pair{call: "Adaptive", a: a, b: b, out: out})
}

func (x *Intersector) adaptive(s *cuda.Stream, w *Workspace, p *pair) error {
	switch {
	case p.a.onDevice() || p.b.onDevice():
		return x.merge(s, w, p, x.Crossing)
	case p.b.bound() >= x.Crossing*p.a.bound():
		return x.probe(s, w, p)
	}
	return x.merge(s, w, p, never)
}

// Probe intersects two lists by a binary search in B for each element of A.
// Unlike in the papers' binary search (MergeFind without levels), the upper
// levels are in shared memory, and each thread does four searches at once, or
// eight threads do one if A has few elements. Out, errors and the stream rule
// are as for MergePath.
func (x *Intersector) Probe(s *cuda.Stream, w *Workspace, a, b List, out Candidates) error {
	return x.probe(s, w, &pair{call: "Probe", a: a, b: b, out: out})
}

func (x *Intersector) probe(s *cuda.Stream, w *Workspace, p *pair) error {
	if p.a.bound() <= tuning.fewElements {
		return x.search(s, w, p, x.kernels.probeFew, blockThreads, fewTile)
	}
	return x.search(s, w, p, x.kernels.probe, blockThreads, searchTile)
}

// search runs a kernel that searches tiles of A.
func (x *Intersector) search(s *cuda.Stream, w *Workspace, p *pair, k *cuda.Kernel, threads, tile int) error {
	if err := p.check(); err != nil {
		return err
	}
	numTiles := tilesOf(p.a.bound(), tile)
	slots, err := w.slotsOf(s, numTiles, tile, p.wantsPositions())
	if err != nil {
		return err
	}
	params := p.params(slots)
	if err := cuda.Launch(s, k, x.grid(numTiles), cuda.D1(threads), 0, &params); err != nil {
		return err
	}
	g := p.gathered(slots)
	return x.gather(s, numTiles, &g)
}
