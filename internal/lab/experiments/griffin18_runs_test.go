package experiments

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/regret"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// Measurements made before a timeout are not repeated, and a failure does not
// affect the others.
func TestGriffin18RunsAreKept(t *testing.T) {
	if !sampletest.All() {
		t.Skip("ten seconds on the emulator: make test-all runs it, or " + sampletest.AllVariable + "=1")
	}
	t.Setenv(cuda.LibraryVariable, gputest.Library(t).Path())
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var phases []string
	errTime := errors.New("no time")
	env := lab.NewEnv(lab.Config{Work: t.TempDir(), Seed: 1, Quick: true, Device: "gpu", Command: "test", Progress: func(phase string, _, _ int64) {
		if !slices.Contains(phases, phase) {
			phases = append(phases, phase)
		}
		if phase == "lists in host memory, policies" {
			cancel(errTime)
		}
	}})
	t.Cleanup(env.Close)
	if _, _, _, err := griffin18Runs(ctx, env, true /* hindsight */); !errors.Is(err, errTime) {
		t.Fatalf("%v, want a timeout", err)
	}
	phases = nil
	runs, device, noDevice, err := griffin18Runs(t.Context(), env, true /* hindsight */)
	if err != nil || !device {
		t.Fatal(err)
	}
	for _, p := range phases {
		if strings.HasPrefix(p, settings[0].name) {
			t.Errorf("%s: measured again", p)
		}
	}
	phases = nil
	if _, _, _, err := griffin18Runs(t.Context(), env, false /* hindsight */); err != nil || phases != nil {
		t.Errorf("%q: measured a third time (%v)", phases, err)
	}
	for i, s := range settings {
		// Only policies with their own memory run with the oracle's memory,
		// too.
		var times strings.Builder
		if err := runs.hindsight[i].WriteTimes(&times); err != nil {
			t.Fatal(err)
		}
		if own := strings.Contains(times.String(), "\toracle: cost\t"); own != (s.memory != "") {
			t.Errorf("%s: each policy has memory of its own: %v", s.name, own)
		}
		trees, err := lab.Shared(env, "griffin18 "+s.name+", trees", func() (cost.Trees, error) { return cost.Trees{}, errors.New("not trained") })
		if err != nil || trees.CPUAnd == nil || trees.GPUAnd == nil {
			t.Errorf("%s: trees for conjunctions %+v (%v)", s.name, trees, err)
		}
	}
	of := [...]string{partAll: "policies", partHindsight: "every placement", partWhole: "whole lists"}
	for part := range of {
		for i := range settings {
			if part == partAll && i == 0 {
				continue // there is no such measurement
			}
			broken := *runs
			for p := range broken.failed {
				broken.failed[p] = slices.Clone(runs.failed[p])
			}
			lost := [...]*[]*regret.Measured{partAll: &broken.all, partHindsight: &broken.hindsight, partWhole: &broken.whole}[part]
			*lost = slices.Clone(*lost)
			(*lost)[i], broken.failed[part][i] = nil, "It failed: a fault."
			for name, r := range map[string]*lab.Result{
				"fig14": fig14Result(&broken, device, noDevice), "fig15": fig15Result(&broken, device, noDevice), "regret": regretResult(&broken, device, noDevice),
			} {
				t.Run(name, func(t *testing.T) {
					if err := r.Check(); err != nil {
						t.Errorf("%s without %s of %s: %v", name, of[part], settings[i].name, err)
					}
					if want := settings[i].name + ", " + of[part] + ": It failed: a fault."; !slices.Contains(r.Notes, want) {
						t.Errorf("%s: notes %q, want %q", name, r.Notes, want)
					}
				})
			}
		}
	}
}

// Queries answered by the CPU do not count for the GPU with whole lists,
// neither in the mean and the percentiles nor in comparisons.
func TestWholeListsCountOnTheGPU(t *testing.T) {
	const us = time.Microsecond
	gpu, cpu := regret.Places{GPU: true}, regret.Places{CPU: true}
	measured := func(names []string, took [][]time.Duration, ran []regret.Places) *regret.Measured {
		m := &regret.Measured{Rounds: 1, Names: names}
		for i := range ran {
			q := regret.Measurement{DocFreqs: []uint64{1, 2}, Ran: [][]regret.Places{{ran[i]}}}
			for _, of := range took {
				q.Took = append(q.Took, []time.Duration{of[i]})
			}
			m.Queries = append(m.Queries, q)
		}
		return m
	}
	all := measured([]string{"cost"}, [][]time.Duration{{10 * us, 30 * us, 500 * us}}, []regret.Places{gpu, gpu, gpu})
	runs := &policyRuns{all: []*regret.Measured{all, all}, whole: []*regret.Measured{nil, measured([]string{wholeName}, [][]time.Duration{{40 * us, 80 * us, 9000 * us}}, []regret.Places{gpu, gpu, cpu})}}
	for i := range runs.failed {
		runs.failed[i] = make([]string, len(settings))
	}
	table, _ := fig14Of(runs, 1, settings[1].name, true, "")
	fifteen := fig15Result(runs, true, "").Tables[1]
	for _, c := range []struct {
		table       *lab.Table
		row, column string
		want        float64
	}{
		{table, "all", "queries", 3},
		{table, "all", "Griffin, cost", 180},
		{table, "all", "GPU alone, whole lists", 60},
		{table, "all", "GPU, whole lists, to cost", 3},
		{fifteen, "99.9", "GPU alone, whole lists", 80},
	} {
		cell := c.table.Cells[slices.Index(c.table.Rows, c.row)][slices.Index(c.table.Columns, c.column)]
		if cell.Ours == nil || *cell.Ours != c.want {
			t.Errorf("%s, %s: %+v, want %g", c.row, c.column, cell, c.want)
		}
	}
	if notes := runs.wholeNotes(); len(notes) != 1 || !strings.Contains(notes[0], "the GPU answered 2 of 3 queries") {
		t.Errorf("notes %q", notes)
	}
}

func TestNearestRank(t *testing.T) {
	var values []float64
	for i := range 1000 {
		values = append(values, float64(i+1))
	}
	for num, want := range map[int]float64{800: 800, 950: 950, 990: 990, 999: 999, 1000: 1000, 0: 1} {
		if got := nearestRank(values, num); got != want {
			t.Errorf("%d thousandths of 1 to 1000: %g, want %g", num, got, want)
		}
	}
	if got := nearestRank(values[:20], 950); got != 19 {
		t.Errorf("950 thousandths of 1 to 20: %g, want 19", got)
	}
}
