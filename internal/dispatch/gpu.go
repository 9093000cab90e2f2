package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
)

// GPU answers flat queries over any number of indexes on one or more GPUs. Queries that it
// cannot answer run on the CPU, with the identical result. It is safe for concurrent use until
// Close.
type GPU struct {
	replicas []*replica
	lanes    int // of all replicas
	turn     atomic.Uint64

	onGPU, onCPU atomic.Int64 // queries

	// unaided: CPUs do not help with batches while the GPU loads lists. For tests.
	unaided bool
	// smallDocs is smallSegment, except in tests.
	smallDocs int
	// rangeDocs is rangeDocs, except in tests.
	rangeDocs int
	// runView is View.Run, except in benchmarks.
	runView func(ctx context.Context, v *pipeline.View, queries []*pipeline.Query, results []pipeline.Result, others pipeline.Others, trace *pipeline.Trace) error

	runs   sync.WaitGroup // that have a view
	mu     sync.RWMutex
	closed bool
	views  views

	readying [2]chan struct{} // of ready: hold one to make a snapshot, or a merged segment, ready
	readyFor [2]time.Duration // readyLimits, except in tests
}

// GPUOptions select GPUs and limit their memory.
type GPUOptions struct {
	// Device is "cpu" (or ""), "gpu" (all usable ones), "auto" (the same, if there are any), or
	// numbers of GPUs such as "0" or "0,1".
	Device string
	// Memory that posting lists may take on each GPU: "" (90 % of the free memory), bytes such
	// as "40GiB", or a percentage such as "10%" of the posting lists' size given to OpenGPU, or
	// of the GPU's total memory if that size is 0.
	Memory string
	// HostMemory is the page-locked memory for compressed posting lists: "" (half of the
	// available memory), "0" (none), bytes, or a percentage of the posting lists' size, or of
	// the available memory if that size is 0. Share is the number of GPUs of the process that
	// share the available memory; 0: 1.
	HostMemory string
	Share      int
	// Layout of several GPUs: LayoutReplicas, LayoutRanges, or "" for ranges if these, but not
	// replicas, have room for all posting lists, else replicas.
	Layout string
}

// Layouts of several GPUs.
const (
	// LayoutReplicas: each GPU answers queries by itself. A query takes the same time as on one
	// GPU, and N GPUs answer N times the queries. If a GPU is lost, the others continue.
	LayoutReplicas = "replicas"
	// LayoutRanges: each GPU holds a range of the documents of every segment, and all answer
	// every query. They hold N times the lists, but a lost GPU takes all out of use.
	LayoutRanges = "ranges"
)

// Check returns an error that wraps base.ErrBadInput if an option cannot be read.
func (o GPUOptions) Check() error {
	_, err := pipeline.ParseSelection(o.Device)
	if err == nil {
		_, err = pipeline.ParseMemory(o.Memory)
	}
	if err == nil {
		_, err = pipeline.ParseHostMemory(o.HostMemory)
	}
	if err == nil && !slices.Contains([]string{"", LayoutReplicas, LayoutRanges}, o.Layout) {
		err = fmt.Errorf("layout of GPUs %q: want %s or %s: %w", o.Layout, LayoutReplicas, LayoutRanges, base.ErrBadInput)
	}
	return err
}

// ParseMemory parses GPUOptions.Memory: bytes or, if percent is not 0, a percentage. "" is neither.
func ParseMemory(text string) (bytes int64, percent float64, err error) {
	m, err := pipeline.ParseMemory(text)
	return m.Bytes, m.Percent, err
}

// ListBytes returns the size of the posting lists of a snapshot, for OpenGPU.
func ListBytes(snapshot *index.Snapshot) int64 {
	var n int64
	for i := range snapshot.Segments {
		for _, f := range snapshot.Segments[i].Meta().Files {
			if f.Name == "postings" {
				n += f.SizeBytes
			}
		}
	}
	return n
}

// OpenGPU returns a GPU for an index whose posting lists take indexBytes, or, with 0, for any
// indexes. It is nil, without an error, if no GPU was requested, or "auto" found none that
// opens. The error wraps base.ErrBadInput if an option cannot be read; if a requested GPU does
// not exist, it names the request.
func OpenGPU(o GPUOptions, indexBytes int64) (*GPU, error) {
	selection, err := pipeline.ParseSelection(o.Device)
	if err != nil {
		return nil, err
	}
	memory, err := pipeline.ParseMemory(o.Memory)
	if err != nil {
		return nil, err
	}
	host, err := pipeline.ParseHostMemory(o.HostMemory)
	if err != nil || selection.CPU() {
		return nil, err
	}
	host.Share = o.Share
	engines, err := pipeline.OpenEach(pipeline.Options{Devices: selection, Memory: memory, HostMemory: host, IndexBytes: indexBytes})
	if err != nil {
		if selection.Auto { // a GPU that does not open is none that can be used
			return nil, nil
		}
		return nil, fmt.Errorf("device %s: %w", o.Device, err)
	}
	if needsRanges(o.Layout, engines, indexBytes) {
		engines = []*pipeline.Engine{pipeline.Join(engines)}
	}
	return NewGPU(engines...), nil
}

// NewGPU returns a GPU that owns engines, at least one, each of which answers queries by itself.
func NewGPU(engines ...*pipeline.Engine) *GPU {
	g := &GPU{smallDocs: smallSegment, rangeDocs: rangeDocs, runView: runView, readyFor: readyLimits}
	for i := range g.readying {
		g.readying[i] = make(chan struct{}, 1)
	}
	for _, e := range engines {
		g.replicas = append(g.replicas, &replica{engine: e})
		g.lanes += e.Lanes()
	}
	return g
}

func runView(ctx context.Context, v *pipeline.View, queries []*pipeline.Query, results []pipeline.Result, others pipeline.Others, trace *pipeline.Trace) error {
	return v.Run(ctx, queries, results, others, trace)
}

// IsGPUUnavailable reports whether err of OpenGPU means that there is no usable GPU.
func IsGPUUnavailable(err error) bool { return pipeline.IsUnavailable(err) }

// IsGPUError reports whether err, of Warm, is of a GPU or its driver; queries are answered all
// the same.
func IsGPUError(err error) bool { return pipeline.IsDeviceError(err) }

// Close releases the devices after the present runs have ended. Later runs use the CPU. Close of a nil
// GPU, and a second Close, do nothing.
func (g *GPU) Close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	closed := g.closed
	g.closed = true
	g.mu.Unlock()
	if closed {
		return nil
	}
	g.runs.Wait()
	g.views.releaseAll(func(*index.Snapshot) bool { return true })
	var errs []error
	for _, r := range g.replicas {
		errs = append(errs, r.engine.Close())
	}
	return errors.Join(errs...)
}

// Forget releases the device memory of a closed index when its running queries have ended.
// Later queries of it run on the CPU. A nil GPU holds none.
func (g *GPU) Forget(ix *index.Index) {
	if g == nil {
		return
	}
	ix.Retire() // before: a view that begin makes later would not be released
	g.views.releaseAll(func(s *index.Snapshot) bool { return s.Owner() == ix.Owner() })
}

// DeviceStats counts the work of a device.
type DeviceStats = pipeline.DeviceStats

// CacheStats describes the lists in the memory of a device.
type CacheStats = pipeline.CacheStats

// HostStats describes the lists in page-locked memory.
type HostStats = pipeline.HostStats

// FormStats counts the lists of queries by their form.
type FormStats = pipeline.FormStats

// PassStats count passes over an index.
type PassStats = pipeline.PassStats

// GPUStats counts the work of a GPU since it was opened.
type GPUStats struct {
	// OnGPU and OnCPU count queries by the processor that answered them.
	OnGPU int64 `json:"on_gpu"`
	OnCPU int64 `json:"on_cpu"`
	pipeline.Stats
}

// Stats returns the counts as of now; zeros of a nil GPU.
func (g *GPU) Stats() GPUStats {
	if g == nil {
		return GPUStats{}
	}
	s := GPUStats{OnGPU: g.onGPU.Load(), OnCPU: g.onCPU.Load()}
	for _, r := range g.replicas {
		s.Devices = append(s.Devices, r.engine.Stats().Devices...)
	}
	return s
}

// Since returns the counts since before, an earlier Stats of the same GPU. Contents and limits
// stay the present ones.
func (s GPUStats) Since(before *GPUStats) GPUStats {
	s.OnGPU -= before.OnGPU
	s.OnCPU -= before.OnCPU
	s.Stats = s.Stats.Since(&before.Stats)
	return s
}

// Lost reports whether all devices became unusable before Close.
func (g *GPU) Lost() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return !g.closed && !slices.ContainsFunc(g.replicas, (*replica).isUsable)
}

var errGPUClosed = errors.New("the index is being closed")

// begin returns a view of a snapshot, created if necessary, to be given to end. It is of the
// least busy replica.
func (g *GPU) begin(snapshot *index.Snapshot, impacts bool) (*pipeline.View, error) {
	return g.beginOn(g.choose(), snapshot, impacts)
}

// beginOn is begin on a given replica.
func (g *GPU) beginOn(at int, snapshot *index.Snapshot, impacts bool) (*pipeline.View, error) {
	g.mu.RLock()
	if g.closed || snapshot.Retired() {
		g.mu.RUnlock()
		return nil, errGPUClosed
	}
	g.runs.Add(1)
	g.mu.RUnlock()
	v, err := g.views.of(snapshot, len(g.replicas)).take(g, at, impacts)
	if err != nil {
		g.runs.Done()
		return nil, err
	}
	g.replicas[at].held.Add(1)
	return v, nil
}

func (g *GPU) end(v *pipeline.View) {
	g.replicas[g.of(v)].held.Add(-1)
	v.Release()
	g.runs.Done()
}

// segmentsOf describes the segments of a snapshot, or its impact-ordered lists, which cover
// all documents, as one segment.
func (g *GPU) segmentsOf(snapshot *index.Snapshot, impacts bool) ([]pipeline.Segment, error) {
	if impacts {
		x, err := snapshot.Impacts()
		if err != nil {
			return nil, err
		}
		return []pipeline.Segment{{
			Key: fmt.Sprintf("impacts %p", x), NumDocs: x.NumDocs(), Impacts: x,
		}}, nil
	}
	segments := make([]pipeline.Segment, len(snapshot.Segments))
	for i := range segments {
		v := &snapshot.Segments[i]
		meta := v.Meta()
		segments[i] = pipeline.Segment{
			Key: fmt.Sprintf("%s %s %08x", snapshot.IndexID(), v.Name, meta.Sum()), NumDocs: v.NumDocs(), Base: v.Base, Live: v.Live.Words(), Segment: v.Segment,
		}
	}
	for _, i := range g.appendSmall(nil, snapshot) {
		segments[i].OnCPU = true
	}
	return segments, nil
}

// WarmOptions select the posting lists that Warm loads.
type WarmOptions struct {
	// MinDocFreq leaves out lists with fewer documents in a segment; 0: none.
	MinDocFreq uint32
	// Impacts selects impact-ordered lists instead of the lists of the segments.
	Impacts bool
	// Progress, if set, is called now and then with postings.
	Progress func(done, total int64)
}
