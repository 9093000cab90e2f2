package para

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/intersect"
)

// DefaultThreshold is the computational threshold at which Ao et al. (§6.1, Appendix
// F.2) report their results: a million elements of shortest lists.
const DefaultThreshold = 1 << 20

// MaxThreshold bounds what a batch may be asked to gather.
const MaxThreshold = 1 << 28

// Options says what a batch is to be.
type Options struct {
	// Threshold is the sum of the lengths of shortest lists from which on a batch is
	// full. 0: DefaultThreshold. It bounds memory as well: a shortest list takes at
	// least a warp's tile of 128 elements, so that a batch of short ones is full when its
	// tiles have 16 elements of the threshold each.
	Threshold int
	// Search is how elements are found in the other lists of their query.
	Search intersect.Search
	// CountOnly leaves out the DocIDs: only how many each query has is found.
	CountOnly bool
}

// Batch gathers queries and answers them together. It belongs to one goroutine at a
// time. Add and Reset allocate nothing once the batch has had its largest content; a
// query that makes the batch larger than it ever was makes it grow.
type Batch struct {
	kernels *Kernels
	options Options

	// What has been added, as it goes to the device (layout.go).
	content

	memory  memory
	done    *cuda.Event
	started bool
	total   int // DocIDs of all results, once they are there
}

// NewBatch allocates a batch. The caller closes it.
func (k *Kernels) NewBatch(o Options) (*Batch, error) {
	if o.Threshold == 0 {
		o.Threshold = DefaultThreshold
	}
	if o.Threshold < 1 || o.Threshold > MaxThreshold || o.Search >= intersect.NumSearches {
		return nil, fmt.Errorf("para.NewBatch: threshold %d, %s: %w", o.Threshold, o.Search, base.ErrBadInput)
	}
	b := &Batch{kernels: k, options: o}
	var err error
	if b.done, err = k.device.NewEvent(false /* timing */); err != nil {
		return nil, fmt.Errorf("para.NewBatch: %w", err)
	}
	return b, nil
}

// leastPerTile is how many elements a tile has in the mean, at least, when a batch is full.
const leastPerTile = 16

// Full reports whether the batch has reached its threshold. More may still be added.
func (b *Batch) Full() bool {
	return b.elements >= b.options.Threshold || leastPerTile*len(b.tiles) >= b.options.Threshold
}

// Len returns the number of queries.
func (b *Batch) Len() int { return b.numQueries() }

// Elements returns the sum of the lengths of the shortest lists.
func (b *Batch) Elements() int { return b.elements }

// Add adds the query for the DocIDs that all of the lists have, at least one list, in
// any order. The lists must stay as they are until the batch has run.
func (b *Batch) Add(lists ...intersect.View) error {
	if len(lists) == 0 || b.options.Search.Compressed() {
		return fmt.Errorf("para.Batch.Add: %d uncompressed lists for %s: %w", len(lists), b.options.Search, base.ErrBadInput)
	}
	for i := range lists {
		if !lists[i].Suits(b.options.Search) {
			return fmt.Errorf("para.Batch.Add: list %d of %d has not what %s needs: %w", i, len(lists), b.options.Search, base.ErrBadInput)
		}
	}
	return add(b, lists, func(c *content, v *intersect.View) {
		w := v.Words()
		c.lists = append(c.lists, w[:]...)
	})
}

// AddCompressed is Add for lists of the codec that the batch's search is for.
func (b *Batch) AddCompressed(lists ...intersect.CompressedView) error {
	if len(lists) == 0 || !b.options.Search.Compressed() {
		return fmt.Errorf("para.Batch.AddCompressed: %d lists for %s: %w", len(lists), b.options.Search, base.ErrBadInput)
	}
	for i := range lists {
		if !lists[i].Suits(b.options.Search) {
			return fmt.Errorf("para.Batch.AddCompressed: list %d of %d is of another codec than %s: %w", i, len(lists), b.options.Search, base.ErrBadInput)
		}
	}
	return add(b, lists, func(c *content, v *intersect.CompressedView) {
		w := v.Words()
		c.lists = append(c.lists, w[:]...)
	})
}

// Run starts the batch and waits for its results.
func (b *Batch) Run(s *cuda.Stream) error {
	if err := b.Start(s); err != nil {
		return err
	}
	return b.Wait()
}

// Start copies the batch to the device and launches it on the stream. It does not
// wait unless it fails, and then for what it has put into the stream, so that the batch
// may be filled anew; otherwise nothing may be added until Wait and Reset.
func (b *Batch) Start(s *cuda.Stream) error {
	if b.started {
		return fmt.Errorf("para.Batch.Start: started before: %w", base.ErrBadInput)
	}
	if err := b.start(s); err != nil {
		return fmt.Errorf("para: batch of %d queries: %w", b.Len(), errors.Join(err, s.Synchronize()))
	}
	b.started = true
	return nil
}

func (b *Batch) start(s *cuda.Stream) error {
	if err := b.memory.hold(b, s); err != nil {
		return err
	}
	if err := b.upload(s); err != nil {
		return err
	}
	if err := b.Launch(s); err != nil {
		return err
	}
	return s.Record(b.done)
}

// Launch launches the two kernels again, for a batch that Start has copied to the
// device: to measure them alone.
func (b *Batch) Launch(s *cuda.Stream) error {
	m := &b.memory
	numBlocks := b.numBlocks()
	lists, queries, tiles := b.sections(m.device)
	if numBlocks > 0 {
		p := searchParams{
			lists: lists.Ptr(), queries: queries.Ptr(), tiles: tiles.Ptr(),
			slots: m.slots.Ptr(), tileBefore: m.tileBefore.Ptr(), blockBefore: m.blockBefore.Ptr(), ticket: m.ticket.Ptr(),
			numTiles: uint32(len(b.tiles)),
		}
		if err := cuda.Launch(s, b.kernels.search[b.options.Search], cuda.D1(numBlocks), cuda.D1(blockThreads), 0, &p); err != nil {
			return err
		}
	}
	g := gatherParams{
		queries: queries.Ptr(), slots: m.slots.Ptr(), tileBefore: m.tileBefore.Ptr(), blockBefore: m.blockBefore.Ptr(),
		starts: m.starts.DevicePtr(), numQueries: uint32(b.Len()), numTiles: uint32(len(b.tiles)), numBlocks: uint32(numBlocks),
	}
	if !b.options.CountOnly {
		g.docIDs = m.docIDs.DevicePtr()
	}
	grid := cuda.D1(max(1, (numBlocks+blockWarps-1)/blockWarps))
	return cuda.Launch(s, b.kernels.gather, grid, cuda.D1(blockThreads), 0, &g)
}

// Wait waits until the results are there.
func (b *Batch) Wait() error {
	if !b.started {
		return fmt.Errorf("para.Batch.Wait: not started: %w", base.ErrBadInput)
	}
	if err := b.done.Synchronize(); err != nil {
		return fmt.Errorf("para: batch of %d queries: %w", b.Len(), err)
	}
	b.total = int(b.memory.starts.Data()[b.Len()])
	return nil
}

// Count returns how many DocIDs query i has, counted from 0 in the order of Add, after
// Wait.
func (b *Batch) Count(i int) int {
	starts := b.memory.starts.Data()[:b.Len()+1]
	return int(starts[i+1] - starts[i])
}

// DocIDs returns the DocIDs of query i, rising, after Wait: of a batch that does not
// count only. They are valid until Reset.
func (b *Batch) DocIDs(i int) []uint32 {
	starts := b.memory.starts.Data()[:b.Len()+1]
	return b.memory.docIDs.Data()[starts[i]:starts[i+1]:starts[i+1]]
}

// Total returns how many DocIDs all queries have together, after Wait.
func (b *Batch) Total() int { return b.total }

// Reset empties the batch for the next queries. A batch that was started must have
// been waited for.
func (b *Batch) Reset() {
	b.content.reset()
	b.started, b.total = false, 0
}

// Close frees the batch, which nothing on the device may use any more.
func (b *Batch) Close() error {
	err := errors.Join(b.memory.free(), b.done.Close())
	*b = Batch{}
	return err
}
