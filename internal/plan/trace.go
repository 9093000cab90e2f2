package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/sched"
)

// Trace records the steps that answered a query, in order. griffin.Trace, griffin.TraceStep,
// griffin.TraceDevice and griffin.Work document the fields that are not described here.
type Trace struct {
	Query      string       `json:"query"`
	Mode       Mode         `json:"mode"`
	Policy     sched.Policy `json:"policy,omitempty"`
	Notes      []string     `json:"notes,omitempty"`
	Steps      []Step       `json:"steps"`
	Migrations int          `json:"migrations,omitempty"`
	Began      time.Time    `json:"-"`
}

// Step is a unit of work on one processor.
type Step struct {
	// Name is a Step constant, "parse", "plan" or "fetch" (reads stored documents and makes
	// snippets).
	Name      string      `json:"name"`
	Processor string      `json:"processor"`
	Place     sched.Place `json:"place"`
	// Segment is set for Name "segment", Traversal for "segment" and "impacts".
	Segment   string      `json:"segment,omitempty"`
	Traversal string      `json:"traversal,omitempty"`
	Mode      Mode        `json:"mode"`
	Lists     []ListTrace `json:"lists,omitempty"`
	// Filters are set for Name "segment".
	Filters    []FilterTrace `json:"filters,omitempty"`
	Candidates int64         `json:"candidates,omitempty"`
	Left       int64         `json:"left,omitempty"`
	Batch      int           `json:"batch,omitempty"`
	Workers    int           `json:"workers,omitempty"`
	Work
	Start     time.Duration `json:"start_ns"`
	Took      time.Duration `json:"took_ns"`
	Predicted time.Duration `json:"predicted_ns,omitempty"`
	BusBytes  int64         `json:"bus_bytes,omitempty"`
	// Device describes a GPU's work for Name "gpu"; otherwise nil.
	Device *DeviceTrace `json:"device,omitempty"`
}

// DeviceTrace describes a GPU's work in a step.
type DeviceTrace struct {
	Device       string        `json:"device"` // "gpu0"
	Kernels      []KernelTrace `json:"kernels"`
	ListsHit     int           `json:"lists_hit"`
	ListsMissed  int           `json:"lists_missed"`
	ListBytes    int64         `json:"list_bytes"`
	BytesLocked  int64         `json:"bytes_locked"`
	Bringing     time.Duration `json:"bringing_ns"`
	Forms        ListForms     `json:"forms"`
	BytesInPlace int64         `json:"bytes_in_place"`
	BytesTo      int64         `json:"bytes_to"`
	BytesFrom    int64         `json:"bytes_from"`
	Took         time.Duration `json:"took_ns"`
	HostTimes
}

// HostTimes are the times of launches of several queries on the host; griffin.TraceHostTimes documents them.
type HostTimes struct {
	Preparing time.Duration `json:"preparing_ns,omitempty"`
	Launching time.Duration `json:"launching_ns,omitempty"`
	Waiting   time.Duration `json:"waiting_ns,omitempty"`
	Taking    time.Duration `json:"taking_ns,omitempty"`
}

// KernelTrace counts the launches of a kernel.
type KernelTrace struct {
	Name     string `json:"name"`
	Launches int    `json:"launches"`
}

// ListForms counts posting lists: only in the index's file, in page-locked host memory,
// compressed on the device, or decoded there.
type ListForms struct {
	File   int64 `json:"file"`
	Host   int64 `json:"host"`
	Device int64 `json:"device"`
	Image  int64 `json:"image"`
}

// ListTrace is one posting list of a step.
type ListTrace struct {
	Field   string `json:"field,omitempty"`
	Term    string `json:"term"`
	DocFreq uint32 `json:"doc_freq"`
	Blocks  int    `json:"blocks"` // segments of an impact-ordered list
}

// FilterTrace is a part of a query that is computed as a bitmap.
type FilterTrace struct {
	Query  string `json:"query"`
	Docs   int    `json:"docs"`
	Cached bool   `json:"cached,omitempty"`
}

// Work counts operations on postings.
type Work struct {
	PostingsDecoded int64 `json:"postings_decoded,omitempty"`
	PostingsScored  int64 `json:"postings_scored,omitempty"`
	PostingsLeft    int64 `json:"postings_left,omitempty"`
	BlocksDecoded   int64 `json:"blocks_decoded,omitempty"`
	BlocksSkipped   int64 `json:"blocks_skipped,omitempty"`
	BytesRead       int64 `json:"bytes_read,omitempty"`
	BytesMoved      int64 `json:"bytes_moved,omitempty"`
}

// Add adds the counts of o.
func (w *Work) Add(o Work) {
	w.PostingsDecoded += o.PostingsDecoded
	w.PostingsScored += o.PostingsScored
	w.PostingsLeft += o.PostingsLeft
	w.BlocksDecoded += o.BlocksDecoded
	w.BlocksSkipped += o.BlocksSkipped
	w.BytesRead += o.BytesRead
	w.BytesMoved += o.BytesMoved
}

// Begin sets Began if it is not set. t may be nil.
func (t *Trace) Begin() {
	if t != nil && t.Began.IsZero() {
		t.Began = time.Now()
	}
}

// Add adds a step that ends now.
func (t *Trace) Add(began time.Time, s Step) {
	t.AddFor(began, time.Since(began), s)
}

// AddFor adds a step with its begin and duration.
func (t *Trace) AddFor(began time.Time, took time.Duration, s Step) {
	s.Start, s.Took = max(began.Sub(t.Began), 0), took
	t.Steps = append(t.Steps, s)
}

// AddStep adds a CPU step that ends now, outside of segments.
func (t *Trace) AddStep(name string, took time.Duration) {
	t.Begin()
	t.Add(time.Now().Add(-took), Step{Name: name, Processor: CPUName, Mode: t.Mode})
}

// Total returns the work of all steps.
func (t *Trace) Total() Work {
	var w Work
	for i := range t.Steps {
		w.Add(t.Steps[i].Work)
	}
	return w
}

// String formats the trace for a terminal, one line per step and per list.
func (t *Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "query %s, mode %s\n", t.Query, t.Mode)
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	for i := range t.Steps {
		t.Steps[i].format(&b)
	}
	if t.Migrations > 0 {
		fmt.Fprintf(&b, "migrations: %d\n", t.Migrations)
	}
	return b.String()
}

func (s *Step) format(b *strings.Builder) {
	fmt.Fprintf(b, "%-9s %-4s %10v", s.Name, s.Processor, s.Took.Round(100*time.Nanosecond))
	if s.Predicted > 0 {
		fmt.Fprintf(b, " (predicted %v)", s.Predicted.Round(100*time.Nanosecond))
	}
	if s.Name == StepOverrun {
		fmt.Fprintf(b, "  %s %s, for a GPU to do: postings decoded %d, scored %d", s.Mode, s.Traversal, s.PostingsDecoded, s.PostingsScored)
	}
	if s.Name == StepSegment {
		fmt.Fprintf(b, "  %s %s %s: postings decoded %d, scored %d; blocks decoded %d, skipped %d", s.Segment, s.Mode,
			s.Traversal, s.PostingsDecoded, s.PostingsScored, s.BlocksDecoded, s.BlocksSkipped)
		if s.Workers > 1 {
			fmt.Fprintf(b, "; %d workers", s.Workers)
		}
	}
	if s.Name == StepPositions {
		fmt.Fprintf(b, "  %s %s: of %d candidates; postings decoded %d, scored %d; blocks decoded %d", s.Segment, s.Mode,
			s.Candidates, s.PostingsDecoded, s.PostingsScored, s.BlocksDecoded)
	}
	if s.Name == StepIntersect {
		from := "first list"
		if s.Candidates > 0 {
			from = fmt.Sprintf("%d candidates", s.Candidates)
		}
		fmt.Fprintf(b, "  %s: from %s to %d", s.Mode, from, s.Left)
		if s.Device == nil {
			fmt.Fprintf(b, "; postings decoded %d, scored %d; blocks decoded %d, skipped %d", s.PostingsDecoded, s.PostingsScored, s.BlocksDecoded, s.BlocksSkipped)
		}
	}
	blocks := "blocks"
	if s.Name == StepImpacts {
		blocks = "segments"
		fmt.Fprintf(b, "  %s %s: postings added %d, left out %d; blocks decoded %d", s.Mode,
			s.Traversal, s.PostingsScored, s.PostingsLeft, s.BlocksDecoded)
	}
	if s.Device != nil {
		s.formatDevice(b)
	}
	if s.Batch > 0 {
		fmt.Fprintf(b, "  %s: with %d more in a launch", s.Mode, s.Batch-1)
	}
	b.WriteByte('\n')
	for _, l := range s.Lists {
		name := l.Term
		if l.Field != "" {
			name = l.Field + ":" + l.Term
		}
		fmt.Fprintf(b, "    %-24s %9d postings in %6d %s\n", name, l.DocFreq, l.Blocks, blocks)
	}
	for _, f := range s.Filters {
		from := ""
		if f.Cached {
			from = ", cached"
		}
		fmt.Fprintf(b, "    %-24s %9d documents%s\n", f.Query, f.Docs, from)
	}
}

func (s *Step) formatDevice(b *strings.Builder) {
	d := s.Device
	if s.Name == StepIntersect {
		b.WriteString("; ")
	} else {
		fmt.Fprintf(b, "  %s: ", s.Mode)
	}
	fmt.Fprintf(b, "lists there %d, brought %d (%d bytes, %v); device %v; bytes to it %d, from it %d",
		d.ListsHit, d.ListsMissed, d.ListBytes, d.Bringing.Round(100*time.Nanosecond), d.Took.Round(100*time.Nanosecond), d.BytesTo, d.BytesFrom)
	if t := &d.HostTimes; *t != (HostTimes{}) {
		fmt.Fprintf(b, "; host: prepare %v, launch %v, wait %v, take the hits %v", t.Preparing.Round(100*time.Nanosecond),
			t.Launching.Round(100*time.Nanosecond), t.Waiting.Round(100*time.Nanosecond), t.Taking.Round(100*time.Nanosecond))
	}
	if d.BytesInPlace > 0 {
		fmt.Fprintf(b, "; %d bytes of lists read where they lie", d.BytesInPlace)
	}
	for _, k := range d.Kernels {
		fmt.Fprintf(b, "\n    %-24s %9d launched", k.Name, k.Launches)
	}
}

// Names of steps.
const (
	StepSegment   = "segment"   // a segment searched
	StepImpacts   = "impacts"   // impact-ordered lists searched
	StepGPU       = "gpu"       // all segments, or impact-ordered lists, searched by a GPU
	StepIntersect = "intersect" // candidates intersected with some lists of a conjunction, in all segments
	StepPositions = "positions" // the positions of a phrase's candidates read in a segment
	StepWait      = "wait"      // time in a queue
	StepOverrun   = "overrun"   // an attempt on the CPU that a GPU restarted because it took too long
)

// CPUName is the Processor of steps on the CPU.
const CPUName = "cpu"
