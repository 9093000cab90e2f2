package exec

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/sched"
)

// A query that is given up after longer than predicted tells so much: else those that never
// end in time would be predicted to, and begun, for ever. One that is given up before
// tells nothing.
func TestLearnsOfWhatIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		predicted time.Duration
		learns    bool
	}{{1, true}, {time.Minute, false}} {
		p, d := dispatched(t, testSnapshot(t, spacedIndex(t, 3000, 2, 3)), nil, DispatchOptions{Admit: true})
		var samples []cost.Measured
		for i := range 60 {
			samples = append(samples, cost.Measured{Kind: cost.CPUOr, Features: cost.Features{Lists: 2, K: 10, Sum: int64(100 + i)}, Took: c.predicted})
		}
		d.Costs().Calibrate(samples)
		plan, err := p.gpu.Prepare(p.sc, parse(t, "e2 e3"), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		r := &p.sc.placed
		r.begin(d, plan, p.sc, nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range watchOneOf {
			r.decide()
			if _, err := r.advance(ctx, sched.CPU); !errors.Is(err, context.Canceled) {
				t.Fatalf("it ran with a context that has ended: %v", err)
			}
		}
		r.end()
		if learnt := len(d.Costs().Errors()) > 0; learnt != c.learns {
			t.Errorf("predicted to take %v, and given up: learnt %v, want %v", c.predicted, learnt, c.learns)
		}
	}
}
