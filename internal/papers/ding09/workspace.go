package ding09

import (
	"errors"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/selection"
)

// blockShift is the log2 of the postings of a block that an AND decodes or skips (§8.1: "say, 128").
const blockShift = 7

const _ = uint(codec.BlockLen-1<<blockShift) + uint(1<<blockShift-codec.BlockLen) // they are equal

// sizes are the maximum needs of a query in a segment.
type sizes struct {
	shortest int // postings of the shortest list of an AND
	longest  int // postings of the longest list
	decoded  int // postings that are decoded at once
	scores   int // accumulators, or candidates of an AND
	keys     int // of all selections
}

// workspace is device memory for one query at a time. It grows to the largest.
type workspace struct {
	// Of an AND.
	matching           *intersect.Workspace
	shortest, longest  int // capacity of matching
	candidates         [2]intersect.Candidates
	candidatesCapacity int
	selected           intersect.Selection
	first              cuda.Buffer[uint32] // the shortest list

	decoded     cuda.Buffer[uint32] // the other lists, or their selected blocks
	recursions  cuda.Buffer[uint32] // decoded exceptions of a list
	sides       cuda.Buffer[uint32] // decode.RecArrayWords of each recursive list
	arrays      cuda.Buffer[decode.RecArray]
	hostSides   cuda.HostBuffer[uint32]
	hostArrays  cuda.HostBuffer[decode.RecArray]
	matches     cuda.Buffer[uint32] // [2] documents, by stage
	hostMatches cuda.HostBuffer[uint32]
	blocks      cuda.Buffer[uint32] // [1] of kernel ding09_fall_back
	scratch     *selection.Scratch
	scratchRoom int // scores
}

const numStages = 2 // at most

// grow makes room; no work may be running. After an error the workspace can still grow, or be freed.
func (w *workspace) grow(d *cuda.Device, k *kernels, n sizes) error {
	padded := func(n int) int { return (n + codec.BlockLen - 1) / codec.BlockLen * codec.BlockLen }
	return errors.Join(
		w.growMatching(d, n),
		cuda.Grow(d, &w.first, padded(n.shortest), cuda.Alloc[uint32]),
		cuda.Grow(d, &w.decoded, padded(n.decoded), cuda.Alloc[uint32]),
		cuda.Grow(d, &w.matches, numStages, cuda.Alloc[uint32]),
		cuda.Grow(d, &w.hostMatches, numStages, cuda.AllocHost[uint32]),
		cuda.Grow(d, &w.blocks, 1, cuda.Alloc[uint32]),
		w.growScratch(k.selector, n.scores),
	)
}

// slack is the room that a larger query adds for others.
func slack(n int) int { return n + n/4 }

func (w *workspace) growMatching(d *cuda.Device, n sizes) error {
	if n.shortest == 0 {
		return nil // no AND
	}
	n.longest = max(n.longest, n.shortest)
	if w.matching == nil || n.shortest > w.shortest || n.longest > w.longest {
		shortest, longest := max(w.shortest, slack(n.shortest)), max(w.longest, slack(n.longest))
		w.freeMatching()
		err := w.newMatching(d, shortest, longest)
		if errors.Is(err, cuda.ErrOutOfMemory) {
			err = w.newMatching(d, n.shortest, n.longest)
		}
		if err != nil {
			return err
		}
	}
	if w.candidatesCapacity >= n.shortest {
		return nil
	}
	w.freeCandidates()
	err := w.newCandidates(d, w.shortest)
	if errors.Is(err, cuda.ErrOutOfMemory) {
		w.freeCandidates()
		err = w.newCandidates(d, n.shortest)
	}
	return err
}

func (w *workspace) newMatching(d *cuda.Device, shortest, longest int) (err error) {
	if w.matching, err = intersect.NewWorkspace(d, shortest, longest); err == nil {
		w.shortest, w.longest = shortest, longest
	}
	return err
}

func (w *workspace) newCandidates(d *cuda.Device, capacity int) (err error) {
	for i := range w.candidates {
		if w.candidates[i], err = intersect.NewCandidates(d, 2, capacity); err != nil {
			return err
		}
	}
	if w.selected, err = intersect.NewSelection(d, capacity); err == nil {
		w.candidatesCapacity = capacity
	}
	return err
}

func (w *workspace) growScratch(s *selection.Selector, scores int) error {
	if w.scratch != nil && scores <= w.scratchRoom {
		return nil
	}
	if err := w.freeScratch(); err != nil {
		return err
	}
	err := w.newScratch(s, slack(scores))
	if errors.Is(err, cuda.ErrOutOfMemory) {
		err = w.newScratch(s, scores)
	}
	return err
}

func (w *workspace) newScratch(s *selection.Selector, room int) (err error) {
	if w.scratch, err = s.NewScratch(room, selection.MaxK, selection.Heap, selection.Bucket); err == nil {
		w.scratchRoom = room
	}
	return err
}

func (w *workspace) freeMatching() {
	if w.matching != nil {
		w.matching.Free()
		w.matching = nil
	}
	w.shortest, w.longest = 0, 0
}

func (w *workspace) freeCandidates() {
	for i := range w.candidates {
		w.candidates[i].Free()
	}
	w.selected.Free()
	w.candidatesCapacity = 0
}

func (w *workspace) freeScratch() error {
	if w.scratch == nil {
		return nil
	}
	s := w.scratch
	w.scratch = nil
	return s.Free()
}

// free releases the memory, which must not be in use.
func (w *workspace) free() error {
	w.freeMatching()
	w.freeCandidates()
	err := errors.Join(
		w.freeScratch(), w.first.Free(), w.decoded.Free(), w.recursions.Free(), w.sides.Free(), w.arrays.Free(), w.matches.Free(), w.blocks.Free(),
		freeHost(w.hostMatches), freeHost(w.hostSides), freeHost(w.hostArrays),
	)
	*w = workspace{}
	return err
}

func freeHost[T any](b cuda.HostBuffer[T]) error {
	if b.IsZero() {
		return nil
	}
	return b.Free()
}
