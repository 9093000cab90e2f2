package residency

import (
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
)

type kind uint8

const (
	// kindImage is an image of package imagesearch on the device.
	kindImage kind = iota
	// kindPacked is the compressed list, payload and directory, on the device.
	kindPacked
	// kindDirectory is the directory of the compressed list on the device.
	kindDirectory
	// kindHost is the compressed list, payload and directory, in page-locked memory.
	kindHost
	// kindFilter is the bitmap of a Filter on the device; its list is Filter.ID.
	kindFilter
	// kindColumn is a column on the device (column.go); its list is the column's number in the segment.
	kindColumn
	// kindLent is memory for other data (Loan); it has no record.
	kindLent
	numKinds
)

// listKey identifies an entry: a list in a shard (Shard.id), and a kind.
type listKey struct {
	shard   uint32
	impacts bool
	kind    kind
	list    base.ListID
}

func (k listKey) of(kind kind) listKey {
	k.kind = kind
	return k
}

// recordKey fits in two words, which hash fast.
type recordKey struct{ shard, list uint64 }

func (k listKey) name() recordKey {
	n := recordKey{uint64(k.shard) << 1, uint64(k.list)}
	if k.impacts {
		n.shard++
	}
	return n
}

type record struct {
	name recordKey
	held [numKinds]atomic.Pointer[Entry]
	gone atomic.Bool // removed from records; the list may have a new record
}

func (r *record) pinned(k kind) *Entry {
	if e := r.held[k].Load(); e != nil && e.pin() {
		return e
	}
	return nil
}

// compressed returns the fastest compressed form. r may be nil.
func (r *record) compressed() Form {
	switch {
	case r.there(kindPacked):
		return FormDevice
	case r.there(kindHost):
		return FormHost
	}
	return FormFile
}

// r may be nil.
func (r *record) there(k kind) bool {
	if r == nil {
		return false
	}
	e := r.held[k].Load()
	return e != nil && e.refs.Load() >= 0
}

// records are the lists in a device's memory or in its page-locked memory, safe for concurrent
// use. Lock order: a cache's mu before records.mu.
type records struct {
	mu sync.RWMutex
	m  map[recordKey]*record
	// recent finds most records without the lock, whose counter of readers would go from core to core. Each list has one
	// place in it, which it shares with others.
	recent [recentRecords]atomic.Pointer[record]
}

const recentRecords = 1 << 14

// recentAt returns the place of a record in records.recent.
func (n recordKey) recentAt() uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 by the golden ratio
	h := (n.list ^ n.shard<<40) * odd
	return (h ^ h>>32) * odd >> (64 - 14)
}

func newRecords() *records { return &records{m: map[recordKey]*record{}} }

func (r *records) find(n recordKey) *record {
	recent := &r.recent[n.recentAt()]
	if known := recent.Load(); known != nil && known.name == n && !known.gone.Load() {
		return known
	}
	r.mu.RLock()
	known := r.m[n]
	r.mu.RUnlock()
	if known != nil {
		recent.Store(known)
	}
	return known
}

func (r *records) ofLeg(leg *Leg, shard uint32) *record {
	n := leg.key(shard).name()
	if known := leg.record.Load(); known != nil && known.name == n && !known.gone.Load() {
		return known
	}
	found := r.find(n)
	if found != nil {
		leg.record.Store(found)
	}
	return found
}

func (r *records) add(e *Entry) {
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

// remove removes an entry if it was added.
func (r *records) remove(e *Entry) {
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
