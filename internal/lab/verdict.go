package lab

import (
	"cmp"
	"fmt"
	"math"
)

// Pair is a number of ours next to the paper's.
type Pair struct {
	Ours, Paper float64 // NaN: none
	Text        string  // of a cell that has a text instead of a number
	Absent      string  // why the cell is empty
}

// Value reads a Pair from a result. Numbers that the result lacks are NaN.
type Value func(*Result) Pair

// At is the cell in a row and a column of the table whose title is title.
func At(title, row, column string) Value {
	return func(r *Result) Pair {
		p := Pair{Ours: math.NaN(), Paper: math.NaN()}
		if c := r.cell(title, row, column); c != nil {
			p.Text, p.Absent = c.Text, c.Absent
			if c.Ours != nil {
				p.Ours = *c.Ours
			}
			if c.Paper != nil {
				p.Paper = *c.Paper
			}
		}
		return p
	}
}

// cell returns nil if there is no such cell.
func (r *Result) cell(title, row, column string) *Cell {
	for _, t := range r.Tables {
		if t.Title != title {
			continue
		}
		for i := range t.Rows {
			for j := range t.Columns {
				if t.Rows[i] == row && t.Columns[j] == column {
					return &t.Cells[i][j]
				}
			}
		}
	}
	return nil
}

// Over is v divided by w.
func (v Value) Over(w Value) Value {
	return func(r *Result) Pair {
		a, b := v(r), w(r)
		return Pair{Ours: a.Ours / b.Ours, Paper: a.Paper / b.Paper, Absent: cmp.Or(a.Absent, b.Absent)}
	}
}

// Or is v, or w if the result lacks a number and a text of v: for records of an
// earlier method.
func (v Value) Or(w Value) Value {
	return func(r *Result) Pair {
		if p := v(r); p.text() != "" || p.Absent != "" {
			return p
		}
		return w(r)
	}
}

// Stated sets the paper's number, which the cell lacks.
func (v Value) Stated(paper float64) Value {
	return func(r *Result) Pair {
		p := v(r)
		p.Paper = paper
		return p
	}
}

// text formats our number, or "" if there is none.
func (p *Pair) text() string {
	switch {
	case p.Text != "":
		return p.Text
	case !finite(p.Ours):
		return ""
	case math.Abs(p.Ours) >= 100, math.Abs(p.Ours) < 0.1, p.Ours == math.Trunc(p.Ours):
		return Number(p.Ours)
	}
	return Ratio(p.Ours)
}

// Claim is the meaning of a paper's number.
type Claim string

// A paper states a number, or a bound.
const (
	Equal Claim = ""
	Above Claim = "above "
	Below Claim = "below "
)

// Verdict compares one number of a paper with ours.
type Verdict struct {
	Compares string // such as "CPU to Griffin, mean"
	Value    Value
	Claim    Claim
	// Plain numbers, such as a percentage, have no direction; ratios of two times
	// or sizes have one: above or below 1.
	Plain bool
	Why   string // a line, without full stop: why the numbers agree or differ
}

// Outcomes of a verdict.
const (
	reproduced    = "yes"
	sameDirection = "direction"
	notReproduced = "no"
	noNumber      = "no number"
	notMeasured   = "not measured"
)

// closeTo is the largest factor between two numbers that agree.
const closeTo = 1.25

// outcome returns notMeasured if the pair has no number of ours, and noNumber
// if it has none of the paper.
func (v *Verdict) outcome(p Pair) string {
	switch {
	case p.Text != "":
		return notReproduced // a reason why there is no number
	case !finite(p.Ours):
		return notMeasured
	case !finite(p.Paper):
		return noNumber
	case v.Claim == Above && p.Ours > p.Paper, v.Claim == Below && p.Ours < p.Paper:
		return reproduced
	case !v.Plain && (p.Ours-1)*(p.Paper-1) < 0:
		return notReproduced
	case v.Claim == Equal && p.Ours <= p.Paper*closeTo && p.Ours >= p.Paper/closeTo:
		return reproduced
	case !v.Plain && p.Paper != 1:
		return sameDirection
	}
	return notReproduced
}

// Finding is a sentence of a page with numbers of the result.
type Finding struct {
	format string
	values []Value
	holds  []func(*Result) bool
}

// Say returns a Finding in Markdown, whose format has a %s for each value.
func Say(format string, values ...Value) Finding { return Finding{format: format, values: values} }

// If restricts f to results in which a number of ours is less than another.
func (f Finding) If(less, than Value) Finding {
	f.holds = append(f.holds[:len(f.holds):len(f.holds)], func(r *Result) bool { return less(r).Ours < than(r).Ours })
	return f
}

// Is is a constant, for Finding.If.
func Is(v float64) Value { return func(*Result) Pair { return Pair{Ours: v, Paper: math.NaN()} } }

// Text returns "" if the result lacks a number, or the finding does not hold.
func (f Finding) Text(r *Result) string {
	for _, holds := range f.holds {
		if !holds(r) {
			return ""
		}
	}
	texts := make([]any, len(f.values))
	for i, v := range f.values {
		p := v(r)
		text := p.text()
		if text == "" {
			return ""
		}
		texts[i] = text
	}
	return fmt.Sprintf(f.format, texts...)
}
