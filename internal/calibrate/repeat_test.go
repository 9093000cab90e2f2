package calibrate

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

func TestNewMeasurer(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, []string{"x"})
	m, err := newMeasurer(nil, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	for page := range slices.Chunk(m.evicted, 4096) {
		pages[string(page[:512])] = true
	}
	if len(m.evicted) != cacheBytes || pages[string(make([]byte, 512))] {
		t.Errorf("%d bytes replace the caches, some pages zero: %v", len(m.evicted), pages[string(make([]byte, 512))])
	}
	snapshot.Options.Analyzer = "" // an unknown name is an error of the first query
	if _, err := newMeasurer(nil, snapshot); err == nil {
		t.Error("a measurer without an analyzer")
	}
}

// Every line of the cache is read.
func TestEvict(t *testing.T) {
	m := &measurer{evicted: make([]byte, 640)}
	for i := range m.evicted {
		m.evicted[i] = byte(i % 64 / 63) // the last byte of a line
	}
	for i := 0; i < 640; i += 64 {
		m.evicted[i] = 1
	}
	if m.evict(); m.read != 10 {
		t.Errorf("%d lines of 10 are read", m.read)
	}
}

// Short runs are repeated once, with other data in the caches, usual ones
// twice, long ones not at all. The least time of the repetitions counts.
func TestRepeatLimits(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, multiples(100, 2))
	for _, c := range []struct {
		name    string
		times   []time.Duration
		runs    int
		evicted byte
		want    time.Duration
	}{
		{"short", []time.Duration{short, short * 2}, 2, 1, short * 2},
		{"not short", []time.Duration{short + 1, 7, 5}, 3, 0, 5},
		{"the first repetition is the fastest", []time.Duration{usual, 5, 7}, 3, 0, 5},
		{"not too long", []time.Duration{tooLong, tooLong + 1, tooLong + 2}, 3, 0, tooLong + 1},
		{"too long", []time.Duration{tooLong + 1, 5}, 1, 0, tooLong + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, r := scripted(t, nil, snapshot)
			r.took = inTurn(c.times...)
			m.Begin(prepare(t, m, plan.ModeOr, words("m2")))
			defer m.End()
			s := m.WholeStep()
			got, err := m.repeat(t.Context(), sched.CPU, &s)
			if err != nil || got != c.want || len(r.log) != c.runs || m.read != c.evicted {
				t.Errorf("%v, %v after %d runs and %d evictions; want %v, %d, %d", got, err, len(r.log), m.read, c.want, c.runs, c.evicted)
			}
			checkEqual(t, "samples", brief(m.samples), []string{"cpu-term " + c.want.String()})
			if lists, left := m.Done(); lists != 0 || left != 0 {
				t.Errorf("the query is after %d lists, not at its beginning", lists)
			}
		})
	}
}

// A run that fails ends the repetitions and leaves no sample, nor does a run
// after whose end the context has ended.
func TestRepeatErrors(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, multiples(100, 2))
	for failing := range 1 + times {
		m, r := scripted(t, nil, snapshot)
		m.Begin(prepare(t, m, plan.ModeOr, words("m2")))
		s := m.WholeStep()
		r.took = func(string, *dispatch.Step) (time.Duration, error) {
			if len(r.log) == failing+1 {
				return usual, io.ErrUnexpectedEOF
			}
			return usual, nil
		}
		if _, err := m.repeat(t.Context(), sched.CPU, &s); !errors.Is(err, io.ErrUnexpectedEOF) || len(r.log) != failing+1 || len(m.samples) > 0 {
			t.Errorf("run %d fails: %v after %d runs, samples %v", failing, err, len(r.log), brief(m.samples))
		}
		ctx, cancel := context.WithCancel(t.Context())
		r.log, r.took = nil, inTurn()
		r.ran = func(string) {
			if len(r.log) == failing+1 {
				cancel()
			}
		}
		if _, err := m.repeat(ctx, sched.CPU, &s); !errors.Is(err, context.Canceled) || len(r.log) != failing+1 || len(m.samples) > 0 {
			t.Errorf("the context ends in run %d: %v after %d runs, samples %v", failing, err, len(r.log), brief(m.samples))
		}
		m.End()
	}
}

func TestSamplesHavePositiveTimes(t *testing.T) {
	m := &measurer{}
	for _, took := range []time.Duration{-1, 0, 1} {
		m.add(cost.CPUOr, &cost.Features{Lists: int(took)}, took)
	}
	if len(m.samples) != 1 || m.samples[0] != (cost.Measured{Kind: cost.CPUOr, Features: cost.Features{Lists: 1}, Took: 1}) {
		t.Errorf("samples %+v", m.samples)
	}
}

// Flat queries without exclusions are measured, and impacts.
func TestMeasuredQueries(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, multiples(300, 2, 3, 7))
	clause := func(o query.Occur, text string) query.Clause {
		return query.Clause{Occur: o, Node: &query.Term{Text: text, Boost: 1}}
	}
	for _, c := range []struct {
		name string
		mode plan.Mode
		q    query.Node
		want []string
	}{
		{"OR", plan.ModeOr, words("m2 m3"), []string{"cpu-or 1ms"}},
		{"OR with a term that is missing", plan.ModeOr, words("m2 m3 m4"), []string{"cpu-or 1ms"}},
		{"AND", plan.ModeAnd, words("m2 m3"), []string{"cpu-and 1ms", "cpu-begin 1ms", "cpu-intersect"}},
		{"AND with a term that is missing", plan.ModeAnd, words("m2 m3 m4"), nil},
		{"without terms", plan.ModeOr, words(""), nil},
		{"exclusion", plan.ModeOr, &query.Boolean{Boost: 1, Clauses: []query.Clause{clause(query.Should, "m2"), clause(query.MustNot, "m3")}}, nil},
		{"tree", plan.ModeOr, &query.Boolean{Boost: 1, Clauses: []query.Clause{
			clause(query.Must, "m2"), {Occur: query.Must, Node: &query.Boolean{Boost: 1, Clauses: []query.Clause{clause(query.Should, "m3"), clause(query.Should, "m7")}}},
		}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, r := scripted(t, nil, snapshot)
			p := prepare(t, m, c.mode, c.q)
			w, err := m.measure(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.want) == 0 {
				if w != (whole{}) || len(r.log) > 0 || len(m.samples) > 0 {
					t.Errorf("%+v after runs %q, samples %q", w, r.log, brief(m.samples))
				}
				return
			}
			got := brief(m.samples)
			for i, want := range c.want {
				if len(got) <= i || got[i][:min(len(want), len(got[i]))] != want {
					t.Fatalf("samples %q, want %q", got, c.want)
				}
			}
			if w.took[sched.CPU] != usual || w.took[sched.GPU] != 0 || w.features != cost.TreeFeatures(&m.samples[0].Features) || w.kind[sched.CPU] != m.samples[0].Kind {
				t.Errorf("the whole: %+v", w)
			}
		})
	}
}

func TestMeasureReturnsErrors(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, multiples(300, 2, 3, 7))
	all, whole := 0, 0
	for failing := 1; ; failing++ {
		m, r := scripted(t, nil, snapshot)
		r.took = func(name string, _ *dispatch.Step) (time.Duration, error) {
			if len(r.log) == failing {
				return 0, io.ErrUnexpectedEOF
			}
			return usual, nil
		}
		_, err := m.measure(t.Context(), prepare(t, m, plan.ModeAnd, words("m2 m3 m7")))
		if len(r.log) < failing {
			if err != nil {
				t.Errorf("no run fails: %v", err)
			}
			break
		}
		if all++; r.log[failing-1] == "cpu cpu-and" {
			whole++
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(r.log) != failing {
			t.Errorf("%s, run %d, fails: %v after %d runs", r.log[failing-1], failing, err, len(r.log))
		}
	}
	if all != 6 || whole != 3 {
		t.Errorf("%d runs, %d of the whole; want 6, 3", all, whole)
	}
}

// The steps of a conjunction end where no candidates are left. The last one
// gives a sample if the predicted selection takes at most a fifth of the time.
func TestMeasureSteps(t *testing.T) {
	texts := multiples(300, 2, 3, 7)
	for i := range texts {
		if i%2 == 1 {
			texts[i] += " odd"
		}
	}
	snapshot := textIndex(t, index.Options{}, texts)
	for _, c := range []struct {
		name, text string
		less       time.Duration // than five times the selection
		steps      int           // with samples
		runs       []string
	}{
		{"selection of a fifth", "m2 m3 m7", 0, 3, []string{"cpu cpu-begin", "cpu cpu-intersect", "cpu cpu-intersect cpu-select"}},
		{"selection of more", "m2 m3 m7", 1, 2, []string{"cpu cpu-begin", "cpu cpu-intersect", "cpu cpu-intersect cpu-select"}},
		{"two lists", "m2 m3", 0, 2, []string{"cpu cpu-begin", "cpu cpu-intersect cpu-select"}},
		{"nothing left", "m2 odd x", 0, 2, []string{"cpu cpu-begin", "cpu cpu-intersect"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, r := scripted(t, nil, snapshot)
			want := []string{"cpu-and 1ms"}
			r.took = func(run string, s *dispatch.Step) (took time.Duration, err error) {
				p := s.Predictions()
				if took = usual; len(p) > 1 {
					if p[1].Took <= 1 {
						t.Fatalf("the selection is predicted to take %v", p[1].Took)
					}
					took = 5*p[1].Took - c.less
					want = append(want, "cpu-intersect "+(4*p[1].Took).String())
				} else if p[0].Kind != cost.CPUAnd {
					want = append(want, p[0].Kind.String()+" 1ms")
				}
				return took, nil
			}
			if _, err := m.measure(t.Context(), prepare(t, m, plan.ModeAnd, words(c.text))); err != nil {
				t.Fatal(err)
			}
			checkEqual(t, "runs", r.log[1+times:], c.runs)
			checkEqual(t, "samples", brief(m.samples), want[:1+c.steps])
			if int(m.read) != len(c.runs) {
				t.Errorf("the caches were replaced before %d short steps of %d", m.read, len(c.runs))
			}
		})
	}
}
