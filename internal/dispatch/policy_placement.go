package dispatch

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/sched"
)

// Placement prescribes where the steps of a query run, to measure the alternatives of a policy.
// It needs a Dispatcher of PolicyCost; a query or step that fails on the GPU runs on the CPU.
type Placement struct {
	// First is where the first Lists lists of a conjunction run, in rising order of length,
	// before the rest runs at the other place; 0: all do. Queries other than conjunctions of
	// several lists run whole at First.
	First sched.Place
	Lists int
	// Path of a GPU that begins with all lists; steps with a part of them take lists only where
	// they lie.
	Path pipeline.Path
	// Or is where the second stage of plan.ModeAndOr runs, and OrPath the path there.
	Or     sched.Place
	OrPath pipeline.Path
}

// String names the placement: "cpu", "gpu images", "cpu 2, gpu", "cpu; or: gpu packed".
func (p Placement) String() string {
	at := func(at sched.Place, path pipeline.Path) string {
		if at == sched.GPU && path != pipeline.PathAuto {
			return fmt.Sprintf("%s %s", at, path)
		}
		return at.String()
	}
	s := at(p.First, p.Path)
	if p.Lists > 0 {
		s = fmt.Sprintf("%s %d, %s", p.First, p.Lists, p.First.Other())
	}
	if p.Or != p.First || p.OrPath != p.Path {
		s += "; or: " + at(p.Or, p.OrPath)
	}
	return s
}

// WholeLists is the placement on the GPU by images, loading whole lists that are missing.
func WholeLists() *Placement {
	return &Placement{First: sched.GPU, Path: pipeline.PathImages, Or: sched.GPU, OrPath: pipeline.PathImages}
}

var places = [...]struct {
	at   sched.Place
	path pipeline.Path
}{{sched.CPU, pipeline.PathAuto}, {sched.GPU, pipeline.PathImages}, {sched.GPU, pipeline.PathPacked}}

// Placements returns all placements of the plan: each stage whole on the CPU, on the GPU by
// images, and there where lists lie; and each conjunction split at every list, both ways.
func (q *Query) Placements() []Placement {
	var first []Placement
	for _, w := range places {
		first = append(first, Placement{First: w.at, Path: w.path})
	}
	if st := q.Stage(0); q.splits(0) {
		for n := 1; n < len(st.Order()); n++ {
			first = append(first, Placement{First: sched.CPU, Lists: n})
			if n > 1 {
				first = append(first, Placement{First: sched.GPU, Lists: n, Path: pipeline.PathPacked})
			}
		}
	}
	var all []Placement
	for _, f := range first {
		if q.NumStages() == 1 {
			f.Or, f.OrPath = f.First, f.Path
			all = append(all, f)
			continue
		}
		for _, w := range places {
			f.Or, f.OrPath = w.at, w.path
			all = append(all, f)
		}
	}
	return all
}

// check returns an error that wraps base.ErrBadInput if d cannot place steps so.
func (p *Placement) check(d *Dispatcher) error {
	if p.Lists < 0 || p.First >= sched.NumPlaces || p.Or >= sched.NumPlaces {
		return fmt.Errorf("placement %+v: %w", *p, base.ErrBadInput)
	}
	if !d.active() || d.Policy() != PolicyCost {
		return fmt.Errorf("a placement needs a dispatcher of policy %s: %w", PolicyCost, base.ErrBadInput)
	}
	return nil
}

// A placement has no name of its own.
func (*Placement) info() PolicyInfo { return PolicyInfo{Name: PolicyCost} }

func (*Placement) traits() traits { return traits{} }

func (p *Placement) choose(r *queryRun) {
	if r.gpu.refusal != "" {
		r.chooseCPU()
		return
	}
	n := len(r.predictor.lengths)
	at, path, to := p.First, p.Path, n
	switch {
	case r.stage > 0:
		at, path = p.Or, p.OrPath
	case r.splits() && p.Lists > 0 && r.pos == 0:
		to = min(p.Lists, n)
	case r.splits() && r.pos > 0:
		at = at.Other()
	}
	if at == sched.CPU {
		path = pipeline.PathAuto
	}
	r.choices[at].is(to, path, 1)
	r.choices[at.Other()].is(n, pipeline.PathAuto, lastResort)
}
