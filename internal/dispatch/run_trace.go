package dispatch

import (
	"fmt"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

type tracer struct {
	*plan.Trace                // nil: the run is not traced
	waited      time.Duration  // the part of the job's waits that the trace has
	device      pipeline.Trace // of the present step
}

func (t *tracer) isOn() bool { return t.Trace != nil }

// pool may be nil.
func (t *tracer) addWait(pool *sched.Pool, j *sched.Job) {
	if !t.isOn() || pool == nil {
		return
	}
	waited := j.Queued - t.waited
	t.waited = j.Queued
	if waited <= 0 {
		return
	}
	t.AddFor(pool.TimeOf(j.Began-waited), waited, plan.Step{Name: plan.StepWait, Processor: j.Place.String(), Place: j.Place, Mode: t.Mode})
}

// forDevice returns nil if the run is not traced.
func (t *tracer) forDevice() *pipeline.Trace {
	if !t.isOn() {
		return nil
	}
	return &t.device
}

func (t *tracer) addGPU(began time.Time, s plan.Step) {
	for i := range t.device.Devices {
		d := newDeviceTrace(&t.device.Devices[i])
		step := s
		step.Processor, step.Device = d.Device, d
		step.BusBytes = d.ListBytes + d.BytesInPlace + d.BytesTo + d.BytesFrom
		if i > 0 {
			step.Lists = nil
		}
		t.Add(began, step)
	}
}

// addOverrun replaces the steps of segments searched since a stage that overran on the CPU
// began.
func (t *tracer) addOverrun(began time.Time, st *plan.Stage, predicted time.Duration) {
	step := plan.Step{Name: plan.StepOverrun, Processor: plan.CPUName, Place: sched.CPU, Traversal: st.Traversal(), Mode: st.Mode(), Predicted: predicted}
	n := len(t.Steps)
	for ; n > 0 && t.Steps[n-1].Name == plan.StepSegment && t.Steps[n-1].Start >= began.Sub(t.Began); n-- {
		step.Work.Add(t.Steps[n-1].Work)
	}
	t.Steps = t.Steps[:n]
	t.Add(began, step)
}

func (t *tracer) noteChoice(r *queryRun) {
	if r.gpu.refusal != "" {
		if r.pos == 0 && r.stage == 0 && r.d.gpu != nil && r.plan.gpu.refusal != "" {
			t.Notes = append(t.Notes, "answered by the CPU: "+r.gpu.refusal)
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
		case at == sched.CPU && r.overrun.noted && r.choices[sched.GPU].total != sched.Never:
			b.WriteString("overran on the cpu")
		case s.total >= lastResort:
			fmt.Fprintf(&b, "not on the %s", at)
		case s.to < len(r.predictor.lengths):
			fmt.Fprintf(&b, "%v if begun on the %s with %d of %d lists", s.total.Round(100*time.Nanosecond), at, s.to-r.pos, len(r.predictor.lengths)-r.pos)
		default:
			fmt.Fprintf(&b, "%v on the %s", s.total.Round(100*time.Nanosecond), at)
			switch {
			case at == sched.GPU && r.predictor.isCommon():
				b.WriteString(", which finds the candidates of the phrase for the cpu")
			case s.path != pipeline.PathAuto:
				fmt.Fprintf(&b, " (%s)", s.path)
			}
		}
	}
	t.Notes = append(t.Notes, b.String())
}

// newDeviceTrace copies the trace of a device, whose memory is used again.
func newDeviceTrace(d *pipeline.DeviceTrace) *plan.DeviceTrace {
	t := &plan.DeviceTrace{
		Device: d.Device, ListsHit: d.ListsHit, ListsMissed: d.ListsMissed, ListBytes: d.ListBytes, BytesLocked: d.BytesLocked, Bringing: d.Bringing,
		Forms: plan.ListForms(d.Forms), BytesInPlace: d.BytesInPlace, BytesTo: d.BytesTo, BytesFrom: d.BytesFrom, Took: d.Took,
		HostTimes: plan.HostTimes(d.HostTimes),
	}
	for _, k := range d.Kernels {
		t.Kernels = append(t.Kernels, plan.KernelTrace(k))
	}
	return t
}
