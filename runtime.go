package griffin

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Runtime owns the resources of a process: GPUs and the posting lists in their memory, the
// queues for processors, caches, limits, and the cost model that predicts times. Indexes share
// it through Options.Runtime. All methods are safe for concurrent use.
type Runtime struct {
	options    RuntimeOptions
	engine     string // with its options
	dispatcher *dispatch.Dispatcher
	config     dispatch.Config
	costDir    string      // "": the cost model is not kept
	measured   atomic.Bool // the cost model was calibrated on this machine
	derived    *derived.Cache
	// reading has room for the searches that read documents; nil: no limit.
	reading chan struct{}
	// processors is GOMAXPROCS before a server raises it.
	processors int
	// gate lets searches go before the work of writers.
	gate *turns.Gate

	mu      sync.Mutex
	indexes int // that are open
	closed  bool
}

// RuntimeOptions configure a Runtime. The zero value has the defaults.
type RuntimeOptions struct {
	GPU GPUOptions
	// Limits bound running and waiting searches. nil: neither limits nor queues, unless there
	// is a GPU.
	Limits *Limits
	// WorkersPerQuery bounds the processors that search for one query on the CPU. Beyond the first, a query
	// that is predicted to take long gets only processors that run no other query, and gives them back when
	// queries arrive. Queries in mode saat, splits of AND between processors, queries that the CPU completes
	// after a GPU, sorted searches and facets get no helpers, and their processors count as idle. 0: all; 1: no
	// query gets helpers. Hits and scores do not depend on it.
	WorkersPerQuery int
	// Policy chooses the processor for each part of a search; "" is PolicyCost. Queries can
	// replace it.
	Policy Policy
	// Ratio is the parameter of PolicyRatio: the GPU intersects lists while the length of
	// the next list is less than Ratio times the size of the intermediate result. 0 is 128.
	Ratio float64
	// Engine is the engine that answers all searches, one of Engines, with options if wanted:
	// "griffin18" or "griffin18:ratio=64,crossing=32". "" is "griffin", the default. Other engines
	// choose processors by their own rules, so Policy must be ""; they use the first GPU.
	Engine string
	// CacheBytes bounds the memory for structures that searches derive from posting lists, such
	// as uncompressed copies of lists of weights. 0 is 512 MiB; negative keeps none. Posting
	// lists are memory-mapped and do not count.
	CacheBytes int64
	// CostDir is the folder of this machine's cost model, costs.json. "" is DefaultCostDir.
	// NewRuntime reads it; only Calibrate, Train and Close write it, and Close only if there is
	// a GPU and the model has learned.
	CostDir string
}

// GPUOptions select GPUs and bound the memory of posting lists. The CPU runs everything that a
// GPU cannot, with identical answers, ties included.
type GPUOptions struct {
	// Device is "cpu" or "" (no GPU), "gpu" (all usable GPUs), "auto" (the same, if there are
	// any), or numbers of GPUs such as "0" or "0,1". NewRuntime fails if there is none, except
	// with "auto". Opening a GPU takes about 0.3 s.
	Device string
	// Memory bounds the memory of each GPU for posting lists; the zero value is 90 % of the
	// free memory. If the lists in use need more, the lists with the greatest benefit stay, and
	// others are loaded and evicted.
	Memory MemorySize
	// HostMemory bounds the page-locked host memory from which GPUs read other lists; the zero
	// value is half of the available memory.
	HostMemory MemorySize
	// Layout of several GPUs; "" is LayoutReplicas. An index whose lists fit into all GPUs
	// together, but not into each, is faster with LayoutRanges.
	Layout Layout
	// NoHostMemory uses no page-locked memory for posting lists.
	NoHostMemory bool
}

// Layout is the way in which several GPUs share an index and the searches.
type Layout string

// The layouts.
const (
	// LayoutReplicas: each GPU answers searches by itself, from lists of its own. A search takes the
	// same time as on one GPU. If a GPU is lost, the others continue.
	LayoutReplicas Layout = dispatch.LayoutReplicas
	// LayoutRanges: each GPU has a range of the documents, and all answer every search. They hold
	// more lists together, but a lost GPU takes all out of use.
	LayoutRanges Layout = dispatch.LayoutRanges
)

// MemorySize is Bytes or, if that is 0, Percent of the total memory of the GPU or of the
// available memory of the host. The zero value is the default of its field.
type MemorySize struct {
	Bytes   int64
	Percent float64 // 0 to 100
}

// Limits bound the searches of a Runtime. Excess searches return *Overload. The zero value of
// each field is its default.
//
// Searches that keep all processors busy delay everything else: the Go runtime preempts
// goroutines after 10 ms at the earliest, also the ones that accept requests. Set GOMAXPROCS to
// more than twice the number of processors after NewRuntime, as griffin serve does (and to ten more beside Writers), so that the
// operating system shares the processors. Set GOGC to 200 with it, because the garbage
// collector takes its share of GOMAXPROCS.
type Limits struct {
	// Running is the number of searches that run on the CPU at the same time, that read
	// documents and make snippets, and of goroutines for all batches; 0 is the number of
	// processors.
	Running int
	// Waiting is the number of searches that may wait for a processor. 0 is 64 for
	// each running one and 256 for each GPU lane, at most 1024.
	Waiting int
	// Deadline is the time that each search has from its arrival; 0: none. A search that is
	// predicted to miss it, or the deadline of its context, is rejected.
	Deadline time.Duration
	// BatchWindow is the time that a search may wait at an idle GPU for others to share a
	// launch with; with 0, only searches that arrived while the GPU was busy share one.
	BatchWindow time.Duration
	// PinThreads binds threads that run long searches on the CPU to one processor
	// each (Linux).
	PinThreads bool
}

// DefaultCostDir returns the folder "griffin" in os.UserCacheDir, or "", which keeps no cost
// model, if there is none.
func DefaultCostDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "griffin")
}

// NewRuntime opens the GPUs and reads the cost model. The error wraps ErrBadInput
// if an option is not valid. Close the Runtime after its indexes.
func NewRuntime(o RuntimeOptions) (*Runtime, error) {
	gpu, config, err := o.internal()
	if err != nil {
		return nil, err
	}
	name, e, err := o.openEngine()
	if err != nil {
		return nil, err
	}
	if config.Engine = e; config.Engine != nil {
		gpu.Device = "" // the engine opens its own
	}
	g, err := dispatch.OpenGPU(gpu, 0)
	if err != nil {
		return nil, err
	}
	r := &Runtime{options: o, engine: name, config: config, derived: derived.NewCache(o.cacheBytes()), costDir: cmp.Or(o.CostDir, DefaultCostDir()), processors: runtime.GOMAXPROCS(0), gate: turns.NewGate()}
	if r.costDir != "" {
		r.measured.Store(r.config.LoadCosts(vfs.OS, r.costDir, g))
	}
	if r.dispatcher, err = dispatch.NewDispatcher(g, r.config); err != nil {
		if config.Engine != nil {
			err = errors.Join(err, config.Engine.Close())
		}
		return nil, errors.Join(err, g.Close())
	}
	if o.Limits != nil {
		r.reading = make(chan struct{}, cmp.Or(o.Limits.Running, r.processors))
	}
	return r, nil
}

// internal converts and checks o.
func (o *RuntimeOptions) internal() (gpu dispatch.GPUOptions, config dispatch.Config, err error) {
	gpu = dispatch.GPUOptions{Device: o.GPU.Device, Layout: string(o.GPU.Layout)}
	if gpu.Memory, err = o.GPU.Memory.text(); err != nil {
		return gpu, config, fmt.Errorf("GPU memory: %w", err)
	}
	if gpu.HostMemory, err = o.GPU.HostMemory.text(); err != nil {
		return gpu, config, fmt.Errorf("host memory for GPUs: %w", err)
	}
	if o.GPU.NoHostMemory {
		gpu.HostMemory = "0"
	}
	config = dispatch.Config{Policy: dispatch.Policy(o.Policy), Ratio: o.Ratio, WorkersPerQuery: o.WorkersPerQuery}
	if l := o.Limits; l != nil {
		if l.Running < 0 || l.Waiting < 0 || l.Deadline < 0 || l.BatchWindow < 0 {
			return gpu, config, fmt.Errorf("limits %+v: none can be negative: %w", *l, ErrBadInput)
		}
		config.Admit = true
		config.CPUs, config.MaxQueue, config.Deadline = l.Running, l.Waiting, l.Deadline
		config.Window, config.Pin = l.BatchWindow, l.PinThreads
	}
	return gpu, config, errors.Join(gpu.Check(), config.Check())
}

// text returns the notation of dispatch.GPUOptions.
func (m MemorySize) text() (string, error) {
	switch {
	case m.Bytes < 0 || !(m.Percent >= 0 && m.Percent <= 100):
		return "", fmt.Errorf("%d bytes, %g per cent: bytes cannot be negative, per cent must be within 0 and 100: %w", m.Bytes, m.Percent, ErrBadInput)
	case m.Bytes > 0:
		return strconv.FormatInt(m.Bytes, 10), nil
	case m.Percent > 0:
		return strconv.FormatFloat(m.Percent, 'g', -1, 64) + "%", nil
	}
	return "", nil
}

func (o *RuntimeOptions) cacheBytes() int64 {
	if o.CacheBytes == 0 {
		return derived.DefaultLimit
	}
	return max(o.CacheBytes, 0)
}

// Close releases the GPUs. Close the Runtime's indexes first: until then the error wraps
// ErrBadInput and nothing is released. A second Close does nothing.
func (r *Runtime) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil
	case r.indexes > 0:
		return fmt.Errorf("runtime: %d indexes are still open: %w", r.indexes, ErrBadInput)
	}
	r.closed = true
	if r.dispatcher.CostsChanged() {
		_ = r.saveCosts()
	}
	return r.dispatcher.Close()
}

// Yield lets searches go before the caller, for at most half of the time in the long run, and for at
// most 50 ms at a time. A program that computes much beside searches, for example to prepare documents for a Writer,
// calls it after each 0.1 ms or so; it takes some nanoseconds if no search runs. Writers do this by themselves.
func (r *Runtime) Yield() { r.gate.Pass() }

// Callers may ignore the error: the folder may be read-only.
func (r *Runtime) saveCosts() error {
	if r.costDir == "" {
		return fmt.Errorf("the system has no folder for the cost model: %w", ErrBadInput)
	}
	if err := os.MkdirAll(r.costDir, 0o755); err != nil {
		return err
	}
	return r.dispatcher.SaveCosts(vfs.OS, r.costDir)
}

// CostModelError returns the reason why NewRuntime could not use the cost model kept for this
// machine; nil if it could, or there is none. It wraps ErrCorrupt or ErrVersion if the file is
// damaged or too new: saving a model then renames it to costs.json.old. A file with another
// error is not replaced.
func (r *Runtime) CostModelError() error { return r.config.CostsErr }

func (r *Runtime) retain() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fmt.Errorf("runtime: %w", ErrClosed)
	}
	r.indexes++
	return nil
}

func (r *Runtime) release() {
	r.mu.Lock()
	r.indexes--
	r.mu.Unlock()
}
