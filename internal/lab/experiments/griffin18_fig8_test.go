package experiments

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/regret"
)

// A pair that the CPU answers instead of the GPU is omitted and named; the
// others count.
func TestFig8LeavesOutWhatFellBack(t *testing.T) {
	m := &regret.Measured{Rounds: 1, Names: fig8Variants}
	for i := range 3 {
		q := regret.Measurement{ID: fmt.Sprint("pair", i), Ran: [][]regret.Places{{{CPU: true}}, {{CPU: true}}, {{GPU: true}}, {{GPU: i != 1, CPU: i == 1}}}}
		for v := range fig8Variants {
			q.Took = append(q.Took, []time.Duration{time.Duration(100*i+v) * time.Microsecond})
		}
		m.Queries = append(m.Queries, q)
	}
	f := &fig8{columns: 4}
	us, counted := f.means(m)
	if !slices.Equal(us, []float64{100, 101, 102, 103}) || !slices.Equal(counted, []int{0, 2}) || !slices.Equal(f.fell, []string{"pair1 (GPU, images)"}) {
		t.Errorf("%v of %v, without %q", us, counted, f.fell)
	}
	m.Queries = m.Queries[1:2]
	if us, counted = f.means(m); us != nil || counted != nil {
		t.Errorf("%v of %v: none counts", us, counted)
	}
	// A group in which none counts, and one without pairs.
	groups := make([][]lab.Query, len(fig8Groups)-1)
	groups[0] = make([]lab.Query, 1)
	f.us, f.bus, f.pairs = make([][]float64, len(groups)), make([]float64, len(groups)), make([]int, len(groups))
	f.us[1] = []float64{1, 2, 3, 4}
	r := f.result(groups, "no device")
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if c := r.Tables[0].Cells; c[0][1].Absent == c[2][1].Absent || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "pair1") {
		t.Errorf("%+v, notes %q", c, r.Notes)
	}
}

func TestCrossing(t *testing.T) {
	for _, c := range []struct {
		name string
		us   [][]float64
		want int
	}{
		{"at 128", [][]float64{{9, 1}, {8, 1}, {7, 1}, {6, 1}, {1, 2}, {1, 2}, {1, 2}}, 128},
		{"always", [][]float64{{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}, {1, 2}}, 1},
		{"never", [][]float64{{2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}}, 0},
		{"a group without pairs", [][]float64{{2, 1}, nil, {2, 1}, {2, 1}, {2, 1}, {1, 2}, nil}, 256},
		{"not once for all", [][]float64{{1, 2}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 1}, {1, 2}}, 512},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := crossing(c.us, 0, 1); got != c.want {
				t.Errorf("%s: %d, want %d", c.name, got, c.want)
			}
		})
	}
}
