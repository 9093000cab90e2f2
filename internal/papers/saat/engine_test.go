package saat

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

func TestRandom(t *testing.T) {
	for _, spec := range []string{
		"saat", "saat:accumulators=dynamic,heap=1,inline=no", "saat:accumulators=array", "saat:accumulators=paged,heap=1",
	} {
		t.Run(spec, func(t *testing.T) {
			e := enginetest.Open(t, spec)
			enginetest.CompareRandom(t, e, 4, plan.ModeSaat, plan.ModeOr)
			if s := e.Stats(); s.OnCPU == 0 || s.OnGPU != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Scores that need 32 bits equal the scores of the default accumulators.
func TestWide(t *testing.T) {
	snapshot := enginetest.Impacts(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(7, 1)), 500, 2, false))
	planner := plan.New(snapshot, nil)
	sc, err := plan.NewScratch(snapshot.Options.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	search := func(e engine.Engine, o plan.Options) []base.Hit {
		t.Helper()
		q := &engine.Query{Scratch: sc}
		if q.Plan, err = planner.Prepare(sc, plantest.Parse(t, "w0^500.5 w1^700 w2"), o); err != nil {
			t.Fatal(err)
		}
		if e == nil {
			q.Answer, q.Err = q.Plan.RunCPU(t.Context(), sc, nil, nil)
		} else if err := e.Search(t.Context(), []*engine.Query{q}); err != nil {
			t.Fatal(err)
		}
		if q.Err != nil {
			t.Fatal(q.Err)
		}
		return q.Answer.Hits
	}
	want := search(nil, plan.Options{Mode: plan.ModeSaat, K: 20})
	// A score is in units of 1/64, as there is a fractional boost.
	if len(want) < 20 || want[19].Score>>(base.ScoreFractionBits-6) <= math.MaxUint16 {
		t.Fatalf("the scores fit into 16 bits: %v", want)
	}
	for _, spec := range []string{"saat", "saat:heap=1", "saat:accumulators=dynamic", "saat:accumulators=array,heap=1,inline=no", "saat:accumulators=paged"} {
		e := enginetest.Open(t, spec)
		o := plan.Options{K: 20}
		if err := e.Adapt(&o); err != nil {
			t.Fatal(err)
		}
		if got := search(e, o); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

func TestBudget(t *testing.T) {
	e := enginetest.Open(t, "saat:rho=1000")
	o := plan.Options{Mode: plan.ModeOr, K: 10}
	if err := e.Adapt(&o); err != nil || o.Budget.Postings != 1000 || o.Mode != plan.ModeSaat {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestRefusals(t *testing.T) {
	e := enginetest.Open(t, "saat")
	for _, mode := range []plan.Mode{plan.ModeAnd, plan.ModeAndOr} {
		if err := e.Adapt(&plan.Options{Mode: mode}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

// The engine has no GPU, and none is wanted by "auto".
func TestDevice(t *testing.T) {
	spec, err := engine.Parse("saat")
	if err != nil {
		t.Fatal(err)
	}
	for device, fits := range map[string]bool{"": true, "cpu": true, "auto": true, "gpu": false, "0": false, "0,1": false} {
		e, err := spec.Open(engine.Resources{Device: device})
		if fits != (err == nil) || !fits && (!errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "CPUs only")) {
			t.Errorf("device %q: %v", device, err)
		}
		if err == nil {
			enginetest.Close(t, e)
		}
	}
}
