package lab

import (
	"errors"
	"fmt"
	"math"
)

// Table is a grid of our numbers and the paper's.
type Table struct {
	Title   string   `json:"title"`
	RowHead string   `json:"row_head"` // heading of the row names
	Rows    []string `json:"rows"`
	Columns []string `json:"columns"` // with the unit, if any: "AND, ms"
	Cells   [][]Cell `json:"cells"`   // by row, then column
}

// Cell is one number: exactly one of Ours, Text and Absent is set.
type Cell struct {
	Ours  *float64 `json:"ours,omitempty"`
	Text  string   `json:"text,omitempty"`
	Paper *float64 `json:"paper,omitempty"` // nil: the paper has no number here
	// Reason for a missing number of ours.
	Absent string `json:"absent,omitempty"`
}

// NewTable returns a table whose cells must all be filled or omitted.
func NewTable(title, rowHead string, rows, columns []string) *Table {
	t := &Table{Title: title, RowHead: rowHead, Rows: rows, Columns: columns, Cells: make([][]Cell, len(rows))}
	for i := range t.Cells {
		t.Cells[i] = make([]Cell, len(columns))
	}
	return t
}

// Set sets our number in a cell.
func (t *Table) Set(row, column int, ours float64) { t.Cells[row][column].Ours = &ours }

// SetText sets a text in a cell.
func (t *Table) SetText(row, column int, text string) { t.Cells[row][column].Text = text }

// SetPaper sets the paper's number in a cell.
func (t *Table) SetPaper(row, column int, paper float64) { t.Cells[row][column].Paper = &paper }

// SetPapers sets the paper's numbers in a row, from the first column on; NaN:
// none.
func (t *Table) SetPapers(row int, papers ...float64) {
	for i, p := range papers {
		if !math.IsNaN(p) {
			t.SetPaper(row, i, p)
		}
	}
}

// Leave omits a cell.
func (t *Table) Leave(row, column int, reason string) { t.Cells[row][column].Absent = reason }

// LeaveColumn omits a column.
func (t *Table) LeaveColumn(column int, reason string) {
	for row := range t.Rows {
		t.Leave(row, column, reason)
	}
}

// LeaveRow omits a row.
func (t *Table) LeaveRow(row int, reason string) {
	for column := range t.Columns {
		t.Leave(row, column, reason)
	}
}

// Check reports cells without a finite number.
func (t *Table) Check() error {
	var errs []error
	for i, row := range t.Cells {
		for j, c := range row {
			where := fmt.Sprintf("table %q: row %q, column %q", t.Title, t.Rows[i], t.Columns[j])
			set := 0
			for _, is := range []bool{c.Ours != nil, c.Text != "", c.Absent != ""} {
				if is {
					set++
				}
			}
			switch {
			case set != 1:
				errs = append(errs, fmt.Errorf("%s: has %d of number, text and reason for absence, want one", where, set))
			case c.Ours != nil && !finite(*c.Ours):
				errs = append(errs, fmt.Errorf("%s: %v is not a number", where, *c.Ours))
			}
		}
	}
	if len(t.Rows) == 0 || len(t.Columns) == 0 {
		errs = append(errs, fmt.Errorf("table %q has no cells", t.Title))
	}
	return errors.Join(errs...)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
