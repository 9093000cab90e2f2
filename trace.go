package griffin

import (
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// Trace reports step by step, in order, how a query was answered.
type Trace struct {
	// Query is the canonical text, Mode the requested mode.
	Query string `json:"query"`
	Mode  Mode   `json:"mode"`
	// Policy chose the processors of the steps; "" if there was no choice.
	Policy Policy `json:"policy,omitempty"`
	// Notes are as in Results, and the reasons of the policy.
	Notes []string `json:"notes,omitempty"`
	// Steps are in the order in which they ran.
	Steps []TraceStep `json:"steps"`
	// Migrations is the number of moves between processors.
	Migrations int `json:"migrations,omitempty"`
	// Began is the arrival time of the query.
	Began time.Time `json:"-"`
}

// TraceStep is a part of the work, on one processor.
type TraceStep struct {
	// Name is one of the Step constants.
	Name string `json:"name"`
	// Processor is "cpu" or a GPU such as "gpu0", Place its kind: "cpu" or "gpu".
	Processor string `json:"processor"`
	Place     string `json:"place"`
	// Segment is the name of the segment of a StepSegment or a StepPositions.
	Segment string `json:"segment,omitempty"`
	// Traversal is the algorithm of a StepSegment, or the accumulators of a StepImpacts.
	Traversal string `json:"traversal,omitempty"`
	// Mode of the step; a query in ModeAndOr can have steps in ModeAnd and ModeOr.
	Mode Mode `json:"mode"`
	// Lists are the posting lists that the step read.
	Lists []TraceList `json:"lists,omitempty"`
	// Filters are the parts of the query that a StepSegment computed as sets of documents: patterns,
	// ranges, ids.
	Filters []TraceFilter `json:"filters,omitempty"`
	// Candidates is the number of documents before a StepIntersect (0: it began with the first
	// list) or a StepPositions, Left the number after a StepIntersect.
	Candidates int64 `json:"candidates,omitempty"`
	Left       int64 `json:"left,omitempty"`
	// Batch is the number of queries that shared the step; 0: not shared.
	Batch int `json:"batch,omitempty"`
	// Workers is the greatest number of processors that searched the segment of a StepSegment at a time; 0: one.
	Workers int `json:"workers,omitempty"`
	Work
	// Start is the time from the query's arrival, Took the duration, Predicted the predicted
	// duration of the step or, in the first step of a stage, of the stage; 0: none.
	Start     time.Duration `json:"start_ns"`
	Took      time.Duration `json:"took_ns"`
	Predicted time.Duration `json:"predicted_ns,omitempty"`
	// BusBytes is the number of bytes transferred between the CPU and a GPU.
	BusBytes int64 `json:"bus_bytes,omitempty"`
	// Device describes the work of a GPU; nil for a step on the CPU.
	Device *TraceDevice `json:"device,omitempty"`
}

// Names of steps.
const (
	StepParse     = "parse"            // the text of the query was parsed
	StepPlan      = "plan"             // posting lists were looked up
	StepWait      = plan.StepWait      // the query waited for the processor
	StepSegment   = plan.StepSegment   // the CPU searched a segment
	StepImpacts   = plan.StepImpacts   // the CPU searched impact-ordered lists
	StepGPU       = plan.StepGPU       // a GPU searched all segments or impact-ordered lists
	StepIntersect = plan.StepIntersect // candidates were intersected with some lists of a conjunction, in all segments
	StepPositions = plan.StepPositions // the CPU read the positions of a phrase in a segment's candidates
	StepOverrun   = plan.StepOverrun   // the CPU took too long, and a GPU restarted the step
	StepFetch     = "fetch"            // stored documents were read and snippets made
)

// TraceList is a posting list that a step read.
type TraceList struct {
	Field   string `json:"field,omitempty"` // "" is the default field
	Term    string `json:"term"`
	DocFreq uint32 `json:"doc_freq"` // number of postings
	Blocks  int    `json:"blocks"`   // segments of an impact-ordered list
}

// TraceFilter is a part of a query that a step computed as a set of documents.
type TraceFilter struct {
	Query  string `json:"query"`
	Docs   int    `json:"docs"` // of the segment, deleted ones too
	Cached bool   `json:"cached,omitempty"`
}

// Work counts operations on postings.
type Work struct {
	// PostingsDecoded counts decoded DocIDs, PostingsScored computed contributions.
	PostingsDecoded int64 `json:"postings_decoded,omitempty"`
	PostingsScored  int64 `json:"postings_scored,omitempty"`
	// PostingsLeft counts postings that a Budget left out.
	PostingsLeft int64 `json:"postings_left,omitempty"`
	// BlocksSkipped counts blocks that were not decoded.
	BlocksDecoded int64 `json:"blocks_decoded,omitempty"`
	BlocksSkipped int64 `json:"blocks_skipped,omitempty"`
	// BytesRead is the size of the lists that a StepImpacts read, BytesMoved a lower bound of
	// its memory traffic: BytesRead, and the accumulators read and written once.
	BytesRead  int64 `json:"bytes_read,omitempty"`
	BytesMoved int64 `json:"bytes_moved,omitempty"`
}

// TraceDevice describes the work of a GPU in a step.
type TraceDevice struct {
	Device string `json:"device"` // "gpu0"
	// Kernels are in the order of their first launch.
	Kernels []TraceKernel `json:"kernels"`
	// ListsHit were resident; ListsMissed were loaded or read over the bus.
	ListsHit    int `json:"lists_hit"`
	ListsMissed int `json:"lists_missed"`
	// ListBytes were sent to the device, compressed or decoded; BytesLocked were copied from
	// files to page-locked memory; Bringing is the duration of both on the CPU.
	ListBytes   int64         `json:"list_bytes"`
	BytesLocked int64         `json:"bytes_locked"`
	Bringing    time.Duration `json:"bringing_ns"`
	// Forms counts the lists by form before the step.
	Forms ListForms `json:"forms"`
	// BytesInPlace were read by kernels over the bus from page-locked lists.
	BytesInPlace int64 `json:"bytes_in_place"`
	// BytesTo and BytesFrom are the sizes of queries sent and results received.
	BytesTo   int64 `json:"bytes_to"`
	BytesFrom int64 `json:"bytes_from"`
	// Took is the device's time in kernels.
	Took time.Duration `json:"took_ns"`
	TraceHostTimes
}

// TraceHostTimes are the times on the CPU of launches that several queries share, from lists on the device; 0: the step had no such
// launch. Launches at the same time are added up, so that the sum can exceed the time of the step.
type TraceHostTimes struct {
	// Preparing finds the lists and writes the queries for the device. Launching plans the blocks of kernels, and calls the driver.
	Preparing time.Duration `json:"preparing_ns,omitempty"`
	Launching time.Duration `json:"launching_ns,omitempty"`
	// Waiting lasts until the driver reports that the device has ended. Taking copies the hits.
	Waiting time.Duration `json:"waiting_ns,omitempty"`
	Taking  time.Duration `json:"taking_ns,omitempty"`
}

// TraceKernel counts the launches of a kernel.
type TraceKernel struct {
	Name     string `json:"name"`
	Launches int    `json:"launches"`
}

// ListForms counts posting lists by location and form.
type ListForms struct {
	File   int64 `json:"file"`   // in the file of the index only
	Host   int64 `json:"host"`   // in page-locked host memory
	Device int64 `json:"device"` // in GPU memory, compressed
	Image  int64 `json:"image"`  // in GPU memory, decoded
}

// Total returns the work of all steps.
func (t *Trace) Total() Work {
	var w plan.Work
	for i := range t.Steps {
		w.Add(plan.Work(t.Steps[i].Work))
	}
	return Work(w)
}

// String formats the trace for a terminal, one line for each step and list.
func (t *Trace) String() string { return t.internal().String() }

// newTrace shares the notes.
func newTrace(t *plan.Trace) *Trace {
	if t == nil {
		return nil
	}
	out := &Trace{
		Query: t.Query, Mode: Mode(t.Mode), Policy: Policy(t.Policy), Notes: t.Notes,
		Migrations: t.Migrations, Began: t.Began, Steps: slices.Grow([]TraceStep(nil), len(t.Steps))[:len(t.Steps)],
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		out.Steps[i] = TraceStep{
			Name: s.Name, Processor: s.Processor, Place: s.Place.String(), Segment: s.Segment, Traversal: s.Traversal,
			Mode: Mode(s.Mode), Candidates: s.Candidates, Left: s.Left, Batch: s.Batch, Workers: s.Workers, Work: Work(s.Work),
			Start: s.Start, Took: s.Took, Predicted: s.Predicted, BusBytes: s.BusBytes,
		}
		for _, l := range s.Lists {
			out.Steps[i].Lists = append(out.Steps[i].Lists, TraceList(l))
		}
		for _, f := range s.Filters {
			out.Steps[i].Filters = append(out.Steps[i].Filters, TraceFilter(f))
		}
		if d := s.Device; d != nil {
			device := &TraceDevice{
				Device: d.Device, ListsHit: d.ListsHit, ListsMissed: d.ListsMissed, ListBytes: d.ListBytes, BytesLocked: d.BytesLocked,
				Bringing: d.Bringing, Forms: ListForms(d.Forms), BytesInPlace: d.BytesInPlace, BytesTo: d.BytesTo, BytesFrom: d.BytesFrom, Took: d.Took,
				TraceHostTimes: TraceHostTimes(d.HostTimes),
			}
			for _, k := range d.Kernels {
				device.Kernels = append(device.Kernels, TraceKernel(k))
			}
			out.Steps[i].Device = device
		}
	}
	return out
}

func (t *Trace) internal() *plan.Trace {
	out := &plan.Trace{
		Query: t.Query, Mode: plan.Mode(t.Mode), Policy: sched.Policy(t.Policy), Notes: t.Notes,
		Migrations: t.Migrations, Began: t.Began, Steps: make([]plan.Step, len(t.Steps)),
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		out.Steps[i] = plan.Step{
			Name: s.Name, Processor: s.Processor, Segment: s.Segment, Traversal: s.Traversal,
			Mode: plan.Mode(s.Mode), Candidates: s.Candidates, Left: s.Left, Batch: s.Batch, Workers: s.Workers, Work: plan.Work(s.Work),
			Start: s.Start, Took: s.Took, Predicted: s.Predicted, BusBytes: s.BusBytes,
		}
		if s.Place == sched.GPU.String() {
			out.Steps[i].Place = sched.GPU
		}
		for _, l := range s.Lists {
			out.Steps[i].Lists = append(out.Steps[i].Lists, plan.ListTrace(l))
		}
		for _, f := range s.Filters {
			out.Steps[i].Filters = append(out.Steps[i].Filters, plan.FilterTrace(f))
		}
		if d := s.Device; d != nil {
			device := &plan.DeviceTrace{
				Device: d.Device, ListsHit: d.ListsHit, ListsMissed: d.ListsMissed, ListBytes: d.ListBytes, BytesLocked: d.BytesLocked,
				Bringing: d.Bringing, Forms: plan.ListForms(d.Forms), BytesInPlace: d.BytesInPlace, BytesTo: d.BytesTo, BytesFrom: d.BytesFrom, Took: d.Took,
				HostTimes: plan.HostTimes(d.TraceHostTimes),
			}
			for _, k := range d.Kernels {
				device.Kernels = append(device.Kernels, plan.KernelTrace(k))
			}
			out.Steps[i].Device = device
		}
	}
	return out
}
