package pipeline

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
)

type device struct {
	*residency.Device
	images   *imagesearch.Kernels
	packed   *packedsearch.Kernels
	lanes    *freeLanes
	numLanes int
	tight    atomic.Bool // a batch did not fit into memory
	// Of a lane's single query and of its batches (imagesearch.Limits). Their sum over the lanes is within Device.Work, except
	// for the least of 1 MiB a lane.
	singleKeys, batchKeys int
	waiting               chan struct{} // held by the run that waits for memory (shortage)

	inPlace, queries, packedRuns, steps, tallies, launches, busy atomic.Int64
	guesses, missed                                              atomic.Int64 // thresholds of queries

	asked  residency.FormCounts
	passes passes
}

func openDevice(lib *cuda.Library, ordinal int, o Options, devices int) (_ *device, err error) {
	memory, err := residency.OpenDevice(lib, ordinal, residency.DeviceOptions{
		Memory: o.Memory, HostMemory: o.HostMemory, IndexBytes: o.IndexBytes, Uploaders: o.Lanes, Faults: o.Faults,
		Work: 8 * imagesearch.MaxKeys * int64(o.Lanes),
	}, devices)
	if err != nil {
		return nil, err
	}
	d := &device{Device: memory, images: memory.Images(), lanes: newFreeLanes(o.Lanes), waiting: make(chan struct{}, 1)}
	d.passes.turn, d.passes.arrived = make(chan struct{}, 1), make(chan struct{}, 1)
	keys := int(memory.Work() / 8 / int64(o.Lanes))
	d.singleKeys = max(keys/8, imagesearch.LeastKeys)
	d.batchKeys = max(keys-d.singleKeys, imagesearch.LeastKeys)
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.packed, err = packedsearch.New(d.CUDA()); err != nil {
		return nil, err
	}
	for i := range o.Lanes {
		l, err := newLane(d, i)
		if err != nil {
			return nil, err
		}
		d.lanes.put(l)
		d.numLanes++
	}
	return d, nil
}

// put first releases the leftovers of a run that panicked.
func (d *device) put(l *lane) {
	defer func() { d.lanes.put(l) }()
	l.salvage()
}

// lane takes a lane for queries, to be returned with put or leave, nil if ctx ends first.
func (d *device) lane(ctx context.Context, queries int) *lane {
	return d.lanes.take(ctx.Done(), queries)
}

func (d *device) stats() DeviceStats {
	m := d.Stats()
	return DeviceStats{
		Name: m.Name, GPU: m.GPU, Driver: m.Driver, CacheStats: m.Cache, UsedBytes: m.UsedBytes, LimitBytes: m.LimitBytes,
		Host: m.Host, Asked: d.asked.Stats(), BytesUploaded: m.BytesUploaded, BytesInPlace: d.inPlace.Load(),
		Packed: d.packedRuns.Load(), Steps: d.steps.Load(), Tallies: d.tallies.Load(), Passes: d.passes.stats(), Queries: d.queries.Load(), Launches: d.launches.Load(),
		Busy: time.Duration(d.busy.Load()), Errors: m.Errors, Lost: m.Lost,
	}
}

// close returns nil for a lost device.
func (d *device) close() error {
	d.StopPromoting()
	var errs []error
	for range d.numLanes {
		errs = append(errs, d.lanes.take(nil, 1).close())
	}
	if d.passes.pass != nil {
		errs = append(errs, d.passes.pass.Close())
	}
	if d.packed != nil {
		errs = append(errs, d.packed.Close())
	}
	lost := errors.Is(d.CUDA().Err(), cuda.ErrDeviceLost)
	errs = append(errs, d.Device.Close())
	if lost {
		return nil
	}
	return errors.Join(errs...)
}
