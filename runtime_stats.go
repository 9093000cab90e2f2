package griffin

import (
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/sched"
)

// GPUStats count the work of GPUs since the Runtime was made.
type GPUStats struct {
	// OnGPU and OnCPU count queries by the processor that answered them.
	OnGPU int64 `json:"on_gpu"`
	OnCPU int64 `json:"on_cpu"`
	// Devices has an entry for each GPU of the Runtime.
	Devices []GPUDeviceStats `json:"devices"`
}

// GPUDeviceStats count the work of one GPU since the Runtime was made.
type GPUDeviceStats struct {
	Name   string `json:"name"`   // "gpu0"
	GPU    string `json:"gpu"`    // the model: "NVIDIA H200"
	Driver string `json:"driver"` // the CUDA version that the driver supports
	GPUCacheStats
	// UsedBytes is the device memory in use by all processes; 0 if unknown.
	UsedBytes int64 `json:"used_bytes"`
	// LimitBytes is the memory limit for lists.
	LimitBytes int64 `json:"limit_bytes"`
	// Host describes the page-locked memory.
	Host HostMemoryStats `json:"host"`
	// Asked counts the lists of queries by their form at the time of the query.
	Asked ListForms `json:"asked"`
	// BytesUploaded counts bytes of lists sent to the device, compressed or decoded,
	// BytesInPlace bytes that kernels read over the bus.
	BytesUploaded int64 `json:"bytes_uploaded"`
	BytesInPlace  int64 `json:"bytes_in_place"`
	// Packed counts the queries answered from compressed lists, Steps the parts of
	// conjunctions (StepIntersect), Tallies the queries whose values were counted (Results.CountedBy).
	Packed  int64 `json:"packed"`
	Steps   int64 `json:"steps"`
	Tallies int64 `json:"tallies"`
	// Passes describes the batches whose lists exceed the memory and were answered in bands of documents.
	Passes GPUPassStats `json:"passes"`
	// Queries counts the queries of this device, Launches the launched batches.
	Queries  int64 `json:"queries"`
	Launches int64 `json:"launches"`
	// Busy is the kernel time of batches, of traced single queries and of counts of values; of these, one of eight is
	// measured for all.
	Busy time.Duration `json:"busy_ns"`
	// Errors counts failed driver calls. Lost is the error that made the device unusable.
	Errors int64  `json:"errors"`
	Lost   string `json:"lost,omitempty"`
}

// GPUPassStats count the passes over an index for queries of batches together: a band of documents after the other, with each
// list brought once.
type GPUPassStats struct {
	Passes  int64 `json:"passes"`
	Bands   int64 `json:"bands"`
	Queries int64 `json:"queries"`
	// Lists counts the compressed lists of each pass, Blocks their blocks of 128 postings that were decoded, and ListBytes
	// their size.
	Lists     int64 `json:"lists"`
	Blocks    int64 `json:"blocks"`
	ListBytes int64 `json:"list_bytes"`
	// Gathering is the time for finding the lists of the queries, Planning for the plans of bands. Filling and Searching are
	// times of kernels, which overlap: for images of bands, and for queries. Waiting is the time in which the processor
	// waited for them, and Took the total time of the passes.
	Gathering time.Duration `json:"gathering_ns"`
	Planning  time.Duration `json:"planning_ns"`
	Filling   time.Duration `json:"filling_ns"`
	Searching time.Duration `json:"searching_ns"`
	Waiting   time.Duration `json:"waiting_ns"`
	Took      time.Duration `json:"took_ns"`
}

// GPUCacheStats describe the posting lists in the memory of a GPU.
type GPUCacheStats struct {
	// Hits counts requested lists that were resident; Misses counts lists that were
	// uploaded or read over the bus.
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
	// Streamed counts misses that were not kept, Evictions evicted lists and directories of
	// blocks, Refused lists without room; their queries ran on the CPU or waited for other
	// queries.
	Streamed  int64 `json:"streamed"`
	Evictions int64 `json:"evictions"`
	Refused   int64 `json:"refused"`
	// Lists (with Compressed ones, without Directories) and SizeBytes are the current contents.
	Lists       int64 `json:"lists"`
	Compressed  int64 `json:"compressed"`
	Directories int64 `json:"directories"`
	// Filters are the resident bitmaps of filters, and Columns the columns from which the GPU computes
	// some; SizeBytes includes both.
	Filters   int64 `json:"filters"`
	Columns   int64 `json:"columns"`
	SizeBytes int64 `json:"size_bytes"`
}

// HostMemoryStats describe the posting lists in page-locked memory of the host.
type HostMemoryStats struct {
	Lists      int64 `json:"lists"`
	SizeBytes  int64 `json:"size_bytes"`
	LimitBytes int64 `json:"limit_bytes"`
	// Filled counts lists copied from files of the index, FilledBytes their size.
	Filled      int64 `json:"filled"`
	FilledBytes int64 `json:"filled_bytes"`
	Evictions   int64 `json:"evictions"`
}

// DispatchStats count the parts of searches by place since the Runtime was made.
type DispatchStats struct {
	Policy Policy `json:"policy"` // of the Runtime; "" with an engine
	// CPUSteps and GPUSteps count the steps of queries by the processor that ran them;
	// a whole OR or AND is one. Migrations counts moves of a query between processors.
	CPUSteps   int64 `json:"cpu_steps"`
	GPUSteps   int64 `json:"gpu_steps"`
	Migrations int64 `json:"migrations"`
	// Restarted counts steps that overran on the CPU and restarted on the GPU.
	Restarted int64 `json:"restarted"`
	// Preloaded counts queries whose missing lists were loaded in the background.
	Preloaded int64 `json:"preloaded"`
	// Bugs counts panics of background work. slog.Default has their stacks.
	Bugs int64 `json:"bugs,omitempty"`
	// Shared counts parts of queries, mostly of one segment, that several processors ran, Helpers the processors
	// beyond the first.
	Shared  int64 `json:"shared,omitempty"`
	Helpers int64 `json:"helpers,omitempty"`
	// Errors are by kind of work and predicted time.
	Errors []PredictionError `json:"prediction_errors,omitempty"`
	// Engine is nil for the default engine.
	Engine *EngineStats `json:"engine,omitempty"`
	// Pool is nil if there are no queues.
	Pool *PoolStats `json:"pool,omitempty"`
}

// EngineStats count the work of an engine. Fields that do not apply to it are 0.
type EngineStats struct {
	// Name of the engine, with its options.
	Name string `json:"name"`
	// OnCPU and OnGPU count queries by the processor that completed them.
	OnCPU int64 `json:"on_cpu"`
	OnGPU int64 `json:"on_gpu"`
	// Migrations counts changes of the processor within queries.
	Migrations int64 `json:"migrations,omitempty"`
	// BusBytes were copied to the GPU.
	BusBytes int64 `json:"bus_bytes,omitempty"`
	// Faults counts queries that the CPU answered because the GPU failed.
	Faults int64 `json:"faults,omitempty"`
	// ListHits and ListMisses count the lists that the engine's cache had or lacked.
	ListHits   int64 `json:"list_hits,omitempty"`
	ListMisses int64 `json:"list_misses,omitempty"`
	// UnknownDocs counts the documents that a file of the engine's options names, and that the index of the
	// last query lacks.
	UnknownDocs int64 `json:"unknown_docs,omitempty"`
	// Stolen counts queries that a processor took from the queue of another.
	Stolen int64 `json:"stolen,omitempty"`
}

// PredictionError is the error of predicted times of one kind of work, for predictions
// from From to less than Below.
type PredictionError struct {
	Kind  string        `json:"kind"` // such as "cpu-or"
	From  time.Duration `json:"from_ns"`
	Below time.Duration `json:"below_ns,omitempty"` // 0: no upper bound
	Count int64         `json:"count"`              // observations
	// Mean is the mean of |predicted-taken|/taken, Bias the mean of
	// (predicted-taken)/taken.
	Mean float64 `json:"mean_relative_error"`
	Bias float64 `json:"bias"`
	// Correction is the current factor of predictions, learned from earlier errors.
	Correction float64 `json:"correction"`
}

// PoolStats describe the queues of a Runtime.
type PoolStats struct {
	// Places are the CPU and the GPUs, in this order.
	Places [2]PlaceStats `json:"places"`
	// Open is the number of queries that wait for either place (PolicyQuery).
	Open int `json:"open"`
	// Arrived counts queries that a place can run; each waits, runs, or is in Ended, Cancelled
	// or Shed.
	Arrived   int64 `json:"arrived"`
	Ended     int64 `json:"ended"`
	Cancelled int64 `json:"cancelled"`
	// Shed counts *Overload errors, by OverloadReason.
	Shed [3]int64 `json:"shed"`
	// Stolen counts queries that ran at another place than first chosen, Moved changes of place
	// within queries, Failed queries that failed at a place.
	Stolen int64 `json:"stolen"`
	Moved  int64 `json:"moved"`
	Failed int64 `json:"failed"`
	// Thresholds are the current thresholds of PolicyQuery, by place.
	Thresholds [2]float64 `json:"thresholds"`
}

// PlaceStats describe the queue of the CPU or of the GPUs.
type PlaceStats struct {
	Lost    bool `json:"lost"`    // it failed and runs nothing
	Servers int  `json:"servers"` // queries that can run at the same time
	Running int  `json:"running"` // busy servers
	Queued  int  `json:"queued"`  // queries
	// Wait is the predicted wait of a new query; math.MaxInt64 if it would never run.
	Wait time.Duration `json:"wait_ns"`
	Busy time.Duration `json:"busy_ns"` // sum over servers, of ended runs
	// Runs counts runs of single queries and of batches, Batches counts runs of more than one query, Jobs the queries.
	Runs    int64 `json:"runs"`
	Batches int64 `json:"batches"`
	Jobs    int64 `json:"jobs"`
	// QueueTime is the sum of the waits of all queries.
	QueueTime   time.Duration `json:"queue_time_ns"`
	LongestWait time.Duration `json:"longest_wait_ns"`
	// Waits[i] counts waits of less than 2^i µs that Waits[i-1] does not count, the last one
	// all longer waits.
	Waits [26]int64 `json:"waits"`
	// Slowdown is the moving mean of measured over predicted time of runs.
	Slowdown float64 `json:"slowdown"`
}

// GPUStats returns the counts. used is false if the Runtime has no GPU.
func (r *Runtime) GPUStats() (stats GPUStats, used bool) {
	g := r.dispatcher.GPU()
	s := g.Stats()
	return newGPUStats(&s), g != nil
}

// DispatchStats returns the counts.
func (r *Runtime) DispatchStats() DispatchStats {
	s := r.dispatcher.Stats()
	return newDispatchStats(&s)
}

func newGPUStats(s *dispatch.GPUStats) GPUStats {
	out := GPUStats{OnGPU: s.OnGPU, OnCPU: s.OnCPU}
	for i := range s.Devices {
		d := &s.Devices[i]
		out.Devices = append(out.Devices, GPUDeviceStats{
			Name: d.Name, GPU: d.GPU, Driver: d.Driver, GPUCacheStats: GPUCacheStats(d.CacheStats), UsedBytes: d.UsedBytes,
			LimitBytes: d.LimitBytes, Host: HostMemoryStats(d.Host), Asked: ListForms(d.Asked), BytesUploaded: d.BytesUploaded,
			BytesInPlace: d.BytesInPlace, Packed: d.Packed, Steps: d.Steps, Tallies: d.Tallies, Passes: GPUPassStats(d.Passes), Queries: d.Queries, Launches: d.Launches,
			Busy: d.Busy, Errors: d.Errors, Lost: d.Lost,
		})
	}
	return out
}

func newDispatchStats(s *dispatch.Stats) DispatchStats {
	out := DispatchStats{
		Policy: Policy(s.Policy), CPUSteps: s.CPUSteps, GPUSteps: s.GPUSteps, Migrations: s.Migrations,
		Restarted: s.Restarted, Preloaded: s.Preloaded, Bugs: s.Bugs, Shared: s.Shared, Helpers: s.Helpers,
	}
	for _, e := range s.Errors {
		out.Errors = append(out.Errors, PredictionError{
			Kind: e.Kind.String(), From: e.From, Below: e.Below, Count: e.Count, Mean: e.Mean, Bias: e.Bias, Correction: e.Correction,
		})
	}
	if s.Engine != nil {
		e := EngineStats(*s.Engine)
		out.Engine = &e
	}
	if p := s.Pool; p != nil {
		out.Pool = newPoolStats(p)
	}
	return out
}

func newPoolStats(p *sched.Stats) *PoolStats {
	out := &PoolStats{
		Open: p.Open, Arrived: p.Arrived, Ended: p.Ended, Cancelled: p.Cancelled, Shed: p.Shed,
		Stolen: p.Stolen, Moved: p.Moved, Failed: p.Failed, Thresholds: p.Thresholds,
	}
	for i := range p.Places {
		out.Places[i] = PlaceStats(p.Places[i])
	}
	return out
}
