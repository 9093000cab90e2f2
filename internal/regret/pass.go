package regret

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// pass is a way to answer all queries: a variant, placement number n of each query, or a policy
// with the oracle's Searcher.
type pass struct {
	Variant
	variant   int // -1: a placement
	placement int // -1: none
	beside    bool
}

func (p *pass) describe(t *Measurement) string {
	if p.placement >= 0 {
		return t.placements[p.placement].String()
	}
	return p.Name
}

// place returns the pass at position i of a round. A pass affects the caches and clocks of the
// next one, so rounds should not repeat a pair of passes. Rounds are rows of a Williams square
// (Williams, Experimental designs balanced for the estimation of residual effects of
// treatments, 1949): the first is 0, 1, n-1, 2, n-2 and so on, and each further row adds one.
// For even n, no pair repeats in n rows.
func place(i, round, n int) int {
	at := i / 2 // for even i: from the end
	if i%2 == 1 {
		at = n - (i+1)/2
	}
	return (n - at + round) % n
}

// rehearsal is the duration of untimed queries before a pass: a GPU that was idle for a second
// takes about ten milliseconds to restore its clock, which can be the time of a whole pass.
const rehearsal = 60 * time.Millisecond

// rehearse answers the first queries of a pass untimed. If policies have their own GPU memory,
// it instead answers the whole log on the GPU before a pass in the oracle's memory: otherwise
// the few queries of a placement would find all their lists in a cache that normally holds only
// some.
func (m *measuring) rehearse(ctx context.Context, p *pass, queries []int) error {
	refills := len(m.own) > 0 && (p.placement >= 0 || p.beside)
	if refills {
		p = &pass{Variant: Variant{string(dispatch.PolicyGPU), p.Searcher, m.Exec}, placement: -1}
		p.Exec.Policy = dispatch.PolicyGPU
		queries = m.answeredIn(p, 0)
	}
	for began := time.Now(); time.Since(began) < rehearsal; {
		for _, i := range queries {
			if _, err := m.answer(ctx, p, i); err != nil {
				return err
			}
			if !refills && time.Since(began) >= rehearsal {
				break
			}
		}
	}
	return nil
}

func (m *measuring) answeredIn(p *pass, round int) []int {
	var queries []int
	for i := range m.result.Queries {
		t := &m.result.Queries[i]
		switch {
		case p.placement < 0 || round < 0 && p.placement < len(t.placements):
		case p.placement >= len(t.placements) || t.placed[p.placement] == nil, round > 0 && m.isHopeless(t, p.placement):
			continue
		}
		queries = append(queries, i)
	}
	return queries
}

// hopeless is the factor over a query's fastest placement in the first round beyond which a
// placement is not measured again. It exceeds the variation of one placement between rounds
// with lists in host memory (804 to 2,686 µs for one query on an H200). It excludes most CPU
// placements of long queries.
const hopeless = 4

// isHopeless also reports whether every placement was far too slow.
func (m *measuring) isHopeless(t *Measurement, placement int) bool {
	times := t.placed[placement]
	if times == nil {
		return true
	}
	least := time.Duration(0)
	for _, other := range t.placed {
		if other != nil && other[0] > 0 && (least == 0 || other[0] < least) {
			least = other[0]
		}
	}
	return times[0] == 0 || times[0] > hopeless*least
}

// An answer that depends on the processor is a bug.
var errNewAnswer = errors.New("the answer is not the one that it had before")

// The other index has other documents.
var errOtherAnswer = fmt.Errorf("its answer is another than that of the index it stands beside: it must hold the same documents in the same order: %w", base.ErrBadInput)

// Round -1 is untimed.
func (m *measuring) pass(ctx context.Context, p *pass, round int) error {
	runtime.GC()
	queries := m.answeredIn(p, round)
	if round >= 0 && len(queries) > 0 {
		if err := m.rehearse(ctx, p, queries); err != nil {
			return err
		}
	}
	for _, i := range queries {
		t := &m.result.Queries[i]
		began := time.Now()
		answer, err := m.answer(ctx, p, i)
		took := time.Since(began)
		if err != nil {
			return err
		}
		if !slices.Equal(answer.Hits, t.hits) {
			err = errNewAnswer
			if p.variant >= len(m.Policies) && p.Searcher != m.Searcher {
				err = errOtherAnswer
			}
			return fmt.Errorf("query %s, %s: %w", t.ID, p.describe(t), err)
		}
		switch {
		case p.placement >= 0 && round < 0:
			if !ranAs(&answer, &t.placements[p.placement]) {
				t.placed[p.placement] = nil // not possible
			}
		case p.placement >= 0:
			t.placed[p.placement][round] = took
		case p.beside && round >= 0:
			t.beside[p.variant][round] = took
		case p.variant >= 0 && round >= 0:
			t.Took[p.variant][round] = took
			t.Ran[p.variant][round] = Places{CPU: answer.StepsAt[sched.CPU] > 0 || answer.StepsAt[sched.GPU] == 0, GPU: answer.StepsAt[sched.GPU] > 0, Migrations: answer.Migrations}
		}
	}
	return nil
}

// The placement must hold at least at the start.
func ranAs(a *plan.Answer, p *dispatch.Placement) bool {
	if p.First == sched.GPU || p.Lists > 0 && a.Migrations > 0 {
		return a.StepsAt[sched.GPU] > 0
	}
	return p.Lists > 0 || p.First == sched.CPU
}

func (m *measuring) answer(ctx context.Context, p *pass, i int) (answer plan.Answer, err error) {
	t, o := &m.result.Queries[i], p.Exec
	if p.placement >= 0 {
		o.Placement = &t.placements[p.placement]
	}
	if err = p.Searcher.PrepareInto(&m.plan, m.sc, m.queries[i].Node, o); err == nil {
		answer, err = m.plan.Run(ctx, m.sc, m.hits)
	}
	if err != nil {
		return plan.Answer{}, fmt.Errorf("query %s, %s: %w", t.ID, p.describe(t), err)
	}
	return answer, nil
}
