package residency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/footprint"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// Device manages the lists and uploaders of one GPU's memory and of the page-locked host memory
// beside it.
type Device struct {
	name      string
	dev       *cuda.Device
	compact   bool // imagesearch.Shape.Compact
	fast      *imagesearch.Kernels
	decode    *decode.Kernels
	own       ownKernels
	records   *records
	cache     *cache
	host      *hostMemory
	uploaders []*Uploader // by lane, then the promoter's and the preparer's
	promoter  *promoter
	preparer  preparer
	holders   holders

	shardsMu sync.Mutex
	shards   map[string]*Shard // by segment key; guarded by shardsMu

	// The cache's memory. It grows with cache.mu held.
	slabs slabs
	limit [3]atomic.Int64 // main, reserve, batches

	uploaded, errors atomic.Int64
	failed           atomic.Pointer[error] // non-nil: the device is no longer used
}

// slabs are memory by slab number.
type slabs struct {
	buffers []cuda.Buffer[uint32]
	bytes   [2]int64 // main, reserve
}

// ownKernels are the kernels of this package.
type ownKernels struct {
	rebaser *rebaser // nil if each device has whole segments
	ranger  *ranger
}

// DeviceOptions limit the memory for lists. Faults injects driver errors in tests.
type DeviceOptions struct {
	Memory     Memory
	HostMemory HostMemory // total of all devices
	IndexBytes int64
	Uploaders  int // excluding the promoter's
	// Work is the memory that the caller wants for batches; Device.Work is its share of Memory.
	Work   int64
	Faults *cuda.Faults
}

const (
	// imagesPerIndex: images are compact if the memory is below this multiple of the index's compressed lists, because the
	// images of all lists would not fit otherwise.
	imagesPerIndex = 6
	// imageSlack: optional images leave 1/imageSlack of the memory free (Device.Room).
	imageSlack = 8
	// reserveShare: lists that are not admitted get 1/reserveShare of the memory.
	reserveShare = 8
	// workShare: batches get up to 1/workShare of the memory.
	workShare = 64
	slabUnit  = 256 << 20
)

// OpenDevice opens one of the given number of devices.
func OpenDevice(lib *cuda.Library, ordinal int, o DeviceOptions, devices int) (_ *Device, err error) {
	dev, err := lib.Open(ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{name: fmt.Sprintf("gpu%d", ordinal), dev: dev, shards: map[string]*Shard{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	dev.InjectFaults(o.Faults)
	free, total, err := dev.MemInfo()
	if err != nil {
		return nil, err
	}
	limit := o.Memory.limit(free, cmp.Or(o.IndexBytes, int64(total)))
	d.compact = limit < imagesPerIndex*o.IndexBytes/int64(devices)
	d.limit[1].Store(limit / reserveShare)
	work := min(o.Work, limit/workShare)
	d.limit[2].Store(work)
	d.limit[0].Store(limit - limit/reserveShare - work)
	host := footprint.Available()
	d.records = newRecords()
	d.cache = newCache(d.records, d.grow, d.settle)
	d.host = newHostMemory(dev, d.records, o.HostMemory.limit(host, cmp.Or(o.IndexBytes, host))/int64(devices), d.Note, d.settleHost)
	if d.fast, err = imagesearch.Load(dev); err != nil {
		return nil, err
	}
	d.decode = decode.New(dev)
	if devices > 1 {
		if d.own.rebaser, err = newRebaser(dev); err != nil {
			return nil, err
		}
	}
	if d.own.ranger, err = newRanger(dev); err != nil {
		return nil, err
	}
	for i := range o.Uploaders {
		u, err := newUploader(d, i, true /* slots */)
		if err != nil {
			return nil, err
		}
		d.uploaders = append(d.uploaders, u)
	}
	if d.promoter, err = newPromoter(d); err != nil {
		return nil, err
	}
	err = d.preparer.open(d)
	return d, err
}

func (d *Device) grow(n int64, reserve bool) (slab int, size int64, ok bool) {
	i := 0
	if reserve {
		i = 1
	}
	left := (d.limit[i].Load() - d.slabs.bytes[i]) &^ (spaceAlign - 1)
	size = min(max(n, slabUnit), left)
	if size < n || d.Lost() != nil {
		return 0, 0, false
	}
	b, err := cuda.Alloc[uint32](d.dev, int(size/4))
	if err != nil {
		_ = d.Note(err)
		if d.slabs.bytes[i] > 0 { // another process uses the memory: keep the present slabs
			d.limit[i].Store(d.slabs.bytes[i])
		}
		return 0, 0, false
	}
	d.slabs.buffers = append(d.slabs.buffers, b)
	d.slabs.bytes[i] += size
	return len(d.slabs.buffers) - 1, size, true
}

// settle waits for an upload, or for a device failure.
func (d *Device) settle(e *Entry) {
	if e.loaded.Load() || e.lane < 0 {
		return
	}
	_ = d.Note(d.uploaders[e.lane].events[e.event].Synchronize())
	e.loaded.Store(true)
}

// settleHost waits until no uploader copies from a page-locked list.
func (d *Device) settleHost(e *Entry) {
	readers := e.readers.Load()
	if readers == 0 {
		return
	}
	for i, u := range d.uploaders {
		if readers&(1<<(i%64)) != 0 {
			_ = d.Note(u.events[u.event.Load()].Synchronize())
		}
	}
}

func (d *Device) memory(e extent) cuda.Buffer[uint32] {
	d.cache.mu.Lock()
	defer d.cache.mu.Unlock()
	return d.slabs.buffers[e.slab].Slice(int(e.offset/4), int((e.offset+e.size)/4))
}

// Room is the memory that optional images may take without eviction. It leaves 1/imageSlack
// free: otherwise images would fill the memory freed by evictions, and the next compressed
// lists would evict them again.
func (d *Device) Room() int64 {
	limit := d.limit[0].Load()
	return d.cache.room(limit - limit/imageSlack)
}

// Note returns err after it has counted a driver error and, after a permanent failure, marked
// the device lost.
func (d *Device) Note(err error) error {
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

func (d *Device) fail(err error) { d.failed.CompareAndSwap(nil, &err) }

// Lost returns the error that made the device unusable, or nil.
func (d *Device) Lost() error {
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// MemoryStats are counts since a Device was opened, and its current memory use.
type MemoryStats struct {
	Name, GPU, Driver     string
	Cache                 CacheStats
	Host                  HostStats
	UsedBytes, LimitBytes int64
	BytesUploaded, Errors int64
	Lost                  string
}

// Stats returns the counts as of now.
func (d *Device) Stats() MemoryStats {
	info := d.dev.Info()
	s := MemoryStats{
		Name: d.name, GPU: info.Name, Driver: info.Driver(), Cache: d.cache.snapshot(), Host: d.host.stats(),
		LimitBytes: d.limit[0].Load() + d.limit[1].Load() + d.limit[2].Load(), BytesUploaded: d.uploaded.Load(), Errors: d.errors.Load(),
	}
	if err := d.Lost(); err != nil {
		s.Lost = err.Error()
	} else if free, total, err := d.dev.MemInfo(); err == nil {
		s.UsedBytes = int64(total - free)
	}
	return s
}

// Close frees all resources, and returns nil for a lost device. No run or upload may be active.
func (d *Device) Close() error {
	var errs []error
	if d.promoter != nil {
		d.promoter.stop()
	}
	for _, u := range d.uploaders {
		errs = append(errs, u.close())
	}
	for _, b := range d.slabs.buffers {
		errs = append(errs, b.Free())
	}
	if d.host != nil {
		errs = append(errs, d.host.close())
	}
	if d.decode != nil {
		errs = append(errs, d.decode.Close())
	}
	if d.own.rebaser != nil {
		errs = append(errs, d.own.rebaser.close())
	}
	if d.own.ranger != nil {
		errs = append(errs, d.own.ranger.close())
	}
	if d.fast != nil {
		errs = append(errs, d.fast.Close())
	}
	failed := d.dev.Err()
	errs = append(errs, d.dev.Close())
	if errors.Is(failed, cuda.ErrDeviceLost) {
		errs = nil
	}
	return errors.Join(errs...)
}

// HasImage reports whether the image of a leg's list is resident.
func (d *Device) HasImage(p *Shard, leg *Leg) bool {
	return d.records.ofLeg(leg, p.id).there(kindImage)
}

// FormsOf reports whether a leg's list has a resident image, and the fastest form of its
// compressed list.
func (d *Device) FormsOf(p *Shard, leg *Leg) (image bool, compressed Form) {
	known := d.records.ofLeg(leg, p.id)
	return known.there(kindImage), known.compressed()
}

// CountLists adds to the hits and misses of the cache.
func (d *Device) CountLists(hit, missed int) {
	d.cache.hits.Add(int64(hit))
	d.cache.misses.Add(int64(missed))
}

// Work is the part of DeviceOptions.Work, in bytes, that the memory limit has room for.
func (d *Device) Work() int64 { return d.limit[2].Load() }

// Limit is the memory limit for lists in bytes, without the streaming reserve and Work.
func (d *Device) Limit() int64 { return d.limit[0].Load() }

// Name is the name of the device, such as "gpu0".
func (d *Device) Name() string { return d.name }

// CUDA returns the driver's device.
func (d *Device) CUDA() *cuda.Device { return d.dev }

// Images returns the image kernels of the device.
func (d *Device) Images() *imagesearch.Kernels { return d.fast }

// Uploader returns the uploader of a lane.
func (d *Device) Uploader(i int) *Uploader { return d.uploaders[i] }

// BeginRun registers a run that is about to pin lists, and returns the number of ended runs.
func (d *Device) BeginRun() (ended uint64) { return d.holders.begin() }

// EndRun unregisters a run that has unpinned its lists.
func (d *Device) EndRun() { d.holders.end() }

// WaitForRun waits until another run ends, or until ctx is done. The caller's run found no room
// and has ended; ended is from its BeginRun. It returns false if no other run holds lists, so
// that a retry is useless.
func (d *Device) WaitForRun(ctx context.Context, ended uint64) bool {
	return d.holders.wait(ctx, ended)
}

// StopPromoting stops the promoter and waits for it. It is idempotent.
func (d *Device) StopPromoting() { d.promoter.stop() }

// WaitForPromotions waits until the promoter is idle.
func (d *Device) WaitForPromotions() { d.promoter.wait() }
