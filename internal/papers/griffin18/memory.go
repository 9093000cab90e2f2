package griffin18

import (
	"errors"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
)

// memory is the memory of a workspace on the device, with a stream. It grows with the largest query.
// Buffers may grow only while the stream does not use them.
type memory struct {
	*bus
	list    cuda.Buffer[uint32]    // a list, or its directory
	blocks  cuda.Buffer[uint32]    // blocks of a list, and their offsets
	docIDs  [2]cuda.Buffer[uint32] // of the candidates, before and after an intersection
	rows    [2]cuda.Buffer[uint32] // [lists][stride]: their positions
	pair    cuda.Buffer[uint32]    // [2][candidates]: their positions in two lists
	count   cuda.Buffer[uint32]
	decoded cuda.Buffer[uint32]

	intersection intersection
	scores       scores
	ranking      ranking
	lengths      []*lengths // that the segment reads

	// By list: the numbers of the blocks on the device; nil: all.
	selected [][]uint32
}

// intersection is memory of package intersect.
type intersection struct {
	workspace         *intersect.Workspace
	shortest, longest int
	selection         intersect.Selection
}

// scores is memory of package scoring.
type scores struct {
	freqs    cuda.Buffer[uint32] // of all lists
	lists    cuda.HostBuffer[scoring.List]
	onDevice cuda.Buffer[scoring.List] // lists on the device
	sums     cuda.Buffer[uint32]
}

// ranking is memory of package selection.
type ranking struct {
	scratch      *selection.Scratch
	scores, most int
	live         cuda.Buffer[uint32] // a bit for each document
	best         cuda.Buffer[selection.Key]
	keys         cuda.HostBuffer[selection.Key]
}

func newMemory(d *device) (*memory, error) {
	b, err := newBus(d)
	if err != nil {
		return nil, err
	}
	m := &memory{bus: b}
	if m.count, err = cuda.Alloc[uint32](d.cuda, 1); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// end ends the work on a segment, after waiting for it.
func (m *memory) end(e *Engine) {
	m.device.release(m.lengths)
	clear(m.lengths)
	m.lengths = m.lengths[:0]
	e.busBytes.Add(m.copied) // of a step that failed
	m.copied = 0
}

// close frees everything; no work may be running.
func (m *memory) close() error {
	m.intersection.free()
	errs := []error{m.scores.free(), m.ranking.free()}
	for _, b := range []*cuda.Buffer[uint32]{
		&m.list, &m.blocks, &m.docIDs[0], &m.docIDs[1], &m.rows[0], &m.rows[1], &m.pair, &m.count, &m.decoded,
	} {
		errs = append(errs, b.Free())
	}
	return errors.Join(append(errs, m.bus.close())...)
}

// sizeBytes is the memory on the device and the page-locked memory. Of packages intersect and selection, it is
// an estimate.
func (m *memory) sizeBytes() int64 {
	sum := 0 // of words
	for _, n := range [...]int{
		m.list.Len(), m.blocks.Len(), m.docIDs[0].Len(), m.docIDs[1].Len(), m.rows[0].Len(), m.rows[1].Len(), m.pair.Len(), m.decoded.Len(),
		m.scores.freqs.Len(), m.scores.sums.Len(), m.ranking.live.Len(), m.intersection.selection.Numbers.Len(), m.to.Len(), m.from.Len(),
	} {
		sum += n
	}
	sum += 3*m.intersection.shortest + 2*m.intersection.longest // slots and ranks
	sum += 4 * m.ranking.scores                                 // keys
	return 4 * int64(sum)
}

// hold makes room for a segment: numLists lists, the shortest of n postings.
func (m *memory) hold(numLists, n int) error {
	errs := []error{
		m.grow(&m.docIDs[0], padded(n)), m.grow(&m.docIDs[1], n), m.grow(&m.pair, 2*n), m.grow(&m.scores.sums, n),
	}
	if numLists > 1 {
		errs = append(errs, m.grow(&m.rows[0], numLists*n), m.grow(&m.rows[1], numLists*n))
	}
	return errors.Join(errs...)
}

// padded rounds up to whole blocks, as they are decoded.
func padded(n int) int { return (n + codec.BlockLen - 1) / codec.BlockLen * codec.BlockLen }

// copyList copies a list.
func (m *memory) copyList(l *lists.List) (coded, error) {
	copies, err := m.copyTo(&m.list, l.Directory, l.Payload)
	if err != nil {
		return coded{}, err
	}
	return coded{numPostings: l.NumPostings, directory: copies[0], payload: copies[1]}, nil
}

// hold makes room for a pair of lists.
func (i *intersection) hold(d *cuda.Device, shortest, longest int) error {
	if i.workspace != nil && shortest <= i.shortest && longest <= i.longest {
		return nil
	}
	shortest, longest = max(shortest+shortest/4, i.shortest), max(longest+longest/4, i.longest)
	i.freeWorkspace()
	w, err := intersect.NewWorkspace(d, shortest, max(shortest, longest))
	if err != nil {
		return err
	}
	i.workspace, i.shortest, i.longest = w, shortest, max(shortest, longest)
	return nil
}

// holdSelection makes room for a number of selected blocks.
func (i *intersection) holdSelection(d *cuda.Device, blocks int) (err error) {
	if blocks <= i.selection.Numbers.Len() {
		return nil
	}
	i.selection.Free()
	i.selection, err = intersect.NewSelection(d, blocks+blocks/4)
	return err
}

func (i *intersection) freeWorkspace() {
	if i.workspace != nil {
		i.workspace.Free()
	}
	i.workspace, i.shortest, i.longest = nil, 0, 0
}

func (i *intersection) free() {
	i.freeWorkspace()
	i.selection.Free()
}

// hold makes room for the best k of n scores.
func (r *ranking) hold(s *selection.Selector, n, k int, method selection.Method) error {
	if r.scratch != nil && n <= r.scores && k <= r.most {
		return nil
	}
	n, k = max(n+n/4, r.scores), max(k, r.most)
	if err := r.freeScratch(); err != nil {
		return err
	}
	scratch, err := s.NewScratch(n, k, method)
	if err != nil {
		return err
	}
	r.scratch, r.scores, r.most = scratch, n, k
	return nil
}

func (r *ranking) freeScratch() (err error) {
	if r.scratch != nil {
		err = r.scratch.Free()
	}
	r.scratch, r.scores, r.most = nil, 0, 0
	return err
}

func (r *ranking) free() error {
	return errors.Join(r.freeScratch(), r.live.Free(), r.best.Free(), r.keys.Free())
}

func (s *scores) free() error {
	return errors.Join(s.freqs.Free(), s.lists.Free(), s.onDevice.Free(), s.sums.Free())
}
