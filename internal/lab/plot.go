package lab

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours of series, told apart by the colour-blind too (Okabe and Ito).
var palette = []color.Color{
	color.NRGBA{0x00, 0x72, 0xb2, 0xff}, // blue
	color.NRGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	color.NRGBA{0x00, 0x9e, 0x73, 0xff}, // green
	color.NRGBA{0xcc, 0x79, 0xa7, 0xff}, // purple
	color.NRGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
	color.NRGBA{0x56, 0xb4, 0xe9, 0xff}, // sky
	color.NRGBA{0x33, 0x33, 0x33, 0xff}, // black
	color.NRGBA{0x8c, 0x6d, 0x31, 0xff}, // brown
}

// Colours of the rest.
var (
	paperColor = color.NRGBA{0x9a, 0x9a, 0x9a, 0xff}
	gridColor  = color.NRGBA{0xe4, 0xe7, 0xeb, 0xff}
	inkColor   = color.NRGBA{0x24, 0x29, 0x2f, 0xff}
)

// Size of a figure.
const (
	figureWidth  = 18 * vg.Centimeter
	figureHeight = 10.5 * vg.Centimeter
)

var glyphs = []draw.GlyphDrawer{
	draw.CircleGlyph{},
	draw.SquareGlyph{},
	draw.TriangleGlyph{},
	draw.PyramidGlyph{},
	draw.CrossGlyph{},
	draw.RingGlyph{},
	draw.BoxGlyph{},
	draw.PlusGlyph{},
}

// SVG draws the figure. The bytes depend on the figure alone.
func (f *Figure) SVG() ([]byte, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	p := f.frame()
	var err error
	if f.Kind == Bars {
		err = f.addBars(p)
	} else {
		err = f.addLines(p)
	}
	if err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	// Over the drawing, some room for the legend.
	c := vgsvg.NewWith(vgsvg.UseWH(figureWidth, figureHeight))
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	// Liberation Sans is rarely there where the file is looked at.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Helvetica,Arial,'Liberation Sans',sans-serif")), nil
}

// frame returns a plot with title, axes and grid.
func (f *Figure) frame() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	style := func(s *text.Style, size vg.Length) {
		s.Font = sans
		s.Font.Size = size
		s.Color = inkColor
	}
	style(&p.Title.TextStyle, 13)
	p.Title.Text = f.Title
	p.Title.Padding = 10
	for _, a := range []struct {
		axis  *plot.Axis
		label string
		log   bool
	}{{&p.X, f.X, f.LogX}, {&p.Y, f.Y, f.LogY}} {
		a.axis.Label.Text = a.label
		style(&a.axis.Label.TextStyle, 11)
		style(&a.axis.Tick.Label, 10)
		a.axis.Label.Padding = 4
		a.axis.LineStyle.Color = inkColor
		a.axis.Tick.LineStyle.Color = inkColor
		a.axis.Tick.Marker = ticks{log: a.log}
		if a.log {
			a.axis.Scale = plot.LogScale{}
		}
	}
	style(&p.Legend.TextStyle, 10)
	p.Legend.Top = true
	p.Legend.Padding = 2
	p.Legend.ThumbnailWidth = 18
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColor, gridColor
	if f.Kind == Bars {
		grid.Vertical.Width = 0
	}
	p.Add(grid)
	return p
}

// color returns the colour of series i; those of the paper are grey.
func (f *Figure) color(i int) color.Color {
	if f.Series[i].Paper {
		return paperColor
	}
	own := 0
	for _, s := range f.Series[:i] {
		if !s.Paper {
			own++
		}
	}
	return palette[own%len(palette)]
}

func (f *Figure) addLines(p *plot.Plot) error {
	for i, s := range f.Series {
		points := make(plotter.XYs, len(s.Points))
		for j, q := range s.Points {
			points[j].X, points[j].Y = q.X, q.Y
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = f.color(i), 1.8
		marks.Color, marks.Radius, marks.Shape = f.color(i), 2.8, glyphs[i%len(glyphs)]
		if s.Paper {
			line.Dashes = []vg.Length{5, 3}
		}
		if len(s.Points) > 60 { // a curve
			p.Add(line)
			p.Legend.Add(s.Name, line)
			continue
		}
		p.Add(line, marks)
		p.Legend.Add(s.Name, line, marks)
	}
	f.makeRoom(p)
	return nil
}

// makeRoom leaves space above the data for the legend.
func (f *Figure) makeRoom(p *plot.Plot) {
	room := min(0.06*float64(len(f.Series))+0.04, 0.5)
	if f.LogY {
		p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, room)
		return
	}
	if p.Y.Min > 0 {
		p.Y.Min = 0
	}
	p.Y.Max += (p.Y.Max - p.Y.Min) * room
}

func (f *Figure) addBars(p *plot.Plot) error {
	n := len(f.Series)
	groups := float64(max(1, len(f.Categories)))
	// Bars of a group take three quarters of its share of the width.
	width := vg.Length(float64(figureWidth) * 0.62 / groups / float64(n))
	for i, s := range f.Series {
		values := make(plotter.Values, len(s.Points))
		for j, q := range s.Points {
			values[j] = q.Y
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Color = f.color(i)
		bars.LineStyle.Width = 0
		bars.Offset = width * vg.Length(float64(i)-float64(n-1)/2)
		p.Add(bars)
		p.Legend.Add(s.Name, bars)
	}
	p.NominalX(f.Categories...)
	if f.LogY {
		low := math.Inf(1)
		for _, s := range f.Series {
			for _, q := range s.Points {
				low = min(low, q.Y)
			}
		}
		p.Y.Min = math.Pow(10, math.Floor(math.Log10(low)))
	}
	f.makeRoom(p)
	return nil
}

// ticks marks an axis: powers of ten on a logarithmic one, round numbers on a
// linear one, written short (10 K, 2.5 M).
type ticks struct{ log bool }

// Ticks implements plot.Ticker.
func (t ticks) Ticks(low, high float64) []plot.Tick {
	if !t.log {
		marks := plot.DefaultTicks{}.Ticks(low, high)
		for i := range marks {
			if marks[i].Label != "" {
				marks[i].Label = short(marks[i].Value)
			}
		}
		return marks
	}
	var marks []plot.Tick
	narrow := high/low < 100
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			label := ""
			if m == 1 || narrow && (m == 2 || m == 5) {
				label = short(v)
			}
			marks = append(marks, plot.Tick{Value: v, Label: label})
		}
	}
	return marks
}

// short writes a number as an axis does.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e4, " K"}} {
		if math.Abs(v) >= unit.size {
			if unit.size == 1e4 {
				return strconv.FormatFloat(v/1e3, 'g', 4, 64) + unit.name
			}
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
