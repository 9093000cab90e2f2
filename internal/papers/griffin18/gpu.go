package griffin18

import (
	"context"
	"errors"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// Names of steps on the GPU: copies over the bus, and the search for blocks that can contain candidates.
const (
	stepTransfer = "transfer"
	stepSelect   = "select"
)

// found are candidates on the device. The host knows their number.
type found struct {
	docIDs cuda.Buffer[uint32]
	// Positions of candidate i in list l at rows[stride*l+i]; zero: there is one list, which the
	// candidates are.
	rows   cuda.Buffer[uint32]
	stride int
}

func (f *found) len() int { return f.docIDs.Len() }

// row returns the positions in a list.
func (f *found) row(l int) cuda.Buffer[uint32] {
	return f.rows.Slice(l*f.stride, l*f.stride+f.len())
}

// beginOnGPU intersects lists on the device while the scheduler leaves the query there. It completes the
// segment, or moves the candidates to the host. An error leaves the queue as it was.
func (r *run) beginOnGPU(ctx context.Context) (completed bool, err error) {
	if r.memory == nil {
		if r.memory, err = newMemory(r.engine.device); err != nil {
			return false, err
		}
	}
	f, err := r.intersectOnGPU(ctx)
	if err == nil {
		if completed = f.len() == 0 || len(r.lists) == len(r.legs); completed {
			err = r.rankFound(ctx, f)
		} else {
			err = r.migrate(f)
		}
	}
	if err != nil {
		// Copies from and to the workspace may be under way.
		_ = r.memory.wait()
	}
	r.memory.end(r.engine)
	return completed, err
}

func (r *run) intersectOnGPU(ctx context.Context) (found, error) {
	f, err := r.decodeFirstOnGPU()
	for err == nil && f.len() > 0 && len(r.lists) < len(r.legs) && r.staysOnGPU(f.len(), r.legs[len(r.lists)]) {
		if err = ctx.Err(); err == nil {
			f, err = r.intersectNext(f)
		}
	}
	return f, err
}

// decodeFirstOnGPU makes all postings of the shortest list candidates.
func (r *run) decodeFirstOnGPU() (found, error) {
	l, err := r.list(codeEF)
	if err != nil {
		return found{}, err
	}
	m, n := r.memory, l.NumPostings
	m.selected = make([][]uint32, len(r.legs))
	if err := m.hold(len(r.legs), n); err != nil {
		return found{}, err
	}
	if err := r.bring(l, m.docIDs[0]); err != nil {
		return found{}, err
	}
	return found{docIDs: m.docIDs[0].Slice(0, n), stride: n}, nil
}

// bring copies a list to the device and decodes it into dst.
func (r *run) bring(l *lists.List, dst cuda.Buffer[uint32]) error {
	m := r.memory
	c, err := m.copyList(l)
	if err != nil {
		return err
	}
	if err := r.stepOnGPU(plan.Step{Name: stepTransfer}); err != nil {
		return err
	}
	if err := m.device.kernels.decodeEF(m.stream, c, dst); err != nil {
		return err
	}
	s := plan.Step{Name: stepDecode, Work: decoded(l)}
	if len(r.lists) == 1 { // others are listed with their intersection
		s.Lists = r.tracer.list(0)
	}
	return r.stepOnGPU(s)
}

// intersectNext intersects the candidates with the next list, by the ratio of lengths (§3.1.2).
func (r *run) intersectNext(f found) (found, error) {
	l, err := r.list(codeEF)
	if err != nil {
		return found{}, err
	}
	m := r.memory
	last := len(r.lists) - 1
	n := f.len()
	out := intersect.Candidates{DocIDs: m.docIDs[last%2].Slice(0, n), Positions: m.pair.Slice(0, 2*n), Count: m.count}
	if l.NumPostings < r.engine.options.crossing*n {
		err = r.mergeOnGPU(f, l, out)
	} else {
		err = r.searchOnGPU(f, l, out)
	}
	if err != nil {
		return found{}, err
	}
	left, err := m.number(out.Count)
	if err != nil {
		return found{}, err
	}
	next := found{docIDs: out.DocIDs.Slice(0, left), rows: m.rows[last%2], stride: f.stride}
	err = m.device.kernels.followPair(m.stream, followParams{
		prior: f.rows.Ptr(), pair: out.Positions.Ptr(), next: next.rows.Ptr(),
		numCandidates: uint32(left), numPrior: uint32(last), stride: uint32(f.stride), pairStride: uint32(n),
	})
	if err != nil {
		return found{}, err
	}
	return next, r.stepOnGPU(plan.Step{Name: plan.StepIntersect, Lists: r.tracer.list(last), Candidates: int64(n), Left: int64(left)})
}

// mergeOnGPU decodes the list and merges by MergePath.
func (r *run) mergeOnGPU(f found, l *lists.List, out intersect.Candidates) error {
	m := r.memory
	err := errors.Join(m.intersection.hold(m.device.cuda, f.len(), l.NumPostings), m.grow(&m.decoded, padded(l.NumPostings)))
	if err != nil {
		return err
	}
	if err := r.bring(l, m.decoded); err != nil {
		return err
	}
	b := intersect.List{DocIDs: m.decoded.Slice(0, l.NumPostings)}
	return m.device.x.MergePath(m.stream, m.intersection.workspace, intersect.List{DocIDs: f.docIDs}, b, out)
}

// searchOnGPU searches the candidates in the skip pointers, and brings and decodes only the blocks that
// can contain some.
func (r *run) searchOnGPU(f found, l *lists.List, out intersect.Candidates) error {
	m := r.memory
	most := min(f.len(), l.NumBlocks()) // selected blocks
	err := errors.Join(
		m.intersection.hold(m.device.cuda, f.len(), f.len()), // searching needs no room for the long list
		m.grow(&m.decoded, most*codec.BlockLen), m.intersection.holdSelection(m.device.cuda, most))
	if err != nil {
		return err
	}
	skips, err := m.copyTo(&m.list, l.Directory)
	if err != nil {
		return err
	}
	if err := r.stepOnGPU(plan.Step{Name: stepTransfer}); err != nil {
		return err
	}
	b := &intersect.Blocks{
		Firsts: skips[0], Stride: lists.EntryWords, Len: l.NumPostings, BlockShift: blockShift,
		Decode: func(_ *cuda.Stream, sel intersect.Selection, dst cuda.Buffer[uint32]) error {
			return r.bringBlocks(l, skips[0], sel, dst)
		},
	}
	return m.device.x.IntersectBlocks(m.stream, m.intersection.workspace, intersect.List{DocIDs: f.docIDs}, b, m.intersection.selection, m.decoded, out)
}

// blockShift is log2 of codec.BlockLen.
const blockShift = 7

// bringBlocks copies the selected blocks to the device and decodes them.
func (r *run) bringBlocks(l *lists.List, directory cuda.Buffer[uint32], sel intersect.Selection, dst cuda.Buffer[uint32]) error {
	m := r.memory
	n, err := m.number(sel.Count)
	if err != nil {
		return err
	}
	numbers, err := m.copyFrom(sel.Numbers.Slice(0, n))
	if err != nil {
		return err
	}
	if err := r.stepOnGPU(plan.Step{Name: stepSelect, Left: int64(n)}); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	m.selected[len(r.lists)-1] = slices.Clone(numbers[0])
	payload, offsets := blocksOf(l.Directory, l.Payload, numbers[0])
	copies, err := m.copyTo(&m.blocks, payload, offsets)
	if err != nil {
		return err
	}
	if err := r.stepOnGPU(plan.Step{Name: stepTransfer}); err != nil {
		return err
	}
	c := coded{numPostings: l.NumPostings, directory: directory, payload: copies[0], offsets: copies[1], numbers: sel.Numbers.Slice(0, n)}
	if err := m.device.kernels.decodeEF(m.stream, c, dst); err != nil {
		return err
	}
	return r.stepOnGPU(plan.Step{Name: stepDecode, Work: plan.Work{
		BlocksDecoded: int64(n), BlocksSkipped: int64(l.NumBlocks() - n), PostingsDecoded: int64(n) * codec.BlockLen,
	}})
}

// migrate moves the candidates of at least two lists to the host.
func (r *run) migrate(f found) error {
	buffers := []cuda.Buffer[uint32]{f.docIDs}
	for l := range r.lists {
		buffers = append(buffers, f.row(l))
	}
	parts, err := r.memory.copyFrom(buffers...)
	if err != nil {
		return err
	}
	c := &r.candidates
	c.room(f.len(), len(r.lists))
	copy(c.docIDs, parts[0])
	for l, positions := range parts[1:] {
		copy(c.rows[l], positions)
	}
	return r.stepOnGPU(plan.Step{Name: stepTransfer, Candidates: int64(f.len()), Left: int64(f.len()), BusBytes: 4 * int64(f.len()*len(parts))})
}

// stepOnGPU is step for work on the device. With a trace, it waits for the work. BusBytes are those from
// the device; it adds those to it.
func (r *run) stepOnGPU(s plan.Step) error {
	m := r.memory
	r.engine.busBytes.Add(m.copied)
	s.Place, s.Processor = sched.GPU, m.device.name
	s.BusBytes += m.copied
	m.copied = 0
	if r.tracer.to != nil {
		if err := m.wait(); err != nil {
			return err
		}
	}
	r.step(s)
	return nil
}
