package exec

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// Every placement of a query gives the CPU's answer, with its steps where it says.
func TestPlacements(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	g := testGPU(t, pipeline.Options{})
	p, _ := dispatched(t, testSnapshot(t, randomIndex(t, rng, 700, 2, true)), g, DispatchOptions{})
	seen := map[string]int{}
	for range 4 {
		for _, mode := range []Mode{ModeAnd, ModeAndOr, ModeOr} {
			q := frequentWords(rng, 4)
			plan, err := p.gpu.Prepare(p.sc, q, Options{Mode: mode, K: 10})
			if err != nil {
				t.Fatal(err)
			}
			want := answer(t, p.cpu, p.sc, q, Options{Mode: mode, K: 10})
			for _, placement := range plan.Placements() {
				plan, err := p.gpu.Prepare(p.sc, q, Options{Mode: mode, K: 10, Placement: &placement})
				if err != nil {
					t.Fatal(err)
				}
				trace := Trace{Mode: mode}
				got, err := plan.RunTraced(t.Context(), p.sc, nil, &trace)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode {
					t.Fatalf("%s, %s, %s: %s, %v; the CPU has %s, %v", placement, mode, q, got.Mode, head(got.Hits), want.Mode, head(want.Hits))
				}
				first, migrations := trace.Steps[0].Place, 0
				for _, s := range trace.Steps {
					if s.Name == stepWait {
						t.Errorf("%v: waited for the %s", placement, s.Place)
					}
				}
				if placement.Lists > 0 && len(plan.stages[0].order) > 1 {
					migrations = 1
				}
				if first != placement.First || mode == ModeAnd && trace.Migrations > migrations {
					t.Errorf("%v: began on the %s, %d migrations", placement, first, trace.Migrations)
				}
				seen[placement.String()]++
			}
		}
	}
	for _, name := range []string{"cpu", "gpu images", "gpu direct", "cpu 1, gpu", "gpu 2, cpu", "cpu; or: gpu images"} {
		if seen[name] == 0 {
			t.Errorf("no placement %q among %v", name, seen)
		}
	}
}

// A placement is refused where there is nothing to place, or another policy rules.
func TestPlacementRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	snapshot := testSnapshot(t, randomIndex(t, rng, 50, 1, false))
	for name, o := range map[string]DispatchOptions{"no GPU": {}, "policy": {Policy: PolicyGPU, Admit: true}} {
		t.Run(name, func(t *testing.T) {
			p, _ := dispatched(t, snapshot, nil, o)
			_, err := p.gpu.Prepare(p.sc, frequentWords(rng, 2), Options{K: 1, Placement: &Placement{First: sched.CPU}})
			if !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%v: want a refusal", err)
			}
		})
	}
}
