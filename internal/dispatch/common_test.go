package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

func testScratch(t testing.TB, analyzer string) *Scratch {
	sc, err := NewScratch(analyzer)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func answer(t testing.TB, s *Searcher, sc *Scratch, q query.Node, o Options) plan.Answer {
	p, err := s.Prepare(sc, q, o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Run(context.Background(), sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func head(hits []base.Hit) []base.Hit { return hits[:min(len(hits), 10)] }

// anyPolicy lets a test choose: at returns where the lists from pos on of n run next, and up to
// which. nil: as policy cost.
type anyPolicy struct {
	at func(pos, n int) (at sched.Place, to int)
}

func (*anyPolicy) info() PolicyInfo { return PolicyInfo{Name: PolicyCost} }
func (*anyPolicy) traits() traits   { return traits{} }

func (p *anyPolicy) choose(r *queryRun) {
	if r.gpu.refusal != "" && r.d.gpu != nil {
		r.chooseCPU()
		return
	}
	n := len(r.predictor.lengths)
	at, to := p.at(r.pos, n)
	if !r.splits() {
		to = n
	}
	r.choices[at].is(to, pipeline.PathAuto, 1)
	if r.choices[at.Other()].is(n, pipeline.PathAuto, lastResort); r.gpu.refusal != "" {
		r.choices[at.Other()].total = sched.Never
	}
}

func withoutPool(g *GPU) *Dispatcher {
	return &Dispatcher{gpu: g, policy: gpuPolicy{}, ratio: DefaultRatio, costs: cost.New(cost.Machine{}), start: time.Now(), partQueries: defaultPartQueries, slots: make(chan struct{}, idleCPUs())}
}
