package residency

import (
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
)

// Segment describes a segment of a commit, or the file of its impact-ordered lists, for
// Attach.
type Segment struct {
	// Key identifies the content across commits.
	Key     string
	NumDocs int
	// Base is added to the segment's DocIDs to form the DocIDs of hits.
	Base base.DocID
	// Live has bit d%64 of word d/64 set if document d is live; nil: all are.
	Live []uint64
	// Lists come from Segment or from Impacts, which stays open while queries over the View
	// run.
	Segment *segment.Segment
	Impacts *impact.Index
	// OnCPU: no device has the segment; the CPU adds its hits and matches.
	OnCPU bool
}

// Shard is the range of a segment's documents that lies on a device. The images of its lists
// serve all commits with the segment.
type Shard struct {
	id       uint32
	segment  string // Segment.Key
	memory   *Device
	from, to uint32 // range of the segment's DocIDs
	whole    bool   // the range is the whole segment
	sat      []score.Saturation
	mu       sync.Mutex            // guards lengths that are not ready, and columns
	lengths  []cuda.Buffer[uint32] // by field
	ready    []atomic.Bool         // lengths, by field
	views    int                   // references; guarded by Device.shardsMu
	live     liveDocs
	prepared atomic.Bool    // Prepare has completed
	columns  map[int]string // names of uploaded columns by number; guarded by mu
	cuts     listCuts

	// Excluding counts guesses of queries with exclusions and without a filter, Plain of queries without either
	// and without deletions, for one of several shards.
	Excluding, Plain Guesses
}

// Shard returns the shard of the documents [from, to) with a new reference.
func (d *Device) Shard(s *Segment, from, to int) *Shard {
	d.shardsMu.Lock()
	defer d.shardsMu.Unlock()
	p := d.shards[s.Key]
	if p == nil {
		p = &Shard{id: lastShard.Add(1), segment: s.Key, memory: d, from: uint32(from), to: uint32(to), whole: to-from == s.NumDocs}
		p.sat = saturations(s)
		p.lengths = make([]cuda.Buffer[uint32], len(p.sat))
		p.ready = make([]atomic.Bool, len(p.sat))
		d.shards[s.Key] = p
	}
	p.views++
	return p
}

// Retain adds a reference.
func (p *Shard) Retain() *Shard {
	p.memory.shardsMu.Lock()
	defer p.memory.shardsMu.Unlock()
	p.views++
	return p
}

// Release drops a reference; the last one frees the shard's device memory.
func (p *Shard) Release() {
	d := p.memory
	d.shardsMu.Lock()
	p.views--
	last := p.views == 0
	if last {
		delete(d.shards, p.segment)
	}
	d.shardsMu.Unlock()
	if last {
		p.drop()
	}
}

// saturations returns the bounds' parameters by field.
func saturations(s *Segment) []score.Saturation {
	if s.Impacts != nil {
		return []score.Saturation{{Linear: true}}
	}
	meta := s.Segment.Meta()
	sat := make([]score.Saturation, len(meta.Fields))
	for i := range sat {
		sat[i] = meta.Saturation(base.FieldID(i))
	}
	return sat
}

func (p *Shard) drop() {
	d := p.memory
	d.cache.drop(p.id)
	d.host.cache.drop(p.id)
	for _, b := range p.lengths {
		_ = d.Note(b.Free())
	}
	p.live.close(d)
}

// lastShard numbers the shards of all engines, since a Leg that several engines use caches a
// record by shard number.
var lastShard atomic.Uint32

// ImageBytes estimates the size of a list's image in a segment of numDocs documents.
func (p *Shard) ImageBytes(numDocs int, leg *Leg) int64 {
	share := float64(p.to-p.from) / float64(numDocs)
	shape := imageShape(p, leg, max(int(share*float64(leg.DocFreq())), 1))
	return roundUp(shape.SizeBytes())
}

// Lengths returns a field's document lengths, resident if an image of one of its lists is.
func (p *Shard) Lengths(field base.FieldID) cuda.Buffer[uint32] { return p.lengths[field] }
