package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/direct"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
)

// device is one GPU: its kernels, the lists that lie on it, and the lanes that
// run queries.
type device struct {
	name      string
	dev       *cuda.Device
	fast      *fastpath.Kernels
	direct    *direct.Kernels
	decode    *decode.Kernels
	rebaser   *rebaser // nil if each device has whole segments
	records   *records
	cache     *cache
	host      *hostMemory
	uploaders []*uploader // by lane, then the promoter's
	promoter  *promoter
	lanes     chan *lane
	numLanes  int
	holders   holders
	tight     atomic.Bool   // a batch did not fit into memory
	waiting   chan struct{} // taken by the run that waits for memory (shortage)

	// slabs is the memory of the cache, by number. It grows with cache.mu held.
	slabs     []cuda.Buffer[uint32]
	slabBytes [2]int64 // of main and of the reserve
	limit     [2]atomic.Int64

	uploaded, inPlace, queries, directs, steps, launches, busy, errors atomic.Int64

	asked  formCounts
	failed atomic.Pointer[error] // why it is used no more
}

const (
	// imageSlack is the part of the memory that images leave free which queries can do
	// without: one in so many (device.room).
	imageSlack = 8
	// reserveShare of the memory is for lists that were not admitted.
	reserveShare = 8
	// slabUnit is how much memory is allocated at a time, at least.
	slabUnit = 256 << 20
)

// openDevice opens one of so many devices.
func openDevice(lib *cuda.Library, ordinal int, o Options, devices int) (_ *device, err error) {
	dev, err := lib.Open(ordinal)
	if err != nil {
		return nil, err
	}
	d := &device{name: fmt.Sprintf("gpu%d", ordinal), dev: dev, lanes: make(chan *lane, o.Lanes), waiting: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	dev.InjectFaults(o.Faults)
	free, _, err := dev.MemInfo()
	if err != nil {
		return nil, err
	}
	limit := o.Memory.limit(free, o.IndexBytes)
	d.limit[1].Store(limit / reserveShare)
	d.limit[0].Store(limit - limit/reserveShare)
	d.records = newRecords()
	d.cache = newCache(d.records, d.grow, d.settle)
	d.host = newHostMemory(dev, d.records, o.HostMemory.limit(hostAvailable(), o.IndexBytes)/int64(devices), d.note, d.settleHost)
	if d.fast, err = fastpath.Load(dev); err != nil {
		return nil, err
	}
	if d.direct, err = direct.New(dev); err != nil {
		return nil, err
	}
	d.decode = decode.New(dev)
	if devices > 1 {
		if d.rebaser, err = newRebaser(dev); err != nil {
			return nil, err
		}
	}
	for i := range o.Lanes {
		l, err := newLane(d, i)
		if err != nil {
			return nil, err
		}
		d.uploaders = append(d.uploaders, l.uploader)
		d.lanes <- l
		d.numLanes++
	}
	d.promoter, err = newPromoter(d)
	return d, err
}

// grow makes a slab for the cache.
func (d *device) grow(n int64, reserve bool) (slab int, size int64, ok bool) {
	i := 0
	if reserve {
		i = 1
	}
	left := (d.limit[i].Load() - d.slabBytes[i]) &^ (spaceAlign - 1)
	size = min(max(n, slabUnit), left)
	if size < n || d.lost() != nil {
		return 0, 0, false
	}
	b, err := cuda.Alloc[uint32](d.dev, int(size/4))
	if err != nil {
		_ = d.note(err)
		if d.slabBytes[i] > 0 { // others have the memory: make do with what there is
			d.limit[i].Store(d.slabBytes[i])
		}
		return 0, 0, false
	}
	d.slabs = append(d.slabs, b)
	d.slabBytes[i] += size
	return len(d.slabs) - 1, size, true
}

// settle waits until an entry of the device is made, or the device has failed.
func (d *device) settle(e *entry) {
	if e.loaded.Load() || e.lane < 0 {
		return
	}
	_ = d.note(d.uploaders[e.lane].events[e.event].Synchronize())
	e.loaded.Store(true)
}

// settleHost waits until nothing copies from a page-locked list.
func (d *device) settleHost(e *entry) {
	readers := e.readers.Load()
	if readers == 0 {
		return
	}
	for i, u := range d.uploaders {
		if readers&(1<<(i%64)) != 0 {
			_ = d.note(u.events[u.event.Load()].Synchronize())
		}
	}
}

// memory returns the memory of an extent.
func (d *device) memory(e extent) cuda.Buffer[uint32] {
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	return d.slabs[e.slab].Slice(int(e.offset/4), int((e.offset+e.size)/4))
}

// room is how much memory images may take without anything having to go, for queries that
// can do without them: not all that is free. What an eviction leaves beside what it was for
// would be filled with images, which the next compressed lists drive out again.
func (d *device) room() int64 {
	limit := d.limit[0].Load()
	return d.cache.room(limit - limit/imageSlack)
}

// put puts a lane back, without anything that it should not hold any more.
func (d *device) put(l *lane) {
	defer func() { d.lanes <- l }()
	l.salvage()
}

// place returns memory with words in it, for all streams. It waits for a lane.
func (d *device) place(words []uint32) (cuda.Buffer[uint32], error) {
	l := <-d.lanes
	defer d.put(l)
	return l.uploader.place(words)
}

// lane waits for a lane, which is to be put back; nil if the context ends before.
func (d *device) lane(ctx context.Context) *lane {
	select {
	case l := <-d.lanes:
		return l
	case <-ctx.Done():
		return nil
	}
}

// note counts an error if it is one of the driver, and marks the device lost if it is
// of no more use. It returns err.
func (d *device) note(err error) error {
	var call *cuda.Error
	if !errors.As(err, &call) {
		return err
	}
	d.errors.Add(1)
	if lost := d.dev.Err(); lost != nil {
		d.fail(lost)
	}
	return err
}

// fail makes the device one that is used no more.
func (d *device) fail(err error) { d.failed.CompareAndSwap(nil, &err) }

// lost returns why the device is used no more, nil if it is.
func (d *device) lost() error {
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (d *device) stats() DeviceStats {
	info := d.dev.Info()
	s := DeviceStats{
		Name: d.name, GPU: info.Name, Driver: info.Driver(), CacheStats: d.cache.snapshot(), LimitBytes: d.limit[0].Load() + d.limit[1].Load(),
		Host: d.host.stats(), Asked: d.asked.stats(), BytesUploaded: d.uploaded.Load(), BytesInPlace: d.inPlace.Load(),
		Direct: d.directs.Load(), Steps: d.steps.Load(), Queries: d.queries.Load(), Launches: d.launches.Load(), Busy: time.Duration(d.busy.Load()), Errors: d.errors.Load(),
	}
	if err := d.lost(); err != nil {
		s.Lost = err.Error()
	} else if free, total, err := d.dev.MemInfo(); err == nil {
		s.UsedBytes = int64(total - free)
	}
	return s
}

// close frees everything. Errors of a device that is lost mean nothing.
func (d *device) close() error {
	var errs []error
	if d.promoter != nil {
		errs = append(errs, d.promoter.close())
	}
	for range d.numLanes {
		errs = append(errs, (<-d.lanes).close())
	}
	for _, b := range d.slabs {
		errs = append(errs, b.Free())
	}
	if d.host != nil {
		errs = append(errs, d.host.close())
	}
	if d.direct != nil {
		errs = append(errs, d.direct.Close())
	}
	if d.decode != nil {
		errs = append(errs, d.decode.Close())
	}
	if d.rebaser != nil {
		errs = append(errs, d.rebaser.close())
	}
	if d.fast != nil {
		errs = append(errs, d.fast.Close())
	}
	failed := d.dev.Err() // what is said of a failed device means nothing
	errs = append(errs, d.dev.Close())
	if errors.Is(failed, cuda.ErrDeviceLost) {
		errs = nil
	}
	return errors.Join(errs...)
}
