package exec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// traceWait adds the wait for the processor that the run was given last, if it waited.
func (r *placedRun) traceWait() {
	if r.trace == nil || r.d.pool == nil {
		return
	}
	j := &r.job
	waited := j.Queued - r.waited
	r.waited = j.Queued
	if waited <= 0 {
		return
	}
	r.trace.addFor(r.d.pool.TimeOf(j.Began-waited), waited, Step{Name: stepWait, Processor: j.Place.String(), Place: j.Place, Mode: r.trace.Mode})
}

// traceStep adds a step that began at a time.
func (r *placedRun) traceStep(began time.Time, s Step) { r.trace.add(began, s) }

// deviceTrace is what a run on the GPU is to fill, nil if nobody looks at it.
func (r *placedRun) deviceTrace() *pipeline.Trace {
	if r.trace == nil {
		return nil
	}
	return &r.device
}

// traceGPU adds a step for each device that had a part in a piece.
func (r *placedRun) traceGPU(began time.Time, st *stage, s Step) {
	s.Mode = st.mode
	if r.plan.mode == ModeSaat {
		s.Mode = ModeSaat
	}
	for i := range r.device.Devices {
		d := &r.device.Devices[i]
		own := *d // the trace's memory is the scratch's
		own.Kernels = slices.Clone(d.Kernels)
		step := s
		step.Processor, step.Device = d.Device, &own
		step.BusBytes = own.ListBytes + own.BytesInPlace + own.BytesTo + own.BytesFrom
		if i > 0 {
			step.Lists = nil
		}
		r.trace.add(began, step)
	}
}

// traceBatch adds the step of a query that was answered with others, from a time on.
func (r *placedRun) traceBatch(began time.Time, size int) {
	st := &r.plan.stages[r.stage]
	r.trace.add(began, Step{
		Name: stepGPU, Processor: sched.GPU.String(), Place: sched.GPU, Traversal: gpuTraversal, Mode: r.answer.Mode, Batch: size,
		Predicted: r.batched, Lists: r.plan.gpuLists(st),
	})
}

// traceGivenUp adds the step of what the CPU gave up, in the place of the segments that
// it had searched since a time.
func (r *placedRun) traceGivenUp(began time.Time, c *choice) {
	st, t := &r.plan.stages[r.stage], r.trace
	s := Step{Name: stepGivenUp, Processor: cpu, Place: sched.CPU, Traversal: st.name(), Mode: st.mode, Predicted: c.took}
	n := len(t.Steps)
	for ; n > 0 && t.Steps[n-1].Name == stepSegment && t.Steps[n-1].Start >= began.Sub(t.Began); n-- {
		s.Work.Add(t.Steps[n-1].Work)
	}
	t.Steps = t.Steps[:n]
	t.add(began, s)
}

// lists describes the lists numbered [from, to) of a stage, over all segments.
func (r *placedRun) lists(st *stage, from, to int) []ListTrace {
	return r.plan.gpuLists(st)[from:to]
}

// noteChoice says what the policy weighed.
func (r *placedRun) noteChoice() {
	if r.refusal != "" {
		if r.pos == 0 && r.stage == 0 && r.d.gpu != nil && r.refusal != "" && r.plan.onCPU != "" {
			r.trace.Notes = append(r.trace.Notes, "answered by the CPU: "+r.refusal)
		}
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s", r.policy(), r.plan.stages[r.stage].mode)
	if r.pos > 0 {
		fmt.Fprintf(&b, ", %d candidates after %d lists", r.have.Len(), r.pos)
	}
	b.WriteString(": ")
	for at := range sched.Place(sched.NumPlaces) {
		c := &r.choices[at]
		if at > 0 {
			b.WriteString("; ")
		}
		switch {
		case at == sched.CPU && r.gaveUp && r.choices[sched.GPU].total != sched.Never:
			b.WriteString("given up on the cpu")
		case c.total >= unwanted:
			fmt.Fprintf(&b, "not on the %s", at)
		case c.to < len(r.lengths):
			fmt.Fprintf(&b, "%v if begun on the %s with %d of %d lists", c.total.Round(100*time.Nanosecond), at, c.to-r.pos, len(r.lengths)-r.pos)
		default:
			fmt.Fprintf(&b, "%v on the %s", c.total.Round(100*time.Nanosecond), at)
			if c.path != pipeline.PathAuto {
				fmt.Fprintf(&b, " (%s)", c.path)
			}
		}
	}
	r.trace.Notes = append(r.trace.Notes, b.String())
}
