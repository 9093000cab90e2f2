package experiments

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/regret"
)

// What was measured before an experiment ran out of its time is not measured again, and what
// fails leaves the results of the rest.
func TestGriffin18RunsAreKept(t *testing.T) {
	if testing.Short() {
		t.Skip("the emulator takes its time: run without -short")
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
		t.Fatalf("%v, want that the time has ended", err)
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
	of := [...]string{partAll: "policies", partHindsight: "every placement", partWhole: "whole lists"}
	for part := range of {
		for i := range settings {
			if part == partAll && i == 0 {
				continue // without it there is nothing
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
				if err := r.Check(); err != nil {
					t.Errorf("%s without %s of %s: %v", name, of[part], settings[i].name, err)
				}
				if want := settings[i].name + ", " + of[part] + ": It failed: a fault."; !slices.Contains(r.Notes, want) {
					t.Errorf("%s: notes %q, want %q", name, r.Notes, want)
				}
			}
		}
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
