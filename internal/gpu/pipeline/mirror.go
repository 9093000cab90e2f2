package pipeline

import (
	"errors"
	"sync"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// mirror keeps compressed lists in page-locked memory of the host, from where a device
// copies them at the speed of its bus and without the CPU: those that were brought, had
// to go, and are brought again. What is kept stays until its part goes; once the mirror
// is full, other lists are copied through the uploaders' rings. It is safe for
// concurrent use.
type mirror struct {
	device *cuda.Device
	note   func(error) error // counts errors of the driver
	limit  int64             // bytes of all slabs

	mu        sync.Mutex // guards what follows
	slabs     []cuda.HostBuffer[uint32]
	slabBytes int64
	space     space
	lists     map[listKey]mirrored
}

// mirrored is where a list is, and how many words it has.
type mirrored struct {
	extent extent
	words  int
}

const (
	// mirrorLimit bounds the memory of all mirrors of an Engine.
	mirrorLimit = 4 << 30
	// mirrorSlab is how much is page-locked at a time, in some 20 ms.
	mirrorSlab = 64 << 20
)

func newMirror(d *cuda.Device, limit int64, note func(error) error) *mirror {
	return &mirror{device: d, note: note, limit: limit, lists: map[listKey]mirrored{}}
}

// find returns the words of a list, nil if it is not there. They stay as they are until
// drop.
func (m *mirror) find(k listKey) []uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.lists[k]
	if !ok {
		return nil
	}
	return m.slabs[l.extent.slab].Data()[l.extent.offset/4:][:l.words]
}

// add returns room for the words of a list that is not there, for the caller to fill
// before anybody else looks for it (it has the list's claim), and the same room as
// bytes; nil: the mirror is full.
func (m *mirror) add(k listKey, n int) (words []uint32, bytes []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := roundUp(int64(n) * 4)
	e, ok := m.space.take(size)
	if !ok {
		if !m.grow(size) {
			return nil, nil
		}
		e, _ = m.space.take(size)
	}
	m.lists[k] = mirrored{e, n}
	slab := &m.slabs[e.slab]
	return slab.Data()[e.offset/4:][:n], slab.Bytes()[e.offset:][:4*n]
}

// grow page-locks a slab of at least size bytes.
func (m *mirror) grow(size int64) bool {
	n := min(max(size, mirrorSlab), m.limit-m.slabBytes) &^ (spaceAlign - 1)
	if n < size {
		return false
	}
	b, err := cuda.AllocHost[uint32](m.device, int(n/4))
	if err != nil {
		_ = m.note(err)
		m.limit = m.slabBytes // the system has no more: make do with what there is
		return false
	}
	m.slabs = append(m.slabs, b)
	m.slabBytes += n
	m.space.addSlab(len(m.slabs)-1, n)
	return true
}

// drop forgets the lists of a part, of which none is being copied.
func (m *mirror) drop(part uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, l := range m.lists {
		if k.part == part {
			m.space.give(l.extent)
			delete(m.lists, k)
		}
	}
}

// sizeBytes is how much the lists that are there take.
func (m *mirror) sizeBytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.space.used
}

func (m *mirror) close() error {
	var errs []error
	for _, b := range m.slabs {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}
