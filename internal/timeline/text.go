package timeline

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Style configures Text.
type Style struct {
	// Width is the number of columns, at least 40.
	Width int
	// Plain uses only ASCII characters.
	Plain bool
	// Color returns the escape sequence for a kind, Reset the one that ends it; nil and "": no
	// colour.
	Color func(Kind) string
	Reset string
}

type glyphs struct{ measured, within, predicted, from, to, line rune }

var (
	blocks = glyphs{'█', '░', '─', '├', '┤', '─'}
	ascii  = glyphs{'#', ':', '-', '|', '|', '-'}
)

const leastWidth = 40

// Text draws the chart in lines that end with a newline: for each step a full bar for its
// measured time, and below it a thin one for any prediction.
func (c *Chart) Text(s Style) string {
	g := blocks
	if s.Plain {
		g = ascii
	}
	d := drawing{chart: c, style: s, glyphs: g, name: 4, label: utf8.RuneCountInString("predicted")}
	for _, l := range c.Lanes {
		d.name = max(d.name, utf8.RuneCountInString(l.Name))
		for _, b := range l.Bars {
			d.label = max(d.label, utf8.RuneCountInString(b.Label))
		}
	}
	const gaps, times, fewest = 3, 8, 8 // blanks between columns, the width of a time, the minimum width of bars
	d.bars = max(max(s.Width, leastWidth)-d.name-d.label-times-gaps, fewest)
	d.line("time", "", string(g.from)+strings.Repeat(string(g.line), d.bars-2)+string(g.to), Time(c.End), "")
	for i := range c.Lanes {
		l := &c.Lanes[i]
		name := l.Name
		for j := range l.Bars {
			d.bar(name, l.Kind, &l.Bars[j])
			name = ""
		}
	}
	return d.String()
}

type drawing struct {
	strings.Builder
	chart             *Chart
	style             Style
	glyphs            glyphs
	name, label, bars int
}

func (d *drawing) bar(name string, kind Kind, b *Bar) {
	color := ""
	if d.style.Color != nil {
		color = d.style.Color(kind)
	}
	glyph, took := d.glyphs.measured, Time(b.Took)
	if b.Within {
		glyph, took = d.glyphs.within, "within"
	}
	d.line(name, b.Label, d.span(b.Start, b.Took, glyph), took, color)
	if b.Predicted > 0 {
		d.line("", "predicted", d.span(b.Start, b.Predicted, d.glyphs.predicted), Time(b.Predicted), color)
	}
}

// span draws at least one column.
func (d *drawing) span(start, took time.Duration, glyph rune) string {
	from := int(float64(d.bars) * float64(start) / float64(d.chart.End))
	to := int(float64(d.bars)*float64(start+took)/float64(d.chart.End) + 0.5)
	from = min(from, d.bars-1)
	to = min(max(to, from+1), d.bars)
	return strings.Repeat(" ", from) + strings.Repeat(string(glyph), to-from) + strings.Repeat(" ", d.bars-to)
}

func (d *drawing) line(name, label, bar, took, color string) {
	reset := ""
	if color != "" {
		reset = d.style.Reset
	}
	fmt.Fprintf(d, "%s %s %s%s%s %s\n", pad(name, d.name), pad(label, d.label), color, bar, reset, took)
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}
