package exec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
)

// GPU answers flat queries of one index on one or more GPUs. The Searchers of
// the index's snapshots share it (Searcher.Use); what it cannot answer, or may
// not, goes to the CPU, which gives the identical answer. It is safe for
// concurrent use until Close.
type GPU struct {
	engine *pipeline.Engine
	lanes  int         // of the engine
	alone  *Dispatcher // of Searcher.UseGPU

	onGPU, onCPU atomic.Int64 // queries

	idle      int           // CPUs that answer queries of batches while the GPU brings lists
	slots     chan struct{} // taken by each query that a gpuShare answers
	scratches sync.Pool     // of those

	runs   sync.WaitGroup // that have a view
	mu     sync.Mutex
	closed bool
	views  [2]*gpuViews // of snapshots, the one used last first
}

// gpuViews are what devices hold of a snapshot. A snapshot is named by its
// address, which stays its own as long as it is kept here.
type gpuViews struct {
	snapshot *index.Snapshot
	postings *pipeline.View // nil: not asked for yet
	impacts  *pipeline.View
}

// GPUOptions say which GPUs are to be used, and how much of their memory.
type GPUOptions struct {
	// Device is "cpu" (or ""), "gpu" (all that are usable), "auto" (those, if there
	// are any), or numbers of GPUs such as "0" or "0,1".
	Device string
	// Memory that posting lists may take on each: "" (most of what is free), bytes
	// such as "40GiB", or per cent of the index such as "10%".
	Memory string
	// HostMemory is the page-locked memory that compressed posting lists may take: ""
	// (half of what is available), "0" (none), or as Memory. What is available is that of as
	// many GPUs of the process as Share it; 0: 1.
	HostMemory string
	Share      int
}

// Check returns an error that wraps base.ErrBadInput if an option cannot be read. It
// opens nothing.
func (o GPUOptions) Check() error {
	_, err := pipeline.ParseSelection(o.Device)
	if err == nil {
		_, err = pipeline.ParseMemory(o.Memory)
	}
	if err == nil {
		_, err = pipeline.ParseHostMemory(o.HostMemory)
	}
	return err
}

// ListBytes is the size of the posting lists of a snapshot, of which GPUOptions.Memory
// may be per cent.
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

// OpenGPU returns a GPU for an index whose posting lists take indexBytes. It is nil,
// without an error, if no GPU was asked for, or "auto" found none that opens. The error
// wraps base.ErrBadInput if an option cannot be read; if a GPU was asked for and there is
// none, it says what was looked for.
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
	e, err := pipeline.Open(pipeline.Options{Devices: selection, Memory: memory, HostMemory: host, IndexBytes: indexBytes})
	if err != nil {
		if selection.Auto { // a GPU that does not open is none that can be used
			return nil, nil
		}
		return nil, fmt.Errorf("device %s: %w", o.Device, err)
	}
	return newGPU(e), nil
}

// newGPU returns a GPU of an engine.
func newGPU(e *pipeline.Engine) *GPU {
	n := idleCPUs()
	g := &GPU{engine: e, lanes: e.Lanes(), idle: n, slots: make(chan struct{}, n)}
	g.alone = &Dispatcher{gpu: g, policy: PolicyGPU, ratio: DefaultRatio, costs: cost.New(cost.Machine{}), start: time.Now()}
	return g
}

// IsGPUUnavailable reports whether err of OpenGPU says that there is no usable GPU.
func IsGPUUnavailable(err error) bool { return pipeline.IsUnavailable(err) }

// IsGPUError reports whether err, of Warm, is of a GPU or its driver: queries are
// answered all the same.
func IsGPUError(err error) bool { return pipeline.IsDeviceError(err) }

// Close gives the devices back, when the runs that are under way have ended. Later
// ones go to the CPU. A nil GPU has nothing to give back; a second Close does nothing.
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
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, v := range g.views {
		v.release()
		g.views[i] = nil
	}
	return g.engine.Close()
}

func (v *gpuViews) release() {
	if v == nil {
		return
	}
	v.postings.Release()
	v.impacts.Release()
}

// GPUStats count what a GPU did since it was opened.
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
	return GPUStats{OnGPU: g.onGPU.Load(), OnCPU: g.onCPU.Load(), Stats: g.engine.Stats()}
}

// Since returns the counts without those of before, an earlier Stats of the same GPU.
// What is there, and limits, are as of now.
func (s GPUStats) Since(before *GPUStats) GPUStats {
	s.OnGPU -= before.OnGPU
	s.OnCPU -= before.OnCPU
	s.Stats = s.Stats.Since(&before.Stats)
	return s
}

// lost reports whether the devices are not used any more, though they are not closed.
func (g *GPU) lost() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.closed && g.engine.Lost() != nil
}

// errGPUClosed says why a plan runs on the CPU after Close.
var errGPUClosed = errors.New("the index is being closed")

// begin returns what devices hold of a snapshot, making it so if need be. It is to be
// given to end.
func (g *GPU) begin(snapshot *index.Snapshot, impacts bool) (*pipeline.View, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errGPUClosed
	}
	v := g.views[0]
	if v == nil || v.snapshot != snapshot {
		v = g.change(snapshot)
	}
	place := &v.postings
	if impacts {
		place = &v.impacts
	}
	if *place == nil {
		segments, err := gpuSegments(snapshot, impacts)
		if err != nil {
			return nil, err
		}
		if *place, err = g.engine.Attach(segments); err != nil {
			return nil, err
		}
	}
	g.runs.Add(1)
	return (*place).Retain(), nil
}

// end gives a view back.
func (g *GPU) end(v *pipeline.View) {
	v.Release()
	g.runs.Done()
}

// change makes the views of a snapshot the first ones.
func (g *GPU) change(snapshot *index.Snapshot) *gpuViews {
	last := len(g.views) - 1
	if v := g.views[last]; v != nil && v.snapshot == snapshot {
		g.views[0], g.views[last] = v, g.views[0]
		return v
	}
	g.views[last].release()
	g.views[last] = g.views[0]
	g.views[0] = &gpuViews{snapshot: snapshot}
	return g.views[0]
}

// gpuSegments describes the segments of a snapshot, or its impact-ordered lists,
// which are over all documents, as one segment.
func gpuSegments(snapshot *index.Snapshot, impacts bool) ([]pipeline.Segment, error) {
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
			Key: fmt.Sprintf("%s %08x", v.Name, meta.Sum()), NumDocs: v.NumDocs(), Base: v.Base, Live: v.Live.Words(), Segment: v.Segment,
		}
	}
	return segments, nil
}

// WarmOptions say which posting lists Warm brings.
type WarmOptions struct {
	// MinDocFreq leaves out lists with fewer documents in a segment; 0: none.
	MinDocFreq uint32
	// Impacts asks for impact-ordered lists in the place of those of the segments.
	Impacts bool
	// Progress, if set, is called now and then with postings.
	Progress func(done, total int64)
}

// Warm brings posting lists of a snapshot to the devices, those of the most
// documents first, until all are there or memory is full, so that no query has to
// wait for them. It returns how many are there now, and how many there are.
func (g *GPU) Warm(ctx context.Context, snapshot *index.Snapshot, o WarmOptions) (lists, total int64, err error) {
	v, err := g.begin(snapshot, o.Impacts)
	if err != nil {
		return 0, 0, err
	}
	defer g.end(v)
	return v.Warm(ctx, pipeline.WarmOptions{MinDocFreq: o.MinDocFreq, Progress: o.Progress})
}
