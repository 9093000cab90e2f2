package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/load"
	"github.com/griffin-search/griffin/internal/sched"
)

// printLoad prints what came out for people.
func (a *app) printLoad(r *loadResult) {
	st := a.style(a.out)
	a.printf("%s of %s, mode %s, k=%d, %s arrivals\n%s\n\n", plural(r.Queries, "query"), r.Target, r.Mode, r.K, r.Arrivals, r.Machine)
	rows := [][]string{{"rate/s", "came/s", "goodput/s", "p50", "p90", "p95", "p99", "p99.9", "max", "429", "503", "504", "faults"}}
	for i := range r.Points {
		p := &r.Points[i]
		row := []string{rateOf(p.Rate), fmt.Sprintf("%.1f", p.ArrivalRate), fmt.Sprintf("%.1f", p.Goodput)}
		l := &p.Latency
		for _, d := range []time.Duration{l.P50, l.P90, l.P95, l.P99, l.P999, l.Max} {
			row = append(row, threeDigits(milliseconds(d)))
		}
		rows = append(rows, append(row, count(p.Limited), count(p.Overloaded), count(p.Expired), count(p.Faulty())))
	}
	for i, line := range alignRight(rows, 5) {
		if i == 0 {
			a.printf("%s%s%s\n", st.bold, line, st.reset)
			continue
		}
		a.printf("%s%s\n", line, remark(r, &r.Points[i-1]))
	}
	for i := range r.Points {
		p := &r.Points[i]
		for _, f := range p.Faults {
			a.printf("at %s/s: %s\n", rateOf(p.Rate), oneLine(f))
		}
		if late := p.Lag.P99; late > time.Millisecond && late > p.Latency.P99/2 {
			a.printf("at %s/s the load itself came late: 1 of 100 queries by %s or more\n", rateOf(p.Rate), took(late))
		}
	}
	a.printDispatched(r)
	if r.Highest != nil {
		bound := time.Duration(r.BoundMicros) * time.Microsecond
		if *r.Highest == 0 {
			a.printf("\n99 %% of queries within %s: at no rate that was tried\n", took(bound))
		} else {
			a.printf("\n99 %% of queries within %s: up to %s%s queries/s%s\n", took(bound), st.bold, rateOf(*r.Highest), st.reset)
		}
	}
	a.printVerdict(r)
}

// printDispatched prints what an index in this process did.
func (a *app) printDispatched(r *loadResult) {
	if d := r.Dispatch; d != nil && r.GPU != nil {
		a.printf("\npolicy %s: %s on the CPU, %s on GPUs, %s", d.Policy, plural(d.CPUSteps, "step"), count(d.GPUSteps), plural(d.Migrations, "migration"))
		if p := d.Pool; p != nil {
			gpu := &p.Places[sched.GPU]
			a.printf("; %s on GPUs, %s batches of several", plural(gpu.Jobs, "query"), count(gpu.Batches))
		}
		a.printf("\n")
	}
	if c := r.ResultCache; c != nil {
		a.printf("answers kept: %s in %s, %.1f %% of queries found theirs\n", count(c.Entries), sizeOf(c.SizeBytes), 100*c.HitRate)
	}
}

// remark says of a point what its numbers do not.
func remark(r *loadResult, p *load.Point) string {
	switch {
	case p.Cut:
		return "  fails (ended early)"
	case r.BoundMicros > 0 && p.Holds:
		return "  holds"
	case r.interrupted && p == &r.Points[len(r.Points)-1]:
		return ""
	case r.BoundMicros > 0:
		return "  fails"
	}
	return ""
}

// printVerdict prints what a soak found.
func (a *app) printVerdict(r *loadResult) {
	v := r.Verdict
	if v == nil {
		return
	}
	if len(v.Growth) == 0 {
		return
	}
	// In less time noise would be blown up to much in an hour.
	const forPace = 10 * time.Minute
	pace := r.Points[0].Took >= forPace
	a.printf("\n%-20s %12s %12s", "over "+took(r.Points[0].Took), "first", "last")
	if pace {
		a.printf(" %12s", "an hour")
	}
	a.printf("\n")
	for _, g := range v.Growth {
		amount := func(n int64) string { return count(n) }
		if g.Name != "goroutines" {
			amount = func(n int64) string {
				if n < 0 {
					return "-" + sizeOf(-n)
				}
				return sizeOf(n)
			}
		}
		grew := ""
		if g.Grew {
			grew = "  grows"
		}
		a.printf("%-20s %12s %12s", g.Name, amount(g.First), amount(g.Last))
		if pace {
			a.printf(" %12s", amount(g.PerHour))
		}
		a.printf("%s\n", grew)
	}
	if v.Passed {
		a.printf("passed: nothing grows, nothing failed\n")
	}
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// drawLoad writes the figure of a result: latency over the rate or, of a soak, what the
// process had in use over time.
func (a *app) drawLoad(path string, r *loadResult) error {
	f := loadFigure(r)
	if r.Verdict != nil {
		f = soakFigure(r.Samples)
	}
	if len(f.Series) == 0 {
		a.notef("there is nothing to draw in %s", path)
		return nil
	}
	svg, err := f.SVG()
	if err != nil {
		return err
	}
	if err := a.writeFile(path, func(w io.Writer) error {
		_, err := w.Write(svg)
		return err
	}); err != nil {
		return err
	}
	a.notef("→ %s", path)
	return nil
}

// loadFigure draws percentiles over the rate, of points that were measured to their end.
func loadFigure(r *loadResult) lab.Figure {
	f := lab.Figure{Title: "Latency under load", Kind: lab.Lines, X: "arrivals, queries/s", Y: "latency, ms", LogY: true}
	for _, line := range []struct {
		name string
		of   func(*load.Point) time.Duration
	}{
		{"p50", func(p *load.Point) time.Duration { return p.Latency.P50 }},
		{"p95", func(p *load.Point) time.Duration { return p.Latency.P95 }},
		{"p99", func(p *load.Point) time.Duration { return p.Latency.P99 }},
		{"p99.9", func(p *load.Point) time.Duration { return p.Latency.P999 }},
	} {
		s := lab.Series{Name: line.name}
		for _, p := range byRate(r.Points) {
			if v := line.of(p); v > 0 && !p.Cut {
				s.Points = append(s.Points, lab.Point{X: p.ArrivalRate, Y: milliseconds(v)})
			}
		}
		if len(s.Points) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	if n := len(f.Series); n > 0 && r.BoundMicros > 0 {
		bound := milliseconds(time.Duration(r.BoundMicros) * time.Microsecond)
		sorted := byRate(r.Points) // with those that were ended early: they are above the highest rate
		f.Series = append(f.Series, lab.Series{
			Name: "bound", Paper: true, Points: []lab.Point{{X: sorted[0].ArrivalRate, Y: bound}, {X: sorted[len(sorted)-1].ArrivalRate, Y: bound}},
		})
	}
	return f
}

// soakFigure draws what the process had in use, each in parts of its first sample.
func soakFigure(samples []load.Sample) lab.Figure {
	f := lab.Figure{Title: "A process under load", Kind: lab.Lines, X: "time, minutes", Y: "of what it had at first"}
	unit := time.Minute
	if n := len(samples); n > 0 && samples[n-1].At < 5*time.Minute {
		f.X, unit = "time, seconds", time.Second
	}
	for _, line := range []struct {
		name string
		of   func(*load.Sample) int64
	}{
		{"host memory", func(s *load.Sample) int64 { return s.HostBytes }},
		{"heap", func(s *load.Sample) int64 { return s.HeapBytes }},
		{"device memory", func(s *load.Sample) int64 { return s.DeviceBytes }},
		{"page-locked memory", func(s *load.Sample) int64 { return s.PinnedBytes }},
		{"goroutines", func(s *load.Sample) int64 { return s.Goroutines }},
	} {
		if len(samples) == 0 || line.of(&samples[0]) == 0 {
			continue
		}
		s := lab.Series{Name: line.name}
		for i := range samples {
			s.Points = append(s.Points, lab.Point{
				X: float64(samples[i].At) / float64(unit), Y: float64(line.of(&samples[i])) / float64(line.of(&samples[0])),
			})
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// byRate returns points by rising rate of their arrivals.
func byRate(points []load.Point) []*load.Point {
	sorted := make([]*load.Point, len(points))
	for i := range points {
		sorted[i] = &points[i]
	}
	slices.SortStableFunc(sorted, func(x, y *load.Point) int { return cmp.Compare(x.ArrivalRate, y.ArrivalRate) })
	return sorted
}
