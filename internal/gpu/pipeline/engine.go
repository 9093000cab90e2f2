package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// MaxK is the maximum K of a Query.
const MaxK = imagesearch.MaxK

// MaxScore is the maximum score of a Wide query in a segment of numDocs documents.
func MaxScore(numDocs int) base.Score { return imagesearch.MaxScore(numDocs) }

// Options configure an Engine. The zero value selects no device.
type Options struct {
	Devices Selection
	// Memory limits the posting lists on each device; lengths, deletion bitmaps, decoding and
	// batches need more.
	Memory Memory
	// HostMemory limits the page-locked memory for compressed lists of all devices.
	HostMemory HostMemory
	// IndexBytes is the size of the posting lists to which percentages in Memory and HostMemory
	// refer; 0: the device's memory and the host's available memory.
	IndexBytes int64
	// Library is the path of the driver; "": the default paths of package cuda.
	Library string
	// Lanes is the number of concurrent runs per device; 0: DefaultLanes.
	Lanes int
	// Faults injects errors of driver calls in tests.
	Faults *cuda.Faults
}

// DefaultLanes fills a GPU with launches of some tens of queries, each of which waits for its slowest query: on an H200,
// 8 launches of 25 at the same time answer 1.8 times the OR queries of 4.
const DefaultLanes = 8

// uploadLanes is the maximum number of lanes of a run that brings lists: more of them share too little memory.
const uploadLanes = 4

// Engine runs queries on GPUs with resident posting lists. It is safe for concurrent use.
type Engine struct {
	devices []*device // written by Close with mu held

	mu sync.Mutex
}

// IsUnavailable reports whether an error of Open means that there is no usable GPU.
func IsUnavailable(err error) bool { return errors.Is(err, cuda.ErrUnavailable) }

// IsDeviceError reports whether err is of a GPU or its driver and the CPU can do the same work.
func IsDeviceError(err error) bool {
	var e *cuda.Error
	return errors.As(err, &e) && e.CPUValid()
}

// Open opens the selected devices as one Engine, which gives each device a range of the documents
// of every segment. If a device does not exist or is not usable, IsUnavailable is true of the
// error, which states the reason. With Selection.Auto, Open omits devices that fail to open unless
// all fail. It takes a third of a second if a driver is installed, else negligible time.
func Open(o Options) (*Engine, error) {
	engines, err := OpenEach(o)
	if err != nil {
		return nil, err
	}
	return Join(engines), nil
}

// Join makes one Engine of several without Views, which must not be used afterwards.
func Join(engines []*Engine) *Engine {
	e := new(Engine)
	for _, o := range engines {
		e.devices = append(e.devices, o.devices...)
		o.devices = nil
	}
	return e
}

// OpenEach is Open with an Engine for each device, which has all documents.
func OpenEach(o Options) ([]*Engine, error) {
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
	var engines []*Engine
	var errs []error
	for _, n := range ordinals {
		d, err := openDevice(lib, n, o, len(ordinals))
		if err == nil {
			engines = append(engines, &Engine{devices: []*device{d}})
			continue
		}
		errs = append(errs, fmt.Errorf("GPU %d: %w", n, err))
		if !o.Devices.Auto {
			break
		}
	}
	if len(errs) > 0 && (!o.Devices.Auto || len(engines) == 0) {
		return nil, errors.Join(append(errs, Join(engines).Close())...)
	}
	return engines, nil
}

func choose(s Selection, infos []cuda.Info) (ordinals []int, err error) {
	if len(s.Ordinals) > 0 {
		for _, n := range s.Ordinals {
			switch {
			case n >= len(infos):
				return nil, fmt.Errorf("no GPU %d: the driver reports %d GPUs: %w", n, len(infos), cuda.ErrUnavailable)
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
		return nil, fmt.Errorf("the driver reports no GPU: %w", cuda.ErrUnavailable)
	}
	return nil, fmt.Errorf("none of %d GPUs can be used: %s: %w", len(infos), strings.Join(reasons, "; "), cuda.ErrUnavailable)
}

// Close closes the devices, after all Views are released and all runs ended.
func (e *Engine) Close() error {
	e.mu.Lock()
	devices := e.devices
	e.devices = nil
	e.mu.Unlock()
	var errs []error
	for _, d := range devices {
		d.StopPromoting() // it holds references to shards
	}
	for _, d := range devices {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

// Lanes is the number of concurrent runs per device.
func (e *Engine) Lanes() int { return e.devices[0].numLanes }

// Stats are counts since an Engine was opened.
type Stats struct {
	Devices []DeviceStats `json:"devices"`
}

// DeviceStats are the counts of one device since the Engine was opened; griffin.GPUDeviceStats
// documents them.
type DeviceStats struct {
	Name string `json:"name"` // "gpu0"
	GPU  string `json:"gpu"`  // "NVIDIA H200"
	// Driver is the CUDA version supported by the driver.
	Driver string `json:"driver"`
	CacheStats
	UsedBytes     int64         `json:"used_bytes"`
	LimitBytes    int64         `json:"limit_bytes"`
	Host          HostStats     `json:"host"`
	Asked         FormStats     `json:"asked"`
	BytesUploaded int64         `json:"bytes_uploaded"`
	BytesInPlace  int64         `json:"bytes_in_place"`
	Packed        int64         `json:"packed"`
	Steps         int64         `json:"steps"`
	Tallies       int64         `json:"tallies"`
	Passes        PassStats     `json:"passes"`
	Queries       int64         `json:"queries"`
	Launches      int64         `json:"launches"`
	Busy          time.Duration `json:"busy_ns"`
	Errors        int64         `json:"errors"`
	Lost          string        `json:"lost,omitempty"`
}

// Stats returns the current counts; no devices after Close.
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

// Since returns the counts since before, an earlier Stats of the same Engine. Contents, sizes,
// limits and Lost stay current.
func (s Stats) Since(before *Stats) Stats {
	s.Devices = slices.Clone(s.Devices)
	for i := range min(len(s.Devices), len(before.Devices)) {
		d, b := &s.Devices[i], &before.Devices[i]
		d.Hits -= b.Hits
		d.Misses -= b.Misses
		d.Streamed -= b.Streamed
		d.Host = d.Host.Since(&b.Host)
		d.Asked = d.Asked.Since(&b.Asked)
		d.BytesInPlace -= b.BytesInPlace
		d.Packed -= b.Packed
		d.Steps -= b.Steps
		d.Tallies -= b.Tallies
		d.Passes = d.Passes.since(&b.Passes)
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

// Lost returns the error that made the Engine unusable, or nil. It takes no lock and must not
// be called after Close.
func (e *Engine) Lost() error {
	for _, d := range e.devices {
		if err := d.Lost(); err != nil {
			return err
		}
	}
	return nil
}
