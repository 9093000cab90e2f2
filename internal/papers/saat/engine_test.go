package saat

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/plan"
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
