package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/exec"
)

// Kind is what a lane is of.
type Kind string

// The kinds of lanes, in their order from the top.
const (
	CPU  Kind = "cpu"
	Wait Kind = "wait" // in a queue
	Bus  Kind = "bus"
	GPU  Kind = "gpu"
)

// Chart is the timeline of a query.
type Chart struct {
	// End is the length of the axis, which begins when the query came: the latest end of
	// a step, measured or predicted. It is more than 0.
	End time.Duration
	// Lanes have at least one bar each.
	Lanes []Lane
}

// Lane are the bars of one processor, of waiting, or of the bus.
type Lane struct {
	Kind Kind
	// Name is "cpu", "wait", "bus" or that of a GPU, such as "gpu0".
	Name string
	Bars []Bar // in the order of the steps
}

// Bar is one step, or what it sent over the bus.
type Bar struct {
	// Label is the step's name, of the bus the amount: "intersect", "1.2 MB".
	Label string
	// Start is from when the query came, Took how long it was.
	Start, Took time.Duration
	// Predicted is what was expected of the step, or of all steps of a stage at its first;
	// 0: nothing was.
	Predicted time.Duration
	// Within says that it went on while the step ran, at times that are not known.
	Within bool
}

// Of returns the timeline of a trace, nil of a trace without steps.
func Of(t *exec.Trace) *Chart {
	if t == nil || len(t.Steps) == 0 {
		return nil
	}
	c := &Chart{End: 1}
	for i := range t.Steps {
		s := &t.Steps[i]
		kind, name := CPU, s.Processor
		switch {
		case s.Name == "wait":
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
	slices.SortStableFunc(c.Lanes, func(a, b Lane) int {
		order := []Kind{CPU, Wait, Bus, GPU}
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), strings.Compare(a.Name, b.Name))
	})
	return c
}

// bus is what a step sent: lists that were brought have a time of their own, what
// kernels read where it lies goes on while they run.
func bus(s *exec.Step) Bar {
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

// Describe tells in a sentence what a bar of a lane shows, for who cannot see it.
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

// Time formats a time of a step, to three digits: "0 µs", "8.31 µs", "1.2 ms".
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

// rounded is the least time that is a unit when it is rounded to three digits.
func rounded(unit time.Duration) time.Duration { return unit - unit/2000 }

// Bytes formats an amount of data, in powers of ten: "640 B", "1.2 MB".
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
