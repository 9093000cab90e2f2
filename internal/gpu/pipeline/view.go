package pipeline

import (
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// View is a commit on the devices, safe for concurrent use.
type View struct {
	engine   *Engine
	segments []Segment
	// targets by device, then segment.
	targets    [][]target
	references atomic.Int64
}

// target is a device's share of a segment in one commit.
type target struct {
	shard   *residency.Shard // nil: none
	segment imagesearch.Segment
	live    cuda.Buffer[uint32] // deletion bitmap of segment, owned; zero: all documents are live
}

// docAlign is the alignment of shard boundaries: a word of a bitmap.
const docAlign = 64

func split(numDocs, i, n int) (from, to int) {
	share := ((numDocs+n-1)/n + docAlign - 1) / docAlign * docAlign
	return min(i*share, numDocs), min((i+1)*share, numDocs)
}

// Attach makes a View of the segments of a commit, which the caller releases. It uploads only
// deletion bitmaps; lists follow on demand or by Warm. Lists of segments that another View has
// stay resident.
func (e *Engine) Attach(segments []Segment) (*View, error) {
	v := &View{engine: e, segments: segments}
	v.references.Store(1)
	attached := false
	defer func() {
		if !attached { // error or panic
			v.Release()
		}
	}()
	for i, d := range e.devices {
		targets := make([]target, len(segments))
		v.targets = append(v.targets, targets)
		for j := range segments {
			from, to := split(segments[j].NumDocs, i, len(e.devices))
			if from == to || segments[j].OnCPU {
				continue
			}
			if err := targets[j].fill(d, &segments[j], from, to); err != nil {
				return nil, err
			}
		}
	}
	attached = true
	return v, nil
}

func (p *target) fill(d *device, s *Segment, from, to int) error {
	p.shard = d.Shard(s, from, to)
	p.segment = imagesearch.Segment{NumDocs: to - from, Base: s.Base + base.DocID(from)}
	if s.Live == nil {
		return nil
	}
	words := make([]uint32, (to-from+31)/32)
	for i := range words {
		words[i] = uint32(s.Live[from/64+i/2] >> (32 * (i % 2)))
	}
	var err error
	if p.live, err = d.place(words); err != nil {
		return d.Note(err)
	}
	p.segment.Live = p.live
	return nil
}

// Engine returns the Engine of the view.
func (v *View) Engine() *Engine { return v.engine }

// Retain adds a reference to the view, which needs a Release.
func (v *View) Retain() *View {
	v.references.Add(1)
	return v
}

// Release drops a reference. The last one frees the bitmaps, and, perhaps after pending
// promotions, the lists of segments that no other View has. A nil View is allowed.
func (v *View) Release() {
	if v == nil || v.references.Add(-1) > 0 {
		return
	}
	for i, targets := range v.targets {
		d := v.engine.devices[i]
		for j := range targets {
			if p := &targets[j]; p.shard != nil {
				_ = d.Note(p.live.Free())
				p.shard.Release()
			}
		}
	}
}

// WaitForPromotions waits until all requested promotions are done or rejected; until the next
// run Locate's result then stays the same.
func (v *View) WaitForPromotions() {
	for _, d := range v.engine.devices {
		d.WaitForPromotions()
	}
}
