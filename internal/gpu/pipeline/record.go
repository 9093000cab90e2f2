package pipeline

import (
	"sync"
	"sync/atomic"
)

// kind is what an entry holds of a list.
type kind uint8

const (
	// kindImage is an image of package fastpath, on the device.
	kindImage kind = iota
	// kindPacked is the compressed list, payload and directory, on the device.
	kindPacked
	// kindDirectory is the directory of the compressed list, on the device.
	kindDirectory
	// kindHost is the compressed list, payload and directory, in page-locked memory.
	kindHost
	numKinds
)

// listKey identifies a list in a part of a segment (part.id), by the offset that is its
// own in the segment's or the impacts' file; and what is held of it.
type listKey struct {
	part    uint32
	impacts bool
	kind    kind
	list    uint64
}

// of returns the key of something else that is held of the list.
func (k listKey) of(kind kind) listKey {
	k.kind = kind
	return k
}

// recordKey names a list, in two words that are hashed fast.
type recordKey struct{ part, list uint64 }

// name returns the list's.
func (k listKey) name() recordKey {
	n := recordKey{uint64(k.part) << 1, k.list}
	if k.impacts {
		n.part++
	}
	return n
}

// record says what there is of a list, in whichever memory.
type record struct {
	name recordKey
	held [numKinds]atomic.Pointer[entry]
	gone atomic.Bool // there is nothing, and may be another record
}

// pinned returns what is held of a list, pinned; nil: it is not there.
func (r *record) pinned(k kind) *entry {
	if e := r.held[k].Load(); e != nil && e.pin() {
		return e
	}
	return nil
}

// compressed returns the fastest form of the compressed list; r may be nil.
func (r *record) compressed() Form {
	switch {
	case r.there(kindPacked):
		return FormDevice
	case r.there(kindHost):
		return FormHost
	}
	return FormFile
}

// there reports whether something is held of the list; r may be nil.
func (r *record) there(k kind) bool {
	if r == nil {
		return false
	}
	e := r.held[k].Load()
	return e != nil && e.refs.Load() >= 0
}

// records are the lists of which a device, or page-locked memory for it, has something.
// They are safe for concurrent use. Locks of caches are taken first.
type records struct {
	mu sync.RWMutex
	m  map[recordKey]*record
}

func newRecords() *records { return &records{m: map[recordKey]*record{}} }

// find returns the record of a list, nil if there is nothing of it.
func (r *records) find(n recordKey) *record {
	r.mu.RLock()
	known := r.m[n]
	r.mu.RUnlock()
	return known
}

// ofLeg is find, and remembers the record in the leg.
func (r *records) ofLeg(leg *Leg, part uint32) *record {
	n := leg.key(part).name()
	if known := leg.record.Load(); known != nil && known.name == n && !known.gone.Load() {
		return known
	}
	found := r.find(n)
	if found != nil {
		leg.record.Store(found)
	}
	return found
}

// add makes an entry known.
func (r *records) add(e *entry) {
	n := e.key.name()
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.m[n]
	if known == nil {
		known = &record{name: n}
		r.m[n] = known
	}
	known.held[e.key.kind].Store(e)
}

// remove makes an entry unknown, if it was known.
func (r *records) remove(e *entry) {
	n := e.key.name()
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.m[n]
	if known == nil || !known.held[e.key.kind].CompareAndSwap(e, nil) {
		return
	}
	for i := range known.held {
		if known.held[i].Load() != nil {
			return
		}
	}
	known.gone.Store(true)
	delete(r.m, n)
}
