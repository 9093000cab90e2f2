package plan

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/derived"
)

// Mask are the documents of a segment that the filters of a flat stage allow and that none of its excluded
// nodes matches, deleted ones too. It never changes, and stays valid while the segment is open.
type Mask struct {
	// ID is unique among the masks of the process.
	ID uint64
	// Words has bit d%64 of word d/64 set for document d of the segment; Count is the number of set bits.
	Words []uint64
	Count int

	key string // of the filters and the exclusions; another one of the same hash is not this
}

var (
	masks    = derived.NewKind[Mask]("mask of a stage")
	lastMask atomic.Uint64
)

// maskKey identifies the masks of a stage.
func maskKey(p *Plan, sc *Scratch, stage int) []byte {
	st := &p.stages[stage]
	required := make([]node, len(st.filters))
	for i, n := range st.filters {
		required[i] = n.(*constant).child
	}
	g := group{required: required, excluded: st.excluded}
	return sc.keys.appendNode(nil, p.words.terms, &g)
}

// StageMasks returns the masks of a flat stage by segment, computed if the index does not keep them; nil for a
// segment of which all documents are allowed, or that leaveOut contains, which rises. The error is the
// context's, or wraps base.ErrCorrupt.
func StageMasks(ctx context.Context, p *Plan, sc *Scratch, stage int, leaveOut []int) ([]*Mask, error) {
	key := string(maskKey(p, sc, stage))
	all := make([]*Mask, len(p.planner.snapshot.Segments))
	for i := range all {
		if len(leaveOut) > 0 && leaveOut[0] == i {
			leaveOut = leaveOut[1:]
			continue
		}
		var err error
		if all[i], err = stageMask(ctx, p, sc, stage, i, key); err != nil {
			if ended := ctx.Err(); ended != nil {
				return nil, ended
			}
			return nil, fmt.Errorf("segment %s: query %s: %w", p.planner.snapshot.Segments[i].Name, p.query, err)
		}
	}
	return all, nil
}

// MaskTime predicts the time of StageMasks.
func MaskTime(p *Plan, sc *Scratch, stage int, leaveOut []int) (sum time.Duration) {
	st := &p.stages[stage]
	hash := maphash.Bytes(setSeed, maskKey(p, sc, stage))
	for i := range p.planner.snapshot.Segments {
		if len(leaveOut) > 0 && leaveOut[0] == i {
			leaveOut = leaveOut[1:]
			continue
		}
		if masks.Keeps(p.planner.snapshot.Segments[i].Derived.List(0), hash) {
			continue
		}
		cost := p.words.numDocs(i) / maskDocsPerCost
		for _, n := range st.filters {
			if t := testable(n); t != nil {
				cost += t.cost(&p.words, i)
				continue
			}
			cost += p.words.maskCost(i, n)
		}
		sum += time.Duration(cost + p.words.sumOfCosts(i, st.excluded))
	}
	return sum
}

func stageMask(ctx context.Context, p *Plan, sc *Scratch, stage, segment int, key string) (*Mask, error) {
	st := &p.stages[stage]
	m := sc.begin(&p.words, segment, ctx)
	if len(st.filters) == 0 && !m.anyPostings(st.excluded) {
		return nil, nil
	}
	mine := false
	build := func() (*Mask, int64, error) {
		mine = true
		words, err := m.stageMask(st)
		if err != nil {
			return nil, 0, err
		}
		made := &Mask{ID: lastMask.Add(1), Words: words, Count: int(ones(words)), key: key}
		return made, int64(8*len(words) + len(key)), nil
	}
	size := int64(8*(p.words.numDocs(segment)+63)/64 + len(key))
	kept, err := masks.GetIfRoom(m.view().Derived.List(0), maphash.String(setSeed, key), size, build)
	if kept != nil && kept.key == key {
		return kept, nil
	}
	if err != nil && mine {
		return nil, err
	}
	// No room, another key of the same hash, or the query that computed it was interrupted.
	kept, _, err = build()
	return kept, err
}

// stageMask returns the documents that the filters and the exclusions leave, deleted ones too, in new memory.
func (m *matcher) stageMask(st *Stage) ([]uint64, error) {
	words := make([]uint64, (m.words.numDocs(m.segment)+63)/64)
	if len(st.filters) == 0 {
		everyDocument(words, m.words.numDocs(m.segment))
	}
	other := m.take()
	defer m.put(other)
	for i, n := range st.filters {
		c := n.(*constant)
		found, _, err := m.find(c.child, c.text)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			found.addTo(words)
			continue
		}
		clear(other)
		found.addTo(other)
		and(words, other)
	}
	if len(st.excluded) == 0 {
		return words, nil
	}
	clear(other)
	for _, n := range st.excluded {
		if err := m.mark(other, n); err != nil {
			return nil, err
		}
	}
	andNot(words, other)
	return words, nil
}
