package residency

import (
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/leg"
)

// Leg is a leg of a query in one segment, with its list's cached record. After the first use,
// only the embedded Leg may be copied.
type Leg struct {
	leg.Leg
	record atomic.Pointer[record]
}

func (l *Leg) key(shard uint32) listKey {
	return listKey{shard: shard, impacts: l.Impacts != nil, list: l.ID()}
}

// term names a list in any segment; bytes is empty if it is not known.
type term struct {
	field base.FieldID
	bytes string
}

func (l *Leg) term() term { return term{l.Field, string(l.Word)} }

// Key is unique across the lists of all segments.
func (l *Leg) Key(segment int) ListKey { return l.key(uint32(segment)) }

// ListKey identifies a list of one of several segments.
type ListKey = listKey
