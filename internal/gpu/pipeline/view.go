package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/base"
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
	live    *residency.LiveDocs // nil: all documents are live
	numDocs int                 // of the whole segment
}

// docAlign is the alignment of shard boundaries: a word of a bitmap.
const docAlign = 64

func split(numDocs, i, n int) (from, to int) {
	share := ((numDocs+n-1)/n + docAlign - 1) / docAlign * docAlign
	return min(i*share, numDocs), min((i+1)*share, numDocs)
}

// Attach makes a View of the segments of a commit, which the caller releases. It uploads only
// deletion bitmaps that no other View has, and waits for no lane; lists follow on demand, by Warm or by
// Prepare. Lists of segments that another View has stay resident.
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
	p.shard, p.numDocs = d.Shard(s, from, to), s.NumDocs
	p.segment = imagesearch.Segment{NumDocs: to - from, Base: s.Base + base.DocID(from)}
	var err error
	if p.live, err = p.shard.LiveDocs(s.Live); err != nil {
		return d.Note(err)
	}
	p.segment.Live = p.live.Words()
	return nil
}

// Engine returns the Engine of the view.
func (v *View) Engine() *Engine { return v.engine }

// Retain adds a reference to the view, which needs a Release.
func (v *View) Retain() *View {
	v.references.Add(1)
	return v
}

// Release drops a reference. The last one releases the bitmaps and, perhaps after pending
// promotions, frees the memory of segments that no other View has. A nil View is allowed.
func (v *View) Release() {
	if v == nil || v.references.Add(-1) > 0 {
		return
	}
	for _, targets := range v.targets {
		for j := range targets {
			if p := &targets[j]; p.shard != nil {
				p.live.Release()
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

// Prepare copies to the devices, for the segments of v that former does not have, the lists that they have for segments
// of former, the most useful ones first, and then the columns, while there is free memory and until ctx ends. It
// uses no lane. It returns the number of lists; errors are of ctx, Device.Prepare or residency.PrepareColumns.
func (v *View) Prepare(ctx context.Context, former *View) (lists int, err error) {
	for i, d := range v.engine.devices {
		var shards []*residency.Shard
		for j := range former.targets[i] {
			if p := former.targets[i][j].shard; p != nil {
				shards = append(shards, p)
			}
		}
		var hot []residency.Hot
		for j := range v.targets[i] {
			p := v.targets[i][j].shard
			if p == nil || p.Prepared() || slices.Contains(shards, p) {
				continue
			}
			if hot == nil {
				hot = d.Hot(shards)
			}
			n, failed := d.Prepare(ctx, p, &v.segments[j], hot)
			lists += n
			if failed != nil {
				return lists, errors.Join(err, failed)
			}
		}
		err = errors.Join(err, v.prepareColumns(ctx, i, shards))
		if ctx.Err() != nil {
			break
		}
	}
	return lists, err
}

// prepareColumns copies to a device, for the other segments, the columns that it has for shards. After an error in one
// segment it continues with the next.
func (v *View) prepareColumns(ctx context.Context, device int, shards []*residency.Shard) error {
	d := v.engine.devices[device].Device
	columns := residency.HotColumns(d, shards)
	var errs []error
	for j := range v.targets[device] {
		p := v.targets[device][j].shard
		if p == nil || slices.Contains(shards, p) {
			continue
		}
		_, err := residency.PrepareColumns(ctx, d, p, &v.segments[j], columns)
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}
