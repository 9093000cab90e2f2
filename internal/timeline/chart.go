package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
)

// Kind is the kind of a lane.
type Kind string

// The kinds of lanes, from the top.
const (
	CPU  Kind = "cpu"
	Wait Kind = "wait" // in a queue
	Bus  Kind = "bus"
	GPU  Kind = "gpu"
)

// Chart is the timeline of a query.
type Chart struct {
	// End is the length of the time axis, which begins at the query's arrival: the latest
	// measured or predicted end, above 0.
	End time.Duration
	// Lanes have at least one bar each.
	Lanes []Lane
}

// Lane has the bars of one processor, of waiting, or of the bus.
type Lane struct {
	Kind Kind
	// Name is "cpu", "wait", "bus" or a GPU's name, such as "gpu0".
	Name string
	Bars []Bar // in the order of steps
}

// Bar is one step, or its transfer over the bus.
type Bar struct {
	// Label is the step's name, or the amount on the bus: "intersect", "1.2 MB".
	Label string
	// Start is relative to the query's arrival, Took the duration.
	Start, Took time.Duration
	// Predicted is the predicted time of the step or, in a stage's first step, of the stage; 0:
	// none.
	Predicted time.Duration
	// Within: the transfer happened during the step, at unknown times.
	Within bool
}

// Of returns the timeline of a trace, nil if it has no steps.
func Of(t *griffin.Trace) *Chart {
	if t == nil || len(t.Steps) == 0 {
		return nil
	}
	c := &Chart{End: 1}
	for i := range t.Steps {
		s := &t.Steps[i]
		kind, name := CPU, s.Processor
		switch {
		case s.Name == griffin.StepWait:
			kind, name = Wait, string(Wait)
		case s.Processor != string(CPU):
			kind = GPU
		}
		label := s.Name
		if kind == Wait {
			label = "for " + s.Processor
		}
		c.add(kind, name, Bar{Label: label, Start: s.Start, Took: s.Took, Predicted: s.Predicted})
		if s.BusBytes > 0 {
			c.add(Bus, string(Bus), bus(s))
		}
	}
	base.SortFew(c.Lanes, func(a, b Lane) int {
		order := []Kind{CPU, Wait, Bus, GPU}
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return c
}

// bus returns a step's transfer: loaded lists have a time of their own; data that kernels read
// over the bus is transferred while they run.
func bus(s *griffin.TraceStep) Bar {
	b := Bar{Label: Bytes(s.BusBytes), Start: s.Start, Took: s.Took, Within: true}
	if s.Device != nil && s.Device.Bringing > 0 {
		b.Took, b.Within = min(s.Device.Bringing, s.Took), false
	}
	return b
}

func (c *Chart) add(kind Kind, name string, b Bar) {
	c.End = max(c.End, b.Start+max(b.Took, b.Predicted))
	i := slices.IndexFunc(c.Lanes, func(l Lane) bool { return l.Kind == kind && l.Name == name })
	if i < 0 {
		i = len(c.Lanes)
		c.Lanes = append(c.Lanes, Lane{Kind: kind, Name: name})
	}
	c.Lanes[i].Bars = append(c.Lanes[i].Bars, b)
}

// Describe describes a bar in a sentence, for users who cannot see it.
func (b *Bar) Describe(lane *Lane) string {
	var s string
	switch {
	case lane.Kind == Wait:
		s = fmt.Sprintf("waited %s from %s for %s", b.Label, Time(b.Start), Time(b.Took))
	case lane.Kind == Bus && b.Within:
		s = fmt.Sprintf("%s over the bus while the step at %s ran", b.Label, Time(b.Start))
	case lane.Kind == Bus:
		s = fmt.Sprintf("%s over the bus from %s for %s", b.Label, Time(b.Start), Time(b.Took))
	default:
		s = fmt.Sprintf("%s on %s from %s for %s", b.Label, lane.Name, Time(b.Start), Time(b.Took))
	}
	if b.Predicted > 0 {
		s += ", predicted " + Time(b.Predicted)
	}
	return s
}

// Time formats a duration with three digits: "0 µs", "8.31 µs", "1.2 ms".
func Time(d time.Duration) string {
	switch {
	case d < time.Microsecond/100:
		return "0 µs"
	case d < rounded(time.Millisecond):
		return fmt.Sprintf("%.3g µs", float64(d)/float64(time.Microsecond))
	case d < rounded(time.Second):
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// rounded returns the smallest time that rounds to unit with three digits.
func rounded(unit time.Duration) time.Duration { return unit - unit/2000 }

// Bytes formats an amount, in powers of ten: "640 B", "1.2 MB".
func Bytes(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KB", "MB", "GB"} {
		if v < 999.5 {
			break
		}
		v, unit = v/1000, u
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}
