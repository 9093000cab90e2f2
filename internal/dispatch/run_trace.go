package dispatch

import (
	"fmt"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// tracer adds the steps of a run to its trace.
type tracer struct {
	run    *queryRun
	trace  *plan.Trace    // nil: the run is not traced
	waited time.Duration  // the part of the job's waits that the trace has
	device pipeline.Trace // of the present step
}

// traceWait adds the wait for the present processor, if there was one.
func (t *tracer) traceWait() {
	r := t.run
	if t.trace == nil || r.d.pool == nil {
		return
	}
	j := &r.job
	waited := j.Queued - t.waited
	t.waited = j.Queued
	if waited <= 0 {
		return
	}
	t.trace.AddFor(r.d.pool.TimeOf(j.Began-waited), waited, plan.Step{Name: plan.StepWait, Processor: j.Place.String(), Place: j.Place, Mode: t.trace.Mode})
}

// deviceTrace returns the trace that a GPU fills, nil if the run is not traced.
func (t *tracer) deviceTrace() *pipeline.Trace {
	if t.trace == nil {
		return nil
	}
	return &t.device
}

// traceGPU adds a step for each device that took part in it.
func (t *tracer) traceGPU(began time.Time, s plan.Step) {
	r := t.run
	if s.Mode = r.plan.Stage(r.stage).Mode(); r.plan.Impacts() != nil {
		s.Mode = plan.ModeSaat
	}
	for i := range t.device.Devices {
		d := newDeviceTrace(&t.device.Devices[i])
		step := s
		step.Processor, step.Device = d.Device, d
		step.BusBytes = d.ListBytes + d.BytesInPlace + d.BytesTo + d.BytesFrom
		if i > 0 {
			step.Lists = nil
		}
		t.trace.Add(began, step)
	}
}

// traceBatch adds the step of a query that was answered in a batch.
func (t *tracer) traceBatch(began time.Time, size int) {
	r := t.run
	t.trace.Add(began, plan.Step{
		Name: plan.StepGPU, Processor: sched.GPU.String(), Place: sched.GPU, Traversal: gpuTraversal, Mode: r.answer.Mode, Batch: size,
		Predicted: r.batchShare, Lists: r.plan.StageLists(r.stage),
	})
}

// traceOverrun adds the step that overran on the CPU. It replaces the steps of segments searched since
// it began.
func (t *tracer) traceOverrun(began time.Time, s *Step) {
	st, trace := t.run.plan.Stage(t.run.stage), t.trace
	step := plan.Step{Name: plan.StepGivenUp, Processor: plan.CPUName, Place: sched.CPU, Traversal: st.Traversal(), Mode: st.Mode(), Predicted: s.took}
	n := len(trace.Steps)
	for ; n > 0 && trace.Steps[n-1].Name == plan.StepSegment && trace.Steps[n-1].Start >= began.Sub(trace.Began); n-- {
		step.Work.Add(trace.Steps[n-1].Work)
	}
	trace.Steps = trace.Steps[:n]
	trace.Add(began, step)
}

// noteChoice adds a note with the predictions that the policy compared.
func (t *tracer) noteChoice() {
	r := t.run
	if r.refusal != "" {
		if r.pos == 0 && r.stage == 0 && r.d.gpu != nil && r.plan.gpu.refusal != "" {
			t.trace.Notes = append(t.trace.Notes, "answered by the CPU: "+r.refusal)
		}
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s", r.policy.info().Name, r.plan.Stage(r.stage).Mode())
	if r.pos > 0 {
		fmt.Fprintf(&b, ", %d candidates after %d lists", r.have.Len(), r.pos)
	}
	b.WriteString(": ")
	for at := range sched.Place(sched.NumPlaces) {
		s := &r.choices[at]
		if at > 0 {
			b.WriteString("; ")
		}
		switch {
		case at == sched.CPU && r.overran && r.choices[sched.GPU].total != sched.Never:
			b.WriteString("given up on the cpu")
		case s.total >= lastResort:
			fmt.Fprintf(&b, "not on the %s", at)
		case s.to < len(r.lengths):
			fmt.Fprintf(&b, "%v if begun on the %s with %d of %d lists", s.total.Round(100*time.Nanosecond), at, s.to-r.pos, len(r.lengths)-r.pos)
		default:
			fmt.Fprintf(&b, "%v on the %s", s.total.Round(100*time.Nanosecond), at)
			if s.path != pipeline.PathAuto {
				fmt.Fprintf(&b, " (%s)", s.path)
			}
		}
	}
	t.trace.Notes = append(t.trace.Notes, b.String())
}

// newDeviceTrace copies the trace of a device, whose memory is used again.
func newDeviceTrace(d *pipeline.DeviceTrace) *plan.DeviceTrace {
	t := &plan.DeviceTrace{
		Device: d.Device, ListsHit: d.ListsHit, ListsMissed: d.ListsMissed, ListBytes: d.ListBytes, BytesLocked: d.BytesLocked, Bringing: d.Bringing,
		Forms: plan.ListForms(d.Forms), BytesInPlace: d.BytesInPlace, BytesTo: d.BytesTo, BytesFrom: d.BytesFrom, Took: d.Took,
	}
	for _, k := range d.Kernels {
		t.Kernels = append(t.Kernels, plan.KernelTrace(k))
	}
	return t
}
