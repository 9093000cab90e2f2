package imagesearch

import (
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

const (
	// passBuffers is the number of bands in device memory at the same time: one is filled while another is searched.
	passBuffers = 2
	// passAhead is the number of bands that the host describes ahead, of which passInFlight are enqueued.
	passAhead    = 24
	passInFlight = 6
)

// passMemory grows with the passes.
type passMemory struct {
	device       *cuda.Device
	fill, search *cuda.Stream

	host  passOnHost
	ahead [passAhead]passStep
	// On the device.
	queries  cuda.Buffer[queryParams]
	blocks   cuda.Buffer[blockParams]
	states   cuda.Buffer[splitState] // of the queries with several blocks
	split    cuda.Buffer[uint64]     // their keys, by block
	terms    cuda.Buffer[bandTerm]
	lists    cuda.Buffer[bandList]
	keys     cuda.Buffer[uint64]
	lengths  cuda.Buffer[uint32] // of keys
	buffers  [passBuffers]passBuffer
	uploaded *cuda.Event
	ended    *cuda.Event
}

// passOnHost is page-locked.
type passOnHost struct {
	queries cuda.HostBuffer[queryParams]
	blocks  cuda.HostBuffer[blockParams]
	terms   cuda.HostBuffer[bandTerm]
	lists   cuda.HostBuffer[bandList]
	hits    cuda.HostBuffer[uint64]
	counts  cuda.HostBuffer[uint32]
}

// passStep is a band that the host has described.
type passStep struct {
	images   cuda.HostBuffer[bandImage]
	tiles    cuda.HostBuffer[bandTile]
	band     bandPlan
	numTiles int
	shared   int   // shared memory of a tile
	blocks   int64 // compressed blocks
	bytes    int64 // of the images
	used     bool  // enqueued
	// The step may be described; it is.
	free, ready chan struct{}

	fillBegun, filled, searchBegun, searched *cuda.Event
}

// passBuffer describes the band in a half of the memory.
type passBuffer struct {
	images cuda.Buffer[bandImage]
	tiles  cuda.Buffer[bandTile]
	terms  cuda.Buffer[termParams]
}

// open allocates streams and events; after an error, close frees them.
func (m *passMemory) open(d *cuda.Device) (err error) {
	m.device = d
	if m.fill, err = d.NewStream(); err != nil {
		return err
	}
	if m.search, err = d.NewStream(); err != nil {
		return err
	}
	for _, e := range m.events() {
		if *e, err = d.NewSleepingEvent(); err != nil {
			return err
		}
	}
	return nil
}

func (m *passMemory) events() []**cuda.Event {
	events := []**cuda.Event{&m.uploaded, &m.ended}
	for i := range m.ahead {
		s := &m.ahead[i]
		events = append(events, &s.fillBegun, &s.filled, &s.searchBegun, &s.searched)
	}
	return events
}

// passSizes are numbers of objects.
type passSizes struct {
	queries, terms, lists, hits int
	tiles                       int // of a band
	blocks, states, split       int // blocks of searches, queries with several, and the keys of these
}

// reserve makes room for a pass, and for the bands of its lists. No kernel may be running.
func (m *passMemory) reserve(n passSizes) error {
	d := m.device
	queries, terms, lists, hits := n.queries, n.terms, n.lists, n.hits
	err := errors.Join(
		cuda.Grow(d, &m.host.queries, queries, cuda.AllocHost[queryParams]),
		cuda.Grow(d, &m.host.blocks, n.blocks, cuda.AllocHost[blockParams]),
		cuda.Grow(d, &m.blocks, n.blocks, cuda.Alloc[blockParams]),
		cuda.Grow(d, &m.states, n.states, cuda.Alloc[splitState]),
		cuda.Grow(d, &m.split, n.split, cuda.Alloc[uint64]),
		cuda.Grow(d, &m.host.terms, terms, cuda.AllocHost[bandTerm]),
		cuda.Grow(d, &m.host.lists, lists, cuda.AllocHost[bandList]),
		cuda.Grow(d, &m.host.hits, hits, cuda.AllocHost[uint64]),
		cuda.Grow(d, &m.host.counts, queries, cuda.AllocHost[uint32]),
		cuda.Grow(d, &m.queries, queries, cuda.Alloc[queryParams]),
		cuda.Grow(d, &m.terms, terms, cuda.Alloc[bandTerm]),
		cuda.Grow(d, &m.lists, lists, cuda.Alloc[bandList]),
		cuda.Grow(d, &m.keys, hits, cuda.Alloc[uint64]),
		cuda.Grow(d, &m.lengths, queries, cuda.Alloc[uint32]),
	)
	for i := range m.ahead {
		s := &m.ahead[i]
		err = errors.Join(err,
			cuda.Grow(d, &s.images, lists, cuda.AllocHost[bandImage]),
			cuda.Grow(d, &s.tiles, n.tiles, cuda.AllocHost[bandTile]))
	}
	for i := range m.buffers {
		b := &m.buffers[i]
		err = errors.Join(err,
			cuda.Grow(d, &b.images, lists, cuda.Alloc[bandImage]),
			cuda.Grow(d, &b.tiles, n.tiles, cuda.Alloc[bandTile]),
			cuda.Grow(d, &b.terms, lists, cuda.Alloc[termParams]))
	}
	return err
}

func (m *passMemory) close() error {
	var errs []error
	for _, s := range []*cuda.Stream{m.fill, m.search} {
		if s != nil {
			errs = append(errs, s.Synchronize(), s.Close())
		}
	}
	for _, e := range m.events() {
		if *e != nil {
			errs = append(errs, (*e).Close())
		}
	}
	errs = append(errs, m.host.blocks.Free(), m.blocks.Free(), m.states.Free(), m.split.Free(), m.host.queries.Free(), m.host.terms.Free(), m.host.lists.Free(), m.host.hits.Free(), m.host.counts.Free(),
		m.queries.Free(), m.terms.Free(), m.lists.Free(), m.keys.Free(), m.lengths.Free())
	for i := range m.ahead {
		errs = append(errs, m.ahead[i].images.Free(), m.ahead[i].tiles.Free())
	}
	for i := range m.buffers {
		b := &m.buffers[i]
		errs = append(errs, b.images.Free(), b.tiles.Free(), b.terms.Free())
	}
	*m = passMemory{}
	return errors.Join(errs...)
}
