package experiments

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

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
	if _, _, _, err := griffin18Runs(ctx, env); !errors.Is(err, errTime) {
		t.Fatalf("%v, want a timeout", err)
	}
	phases = nil
	runs, device, noDevice, err := griffin18Runs(t.Context(), env)
	if err != nil || !device {
		t.Fatal(err)
	}
	for _, p := range phases {
		if strings.HasPrefix(p, settings[0].name) {
			t.Errorf("%s: measured again", p)
		}
	}
	phases = nil
	if _, _, _, err := griffin18Runs(t.Context(), env); err != nil || phases != nil {
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
	of := [...]string{partAll: "policies", partHindsight: "every placement"}
	for part := range of {
		for i := range settings {
			broken := *runs
			for p := range broken.failed {
				broken.failed[p] = slices.Clone(runs.failed[p])
			}
			lost := [...]*[]*regret.Measured{partAll: &broken.all, partHindsight: &broken.hindsight}[part]
			*lost = slices.Clone(*lost)
			(*lost)[i], broken.failed[part][i] = nil, "It failed: a fault."
			r := regretResult(&broken, device, noDevice)
			if err := r.Check(); err != nil {
				t.Errorf("without %s of %s: %v", of[part], settings[i].name, err)
			}
			if want := settings[i].name + ", " + of[part] + ": It failed: a fault."; !slices.Contains(r.Notes, want) {
				t.Errorf("notes %q, want %q", r.Notes, want)
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
