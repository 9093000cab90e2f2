//go:build !nolab

package main

import (
	"testing"

	"github.com/griffin-search/griffin/internal/load"
)

// Points are at the actual arrival rates.
func TestDrawnRates(t *testing.T) {
	r := &loadResult{Points: []load.Point{{Rate: 100, ArrivalRate: 90}, {Rate: 200, ArrivalRate: 180}}, BoundMicros: 1000}
	for i := range r.Points {
		r.Points[i].Latency.P50 = 1000
	}
	for _, s := range loadFigure(r).Series {
		if n := len(s.Points); n != 2 || s.Points[0].X != 90 || s.Points[1].X != 180 {
			t.Errorf("%s: %+v", s.Name, s.Points)
		}
	}
}
