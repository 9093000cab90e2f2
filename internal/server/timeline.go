package server

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/timeline"
)

// In SVG units, which are pixels if there is room.
const (
	chartWidth  = 720
	chartTop    = 24 // of the first row
	chartRow    = 20
	chartLabels = 52  // start of labels, after the names of lanes
	chartFrom   = 140 // start of the time axis
	chartTo     = 610 // end of the time axis, or less if times need the room
	chartGap    = 8   // between the axis and the times
	chartGlyph  = 7   // width of a character of the times
	leastBar    = 1.5 // minimum width of a visible bar
)

// What page.qtpl draws.
type timelineSVG struct {
	Width, Height, Top, From, To, Labels, Times int
	End                                         string // of the axis
	Middle                                      string
	MiddleAt                                    int
	Rows                                        []timelineRow
	Description                                 string // all rows, as sentences
}

type timelineRow struct {
	Y           int // its upper edge
	Text        int // the base line of its text
	Bar, Thin   int // the upper edges of its bars
	Lane, Label string
	Kind        timeline.Kind
	Within      bool
	X, Width    float64
	Took        string
	Predicted   float64 // the width of the thin bar; 0: none
	Description string
}

// newTimeline returns nil if there is nothing to draw.
func newTimeline(t *griffin.Trace) *timelineSVG {
	c := timeline.Of(t)
	if c == nil {
		return nil
	}
	const bar, thin, text = 4, 15, 13 // down from the upper edge of a row
	end := chartEnd(c)
	s := &timelineSVG{
		Width: chartWidth, Top: chartTop, From: chartFrom, To: end, Labels: chartLabels, Times: end + chartGap,
		End: timeline.Time(c.End), Middle: timeline.Time(c.End / 2), MiddleAt: (chartFrom + end) / 2,
	}
	scale := func(d time.Duration) float64 { return float64(end-chartFrom) * float64(d) / float64(c.End) }
	y := chartTop
	var sentences []string
	for i := range c.Lanes {
		lane := &c.Lanes[i]
		name := lane.Name
		for j := range lane.Bars {
			b := &lane.Bars[j]
			r := timelineRow{
				Y: y, Text: y + text, Bar: y + bar, Thin: y + thin, Lane: name, Label: b.Label, Kind: lane.Kind, Within: b.Within,
				X: min(chartFrom+scale(b.Start), float64(end)-leastBar), Width: max(scale(b.Took), leastBar),
				Took: barTimes(b), Description: b.Describe(lane),
			}
			if b.Predicted > 0 {
				r.Predicted = max(scale(b.Predicted), leastBar)
			}
			s.Rows = append(s.Rows, r)
			sentences = append(sentences, r.Description)
			name = ""
			y += chartRow
		}
	}
	s.Height = y + chartRow/4
	s.Description = strings.Join(sentences, "; ") + "."
	return s
}

// The measured and the predicted time, beside a bar.
func barTimes(b *timeline.Bar) string {
	took := timeline.Time(b.Took)
	if b.Within {
		took = "within"
	}
	if b.Predicted > 0 {
		took += " (" + timeline.Time(b.Predicted) + ")"
	}
	return took
}

// chartEnd leaves room for the times beside the axis.
func chartEnd(c *timeline.Chart) int {
	longest := 0
	for i := range c.Lanes {
		for j := range c.Lanes[i].Bars {
			longest = max(longest, utf8.RuneCountInString(barTimes(&c.Lanes[i].Bars[j])))
		}
	}
	return min(chartTo, chartWidth-chartGap-chartGlyph*longest)
}
