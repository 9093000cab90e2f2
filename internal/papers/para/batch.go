package para

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/intersect"
)

// DefaultThreshold is the computational threshold for which Ao et al. (§6.1,
// Appendix F.2) report their results.
const DefaultThreshold = 1 << 20

// MaxThreshold limits the size of a batch.
const MaxThreshold = 1 << 28

// MaxElements limits the elements of the shortest lists of a batch, with its last query.
const MaxElements = 2 * MaxThreshold

// Options are the parameters of a batch.
type Options struct {
	// Total length of shortest lists at which a batch is full. 0:
	// DefaultThreshold. For memory, a batch of short lists, which take at least
	// one tile of 128 elements each, is full when it has Threshold/16 tiles.
	Threshold int
	// Finds elements in the longer lists of a query.
	Search intersect.Search
	// Local safe search ranges (§4.3), for LinearRegression. Lists are Arrays with Parts.
	Local bool
	// Without the list H of Algorithm 1 (§5.3), for LRC, LRCSeg and SegLRC: a binary search over
	// the elements in the safe search range.
	WithoutH bool
	// Only the number of DocIDs per query is computed.
	CountOnly bool
}

func (o *Options) valid() bool {
	return o.Threshold >= 1 && o.Threshold <= MaxThreshold && o.Search < intersect.NumSearches &&
		(!o.Local || o.Search == intersect.LinearRegression) &&
		(!o.WithoutH || o.Search.Compressed() && o.Search != intersect.HSLRC)
}

// Batch collects queries and answers them together, for one goroutine at a
// time. Add and Reset allocate only if the batch becomes larger than ever
// before.
type Batch struct {
	kernels *Kernels
	options Options

	content

	memory  memory
	done    *cuda.Event
	started bool
	total   int // DocIDs of all results, after Wait
}

// NewBatch allocates a batch, which the caller closes.
func (k *Kernels) NewBatch(o Options) (*Batch, error) {
	if o.Threshold == 0 {
		o.Threshold = DefaultThreshold
	}
	if !o.valid() {
		return nil, fmt.Errorf("para.NewBatch: threshold %d, %s, local %t, without H %t: %w", o.Threshold, o.Search, o.Local, o.WithoutH, base.ErrBadInput)
	}
	b := &Batch{kernels: k, options: o}
	var err error
	if b.done, err = k.device.NewEvent(false /* timing */); err != nil {
		return nil, fmt.Errorf("para.NewBatch: %w", err)
	}
	return b, nil
}

// Minimum average number of elements per tile in a full batch.
const leastPerTile = 16

// Full reports whether the batch has reached its threshold; more queries may
// still be added.
func (b *Batch) Full() bool {
	return b.elements >= b.options.Threshold || leastPerTile*len(b.tiles) >= b.options.Threshold
}

// Len returns the number of queries.
func (b *Batch) Len() int { return b.numQueries() }

// SizeBytes is what Start copies to the device.
func (b *Batch) SizeBytes() int64 { return 8 * int64(b.words()) }

// Elements is the sum of the lengths of the shortest lists.
func (b *Batch) Elements() int { return b.elements }

// Add adds the query for the DocIDs common to at least one list, in any order.
// The lists must not change until the batch has run.
func (b *Batch) Add(lists ...intersect.View) error {
	if len(lists) == 0 || b.options.Search.Compressed() || b.options.Local {
		return fmt.Errorf("para.Batch.Add: %d uncompressed lists for %s: %w", len(lists), b.options.Search, base.ErrBadInput)
	}
	for i := range lists {
		if !lists[i].Suits(b.options.Search) {
			return fmt.Errorf("para.Batch.Add: list %d of %d lacks data for %s: %w", i, len(lists), b.options.Search, base.ErrBadInput)
		}
	}
	return add(b, lists, func(c *content, v *intersect.View) {
		w := v.Words()
		c.lists = append(c.lists, w[:]...)
	})
}

// AddCompressed is Add for lists of the codec of the batch's search.
func (b *Batch) AddCompressed(lists ...intersect.CompressedView) error {
	if len(lists) == 0 || !b.options.Search.Compressed() {
		return fmt.Errorf("para.Batch.AddCompressed: %d lists for %s: %w", len(lists), b.options.Search, base.ErrBadInput)
	}
	for i := range lists {
		if !lists[i].Suits(b.options.Search) {
			return fmt.Errorf("para.Batch.AddCompressed: list %d of %d has another codec than %s: %w", i, len(lists), b.options.Search, base.ErrBadInput)
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

// Start copies the batch to the device and launches it, without waiting. After
// a success, no query may be added until Wait and Reset. After an error it has
// waited for the stream, and the batch may be filled again.
func (b *Batch) Start(s *cuda.Stream) error {
	if b.started {
		return fmt.Errorf("para.Batch.Start: already started: %w", base.ErrBadInput)
	}
	if err := b.start(s); err != nil {
		return fmt.Errorf("para: batch of %d queries: %w", b.Len(), errors.Join(err, s.Synchronize()))
	}
	b.started = true
	return nil
}

// Reserve allocates the memory that the batch needs, which Start otherwise does.
func (b *Batch) Reserve(s *cuda.Stream) error {
	if b.started {
		return fmt.Errorf("para.Batch.Reserve: already started: %w", base.ErrBadInput)
	}
	if err := b.memory.hold(b, s); err != nil {
		return fmt.Errorf("para: batch of %d queries: %w", b.Len(), err)
	}
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

// Launch launches a batch that Start has copied again, to measure the kernels
// alone.
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
		if err := cuda.Launch(s, b.kernels.searchOf(b.options), cuda.D1(numBlocks), cuda.D1(blockThreads), 0, &p); err != nil {
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

// Wait waits for the results.
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

// Count returns the number of DocIDs of query i, in the order of Add, after
// Wait.
func (b *Batch) Count(i int) int {
	starts := b.memory.starts.Data()[:b.Len()+1]
	return int(starts[i+1] - starts[i])
}

// DocIDs returns the ascending DocIDs of query i, after Wait, until Reset; not
// with CountOnly.
func (b *Batch) DocIDs(i int) []uint32 {
	starts := b.memory.starts.Data()[:b.Len()+1]
	return b.memory.docIDs.Data()[starts[i]:starts[i+1]:starts[i+1]]
}

// Total is the number of DocIDs of all queries, after Wait.
func (b *Batch) Total() int { return b.total }

// Reset empties the batch, which must not be running.
func (b *Batch) Reset() {
	b.content.reset()
	b.started, b.total = false, 0
}

// Close frees the batch, which no work may use any more.
func (b *Batch) Close() error {
	err := errors.Join(b.memory.free(), b.done.Close())
	*b = Batch{}
	return err
}
