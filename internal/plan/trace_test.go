package plan

import (
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/sched"
)

// The text has every kind of step, with and without its optional parts.
func TestTraceText(t *testing.T) {
	lists := []ListTrace{{Term: "rain", DocFreq: 300, Blocks: 3}, {Field: "title", Term: "snow", DocFreq: 7, Blocks: 1}}
	work := Work{PostingsDecoded: 307, PostingsScored: 99, PostingsLeft: 5, BlocksDecoded: 4, BlocksSkipped: 2}
	device := &DeviceTrace{
		Device: "gpu0", ListsHit: 1, ListsMissed: 2, ListBytes: 640, Bringing: 3 * time.Microsecond,
		Took: 12 * time.Microsecond, BytesTo: 128, BytesFrom: 80,
	}
	inPlace := *device
	inPlace.BytesInPlace, inPlace.Kernels = 512, []KernelTrace{{"or_one", 2}}
	trace := Trace{
		Query: "rain title:snow", Mode: ModeAndOr, Notes: []string{`"the" is a stop word`}, Migrations: 1,
		Steps: []Step{
			{Name: "plan", Processor: CPUName, Mode: ModeAndOr, Took: 1234 * time.Nanosecond},
			{Name: StepWait, Processor: "gpu", Place: sched.GPU, Mode: ModeAnd, Took: time.Microsecond},
			{Name: StepSegment, Processor: CPUName, Segment: "seg-1", Traversal: "svs", Mode: ModeAnd, Lists: lists, Work: work, Took: time.Millisecond, Predicted: 2 * time.Millisecond},
			{Name: StepOverrun, Processor: CPUName, Traversal: "svs", Mode: ModeAnd, Work: work, Took: time.Millisecond},
			{Name: StepIntersect, Processor: CPUName, Mode: ModeAnd, Work: work, Left: 11},
			{Name: StepIntersect, Processor: "gpu0", Mode: ModeAnd, Candidates: 11, Left: 2, Device: device},
			{Name: StepGPU, Processor: "gpu0", Mode: ModeOr, Device: &inPlace},
			{Name: StepGPU, Processor: "gpu", Mode: ModeOr, Batch: 3},
			{Name: StepImpacts, Processor: CPUName, Traversal: "array", Mode: ModeSaat, Lists: lists[:1], Work: work},
		},
	}
	const want = `query rain title:snow, mode and+or
note: "the" is a stop word
plan      cpu       1.2µs
wait      gpu         1µs
segment   cpu         1ms (predicted 2ms)  seg-1 and svs: postings decoded 307, scored 99; blocks decoded 4, skipped 2
    rain                           300 postings in      3 blocks
    title:snow                       7 postings in      1 blocks
overrun   cpu         1ms  and svs, for a GPU to do: postings decoded 307, scored 99
intersect cpu          0s  and: from first list to 11; postings decoded 307, scored 99; blocks decoded 4, skipped 2
intersect gpu0         0s  and: from 11 candidates to 2; lists there 1, brought 2 (640 bytes, 3µs); device 12µs; bytes to it 128, from it 80
gpu       gpu0         0s  or: lists there 1, brought 2 (640 bytes, 3µs); device 12µs; bytes to it 128, from it 80; 512 bytes of lists read where they lie
    or_one                           2 launched
gpu       gpu          0s  or: with 2 more in a launch
impacts   cpu          0s  saat array: postings added 99, left out 5; blocks decoded 4
    rain                           300 postings in      3 segments
migrations: 1
`
	if got := trace.String(); got != want {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
	none := Trace{Query: "rain", Mode: ModeOr}
	if got, want := none.String(), "query rain, mode or\n"; got != want {
		t.Errorf("the text of an empty trace is %q, want %q", got, want)
	}
}

// Steps start at the query's arrival, noted once.
func TestTraceTimes(t *testing.T) {
	var none *Trace
	none.Begin()
	var trace Trace
	trace.Begin()
	arrival := trace.Began
	if arrival.IsZero() {
		t.Fatal("Begin does not note the arrival")
	}
	trace.Begin()
	trace.AddFor(arrival.Add(3*time.Second), time.Second, Step{Name: "late", Work: Work{
		PostingsDecoded: 1, PostingsScored: 2, PostingsLeft: 3, BlocksDecoded: 4, BlocksSkipped: 5, BytesRead: 6, BytesMoved: 7,
	}})
	trace.AddFor(arrival.Add(-time.Second), 2*time.Second, Step{Name: "early", Work: Work{
		PostingsDecoded: 10, PostingsScored: 20, PostingsLeft: 30, BlocksDecoded: 40, BlocksSkipped: 50, BytesRead: 60, BytesMoved: 70,
	}})
	if !trace.Began.Equal(arrival) {
		t.Error("the second Begin changed the arrival")
	}
	if s := trace.Steps[0]; s.Start != 3*time.Second || s.Took != time.Second {
		t.Errorf("a step after 3 s that took 1 s: start %v, took %v", s.Start, s.Took)
	}
	if s := trace.Steps[1]; s.Start != 0 || s.Took != 2*time.Second {
		t.Errorf("a step that began before the query: start %v, took %v", s.Start, s.Took)
	}
	want := Work{PostingsDecoded: 11, PostingsScored: 22, PostingsLeft: 33, BlocksDecoded: 44, BlocksSkipped: 55, BytesRead: 66, BytesMoved: 77}
	if got := trace.Total(); got != want {
		t.Errorf("the work is %+v, want %+v", got, want)
	}
	fresh := Trace{Mode: ModeAnd}
	fresh.AddStep("parse", time.Hour)
	if s := fresh.Steps[0]; fresh.Began.IsZero() || s.Name != "parse" || s.Processor != CPUName || s.Mode != ModeAnd || s.Start != 0 || s.Took < time.Hour {
		t.Errorf("AddStep added %+v to a trace of %v", s, fresh.Began)
	}
}
