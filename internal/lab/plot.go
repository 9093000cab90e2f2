package lab

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Distinguishable by colour-blind readers (Okabe and Ito).
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

var (
	paperColor = color.NRGBA{0x9a, 0x9a, 0x9a, 0xff}
	gridColor  = color.NRGBA{0xd9, 0xde, 0xe4, 0xff}
	inkColor   = color.NRGBA{0x24, 0x29, 0x2f, 0xff}
)

const (
	figureWidth  = 18 * vg.Centimeter
	figureHeight = 10.5 * vg.Centimeter
	figureMargin = 10
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

// SVG draws the figure, reproducibly.
func (f *Figure) SVG() ([]byte, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	p := f.frame()
	if f.Kind == Bars {
		f.addBars(p)
	} else if err := f.addLines(p); err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	c := vgsvg.NewWith(vgsvg.UseWH(figureWidth, figureHeight))
	whole := draw.New(c)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	inner := draw.Crop(whole, figureMargin, -figureMargin, figureMargin, -figureMargin)
	p.Draw(draw.Crop(inner, 0, 0, 0, -f.drawHead(inner)))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	// Few readers have Liberation Sans.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Helvetica,Arial,'Liberation Sans',sans-serif")), nil
}

// The SVG contains only the name of the typeface; the widths are correct for
// Liberation Sans, Arial and Helvetica.
func sans(size vg.Length) text.Style {
	return text.Style{
		Color: inkColor, Handler: plot.DefaultTextHandler,
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
	}
}

// drawHead writes the title and the legend, and returns their height.
func (f *Figure) drawHead(c draw.Canvas) vg.Length {
	const rowHeight, swatch, gap = 15, 20, 16
	title, label := sans(14), sans(10.5)
	title.YAlign, label.YAlign = text.YTop, text.YCenter
	top := c.Max.Y
	c.FillText(title, vg.Point{X: c.Min.X, Y: top}, f.Title)
	x, y := c.Min.X, top-30
	for i, s := range f.Series {
		width := swatch + 5 + label.Width(s.Name)*1.05 + gap
		if x+width > c.Max.X+gap && x > c.Min.X {
			x, y = c.Min.X, y-rowHeight
		}
		f.drawSwatch(c, i, vg.Rectangle{Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + swatch, Y: y + 4}})
		c.FillText(label, vg.Point{X: x + swatch + 5, Y: y}, s.Name)
		x += width
	}
	return top - y + rowHeight
}

func (f *Figure) drawSwatch(c draw.Canvas, i int, at vg.Rectangle) {
	if f.Kind == Bars {
		c.FillPolygon(f.color(i), []vg.Point{at.Min, {X: at.Max.X, Y: at.Min.Y}, at.Max, {X: at.Min.X, Y: at.Max.Y}})
		return
	}
	line, mark := f.lineStyles(i)
	middle := (at.Min.Y + at.Max.Y) / 2
	c.StrokeLine2(line, at.Min.X, middle, at.Max.X, middle)
	if f.marked(i) {
		c.DrawGlyph(mark, vg.Point{X: (at.Min.X + at.Max.X) / 2, Y: middle})
	}
}

func (f *Figure) lineStyles(i int) (draw.LineStyle, draw.GlyphStyle) {
	line := draw.LineStyle{Color: f.color(i), Width: 1.8}
	if f.Series[i].Paper {
		line.Dashes = []vg.Length{5, 3}
	}
	return line, draw.GlyphStyle{Color: f.color(i), Radius: 2.8, Shape: glyphs[i%len(glyphs)]}
}

// marked: long series are drawn as lines only.
func (f *Figure) marked(i int) bool { return len(f.Series[i].Points) <= 60 }

func (f *Figure) frame() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	for _, a := range []struct {
		axis  *plot.Axis
		label string
		log   bool
	}{{&p.X, f.X, f.LogX}, {&p.Y, f.Y, f.LogY}} {
		a.axis.Label.Text = a.label
		setFont(&a.axis.Label.TextStyle, 11)
		setFont(&a.axis.Tick.Label, 10)
		a.axis.Label.Padding = 4
		a.axis.LineStyle.Color = inkColor
		a.axis.Tick.LineStyle.Color = inkColor
		a.axis.Tick.Marker = ticks{log: a.log}
		if a.log {
			a.axis.Scale = plot.LogScale{}
		}
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColor, gridColor
	if f.Kind == Bars {
		grid.Vertical.Width = 0
	}
	p.Add(grid)
	return p
}

// setFont keeps the alignment.
func setFont(s *text.Style, size vg.Length) {
	s.Font, s.Color = sans(size).Font, inkColor
}

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
		line.LineStyle, marks.GlyphStyle = f.lineStyles(i)
		p.Add(line)
		if f.marked(i) {
			p.Add(marks)
		}
	}
	if !f.LogY && p.Y.Min > 0 {
		p.Y.Min = 0
	}
	return nil
}

func (f *Figure) addBars(p *plot.Plot) {
	n := len(f.Series)
	groups := float64(len(f.Categories))
	// The bars of a group take two thirds of its width.
	width := vg.Length(float64(figureWidth) * 0.6 / groups / float64(n))
	low := math.Inf(1)
	for i, s := range f.Series {
		offset := width * vg.Length(float64(i)-float64(n)/2)
		p.Add(&bars{points: s.Points, color: f.color(i), left: offset, right: offset + width})
		for _, q := range s.Points {
			low = min(low, q.Y)
		}
	}
	// Axis and margins leave four fifths of the width, and browsers draw wider
	// letters.
	names := make([]string, len(f.Categories))
	for i, name := range f.Categories {
		names[i] = wrapped(&p.X.Tick.Label, name, figureWidth*0.6/vg.Length(groups))
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.55, groups-0.45
	p.Y.Max *= 1.04
	if f.LogY {
		p.Y.Min = math.Pow(10, math.Floor(math.Log10(low)))
	} else {
		p.Y.Min = min(0, low)
	}
}

// wrapped breaks a text between words into lines of at most width, if possible.
func wrapped(style *text.Style, name string, width vg.Length) string {
	line, lines := "", ""
	for _, word := range strings.Fields(name) {
		switch longer := line + " " + word; {
		case line == "":
			line = word
		case style.Width(longer) <= width:
			line = longer
		default:
			lines, line = lines+line+"\n", word
		}
	}
	return lines + line
}

// Gonum's bars do not support a logarithmic axis.
type bars struct {
	points      []Point
	color       color.Color
	left, right vg.Length // relative to the middle of the group
}

func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	ymin, ymax = math.Inf(1), math.Inf(-1)
	for _, q := range b.points {
		ymin, ymax = min(ymin, q.Y), max(ymax, q.Y)
	}
	return 0, float64(len(b.points) - 1), ymin, ymax
}

func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	bottom := y(max(p.Y.Min, 0))
	for i, q := range b.points {
		left, right, top := x(float64(i))+b.left, x(float64(i))+b.right, y(q.Y)
		c.FillPolygon(b.color, []vg.Point{{X: left, Y: bottom}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}})
	}
}

// ticks marks an axis with short numbers (10 K, 2.5 M): powers of ten on a
// logarithmic axis, round numbers on others and if there are fewer than two
// powers.
type ticks struct{ log bool }

func (t ticks) Ticks(low, high float64) []plot.Tick {
	if !t.log {
		return evenTicks(low, high)
	}
	var marks []plot.Tick
	labels := 0
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
				labels++
			}
			marks = append(marks, plot.Tick{Value: v, Label: label})
		}
	}
	if labels < 2 { // too few to show the scale
		return evenTicks(low, high)
	}
	return marks
}

// evenTicks marks at most nine multiples of 1, 2 or 5 times a power of ten.
func evenTicks(low, high float64) []plot.Tick {
	const most = 8.0
	if !(high > low) {
		return []plot.Tick{{Value: low, Label: short(low)}}
	}
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/most)))
	step := unit
	for _, m := range []float64{2, 5, 10} {
		if (high-low)/step > most {
			step = m * unit
		}
	}
	var marks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		v := i*step + 0 // not -0
		marks = append(marks, plot.Tick{Value: v, Label: short(v)})
	}
	return marks
}

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
