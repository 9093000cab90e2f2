package regret

import (
	"cmp"
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
	"github.com/griffin-search/griffin/query"
)

// Query is a query of the log.
type Query struct {
	ID   string
	Node query.Node
}

// Options configure Measure.
type Options struct {
	// Searcher answers the queries. Its Dispatcher has dispatch.PolicyCost if
	// there is a GPU. Analyzer is its index's.
	Searcher *dispatch.Searcher
	Analyzer string
	// Exec holds Mode, K and the other options that all variants share.
	Exec dispatch.Options
	// Policies are measured in this order, each as a Variant of its name.
	Policies []dispatch.Policy
	// Own, if set, opens a Searcher with equal answers but another GPU or its
	// own GPU memory, for each of the Policies but cpu. If memory is short, the
	// lists that one policy leaves there would affect the next.
	Own func(context.Context, dispatch.Policy) (OwnSearcher, error)
	// Others are further variants to measure.
	Others []Variant
	// Oracle enables the measurement of placements.
	Oracle bool
	// Rounds is the number of measurements of each query in each way, at least
	// 2; 0: DefaultRounds.
	Rounds int
	// Batch is the number of queries in a GPU batch, to measure a query's share
	// of it; 0: none.
	Batch int
	// Progress, if set, receives the number of completed passes.
	Progress func(done, total int)
}

// OwnSearcher is a policy's own Searcher. Measure closes it.
type OwnSearcher struct {
	*dispatch.Searcher
	Close func() error
}

// DefaultRounds suffices for a median that one disturbance does not change.
const DefaultRounds = 5

// Variant is a way to answer the queries.
type Variant struct {
	Name string
	// Searcher may have another index of the same documents in the same order.
	Searcher *dispatch.Searcher
	Exec     dispatch.Options
}

// Measured holds the times of a log.
type Measured struct {
	Mode    plan.Mode
	K       int
	Rounds  int
	Queries []Measurement
	// Names of the variants: the policies, then the others.
	Names []string
	// GPUBatch is the number of queries in a batch; 0: not measured.
	GPUBatch int

	oracle   bool
	policies int // of Names
}

// Measurement holds the times of one query.
type Measurement struct {
	ID string
	// DocFreqs of its terms, rising.
	DocFreqs []uint64
	// Hits is the number of hits, at most K.
	Hits int
	// Took holds times by variant, then round.
	Took [][]time.Duration
	// Share is the time that the query adds to a batch on the GPU.
	Share time.Duration
	// Ran holds the processors that were used, by variant, then round.
	Ran [][]Places

	placements []dispatch.Placement
	placed     [][]time.Duration // by placement, then round
	// beside holds times with the oracle's Searcher, by policy, then round; nil
	// for a policy that has no other.
	beside [][]time.Duration
	hits   []base.Hit
}

// Places are the processors that a query used.
type Places struct {
	CPU, GPU   bool
	Migrations int
}

// pass is one way to answer all queries: a variant, placement number n of each
// query, or a policy with the oracle's Searcher.
type pass struct {
	Variant
	variant   int // -1: a placement
	placement int // -1: none
	beside    bool
}

// Measure measures queries. It returns an error if two ways give different
// answers. If ctx ends, it returns ctx's error with the complete rounds, if
// there are at least two.
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

func (m *Measured) first(rounds int) *Measured {
	m.Rounds = rounds
	for i := range m.Queries {
		q := &m.Queries[i]
		for _, times := range [][][]time.Duration{q.Took, q.placed, q.beside} {
			for j := range times {
				times[j] = times[j][:min(rounds, len(times[j]))]
			}
		}
		for j := range q.Ran {
			q.Ran[j] = q.Ran[j][:rounds]
		}
	}
	return m
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

// searcher returns the policy's own Searcher, or the shared one.
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

// prepare opens searchers, runs each query once, and returns all passes.
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

// besides returns passes of the policies that have their own Searcher with the
// oracle's Searcher, so that cache contents do not distinguish them from the
// oracle.
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

// place returns the pass at position i of a round. A pass affects the caches
// and clocks of the next one, so rounds should not repeat a pair of consecutive
// passes. Rounds are rows of a Williams square (Williams, Experimental designs
// balanced for the estimation of residual effects of treatments, 1949): the
// first is 0, 1, n-1, 2, n-2 and so on, and each further row adds one. For even
// n, no pair repeats in n rows.
func place(i, round, n int) int {
	at := i / 2 // for even i: from the end
	if i%2 == 1 {
		at = n - (i+1)/2
	}
	return (n - at + round) % n
}

// rehearsal is the duration of the untimed queries before a pass. A GPU that
// was idle for a second takes about ten milliseconds to restore its clock,
// which may be as long as the pass.
const rehearsal = 60 * time.Millisecond

// rehearse answers the first queries of a pass untimed. If policies have their
// own GPU memory, it instead answers the whole log on the GPU before a pass in
// the oracle's memory. Otherwise the few queries of a placement would find all
// their lists in a cache that normally holds only some of them.
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

// answeredIn returns the indexes of the queries that a pass answers in a round.
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

// hopeless is the factor over a query's fastest placement in the first round
// beyond which a placement is not measured again. It exceeds the variation of
// one placement between rounds with lists in host memory (804 to 2,686 µs for
// one query on an H200). It excludes most CPU placements of long queries.
const hopeless = 4

// errNewAnswer reports an answer that depends on the processor, which is a bug.
var errNewAnswer = errors.New("the answer is not the one that it had before")

// errOtherAnswer reports an index with other documents.
var errOtherAnswer = fmt.Errorf("its answer is another than that of the index it stands beside: it must hold the same documents in the same order: %w", base.ErrBadInput)

// pass answers all queries in one way and compares the answers. Round -1 is
// untimed.
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

func (p *pass) describe(t *Measurement) string {
	if p.placement >= 0 {
		return t.placements[p.placement].String()
	}
	return p.Name
}

// ranAs reports whether a query followed a placement, at least at its start.
func ranAs(a *plan.Answer, p *dispatch.Placement) bool {
	if p.First == sched.GPU || p.Lists > 0 && a.Migrations > 0 {
		return a.StepsAt[sched.GPU] > 0
	}
	return p.Lists > 0 || p.First == sched.CPU
}

// isHopeless reports whether a placement, or every one, was far too slow in the
// first round.
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

// answer answers query i of a pass.
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

// shares measures batches on the GPU and compares their answers. It divides a
// batch's time among its queries in proportion to their single times.
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
			if err := searcher.Dispatcher().SearchBatch(ctx, plans, &batch, answers); err != nil {
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

// median returns the lower median, or 0 without times.
func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)/2]
}
