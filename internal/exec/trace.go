package exec

import (
	"fmt"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
)

// Trace tells how a query was answered: what became of its words, then each
// step in the order in which it ran.
type Trace struct {
	// Query is the canonical text of the parsed query.
	Query string `json:"query"`
	Mode  Mode   `json:"mode"`
	// Notes say what the planner left out, and why.
	Notes []string `json:"notes,omitempty"`
	Steps []Step   `json:"steps"`
}

// Step is one piece of the work, done by one processor.
type Step struct {
	// Name is "parse", "plan", "segment" (one segment searched), "impacts"
	// (impact-ordered lists searched), "gpu" (all segments, or impact-ordered lists,
	// searched by one device) or "fetch" (stored documents read and snippets made).
	Name string `json:"name"`
	// Processor that did it: "cpu", or a GPU such as "gpu0".
	Processor string `json:"processor"`
	// Segment is set for Name "segment", Traversal for "segment" and "impacts".
	Segment   string `json:"segment,omitempty"`
	Traversal string `json:"traversal,omitempty"`
	// Mode is the mode that the step asked in: ModeAndOr asks twice.
	Mode Mode `json:"mode"`
	// Lists that the step read.
	Lists []ListTrace `json:"lists,omitempty"`
	Work
	Took time.Duration `json:"took_ns"`
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

// AddStep adds a step of the given name, done by the CPU, that is not about a segment.
func (t *Trace) AddStep(name string, took time.Duration) {
	t.Steps = append(t.Steps, Step{Name: name, Processor: cpu, Mode: t.Mode, Took: took})
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
	return b.String()
}

func (s *Step) format(b *strings.Builder) {
	fmt.Fprintf(b, "%-8s %-4s %10v", s.Name, s.Processor, s.Took.Round(100*time.Nanosecond))
	if s.Name == stepSegment {
		fmt.Fprintf(b, "  %s %s %s: postings decoded %d, scored %d; blocks decoded %d, skipped %d", s.Segment, s.Mode,
			s.Traversal, s.PostingsDecoded, s.PostingsScored, s.BlocksDecoded, s.BlocksSkipped)
	}
	blocks := "blocks"
	if s.Name == stepImpacts {
		blocks = "segments"
		fmt.Fprintf(b, "  %s %s: postings added %d, left out %d; blocks decoded %d", s.Mode,
			s.Traversal, s.PostingsScored, s.PostingsLeft, s.BlocksDecoded)
	}
	if d := s.Device; d != nil {
		fmt.Fprintf(b, "  %s: lists there %d, brought %d (%d bytes, %v); device %v; bytes to it %d, from it %d", s.Mode,
			d.ListsHit, d.ListsMissed, d.ListBytes, d.Bringing.Round(100*time.Nanosecond), d.Took.Round(100*time.Nanosecond), d.BytesTo, d.BytesFrom)
		for _, k := range d.Kernels {
			fmt.Fprintf(b, "\n    %-24s %9d launched", k.Name, k.Launches)
		}
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

// stepSegment is the name of a step that searched a segment, stepImpacts of one that
// searched impact-ordered lists; cpu is their processor. stepGPU is the name of a
// step of a GPU.
const (
	stepSegment = "segment"
	stepImpacts = "impacts"
	stepGPU     = "gpu"
	cpu         = "cpu"
)
