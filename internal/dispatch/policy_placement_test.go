package dispatch

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
)

// Each gives the CPU's answer, with its steps where it says.
func TestPlacements(t *testing.T) {
	sampletest.SkipRace(t)
	rng := rand.New(rand.NewPCG(41, 1))
	g := testGPU(t, pipeline.Options{})
	p, _ := dispatched(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 700, 2, true)), g, Config{})
	seen := map[string]int{}
	for range 4 {
		for _, mode := range []plan.Mode{plan.ModeAnd, plan.ModeAndOr, plan.ModeOr} {
			q := frequentWords(rng, 4)
			prepared, err := p.gpu.Prepare(p.sc, q, Options{Mode: mode, K: 10})
			if err != nil {
				t.Fatal(err)
			}
			want := answer(t, p.cpu, p.sc, q, Options{Mode: mode, K: 10})
			for _, placement := range prepared.Placements() {
				prepared, err := p.gpu.Prepare(p.sc, q, Options{Mode: mode, K: 10, Placement: &placement})
				if err != nil {
					t.Fatal(err)
				}
				trace := plan.Trace{Mode: mode}
				got, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode {
					t.Fatalf("%s, %s, %s: %s, %v; the CPU has %s, %v", placement, mode, q, got.Mode, head(got.Hits), want.Mode, head(want.Hits))
				}
				first, migrations := trace.Steps[0].Place, 0
				for _, s := range trace.Steps {
					if s.Name == plan.StepWait {
						t.Errorf("%v: waited for the %s", placement, s.Place)
					}
				}
				if placement.Lists > 0 && len(prepared.Stage(0).Order()) > 1 {
					migrations = 1
				}
				if first != placement.First || mode == plan.ModeAnd && trace.Migrations > migrations {
					t.Errorf("%v: began on the %s, %d migrations", placement, first, trace.Migrations)
				}
				seen[placement.String()]++
			}
		}
	}
	for _, name := range []string{"cpu", "gpu images", "gpu packed", "cpu 1, gpu", "gpu 2, cpu", "cpu; or: gpu images"} {
		if seen[name] == 0 {
			t.Errorf("no placement %q among %v", name, seen)
		}
	}
}

// A placement is refused if there is nothing to place, or another policy rules.
func TestPlacementRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 50, 1, false))
	words := frequentWords(rng, 2)
	for name, o := range map[string]Config{"no GPU": {}, "policy": {Policy: PolicyGPU, Admit: true}} {
		t.Run(name, func(t *testing.T) {
			p, _ := dispatched(t, snapshot, nil, o)
			_, err := p.gpu.Prepare(p.sc, words, Options{K: 1, Placement: &Placement{First: sched.CPU}})
			if !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%v: want a refusal", err)
			}
		})
	}
}
