package living

import (
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

// state is what is known of an id after a write.
type state struct {
	version segment.Version
	doc     *corpus.Document // nil: deleted
}

// versions are the states of ids that no visible segment has yet, in generations: one for each
// batch. It is guarded by Store.mu.
type versions struct {
	generations []map[string]state // the newest last
}

func newVersions() versions { return versions{generations: []map[string]state{{}}} }

// find returns the latest state of an id, if it was written since the oldest generation began.
func (v *versions) find(id string) (state, bool) {
	for i := len(v.generations) - 1; i >= 0; i-- {
		if s, ok := v.generations[i][id]; ok {
			return s, true
		}
	}
	return state{}, false
}

func (v *versions) set(id string, s state) { v.generations[len(v.generations)-1][id] = s }

// begin starts a generation, for the next batch.
func (v *versions) begin() { v.generations = append(v.generations, map[string]state{}) }

// drop forgets the oldest generation, whose batch is visible, but keeps what was deleted, so that
// later writes of the id count on. Such states move to the next generation while they are new
// enough to keep.
func (v *versions) drop(keepDeleted func(segment.Version) bool) {
	oldest := v.generations[0]
	v.generations = v.generations[1:]
	for id, s := range oldest {
		if s.doc == nil && keepDeleted(s.version) {
			if _, newer := v.generations[0][id]; !newer {
				v.generations[0][id] = s
			}
		}
	}
}
