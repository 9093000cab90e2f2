//go:build !nolab

package main

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/load"
)

func checkFigure(string) error { return nil }

// drawLoad draws latency over rate or, for a soak test, resource use over time.
func drawLoad(con *console, path string, r *loadResult) error {
	f := loadFigure(r)
	if r.Verdict != nil {
		f = soakFigure(r.Samples)
	}
	if len(f.Series) == 0 {
		con.notef("there is nothing to draw in %s", path)
		return nil
	}
	svg, err := f.SVG()
	if err != nil {
		return err
	}
	if err := con.writeFile(path, func(w io.Writer) error {
		_, err := w.Write(svg)
		return err
	}); err != nil {
		return err
	}
	con.notef("→ %s", path)
	return nil
}

// loadFigure has only points that were measured completely.
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
		sorted := byRate(r.Points) // including points that ended early, which are above the highest rate
		f.Series = append(f.Series, lab.Series{
			Name: "bound", Paper: true, Points: []lab.Point{{X: sorted[0].ArrivalRate, Y: bound}, {X: sorted[len(sorted)-1].ArrivalRate, Y: bound}},
		})
	}
	return f
}

// soakFigure is relative to the first sample.
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

func byRate(points []load.Point) []*load.Point {
	sorted := make([]*load.Point, len(points))
	for i := range points {
		sorted[i] = &points[i]
	}
	slices.SortStableFunc(sorted, func(x, y *load.Point) int { return cmp.Compare(x.ArrivalRate, y.ArrivalRate) })
	return sorted
}
