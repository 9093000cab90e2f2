package ding09

import (
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// Steps of a query on the GPU, as in Table 3 of the paper.
const (
	stepTransfer       = "transfer"
	stepInitialization = "initialization"
	stepDecompression  = "decompression"
	stepIntersection   = "intersection"
	stepScoring        = "scoring"
	stepTopK           = "top-k"
)

// step is the device time of a kind of step in a stage.
type step struct {
	name string
	mode plan.Mode
	took time.Duration
}

// timer measures steps by events on the stream. A timer that is off does nothing.
type timer struct {
	on     bool
	events []*cuda.Event
	marks  []step // a step ends at each event, except the first
}

func (t *timer) start(on bool) { t.on, t.marks = on, t.marks[:0] }

// mark records the end of a step; the first call is the beginning.
func (t *timer) mark(d *cuda.Device, s *cuda.Stream, name string, mode plan.Mode) error {
	if !t.on {
		return nil
	}
	if len(t.marks) == len(t.events) {
		event, err := d.NewEvent(true /* timing */)
		if err != nil {
			return err
		}
		t.events = append(t.events, event)
	}
	t.marks = append(t.marks, step{name: name, mode: mode})
	return s.Record(t.events[len(t.marks)-1])
}

// steps returns the steps in the order of their first occurrence, after the stream is idle.
func (t *timer) steps() (steps []step, err error) {
	for i := 1; i < len(t.marks); i++ {
		took, err := t.events[i].Elapsed(t.events[i-1])
		if err != nil {
			return nil, err
		}
		m := t.marks[i]
		at := 0
		for at < len(steps) && (steps[at].name != m.name || steps[at].mode != m.mode) {
			at++
		}
		if at == len(steps) {
			steps = append(steps, m)
		}
		steps[at].took += took
	}
	return steps, nil
}

func (t *timer) close() error {
	var errs []error
	for _, e := range t.events {
		errs = append(errs, e.Close())
	}
	t.events = nil
	return errors.Join(errs...)
}

// trace adds the transfer, with the lists of the query, and the device's steps. They follow each other as their sums do; on the device,
// steps of the same kind alternate with others.
func (d *deviceQuery) trace(steps []step) {
	t := d.query.Trace
	if t == nil {
		return
	}
	processor := fmt.Sprintf("gpu%d", d.gpu.device.Info().Ordinal)
	t.AddFor(d.began, d.used.transferred.took, plan.Step{
		Name: stepTransfer, Processor: processor, Place: sched.GPU, Mode: d.stages[0].mode, BusBytes: d.used.transferred.bytes,
		Lists: listsOf(d.query.Plan),
	})
	took := time.Duration(0)
	for _, s := range steps {
		took += s.took
	}
	at := time.Now().Add(-took)
	for _, s := range steps {
		t.AddFor(at, s.took, plan.Step{Name: s.name, Processor: processor, Place: sched.GPU, Mode: s.mode})
		at = at.Add(s.took)
	}
}

// listsOf describes the lists of a query over all segments, in query order.
func listsOf(p *plan.Plan) []plan.ListTrace {
	var all []plan.ListTrace
	for i := range p.Snapshot().Segments {
		for j, l := range plan.SegmentLists(p, p.NumStages()-1, i) {
			if j == len(all) {
				all = append(all, plan.ListTrace{Field: l.Field, Term: l.Term})
			}
			all[j].DocFreq += l.DocFreq
			all[j].Blocks += l.Blocks
		}
	}
	return all
}
