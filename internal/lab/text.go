package lab

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text formats a table for a terminal, the paper's numbers in parentheses.
func (t *Table) Text() string {
	grid := [][]string{append([]string{t.RowHead}, t.Columns...)}
	var reasons []string
	for i, row := range t.Cells {
		line := []string{t.Rows[i]}
		for _, c := range row {
			line = append(line, c.text(&reasons))
		}
		grid = append(grid, line)
	}
	widths := make([]int, len(grid[0]))
	for _, line := range grid {
		for j, s := range line {
			widths[j] = max(widths[j], utf8.RuneCountInString(s))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "  %s\n", t.Title)
	}
	for _, line := range grid {
		b.WriteString(" ")
		for j, s := range line {
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(s))
			if j == 0 {
				fmt.Fprintf(&b, " %s%s", s, pad)
			} else {
				fmt.Fprintf(&b, "  %s%s", pad, s)
			}
		}
		b.WriteString("\n")
	}
	for i, r := range reasons {
		fmt.Fprintf(&b, "  [%d] %s\n", i+1, r)
	}
	return b.String()
}

func (c *Cell) text(reasons *[]string) string {
	own := c.Text
	switch {
	case c.Ours != nil:
		own = Number(*c.Ours)
	case c.Absent != "":
		own = fmt.Sprintf("- [%d]", reasonIndex(reasons, c.Absent)+1)
	}
	if c.Paper != nil {
		own += " (" + Number(*c.Paper) + ")"
	}
	return own
}

// reasonIndex appends a new reason.
func reasonIndex(reasons *[]string, reason string) int {
	for i, r := range *reasons {
		if r == reason {
			return i
		}
	}
	*reasons = append(*reasons, reason)
	return len(*reasons) - 1
}
