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
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/sched"
)

// Query is a query of the log.
type Query struct {
	ID   string
	Node query.Node
}

// Options say what is measured.
type Options struct {
	// Searcher answers, through a Dispatcher of exec.PolicyCost if there is more than
	// the CPU to choose. Analyzer is its index's.
	Searcher *exec.Searcher
	Analyzer string
	// Exec has Mode, K and what else is the same for all.
	Exec exec.Options
	// Policies are measured in this order, each as a Variant of its name.
	Policies []exec.Policy
	// Own, if set, opens a Searcher that answers as Searcher does, but whose GPU is another
	// one, or has memory of its own for lists: each of the Policies but cpu gets one. Where
	// memory is short, what one policy leaves there would serve, or hinder, the next.
	Own func(context.Context, exec.Policy) (OwnSearcher, error)
	// Others are measured, too.
	Others []Variant
	// Oracle asks for the best placement of each query in hindsight.
	Oracle bool
	// Rounds is how often each query is measured in each way, at least 2;
	// 0: DefaultRounds.
	Rounds int
	// Batch is how many queries are answered together on the GPU to find out what a query
	// takes of a batch; 0: none.
	Batch int
	// Progress, if set, is told how many passes over the log of how many have ended.
	Progress func(done, total int)
}

// OwnSearcher is a Searcher of one policy's, to be closed once that is measured.
type OwnSearcher struct {
	*exec.Searcher
	Close func() error
}

// DefaultRounds is enough for a median that a disturbance does not move.
const DefaultRounds = 5

// Variant is a way to answer the queries beside the policies.
type Variant struct {
	Name string
	// Searcher may be of another index of the same documents, in the same order.
	Searcher *exec.Searcher
	Exec     exec.Options
}

// Measured are the times of a log.
type Measured struct {
	Mode    exec.Mode
	K       int
	Rounds  int
	Queries []Measurement
	// Names of the variants: the policies, then the others.
	Names []string
	// GPUBatch is how many queries were answered together, 0: that was not measured.
	GPUBatch int

	oracle   bool
	policies int // of Names
}

// Measurement is one query's.
type Measurement struct {
	ID string
	// DocFreqs of its terms, rising.
	DocFreqs []uint64
	// Hits that it has, up to K.
	Hits int
	// Took holds, by variant, then round, how long it took.
	Took [][]time.Duration
	// Share is what it adds to a batch on the GPU.
	Share time.Duration
	// Ran tells, by variant, then round, where its steps ran.
	Ran [][]Places

	placements []exec.Placement
	placed     [][]time.Duration // by placement, then round
	// beside holds, by policy, then round, what it takes with the oracle's Searcher; nil of
	// one that has no other.
	beside [][]time.Duration
	hits   []base.Hit
}

// Places is where a query ran.
type Places struct {
	CPU, GPU   bool
	Migrations int
}

// pass is one way to answer all queries: a variant, placement number n of each, or a policy
// with the Searcher of those.
type pass struct {
	Variant
	variant   int // -1: a placement
	placement int // -1: none
	beside    bool
}

// Measure measures queries. A query that gives another answer in one way than in
// another is an error. If ctx ends, it returns ctx's error, and what was measured in the
// rounds that were complete, if there are two or more, else nil.
func Measure(ctx context.Context, queries []Query, o Options) (measured *Measured, err error) {
	o.Rounds = cmp.Or(o.Rounds, DefaultRounds)
	if o.Rounds < 2 {
		return nil, fmt.Errorf("%d rounds: at least 2 are needed: %w", o.Rounds, base.ErrBadInput)
	}
	sc, err := exec.NewScratch(o.Analyzer)
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
	for round := -1; round < o.Rounds; round++ { // the first warms up
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

// first returns what was measured in the first rounds.
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

// measuring is a Measure under way.
type measuring struct {
	Options
	sc      *exec.Scratch
	plan    exec.Plan
	queries []Query
	hits    []base.Hit
	result  *Measured
	own     map[exec.Policy]OwnSearcher
}

// close closes the policies' own searchers.
func (m *measuring) close() error {
	var errs []error
	for _, s := range m.own {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// searcher returns that of a policy: its own, if it has one.
func (m *measuring) searcher(p exec.Policy) *exec.Searcher {
	if s, ok := m.own[p]; ok {
		return s.Searcher
	}
	return m.Searcher
}

// open opens the searchers that policies have of their own.
func (m *measuring) open(ctx context.Context) error {
	m.own = map[exec.Policy]OwnSearcher{}
	if m.Own == nil {
		return nil
	}
	for _, p := range m.Policies {
		if p == exec.PolicyCPU {
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

// prepare makes room for the times, and finds out all ways to answer.
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

// besides returns the passes of policies that have a Searcher of their own with that of the
// oracle, if there is one: what lies in a cache is to make no difference between it and them.
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

// place returns which of n passes is number i of a round. A pass leaves caches and clocks to
// the one after it, so that none is to come after the same one in each round: rounds are rows
// of a square (Williams, Experimental designs balanced for the estimation of residual effects
// of treatments, 1949), 0, 1, n-1, 2, n-2 and so on, each row one further. If n is even, no
// two of n rows have the same one before any pass.
func place(i, round, n int) int {
	at := i / 2 // of even i: from the end
	if i%2 == 1 {
		at = n - (i+1)/2
	}
	return (n - at + round) % n
}

// rehearsal is how long queries are answered before a pass without being timed. A GPU that
// was idle for a second, while a pass ran on the CPU, takes some ten milliseconds to
// come back to its clock, which may be all that a pass of its own takes.
const rehearsal = 60 * time.Millisecond

// rehearse answers the first queries of a pass as it will. Where policies have GPU memory of their
// own, a pass with the oracle's is preceded by all queries of the log on the GPU instead: the few
// of a placement, answered again and again, would find all their lists in a cache that has a part
// of them otherwise.
func (m *measuring) rehearse(ctx context.Context, p *pass, queries []int) error {
	refills := len(m.own) > 0 && (p.placement >= 0 || p.beside)
	if refills {
		p = &pass{Variant: Variant{string(exec.PolicyGPU), p.Searcher, m.Exec}, placement: -1}
		p.Exec.Policy = exec.PolicyGPU
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

// answeredIn returns the numbers of the queries that a pass answers in a round.
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

// hopeless is how many times the least time of a query in the first round a placement may take
// there to be measured again: more than the same placement was seen to differ by from round to
// round with lists in host memory (804 to 2,686 µs of one query on an H200), and little
// enough to leave out most placements of long queries on the CPU.
const hopeless = 4

// errNewAnswer is of a query whose answer depends on where it runs, which is a bug.
var errNewAnswer = errors.New("the answer is not the one that it had before")

// errOtherAnswer is of an index that should have the same documents.
var errOtherAnswer = fmt.Errorf("its answer is another than that of the index it stands beside: it must hold the same documents in the same order: %w", base.ErrBadInput)

// pass answers all queries in one way, and compares the answers. Round -1 is not timed.
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
				t.placed[p.placement] = nil // it cannot
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

// ranAs reports whether a query ran as a placement says: where it begins at least.
func ranAs(a *exec.Answer, p *exec.Placement) bool {
	if p.First == sched.GPU || p.Lists > 0 && a.Migrations > 0 {
		return a.StepsAt[sched.GPU] > 0
	}
	return p.Lists > 0 || p.First == sched.CPU
}

// isHopeless reports whether a placement, or all there are, took far too long in the
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

// answer answers query number i as a pass does.
func (m *measuring) answer(ctx context.Context, p *pass, i int) (answer exec.Answer, err error) {
	t, o := &m.result.Queries[i], p.Exec
	if p.placement >= 0 {
		o.Placement = &t.placements[p.placement]
	}
	if err = p.Searcher.PrepareInto(&m.plan, m.sc, m.queries[i].Node, o); err == nil {
		answer, err = m.plan.Run(ctx, m.sc, m.hits)
	}
	if err != nil {
		return exec.Answer{}, fmt.Errorf("query %s, %s: %w", t.ID, p.describe(t), err)
	}
	return answer, nil
}

// shares measures batches on the GPU, compares their answers, and gives each query of a batch the
// part that it has of the times alone.
func (m *measuring) shares(ctx context.Context) error {
	gpu := slices.Index(m.Policies, exec.PolicyGPU)
	if gpu < 0 {
		return errors.New("shares of a batch need policy gpu among those that are measured")
	}
	m.result.GPUBatch = m.Batch
	searcher := m.searcher(exec.PolicyGPU)
	o := m.Exec
	o.Policy = exec.PolicyGPU
	for from := 0; from < len(m.queries); from += m.Batch {
		to := min(from+m.Batch, len(m.queries))
		plans, answers := make([]*exec.Plan, to-from), make([]exec.Answer, to-from)
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
			if err := searcher.RunBatch(ctx, plans, m.sc, answers); err != nil {
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

// median returns the middle one of times, the lower of two; 0 of none.
func median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[(len(sorted)-1)/2]
}
