package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
)

// MaxK is the greatest K of a Query.
const MaxK = fastpath.MaxK

// Options say how an Engine is opened. The zero value asks for no device.
type Options struct {
	// Devices that queries may run on.
	Devices Selection
	// Memory that the images of posting lists may take on each device. Lengths of
	// documents, bitmaps of deletions, and what decoding and batches need come on top.
	Memory Memory
	// HostMemory is the page-locked memory of the host that compressed lists may take,
	// for all devices together.
	HostMemory HostMemory
	// IndexBytes is the size of the index's posting lists, of which Memory and
	// HostMemory may be per cent.
	IndexBytes int64
	// Library is the path of the driver; "": where package cuda looks.
	Library string
	// Lanes is how many runs compute on a device at the same time; 0: DefaultLanes.
	Lanes int
	// Faults, if set, makes calls of the devices' driver fail: for tests.
	Faults *cuda.Faults
}

// DefaultLanes is the number of lanes of a device: enough for one run to compute
// while the lists of another are brought and the results of a third are read.
const DefaultLanes = 4

// Engine holds posting lists on GPUs and runs queries there (package comment).
type Engine struct {
	devices []*device // set by Close with mu held

	mu    sync.Mutex
	parts map[partKey]*part // of all Views; guarded by mu
}

// IsUnavailable reports whether err of Open says that there is no usable GPU.
func IsUnavailable(err error) bool { return errors.Is(err, cuda.ErrUnavailable) }

// IsDeviceError reports whether err is of a GPU or its driver, so that the CPU can do
// the same work.
func IsDeviceError(err error) bool {
	var e *cuda.Error
	return errors.As(err, &e) && e.CPUValid()
}

// Open opens the devices. If there is none, or not one that was named, the error
// says why, and what was looked for (IsUnavailable). With Selection.Auto, those that
// do not open are left out, if any does. It takes a third of a second
// where there is a driver, and next to nothing where there is none.
func Open(o Options) (*Engine, error) {
	lib, err := cuda.Load(o.Library)
	if err != nil {
		return nil, err
	}
	infos, err := lib.Devices()
	if err != nil {
		return nil, err
	}
	ordinals, err := choose(o.Devices, infos)
	if err != nil {
		return nil, err
	}
	if o.Lanes <= 0 {
		o.Lanes = DefaultLanes
	}
	e := &Engine{parts: map[partKey]*part{}}
	var errs []error
	for _, n := range ordinals {
		d, err := openDevice(lib, n, o, len(ordinals))
		if err == nil {
			e.devices = append(e.devices, d)
			continue
		}
		errs = append(errs, fmt.Errorf("GPU %d: %w", n, err))
		if !o.Devices.Auto {
			break
		}
	}
	if len(errs) > 0 && (!o.Devices.Auto || len(e.devices) == 0) {
		return nil, errors.Join(append(errs, e.Close())...)
	}
	return e, nil
}

// choose returns the ordinals of the devices that a selection means.
func choose(s Selection, infos []cuda.Info) (ordinals []int, err error) {
	if len(s.Ordinals) > 0 {
		for _, n := range s.Ordinals {
			switch {
			case n >= len(infos):
				return nil, fmt.Errorf("there is no GPU %d: the driver knows %d: %w", n, len(infos), cuda.ErrUnavailable)
			case infos[n].Unusable() != "":
				return nil, fmt.Errorf("GPU %d (%s) cannot be used: %s: %w", n, infos[n].Name, infos[n].Unusable(), cuda.ErrUnavailable)
			}
		}
		return s.Ordinals, nil
	}
	var reasons []string
	for _, i := range infos {
		if why := i.Unusable(); why != "" {
			reasons = append(reasons, fmt.Sprintf("GPU %d (%s): %s", i.Ordinal, i.Name, why))
			continue
		}
		ordinals = append(ordinals, i.Ordinal)
	}
	if len(ordinals) > 0 {
		return ordinals, nil
	}
	if len(reasons) == 0 {
		return nil, fmt.Errorf("the driver knows no GPU: %w", cuda.ErrUnavailable)
	}
	return nil, fmt.Errorf("none of %d GPUs can be used: %s: %w", len(infos), strings.Join(reasons, "; "), cuda.ErrUnavailable)
}

// Close gives the devices back. All Views are released before, and no run is
// under way.
func (e *Engine) Close() error {
	e.mu.Lock()
	devices := e.devices
	e.devices = nil
	e.mu.Unlock()
	var errs []error
	for _, d := range devices {
		d.promoter.stop() // it has Views, which are of all devices
	}
	for _, d := range devices {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

// Lanes is how many runs compute on a device at the same time. Each grows its memory
// with the runs that it gets.
func (e *Engine) Lanes() int { return e.devices[0].numLanes }

// Stats count what an Engine did since it was opened.
type Stats struct {
	Devices []DeviceStats `json:"devices"`
}

// DeviceStats count what a device did.
type DeviceStats struct {
	Name string `json:"name"` // "gpu0"
	GPU  string `json:"gpu"`  // "NVIDIA H200"
	// Driver is the CUDA version of the driver.
	Driver string `json:"driver"`
	CacheStats
	// UsedBytes is how much of the device's memory is in use, by whatever process; 0 if
	// the driver does not tell.
	UsedBytes int64 `json:"used_bytes"`
	// LimitBytes is how much lists may take.
	LimitBytes int64 `json:"limit_bytes"`
	// Host is the page-locked memory with compressed lists.
	Host HostStats `json:"host"`
	// Asked counts the lists that queries asked for, by their form then.
	Asked FormStats `json:"asked"`
	// BytesUploaded counts what went to the device for lists: compressed, or plain
	// where the CPU has decoded them. BytesInPlace is what direct runs have read of
	// page-locked lists over the bus.
	BytesUploaded int64 `json:"bytes_uploaded"`
	BytesInPlace  int64 `json:"bytes_in_place"`
	// Direct counts those of the Queries that were answered from compressed lists, and
	// Steps the runs of Intersect.
	Direct int64 `json:"direct"`
	Steps  int64 `json:"steps"`
	// Queries that the device had a part in, in so many Launches of batches.
	Queries  int64 `json:"queries"`
	Launches int64 `json:"launches"`
	// Busy is the device's own time for the kernels of batches, and of single queries
	// that were traced.
	Busy time.Duration `json:"busy_ns"`
	// Errors counts calls of the driver that failed. Lost says why the device is
	// used no more, "" if it is.
	Errors int64  `json:"errors"`
	Lost   string `json:"lost,omitempty"`
}

// Stats returns the counts as of now, of no device after Close.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	devices := e.devices
	e.mu.Unlock()
	var s Stats
	for _, d := range devices {
		s.Devices = append(s.Devices, d.stats())
	}
	return s
}

// Since returns the counts without those of before, an earlier Stats of the same
// Engine. Lists, SizeBytes, LimitBytes and Lost are as of now.
func (s Stats) Since(before *Stats) Stats {
	s.Devices = slices.Clone(s.Devices)
	for i := range min(len(s.Devices), len(before.Devices)) {
		d, b := &s.Devices[i], &before.Devices[i]
		d.Hits -= b.Hits
		d.Misses -= b.Misses
		d.Streamed -= b.Streamed
		d.Host = d.Host.since(&b.Host)
		d.Asked = d.Asked.since(&b.Asked)
		d.BytesInPlace -= b.BytesInPlace
		d.Direct -= b.Direct
		d.Steps -= b.Steps
		d.Evictions -= b.Evictions
		d.Refused -= b.Refused
		d.BytesUploaded -= b.BytesUploaded
		d.Queries -= b.Queries
		d.Launches -= b.Launches
		d.Busy -= b.Busy
		d.Errors -= b.Errors
	}
	return s
}

// Lost returns why the Engine answers nothing any more, nil if it does. It takes no
// lock, and must not be called after Close.
func (e *Engine) Lost() error {
	for _, d := range e.devices {
		if err := d.lost(); err != nil {
			return err
		}
	}
	return nil
}
