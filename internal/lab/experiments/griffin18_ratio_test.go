package experiments

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/plan"
)

// The steps of a query that migrates after its first intersection.
func TestSumSteps(t *testing.T) {
	const us = time.Microsecond
	trace := &plan.Trace{Migrations: 1, Steps: []plan.Step{
		{Name: "transfer", Processor: "gpu0", Took: 10 * us, BusBytes: 8000},
		{Name: plan.StepIntersect, Processor: "gpu0", Took: 5 * us, Candidates: 100, Left: 4},
		{Name: "transfer", Processor: "gpu0", Took: 2 * us, BusBytes: 2000},
		{Name: plan.StepIntersect, Processor: plan.CPUName, Took: 40 * us, Candidates: 4, Left: 1},
		{Name: "rank", Processor: plan.CPUName, Took: 3 * us},
	}}
	s := sumSteps(trace, []int{100, 300, 2000})
	if s.cpu != 43 || s.gpu != 17 || s.bytes != 10_000 || s.intersect != 57 || !s.migrated {
		t.Errorf("%+v", s)
	}
	if want := []pairwise{{100, 300, 100}, {4, 2000, 100}}; !slices.Equal(s.intersections, want) {
		t.Errorf("intersections %v, want %v", s.intersections, want)
	}
	if g := ratioClass(s.intersections[1].ratio()); fig8Groups[g] != 256 {
		t.Errorf("a ratio of 500 is in class %d", g)
	}
	// At 10 GB/s, 1 of the 17 µs is for the bytes.
	for name, c := range map[string]struct {
		machine machine
		want    float64
	}{
		"as measured":      {machine{"", 1, 1, 10}, 60},
		"a tenth of a bus": {machine{"", 1, 1, 1}, 69},
		"half a CPU":       {machine{"", 2, 1, 10}, 103},
		"half a GPU":       {machine{"", 1, 2, 10}, 76},
	} {
		if got := estimate([]spent{s}, c.machine, 10)[0]; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g µs, want %g", name, got, c.want)
		}
	}
}

func TestRatioShares(t *testing.T) {
	table, _ := ratioShares([]spent{
		{intersections: []pairwise{{10, 10, 10}, {1, 127, 10}}},
		{intersections: []pairwise{{10, 1280, 10}, {1, 1 << 20, 10}}},
	})
	last := len(table.Rows) - 1
	for column, want := range []float64{50, 50, 50, 50} {
		if got := *table.Cells[last][column].Ours; got != want {
			t.Errorf("%s below 128: %g %%, want %g", table.Columns[column], got, want)
		}
	}
	if got := *table.Cells[last-1][2].Ours; got != 50 {
		t.Errorf("later ones from 1024 on: %g %%, want 50", got)
	}
}

// The sweep fills all cells on a device, and no answer differs.
func TestGriffin18RatioOnDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("the emulator takes its time: run without -short")
	}
	t.Setenv(cuda.LibraryVariable, gputest.Library(t).Path())
	env := lab.NewEnv(lab.Config{Work: t.TempDir(), Seed: 1, Quick: true, Device: "gpu", Command: "test"})
	t.Cleanup(env.Close)
	r, err := env.Run(t.Context(), griffin18Ratio())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range r.Result.Tables {
		for i, row := range table.Cells {
			for j, c := range row {
				if c.Absent != "" && c.Absent != "The log has no such queries." {
					t.Errorf("table %q: row %q, column %q: %s", table.Title, table.Rows[i], table.Columns[j], c.Absent)
				}
			}
		}
	}
}
