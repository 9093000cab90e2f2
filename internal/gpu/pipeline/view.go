package pipeline

import (
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
)

// Segment is what Attach is told of a segment of a commit, or of the file of its
// impact-ordered lists.
type Segment struct {
	// Key is the same for the same content in another commit, and else different.
	Key     string
	NumDocs int
	// Base is added to the segment's DocIDs to make those of hits.
	Base base.DocID
	// Live has bit d%64 of word d/64 set if document d is not deleted; nil: all are.
	Live []uint64
	// Segment, or Impacts, is where lists come from. It stays open as long as
	// queries over the View are run.
	Segment *segment.Segment
	Impacts *impact.Index
}

// View is a commit on the devices. It is safe for concurrent use.
type View struct {
	engine   *Engine
	segments []Segment
	// pieces holds, by device, then segment, its share of the documents.
	pieces     [][]piece
	references atomic.Int64
}

// piece is the share that a device has in a segment, in one commit.
type piece struct {
	part *part
	fast fastpath.Segment
	live cuda.Buffer[uint32] // of fast, to be freed; zero: all are live
}

// partKey names a part.
type partKey struct {
	segment string
	device  *device
}

// part is a range of the documents of a segment, on a device: what its images are
// of, whichever commit they are used in.
type part struct {
	id       uint32
	key      partKey
	from, to uint32 // DocIDs of the segment
	whole    bool   // they are all that it has
	sat      []score.Saturation
	mu       sync.Mutex            // guards lengths until they are ready
	lengths  []cuda.Buffer[uint32] // by field
	ready    []atomic.Bool         // lengths, by field
	views    int                   // that have it; guarded by Engine.mu
}

// docAlign is what DocIDs are split at: words of bitmaps.
const docAlign = 64

// split returns the range of documents that device i of n has.
func split(numDocs, i, n int) (from, to int) {
	share := ((numDocs+n-1)/n + docAlign - 1) / docAlign * docAlign
	return min(i*share, numDocs), min((i+1)*share, numDocs)
}

// Attach makes a View of the segments of a commit: it uploads the bitmaps of
// deletions, and nothing else; lists come as they are needed (or by Warm), and
// those of segments that a View before had stay. It is to be released.
func (e *Engine) Attach(segments []Segment) (*View, error) {
	v := &View{engine: e, segments: segments}
	v.references.Store(1)
	attached := false
	defer func() {
		if !attached { // or panicked
			v.Release()
		}
	}()
	for i, d := range e.devices {
		pieces := make([]piece, len(segments))
		v.pieces = append(v.pieces, pieces)
		for j := range segments {
			from, to := split(segments[j].NumDocs, i, len(e.devices))
			if from == to {
				continue
			}
			if err := pieces[j].fill(e, d, &segments[j], from, to); err != nil {
				return nil, err
			}
		}
	}
	attached = true
	return v, nil
}

// fill makes p the documents [from, to) of a segment on d.
func (p *piece) fill(e *Engine, d *device, s *Segment, from, to int) error {
	p.part = e.part(d, s, from, to)
	p.fast = fastpath.Segment{NumDocs: to - from, Base: s.Base + base.DocID(from)}
	if s.Live == nil {
		return nil
	}
	words := make([]uint32, (to-from+31)/32)
	for i := range words {
		words[i] = uint32(s.Live[from/64+i/2] >> (32 * (i % 2)))
	}
	var err error
	if p.live, err = d.place(words); err != nil {
		return d.note(err)
	}
	p.fast.Live = p.live
	return nil
}

// part returns the part of a segment on a device, with one more View that has it.
func (e *Engine) part(d *device, s *Segment, from, to int) *part {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := partKey{s.Key, d}
	p := e.parts[k]
	if p == nil {
		p = &part{id: lastPart.Add(1), key: k, from: uint32(from), to: uint32(to), whole: to-from == s.NumDocs}
		p.sat = saturations(s)
		p.lengths = make([]cuda.Buffer[uint32], len(p.sat))
		p.ready = make([]atomic.Bool, len(p.sat))
		e.parts[k] = p
	}
	p.views++
	return p
}

// saturations returns what the bounds of a segment's lists were made for, by field.
func saturations(s *Segment) []score.Saturation {
	if s.Impacts != nil {
		return []score.Saturation{{Linear: true}}
	}
	meta := s.Segment.Meta()
	sat := make([]score.Saturation, len(meta.Fields))
	for i := range sat {
		sat[i] = score.Saturation{BM25: meta.BM25, AvgLen: meta.Fields[i].AvgLen, Linear: meta.Weights}
	}
	return sat
}

// Retain adds a reference to the View and returns it.
func (v *View) Retain() *View {
	v.references.Add(1)
	return v
}

// Release gives a reference back. With the last one, what only this View had goes:
// bitmaps, and the lists of segments that no other View has; the promoter may have that one
// for a moment longer than its users. A nil View has none.
func (v *View) Release() {
	if v == nil || v.references.Add(-1) > 0 {
		return
	}
	e := v.engine
	for _, pieces := range v.pieces {
		for i := range pieces {
			p := &pieces[i]
			if p.part == nil {
				continue
			}
			d := p.part.key.device
			_ = d.note(p.live.Free())
			e.mu.Lock()
			p.part.views--
			last := p.part.views == 0
			if last {
				delete(e.parts, p.part.key)
			}
			e.mu.Unlock()
			if last {
				p.part.drop()
			}
		}
	}
}

// WaitForPromotions waits until all lists are promoted that runs so far have asked for, on all
// devices, and those that are not worth it are left: what Locate says then stays so until the
// next run.
func (v *View) WaitForPromotions() {
	for _, d := range v.engine.devices {
		d.promoter.wait()
	}
}

// drop frees what the devices have of the part. No query uses it: the last View
// that has it is released.
func (p *part) drop() {
	d := p.key.device
	d.cache.drop(p.id)
	d.host.cache.drop(p.id)
	for _, b := range p.lengths {
		_ = d.note(b.Free())
	}
}

// lastPart numbers the parts of all engines: a Leg that engines are asked about by turns
// remembers a record by the part's number.
var lastPart atomic.Uint32
