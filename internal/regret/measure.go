package regret

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
)

// Measure returns an error if two ways give different answers. If ctx ends, it returns ctx's
// error with the complete rounds, if there are at least two.
func Measure(ctx context.Context, queries []Query, o Options) (measured *Measured, err error) {
	o.Rounds = cmp.Or(o.Rounds, DefaultRounds)
	if o.Rounds < 2 {
		return nil, fmt.Errorf("%d rounds: at least 2 are needed: %w", o.Rounds, base.ErrBadInput)
	}
	sc, err := dispatch.NewScratch(o.Analyzer)
	if err != nil {
		return nil, err
	}
	m := &measuring{Options: o, sc: sc, queries: queries, hits: make([]base.Hit, 0, o.Exec.K)}
	m.result = &Measured{Mode: o.Exec.Mode, K: o.Exec.K, Rounds: o.Rounds, oracle: o.Oracle, policies: len(o.Policies)}
	defer func() {
		if closing := m.close(); closing != nil {
			measured, err = nil, errors.Join(err, closing)
		}
	}()
	passes, err := m.prepare(ctx)
	if err != nil {
		return nil, err
	}
	total := len(passes) * (o.Rounds + 1)
	for round := -1; round < o.Rounds; round++ { // round -1 warms up
		for i := range passes {
			if err := m.pass(ctx, &passes[place(i, round+1, len(passes))], round); err != nil {
				if ctx.Err() != nil && round >= 2 {
					return m.result.first(round), err
				}
				return nil, err
			}
			if o.Progress != nil {
				o.Progress((round+1)*len(passes)+i+1, total)
			}
		}
	}
	if o.Batch > 0 {
		if err := m.shares(ctx); ctx.Err() != nil {
			return m.result, err
		} else if err != nil {
			return nil, err
		}
	}
	return m.result, nil
}

type measuring struct {
	Options
	sc      *dispatch.Scratch
	plan    dispatch.Query
	queries []Query
	hits    []base.Hit
	result  *Measured
	own     map[dispatch.Policy]OwnSearcher
}

func (m *measuring) close() error {
	var errs []error
	for _, s := range m.own {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func (m *measuring) searcher(p dispatch.Policy) *dispatch.Searcher {
	if s, ok := m.own[p]; ok {
		return s.Searcher
	}
	return m.Searcher
}

func (m *measuring) open(ctx context.Context) error {
	m.own = map[dispatch.Policy]OwnSearcher{}
	if m.Own == nil {
		return nil
	}
	for _, p := range m.Policies {
		if p == dispatch.PolicyCPU {
			continue
		}
		s, err := m.Own(ctx, p)
		if err != nil {
			return fmt.Errorf("policy %s: %w", p, err)
		}
		m.own[p] = s
	}
	return nil
}

// prepare also runs each query once.
func (m *measuring) prepare(ctx context.Context) ([]pass, error) {
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	var passes []pass
	for i, p := range m.Policies {
		e := m.Exec
		e.Policy = p
		passes = append(passes, pass{Variant{string(p), m.searcher(p), e}, i, -1, false})
	}
	for _, v := range m.Others {
		passes = append(passes, pass{v, len(passes), -1, false})
	}
	for _, p := range passes {
		m.result.Names = append(m.result.Names, p.Name)
	}
	most := 0
	for i := range m.queries {
		q := &m.queries[i]
		if err := m.Searcher.PrepareInto(&m.plan, m.sc, q.Node, m.Exec); err != nil {
			return nil, fmt.Errorf("query %s: %w", q.ID, err)
		}
		t := Measurement{ID: q.ID, DocFreqs: slices.Sorted(slices.Values(m.plan.DocFreqs())), Took: make([][]time.Duration, len(passes)), Ran: make([][]Places, len(passes))}
		for j := range t.Took {
			t.Took[j], t.Ran[j] = make([]time.Duration, m.Rounds), make([]Places, m.Rounds)
		}
		answer, err := m.plan.Run(ctx, m.sc, m.hits)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", q.ID, err)
		}
		t.Hits, t.hits = len(answer.Hits), slices.Clone(answer.Hits)
		if m.Oracle {
			t.placements = m.plan.Placements()
			t.placed = make([][]time.Duration, len(t.placements))
			for j := range t.placed {
				t.placed[j] = make([]time.Duration, m.Rounds)
			}
			most = max(most, len(t.placements))
		}
		m.result.Queries = append(m.result.Queries, t)
	}
	for n := range most {
		passes = append(passes, pass{Variant{Oracle, m.Searcher, m.Exec}, -1, n, false})
	}
	return append(passes, m.besides(passes)...), nil
}

// besides runs policies with their own Searcher in the oracle's, so that cache contents do not
// distinguish them from the oracle.
func (m *measuring) besides(passes []pass) []pass {
	var more []pass
	for i := range m.Policies {
		if p := passes[i]; m.Oracle && p.Searcher != m.Searcher {
			p.Searcher, p.beside = m.Searcher, true
			more = append(more, p)
		}
	}
	for i := range m.result.Queries {
		t := &m.result.Queries[i]
		t.beside = make([][]time.Duration, len(m.Policies))
		for _, p := range more {
			t.beside[p.variant] = make([]time.Duration, m.Rounds)
		}
	}
	return more
}

// shares measures batches on the GPU, compares their answers, and divides a batch's time in
// proportion to its queries' single times.
func (m *measuring) shares(ctx context.Context) error {
	gpu := slices.Index(m.Policies, dispatch.PolicyGPU)
	if gpu < 0 {
		return errors.New("shares of a batch need policy gpu among those that are measured")
	}
	m.result.GPUBatch = m.Batch
	searcher := m.searcher(dispatch.PolicyGPU)
	o := m.Exec
	o.Policy = dispatch.PolicyGPU
	var batch dispatch.BatchScratch
	for from := 0; from < len(m.queries); from += m.Batch {
		to := min(from+m.Batch, len(m.queries))
		plans, answers := make([]*dispatch.Query, to-from), make([]plan.Answer, to-from)
		alone := time.Duration(0)
		for i := range plans {
			p, err := searcher.Prepare(m.sc, m.queries[from+i].Node, o)
			if err != nil {
				return fmt.Errorf("query %s: %w", m.queries[from+i].ID, err)
			}
			plans[i] = p
			alone += median(m.result.Queries[from+i].Took[gpu])
		}
		least := time.Duration(0)
		for range m.Rounds {
			began := time.Now()
			if err := searcher.Dispatcher().SearchPrepared(ctx, plans, &batch, answers); err != nil {
				return err
			}
			if took := time.Since(began); least == 0 || took < least {
				least = took
			}
			for i := range answers {
				if t := &m.result.Queries[from+i]; !slices.Equal(answers[i].Hits, t.hits) {
					return fmt.Errorf("query %s, in a batch of %d on the GPU: %w", t.ID, len(answers), errNewAnswer)
				}
			}
		}
		for i := from; i < to; i++ {
			t := &m.result.Queries[i]
			t.Share = time.Duration(float64(least) * float64(median(t.Took[gpu])) / float64(max(alone, 1)))
		}
	}
	return nil
}

// The lower median; 0 without times.
func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)/2]
}
