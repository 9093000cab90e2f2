package lab

import (
	"errors"
	"fmt"
)

// Kind is the kind of a figure.
type Kind string

// The kinds of figures.
const (
	Lines Kind = "lines" // series of connected points
	Bars  Kind = "bars"  // groups of bars, one per category; Y of a point is the height
)

// Figure is a plot.
type Figure struct {
	Title string `json:"title"`
	Kind  Kind   `json:"kind"`
	// Labels of the axes, with units.
	X string `json:"x"`
	Y string `json:"y"`
	// Logarithmic axes, which require positive values.
	LogX bool `json:"log_x,omitempty"`
	LogY bool `json:"log_y,omitempty"`
	// Groups of bars; Points[i] of each series belongs to group i.
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series"`
}

// Series is one line, or the bars of one colour.
type Series struct {
	Name string `json:"name"`
	// The paper's numbers, drawn in grey.
	Paper  bool    `json:"paper,omitempty"`
	Points []Point `json:"points"`
}

// Point is a value.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Heights returns points for bars.
func Heights(values ...float64) []Point {
	points := make([]Point, len(values))
	for i, v := range values {
		points[i] = Point{X: float64(i), Y: v}
	}
	return points
}

// Check returns why the figure cannot be drawn.
func (f *Figure) Check() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("figure %q: %s", f.Title, fmt.Sprintf(format, args...)))
	}
	if f.Title == "" || f.X == "" || f.Y == "" {
		bad("wants a title and a label for each axis")
	}
	if f.Kind != Lines && f.Kind != Bars {
		bad("kind %q", f.Kind)
	}
	if len(f.Series) == 0 {
		bad("has no series")
	}
	for _, s := range f.Series {
		if s.Name == "" || len(s.Points) == 0 {
			bad("series %q has no name or no points", s.Name)
		}
		if f.Kind == Bars && len(s.Points) != len(f.Categories) {
			bad("series %q: %d bars for %d categories", s.Name, len(s.Points), len(f.Categories))
		}
		for _, p := range s.Points {
			if !finite(p.X) || !finite(p.Y) || f.LogX && p.X <= 0 || f.LogY && p.Y <= 0 {
				bad("series %q: point (%v, %v) cannot be drawn", s.Name, p.X, p.Y)
			}
		}
	}
	return errors.Join(errs...)
}
