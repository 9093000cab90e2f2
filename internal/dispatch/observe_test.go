package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
)

// A step that is ended after its predicted time raises the prediction: otherwise queries that
// never finish in time would be started forever. A step that is ended earlier changes nothing.
func TestLearnsFromOverrun(t *testing.T) {
	for _, c := range []struct {
		predicted time.Duration
		learns    bool
	}{{1, true}, {time.Minute, false}} {
		p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 3000, 2, 3)), nil, Config{Admit: true})
		var samples []cost.Measured
		for i := range 60 {
			samples = append(samples, cost.Measured{Kind: cost.CPUOr, Features: cost.Features{Lists: 2, K: 10, Sum: int64(100 + i)}, Took: c.predicted})
		}
		d.Costs().Calibrate(samples)
		prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3"), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		r := &p.sc.run
		r.begin(t.Context(), d, prepared, p.sc, nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range timeOneOf {
			r.decide()
			if _, err := r.advance(ctx, sched.CPU); !errors.Is(err, context.Canceled) {
				t.Fatalf("it ran with a context that has ended: %v", err)
			}
		}
		r.end()
		if learnt := len(d.Costs().Errors()) > 0; learnt != c.learns {
			t.Errorf("predicted to take %v, and restarted: learnt %v, want %v", c.predicted, learnt, c.learns)
		}
	}
}

// A step without helpers is learned, also after one with helpers.
func TestLearnsAfterHelpers(t *testing.T) {
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 3000, 2, 3)), nil, Config{Admit: true})
	var samples []cost.Measured
	for i := range 60 {
		samples = append(samples, cost.Measured{Kind: cost.CPUOr, Features: cost.Features{Lists: 2, K: 10, Sum: int64(100 + i)}, Took: 1})
	}
	d.Costs().Calibrate(samples)
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	r := &p.sc.run
	r.begin(t.Context(), d, prepared, p.sc, nil, nil)
	defer r.end()
	for range timeOneOf {
		r.rewind()
		r.answer.Workers = 3
		r.decide()
		if done, err := r.advance(t.Context(), sched.CPU); err != nil || !done {
			t.Fatalf("done %v, error %v", done, err)
		}
		if r.answer.Workers != 3 {
			t.Fatalf("%d workers", r.answer.Workers)
		}
	}
	if len(d.Costs().Errors()) == 0 {
		t.Error("nothing is learned")
	}
}
