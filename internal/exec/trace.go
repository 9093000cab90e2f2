package exec

import (
	"fmt"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// Trace tells how a query was answered: what became of its words, then each
// step in the order in which it ran.
type Trace struct {
	// Query is the canonical text of the parsed query.
	Query string `json:"query"`
	Mode  Mode   `json:"mode"`
	// Policy chose the places of the steps; "" where there was nothing to choose.
	Policy Policy `json:"policy,omitempty"`
	// Notes say what the planner left out, and why; and why the policy chose what it did.
	Notes []string `json:"notes,omitempty"`
	Steps []Step   `json:"steps"`
	// Migrations is how often the query went from one processor to another.
	Migrations int `json:"migrations,omitempty"`
	// Began is when the query came. Steps are on a line with it.
	Began time.Time `json:"-"`
}

// Step is one piece of the work, done by one processor.
type Step struct {
	// Name is "parse", "plan", "wait" (for a processor), "segment" (one segment searched),
	// "impacts" (impact-ordered lists searched), "gpu" (all segments, or impact-ordered
	// lists, searched by one device), "intersect" (some lists of a conjunction, in all
	// segments), "given up" (what the CPU left to the GPU when it took too long) or
	// "fetch" (stored documents read and snippets made).
	Name string `json:"name"`
	// Processor that did it: "cpu", or a GPU such as "gpu0". Place is its kind.
	Processor string      `json:"processor"`
	Place     sched.Place `json:"place"`
	// Segment is set for Name "segment", Traversal for "segment" and "impacts".
	Segment   string `json:"segment,omitempty"`
	Traversal string `json:"traversal,omitempty"`
	// Mode is the mode that the step asked in: ModeAndOr asks twice.
	Mode Mode `json:"mode"`
	// Lists that the step read.
	Lists []ListTrace `json:"lists,omitempty"`
	// Candidates that an "intersect" began with (0: with its first list), and how many
	// were Left, or are hits.
	Candidates int64 `json:"candidates,omitempty"`
	Left       int64 `json:"left,omitempty"`
	// Batch is how many queries shared the step; 0: none did.
	Batch int `json:"batch,omitempty"`
	Work
	// Start is when the step began, after the query came, Took how long it took, and
	// Predicted what was expected of it, or of all steps of a stage at its first; 0: nothing.
	Start     time.Duration `json:"start_ns"`
	Took      time.Duration `json:"took_ns"`
	Predicted time.Duration `json:"predicted_ns,omitempty"`
	// BusBytes went over the bus between the CPU and a GPU.
	BusBytes int64 `json:"bus_bytes,omitempty"`
	// Device is what a GPU did, for Name "gpu"; else nil.
	Device *DeviceTrace `json:"device,omitempty"`
}

// DeviceTrace is what a GPU did in a step.
type DeviceTrace = pipeline.DeviceTrace

// ListTrace is one posting list of a step.
type ListTrace struct {
	Field   string `json:"field,omitempty"`
	Term    string `json:"term"`
	DocFreq uint32 `json:"doc_freq"`
	Blocks  int    `json:"blocks"` // of an impact-ordered list: segments
}

// Work counts what was done with postings.
type Work struct {
	// PostingsDecoded counts postings whose DocID was decoded, PostingsScored
	// those whose contribution was computed.
	PostingsDecoded int64 `json:"postings_decoded,omitempty"`
	PostingsScored  int64 `json:"postings_scored,omitempty"`
	// PostingsLeft counts those that a budget left out.
	PostingsLeft int64 `json:"postings_left,omitempty"`
	// BlocksSkipped counts blocks that were passed over without being decoded.
	BlocksDecoded int64 `json:"blocks_decoded,omitempty"`
	BlocksSkipped int64 `json:"blocks_skipped,omitempty"`
	// BytesRead, of ModeSaat, are those of the segments that the step read.
	// BytesMoved is the least that it moved between the processor and its memory or
	// caches: these, and the accumulators, read and written once.
	BytesRead  int64 `json:"bytes_read,omitempty"`
	BytesMoved int64 `json:"bytes_moved,omitempty"`
}

// Add adds o to w.
func (w *Work) Add(o Work) {
	w.PostingsDecoded += o.PostingsDecoded
	w.PostingsScored += o.PostingsScored
	w.PostingsLeft += o.PostingsLeft
	w.BlocksDecoded += o.BlocksDecoded
	w.BlocksSkipped += o.BlocksSkipped
	w.BytesRead += o.BytesRead
	w.BytesMoved += o.BytesMoved
}

// begin notes when the query came, if nobody did before. t may be nil.
func (t *Trace) begin() {
	if t != nil && t.Began.IsZero() {
		t.Began = time.Now()
	}
}

// add adds a step that began at a time and ends now.
func (t *Trace) add(began time.Time, s Step) {
	t.addFor(began, time.Since(began), s)
}

// addFor adds a step that began at a time and took so long.
func (t *Trace) addFor(began time.Time, took time.Duration, s Step) {
	s.Start, s.Took = max(began.Sub(t.Began), 0), took
	t.Steps = append(t.Steps, s)
}

// AddStep adds a step of the given name, done by the CPU and ended now, that is not
// about a segment.
func (t *Trace) AddStep(name string, took time.Duration) {
	t.begin()
	t.add(time.Now().Add(-took), Step{Name: name, Processor: cpu, Mode: t.Mode})
}

// Total returns the work of all steps.
func (t *Trace) Total() Work {
	var w Work
	for i := range t.Steps {
		w.Add(t.Steps[i].Work)
	}
	return w
}

// String formats the trace for a terminal, one line a step and one a list.
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
	if s.Name == stepGivenUp {
		fmt.Fprintf(b, "  %s %s, for a GPU to do: postings decoded %d, scored %d", s.Mode, s.Traversal, s.PostingsDecoded, s.PostingsScored)
	}
	if s.Name == stepSegment {
		fmt.Fprintf(b, "  %s %s %s: postings decoded %d, scored %d; blocks decoded %d, skipped %d", s.Segment, s.Mode,
			s.Traversal, s.PostingsDecoded, s.PostingsScored, s.BlocksDecoded, s.BlocksSkipped)
	}
	if s.Name == stepIntersect {
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
	if s.Name == stepImpacts {
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
}

// formatDevice tells what a GPU did.
func (s *Step) formatDevice(b *strings.Builder) {
	d := s.Device
	if s.Name == stepIntersect {
		b.WriteString("; ")
	} else {
		fmt.Fprintf(b, "  %s: ", s.Mode)
	}
	fmt.Fprintf(b, "lists there %d, brought %d (%d bytes, %v); device %v; bytes to it %d, from it %d",
		d.ListsHit, d.ListsMissed, d.ListBytes, d.Bringing.Round(100*time.Nanosecond), d.Took.Round(100*time.Nanosecond), d.BytesTo, d.BytesFrom)
	if d.BytesInPlace > 0 {
		fmt.Fprintf(b, "; %d bytes of lists read where they lie", d.BytesInPlace)
	}
	for _, k := range d.Kernels {
		fmt.Fprintf(b, "\n    %-24s %9d launched", k.Name, k.Launches)
	}
}

// stepSegment is the name of a step that searched a segment, stepImpacts of one that
// searched impact-ordered lists; cpu is their processor. stepGPU is the name of a
// step of a GPU, stepIntersect of a part of a conjunction, stepWait of time in a queue,
// stepGivenUp of what the CPU gave up for the GPU to do.
const (
	stepSegment   = "segment"
	stepImpacts   = "impacts"
	stepGPU       = "gpu"
	stepIntersect = "intersect"
	stepWait      = "wait"
	stepGivenUp   = "given up"
	cpu           = "cpu"
)
