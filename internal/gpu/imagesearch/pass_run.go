package imagesearch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// ErrBand reports that the images of the smallest band exceed the memory of a pass.
var ErrBand = errors.New("the images of a band of documents exceed the memory")

// ErrStopped reports that the caller has stopped a pass.
var ErrStopped = errors.New("the pass was stopped")

// Run answers the queries with the images of bands in memory, which has passBuffers equal parts, aligned to 256 bytes. It
// calls stopped, which may be nil, before each band. Streams wait for the uploads that uploads enqueues waits for, which may
// be nil. Errors: ErrBand, ErrStopped, or the device's; after them there are no answers, and nothing is running.
func (p *Pass) Run(memory cuda.Buffer[byte], uploads func(*cuda.Stream) error, stopped func() bool) error {
	err := p.run(memory, uploads, stopped)
	if err == nil {
		return nil
	}
	return errors.Join(err, p.memory.fill.Synchronize(), p.memory.search.Synchronize())
}

func (p *Pass) run(memory cuda.Buffer[byte], uploads func(*cuda.Stream) error, stopped func() bool) error {
	if len(p.queries) == 0 {
		return nil
	}
	m := &p.memory
	sizes := p.share()
	if err := m.reserve(sizes); err != nil {
		return err
	}
	if uploads != nil {
		if err := uploads(m.fill); err != nil {
			return err
		}
	}
	if err := p.upload(&sizes); err != nil {
		return err
	}
	part := memory.Len() / passBuffers &^ 255
	p.byFreq = p.byFreq[:0]
	for i := range p.lists {
		p.byFreq = append(p.byFreq, int32(i))
	}
	slices.SortFunc(p.byFreq, func(a, b int32) int {
		return cmp.Or(cmp.Compare(p.lists[b].docFreq, p.lists[a].docFreq), cmp.Compare(a, b))
	})
	p.cutsByFreq = p.cutsByFreq[:0]
	for _, i := range p.byFreq {
		p.cutsByFreq = append(p.cutsByFreq, p.cuts[i].at)
	}
	planner, err := p.startPlanner(int64(part))
	if err != nil {
		return err
	}
	defer planner.stop()
	for i := range m.ahead {
		m.ahead[i].used = false
	}
	for band := range planner.bands {
		if stopped != nil && stopped() {
			return ErrStopped
		}
		if band >= passInFlight {
			if err := p.collect(&m.ahead[(band-passInFlight)%passAhead]); err != nil {
				return err
			}
		}
		step, ok := planner.step(band)
		if !ok {
			return ErrStopped
		}
		if step.bytes > int64(part) {
			return fmt.Errorf("band of units %d to %d: %d bytes of %d: %w", step.band.from, step.band.to, step.bytes, part, ErrBand)
		}
		if err := p.enqueue(band, step, memory.Slice(band%passBuffers*part, (band%passBuffers+1)*part)); err != nil {
			return err
		}
		p.stats.Bands++
		p.stats.Blocks += step.blocks
	}
	if err := p.download(); err != nil {
		return err
	}
	for i := range m.ahead {
		if err := p.collect(&m.ahead[i]); err != nil {
			return err
		}
	}
	p.stats.Planning = time.Duration(planner.took.Load())
	p.stats.Took, err = m.ended.Elapsed(m.uploaded)
	return err
}

const (
	// passSpare is the number of blocks of a search beyond one per query, relative to the blocks that run at the same
	// time. A band has little work for a query, and the longest block determines the time of its search.
	passSpare = 4
	// passSplits is the maximum number of blocks of a query: a block has about two superblocks of a band.
	passSplits = 12
	// passKeys limits the keys of the blocks that share queries, to 8 MiB.
	passKeys = 1 << 20
)

// share sorts the queries by falling cost and gives costly ones several blocks.
func (p *Pass) share() passSizes {
	n := passSizes{queries: len(p.queries), terms: len(p.terms), lists: len(p.lists), hits: p.numHits, tiles: p.mostTiles()}
	base.Sort(p.queries, func(a, b passQuery) int { return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.number, b.number)) })
	p.ranks = slices.Grow(p.ranks[:0], len(p.queries))[:len(p.queries)]
	total := uint64(0)
	for i := range p.queries {
		total += p.queries[i].cost
	}
	unit := total/uint64(max(min(passSpare*p.kernels.resident, passKeys/2/p.maxK), 1)) + 1
	for i := range p.queries {
		q := &p.queries[i]
		p.ranks[q.number] = int32(i)
		q.params.result = uint32(i)
		q.params.splits = uint32(min((q.cost+unit-1)/unit, passSplits))
		q.params.firstKey = uint32(n.split)
		n.blocks += int(q.params.splits)
		if q.params.splits > 1 {
			n.states = i + 1
			n.split += int(q.params.splits * q.params.k)
		}
	}
	return n
}

// upload enqueues the copies of queries, terms and lists.
func (p *Pass) upload(n *passSizes) error {
	m := &p.memory
	blocks := m.host.blocks.Data()[:0]
	for i := range p.queries {
		m.host.queries.Data()[i] = p.queries[i].params
		for split := range p.queries[i].params.splits {
			blocks = append(blocks, blockParams{uint32(i), split})
		}
	}
	p.numBlocks = len(blocks)
	copy(m.host.terms.Data(), p.terms)
	copy(m.host.lists.Data(), p.lists)
	s := m.fill
	return inOrder(
		func() error { return s.Record(m.uploaded) },
		func() error { return cuda.CopyToDevice(s, m.queries, m.host.queries.Data()[:len(p.queries)]) },
		func() error { return cuda.CopyToDevice(s, m.blocks, blocks) },
		func() error { return cuda.Fill(s, m.states.Slice(0, n.states), 0) },
		func() error { return cuda.CopyToDevice(s, m.terms, m.host.terms.Data()[:len(p.terms)]) },
		func() error { return cuda.CopyToDevice(s, m.lists, m.host.lists.Data()[:len(p.lists)]) },
		func() error { return cuda.Fill(s, m.lengths.Slice(0, len(p.queries)), 0) },
	)
}

func (p *Pass) download() error {
	m := &p.memory
	s := m.search
	return inOrder(
		func() error { return cuda.CopyToHost(s, m.host.hits.Data()[:p.numHits], m.keys.Slice(0, p.numHits)) },
		func() error {
			return cuda.CopyToHost(s, m.host.counts.Data()[:len(p.queries)], m.lengths.Slice(0, len(p.queries)))
		},
		func() error { return s.Record(m.ended) },
		func() error { return m.ended.Synchronize() },
	)
}

// collect waits for the former band of a step.
func (p *Pass) collect(s *passStep) error {
	if !s.used {
		return nil
	}
	s.used = false
	began := time.Now()
	if err := s.searched.Synchronize(); err != nil {
		return err
	}
	p.stats.Waiting += time.Since(began)
	filling, err := s.filled.Elapsed(s.fillBegun)
	if err != nil {
		return err
	}
	searching, err := s.searched.Elapsed(s.searchBegun)
	p.stats.Filling += filling
	p.stats.Searching += searching
	s.free <- struct{}{}
	return err
}

// enqueue fills and searches a band.
func (p *Pass) enqueue(band int, step *passStep, memory cuda.Buffer[byte]) error {
	m, k := &p.memory, p.kernels
	buffer := &m.buffers[band%passBuffers]
	if band >= passBuffers {
		if err := m.fill.Wait(m.ahead[(band-passBuffers)%passAhead].searched); err != nil {
			return err
		}
	}
	firstDoc, numDocs := p.docs(step.band.from, step.band.to)
	if err := inOrder(
		func() error { return m.fill.Record(step.fillBegun) },
		func() error { return cuda.CopyToDevice(m.fill, buffer.images, step.images.Data()[:len(p.lists)]) },
		func() error { return cuda.CopyToDevice(m.fill, buffer.tiles, step.tiles.Data()[:step.numTiles]) },
	); err != nil {
		return err
	}
	if step.numTiles > 0 {
		fill := fillParams{
			lists: m.lists.Ptr(), images: buffer.images.Ptr(), tiles: buffer.tiles.Ptr(), terms: buffer.terms.Ptr(), memory: memory.Ptr(),
			firstDoc: firstDoc, numDocs: numDocs,
		}
		if err := inOrder(
			func() error { return k.passes.fill.SetMaxShared(step.shared) },
			func() error {
				return cuda.Launch(m.fill, k.passes.fill, cuda.D1(step.numTiles), cuda.D1(fillThreads), step.shared, &fill)
			},
		); err != nil {
			return err
		}
	}
	if err := inOrder(
		func() error { return m.fill.Record(step.filled) },
		func() error { return m.search.Wait(step.filled) },
		func() error { return m.search.Record(step.searchBegun) },
	); err != nil {
		return err
	}
	keys := passCapacity(p.maxK)
	search := bandSearchParams{
		search: searchParams{
			queries: m.queries.Ptr(), blocks: m.blocks.Ptr(), states: m.states.Ptr(), keys: m.split.Ptr(), hits: m.keys.Ptr(), numDocs: numDocs, maxTerms: uint32(p.maxTerms), capacity: uint32(keys), window: maxBandWindow,
		},
		terms: m.terms.Ptr(), lists: buffer.terms.Ptr(), images: buffer.images.Ptr(), counts: m.lengths.Ptr(), firstDoc: firstDoc,
	}
	if live := p.segment.Live; !live.IsZero() {
		search.search.live = live.Slice(int(firstDoc/rangeDocs), live.Len()).Ptr()
	}
	shared := sharedBytes(p.maxTerms, maxBandWindow, keys)
	err := inOrder(
		func() error { return k.passes.search.SetMaxShared(shared) },
		func() error {
			return cuda.Launch(m.search, k.passes.search, cuda.D1(p.numBlocks), cuda.D1(threads), shared, &search)
		},
	)
	if err != nil {
		return err
	}
	step.used = true
	return m.search.Record(step.searched)
}

// inOrder makes calls until one fails, because a kernel must not run after a failed copy.
func inOrder(calls ...func() error) error {
	for _, call := range calls {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}
