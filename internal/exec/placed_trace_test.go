package exec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// A trace has the steps in the order in which they ran, on a line of time, with their
// places, what was predicted, and what went over the bus.
func TestPlacedTrace(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	p, _ := dispatched(t, testSnapshot(t, spacedIndex(t, 9000, 2, 7, 300)), g, DispatchOptions{Policy: PolicyRatio})
	plan, err := p.gpu.Prepare(p.sc, parse(t, "e300 e7 e2"), Options{Mode: ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var trace Trace
	trace.AddStep("parse", 0)
	a, err := plan.RunTraced(t.Context(), p.sc, nil, &trace)
	if err != nil {
		t.Fatal(err)
	}
	if trace.Policy != PolicyRatio || trace.Migrations != 1 || a.Migrations != 1 || a.Traversal != stepsTraversal || len(trace.Steps) != 3 {
		t.Fatalf("traversal %s, %d migrations:\n%s", a.Traversal, a.Migrations, &trace)
	}
	first, last := &trace.Steps[1], &trace.Steps[2]
	switch {
	case first.Name != stepIntersect || first.Place != sched.GPU || first.Processor != "gpu0" || first.Candidates != 0 || first.Left != 5 || len(first.Lists) != 2:
		t.Errorf("first step %+v: want two lists on the GPU, of which 5 documents are left", first)
	case last.Name != stepIntersect || last.Place != sched.CPU || last.Processor != cpu || last.Candidates != 5 || last.Left != 5 || len(last.Lists) != 1:
		t.Errorf("last step %+v: want one list on the CPU, from and to 5 documents", last)
	case first.BusBytes == 0 || last.BusBytes != 0 || last.PostingsDecoded == 0:
		t.Errorf("%d and %d bytes over the bus, %d postings decoded by the CPU", first.BusBytes, last.BusBytes, last.PostingsDecoded)
	case first.Predicted <= 0 || last.Predicted <= 0 || first.Took <= 0 || last.Took <= 0:
		t.Errorf("predicted %v and %v, took %v and %v", first.Predicted, last.Predicted, first.Took, last.Took)
	case first.Start < trace.Steps[0].Start || last.Start < first.Start+first.Took:
		t.Errorf("steps overlap: %v, then %v for %v, then %v", trace.Steps[0].Start, first.Start, first.Took, last.Start)
	}
	if len(trace.Notes) != 2 || !strings.HasPrefix(trace.Notes[0], "ratio, and: ") || !strings.Contains(trace.Notes[0], "begun on the gpu with 2 of 3 lists") ||
		!strings.Contains(trace.Notes[1], "5 candidates after 2 lists") {
		t.Errorf("notes %q", trace.Notes)
	}
	text := trace.String()
	for _, want := range []string{"migrations: 1\n", "and: from first list to 5; lists there", "and: from 5 candidates to 5; postings decoded"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	data, err := json.Marshal(&trace)
	if err != nil {
		t.Fatal(err)
	}
	var back Trace
	if err := json.Unmarshal(data, &back); err != nil || back.Steps[1].Place != sched.GPU || back.Steps[2].Start != last.Start || back.Migrations != 1 {
		t.Errorf("error %v, back from JSON:\n%s", err, &back)
	}
}
