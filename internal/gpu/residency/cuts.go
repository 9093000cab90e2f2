package residency

import (
	"sync"

	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// listCuts keeps the cuts of the lists of a shard, which take longer to make than to use. It is safe for concurrent use.
type listCuts struct {
	mu        sync.Mutex
	cuts      map[listKey]*imagesearch.Cuts // by list
	sizeBytes int64
}

// maxCutsBytes bounds the memory of cuts: about 6,000 lists in a segment of 25 million documents. Above it, all
// are dropped.
const maxCutsBytes = 64 << 20

// Cuts returns the cuts of a leg's compressed list in a shard that is a whole segment.
func (p *Shard) Cuts(leg *Leg) *imagesearch.Cuts {
	k := leg.key(p.id)
	c := &p.cuts
	c.mu.Lock()
	known := c.cuts[k]
	c.mu.Unlock()
	if known != nil {
		return known
	}
	_, directory := leg.List.Raw()
	made := p.memory.fast.NewCuts(int(p.to-p.from), directory)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cuts == nil || c.sizeBytes+made.SizeBytes() > maxCutsBytes {
		c.cuts, c.sizeBytes = map[listKey]*imagesearch.Cuts{}, 0
	}
	if c.cuts[k] == nil {
		c.cuts[k] = made
		c.sizeBytes += made.SizeBytes()
	}
	return made
}

// Key identifies a leg's list among the lists of all shards.
func (p *Shard) Key(leg *Leg) ListKey { return leg.key(p.id) }

// Shape returns the shape of a leg's list in a shard that is a whole segment.
func (p *Shard) Shape(leg *Leg) imagesearch.Shape { return imageShape(p, leg, int(leg.DocFreq())) }
