package experiments

import (
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

// Each row has more multiprocessors than the one before, the last one all.
func TestMultiprocessorsOf(t *testing.T) {
	for _, all := range []int{120, 132, 144, 188} {
		before := 0
		for row := range ao11Steps {
			n := multiprocessorsOf(row, all)
			if n <= before {
				t.Errorf("of %d, row %d has %d, the one before %d", all, row, n, before)
			}
			before = n
		}
		if before != all {
			t.Errorf("the last row has %d of %d", before, all)
		}
	}
}

// Times in inverse proportion to the multiprocessors have an efficiency of 1.
func TestFillFig9a(t *testing.T) {
	var counts []int
	for row := range ao11Steps {
		counts = append(counts, multiprocessorsOf(row, 132))
	}
	times := make([][]time.Duration, len(ao11Scaled))
	for i := range times {
		for row := range ao11Steps {
			times[i] = append(times[i], time.Duration(1_000_000_000/counts[row]))
		}
	}
	rows := make([]string, ao11Steps)
	table := lab.NewTable("", "", rows, make([]string, 7))
	figure := fillFig9a(table, counts, times)
	if err := table.Check(); err != nil {
		t.Error(err)
	}
	if err := figure.Check(); err != nil {
		t.Error(err)
	}
	for row, cells := range table.Cells {
		for _, column := range []int{2, 5} {
			if e := *cells[column].Ours; e < 0.999 || e > 1.001 {
				t.Errorf("row %d, column %d: efficiency %v", row, column, e)
			}
		}
	}
}
