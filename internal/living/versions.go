package living

import (
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

// state is the state of an id after a write.
type state struct {
	version segment.Version
	doc     *corpus.Document // nil: deleted
	isNew   bool             // no document had the id before the write
}

// versions are the states of ids that no visible segment has yet, in generations: one for each
// batch; and versions of deleted ids. It is guarded by Store.mu.
type versions struct {
	generations []map[string]state // the newest last
	deleted     deletions
}

func newVersions() versions {
	return versions{generations: []map[string]state{{}}, deleted: deletions{versions: map[string]segment.Version{}}}
}

// find returns the latest state of an id, if it was written since the oldest generation began, or
// deleted lately.
func (v *versions) find(id string) (state, bool) {
	for i := len(v.generations) - 1; i >= 0; i-- {
		if s, ok := v.generations[i][id]; ok {
			return s, true
		}
	}
	version, ok := v.deleted.versions[id]
	return state{version: version}, ok
}

func (v *versions) set(id string, s state) { v.generations[len(v.generations)-1][id] = s }

// begin starts a generation for the next batch. It has room for as many ids as the generation before.
func (v *versions) begin() {
	last := v.generations[len(v.generations)-1]
	v.generations = append(v.generations, make(map[string]state, len(last)))
}

// drop forgets the oldest generation, whose batch is visible now, but for its deletions.
func (v *versions) drop(now time.Time) {
	for id, s := range v.generations[0] {
		if s.doc == nil {
			v.deleted.add(id, s.version, now)
		} else {
			v.deleted.remove(id)
		}
	}
	v.generations = v.generations[1:]
	v.deleted.expire(now) // also if nothing was deleted
}

const (
	// keepDeleted is how long the version of a deleted id is kept after the deletion is visible, as
	// index.gc_deletes of OpenSearch.
	keepDeleted = time.Minute
	// maxDeletedBytes bounds the versions of deleted ids; beyond it the oldest are forgotten.
	maxDeletedBytes = 32 << 20
	// deletedBytes is the memory of a deleted id without its bytes, measured.
	deletedBytes = 150
)

// deletions are versions of deleted ids, so that later writes of an id count on, and older external
// versions are refused.
type deletions struct {
	versions map[string]segment.Version
	queue    []deletion // in the order of time; those that are not in versions any more are ignored
	size     int        // bytes of the queue
}

type deletion struct {
	id  string
	seq uint64
	at  time.Time
}

func (d *deletions) add(id string, v segment.Version, now time.Time) {
	id = strings.Clone(id) // it can be a part of a request
	d.versions[id] = v
	d.queue = append(d.queue, deletion{id, v.Seq, now})
	d.size += deletedBytes + len(id)
	d.expire(now)
}

func (d *deletions) remove(id string) { delete(d.versions, id) }

func (d *deletions) expire(now time.Time) {
	for len(d.queue) > 0 && (d.size > maxDeletedBytes || now.Sub(d.queue[0].at) > keepDeleted) {
		first := &d.queue[0]
		if d.versions[first.id].Seq == first.seq {
			delete(d.versions, first.id)
		}
		d.size -= deletedBytes + len(first.id)
		*first = deletion{}
		d.queue = d.queue[1:]
	}
}
