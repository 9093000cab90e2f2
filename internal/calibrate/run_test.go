package calibrate

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
)

func TestDefaultOptions(t *testing.T) {
	for _, c := range []struct {
		name       string
		o          Options
		processors int
		want       Options
	}{
		{"few processors", Options{}, 3, Options{Limit: 7 * time.Second, Queries: 4000}},
		{"negative", Options{Limit: -1, Queries: -1, Helpers: -1}, 8, Options{Limit: 7 * time.Second, Queries: 4000}},
		{"the least", Options{Limit: 1, Queries: 1, Helpers: 1}, 8, Options{Limit: 1, Queries: 1, Helpers: 1}},
		{"more helpers than processors", Options{Helpers: 9}, 1, Options{Limit: 7 * time.Second, Queries: 4000, Helpers: 9}},
		{"four processors", Options{}, 4, Options{Limit: 7 * time.Second, Queries: 4000, Helpers: 1}},
		{"15 processors", Options{}, 15, Options{Limit: 7 * time.Second, Queries: 4000, Helpers: 3}},
		{"many processors", Options{}, 64, Options{Limit: 7 * time.Second, Queries: 4000, Helpers: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.o.withDefaults(c.processors)
			if got.Limit != c.want.Limit || got.Queries != c.want.Queries || got.Helpers != c.want.Helpers {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestPaysLimits(t *testing.T) {
	g := testGPU(t, testMemory)
	for _, c := range []struct {
		name      string
		gpu       *dispatch.GPU
		policy    dispatch.Policy
		listBytes int64
		want      bool
	}{
		{"long lists", g, dispatch.PolicyCost, 1 << 20, true},
		{"short lists", g, dispatch.PolicyCost, 1<<20 - 1, false},
		{"no GPU", nil, dispatch.PolicyCost, 1 << 30, false},
		{"nothing to predict", g, dispatch.PolicyGPU, 1 << 30, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := pays(testDispatcher(t, c.gpu, dispatch.Config{Policy: c.policy}), c.listBytes); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Only the first measures on the GPU. Each draws queries of its own, the same
// ones for an equal index.
func TestPrepareHelpers(t *testing.T) {
	g, snapshot := testGPU(t, testMemory), textIndex(t, index.Options{}, pairs(200))
	draws := func() (all []string) {
		c := &calibration{options: Options{Helpers: 2}}
		if err := c.prepare(t.Context(), g, snapshot, longWait); err != nil {
			t.Fatal(err)
		}
		all = make([]string, len(c.all))
		for range 30 { // in turn: a generator in common would differ from one in the next call only
			for i := range c.all {
				q, _, err := c.all[i].terms.random(false)
				if err != nil {
					t.Fatal(err)
				}
				all[i] += q.String() + "\n"
			}
		}
		for i := range c.all {
			m := c.all[i].m
			m.Begin(prepare(t, m, plan.ModeOr, words("left001")))
			if got := m.HasGPU(); got != (i == 0) || c.all[i].impacts {
				t.Errorf("measurer %d has the GPU: %v, impacts: %v", i, got, c.all[i].impacts)
			}
			m.End()
			if i > 0 && c.all[i].terms.rng == c.all[0].terms.rng {
				t.Errorf("measurer %d shares a random generator", i)
			}
		}
		return all
	}
	all, again := draws(), draws()
	if len(all) != 3 || !slices.Equal(all, again) {
		t.Errorf("the queries of %d measurers are equal in each call: %v", len(all), slices.Equal(all, again))
	}
	if len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Error("two measurers draw the same queries")
	}
}

func TestRunErrors(t *testing.T) {
	unknown := textIndex(t, index.Options{}, pairs(3))
	unknown.Options.Analyzer = "none of that name"
	for _, c := range []struct {
		name     string
		snapshot *index.Snapshot
		failed   bool
		want     error
	}{
		{"without terms", textIndex(t, index.Options{}, []string{""}), false, nil},
		{"without documents", textIndex(t, index.Options{}, nil), false, nil},
		{"damaged dictionary", reopened(t, pairs(300), "records"), true, base.ErrCorrupt},
		{"unknown analyzer", unknown, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := testDispatcher(t, nil, dispatch.Config{})
			o := Options{Helpers: -1, Queries: 200, Progress: func(done, total int64) { t.Errorf("query %d of %d", done, total) }}
			err := Run(t.Context(), d, c.snapshot, o)
			if (err != nil) != c.failed || c.want != nil && !errors.Is(err, c.want) || d.Costs().Calibrated() {
				t.Errorf("%v, calibrated: %v", err, d.Costs().Calibrated())
			}
		})
	}
}

// begin returns a calibration whose queries run once and take long, with the
// scripts of the measurers. In a bubble, time passes only where a test sleeps.
func begin(t *testing.T, snapshot *index.Snapshot, o Options) (*calibration, []*script) {
	t.Helper()
	c := &calibration{began: time.Now(), options: o}
	if err := c.prepare(t.Context(), nil, snapshot, longWait); err != nil {
		t.Fatal(err)
	}
	var all []*script
	for i := range c.all {
		m, r := scripted(t, nil, snapshot)
		r.took = func(string, *dispatch.Step) (time.Duration, error) { return tooLong + 1, nil }
		c.all[i].m = m
		all = append(all, r)
	}
	return c, all
}

// queries returns the number of queries that began.
func (r *script) queries() (n int) {
	for _, run := range r.log {
		switch strings.TrimPrefix(run, "cpu cpu-") {
		case "term", "or", "and":
			n++
		}
	}
	return n
}

// beginning reports whether a run is the first one of a query.
func beginning(s *dispatch.Step) bool {
	return (&script{log: []string{"cpu " + s.Predictions()[0].Kind.String()}}).queries() > 0
}

// Helpers share the number of queries. The samples of all are returned.
func TestMeasureAll(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, pairs(50))
	for _, helpers := range []int{0, 1, 2, 4} {
		synctest.Test(t, func(t *testing.T) {
			var progress []int64
			c, scripts := begin(t, snapshot, Options{Limit: 1, Queries: 9, Helpers: helpers, Progress: func(done, total int64) {
				if synctest.Wait(); total != 9 {
					t.Errorf("a total of %d", total)
				}
				progress = append(progress, done)
			}})
			samples, err := c.measure(t.Context())
			if err != nil || !slices.Equal(progress, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
				t.Errorf("%d helpers: %v, progress %d", helpers, err, progress)
			}
			var want []string
			for i, r := range scripts {
				n := 9
				if i > 0 {
					n = 9 / helpers
				}
				if got := r.queries(); got != n {
					t.Errorf("measurer %d of %d: %d queries, want %d", i, len(scripts), got, n)
				}
				want = append(want, brief(c.all[i].m.samples)...)
			}
			if len(scripts) != 1+helpers || len(want) < 9 {
				t.Errorf("%d measurers, %d samples", len(scripts), len(want))
			}
			checkEqual(t, "samples", brief(samples), want)
		})
	}
}

// After the limit, no query begins.
func TestMeasureLimit(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, pairs(50))
	for _, helpers := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			c, scripts := begin(t, snapshot, Options{Limit: 3 * time.Second, Queries: 50, Helpers: helpers})
			for _, r := range scripts {
				r.took = func(_ string, s *dispatch.Step) (time.Duration, error) {
					if beginning(s) {
						time.Sleep(time.Second)
					}
					return tooLong + 1, nil
				}
			}
			samples, err := c.measure(t.Context())
			if err != nil || len(samples) < 4*(1+helpers) {
				t.Errorf("%d helpers: %d samples, %v", helpers, len(samples), err)
			}
			for i, r := range scripts {
				if got := r.queries(); got != 4 {
					t.Errorf("measurer %d: %d queries of a second within 3 s, want 4", i, got)
				}
			}
		})
	}
}

func TestHelp(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, pairs(50))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		limit   time.Duration
		err     error // of the third query
		queries int
		want    error
	}{
		{"all", t.Context(), longWait, nil, 5, nil},
		{"cancelled", cancelled, longWait, nil, 0, nil},
		{"no time", t.Context(), -1, nil, 0, nil},
		{"failure", t.Context(), longWait, io.ErrUnexpectedEOF, 3, io.ErrUnexpectedEOF},
		{"cancelled meanwhile", t.Context(), longWait, context.Canceled, 3, nil},
		{"the deadline is over meanwhile", t.Context(), longWait, context.DeadlineExceeded, 3, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			of, scripts := begin(t, snapshot, Options{Limit: c.limit, Helpers: 1})
			one, r := &of.all[1], scripts[1]
			r.took = func(string, *dispatch.Step) (time.Duration, error) {
				if c.err != nil && r.queries() == 3 {
					return 0, c.err
				}
				return tooLong + 1, nil
			}
			if one.help(c.ctx, of, 5); r.queries() != c.queries || !errors.Is(one.err, c.want) {
				t.Errorf("%v after %d queries, want %v after %d", one.err, r.queries(), c.want, c.queries)
			}
		})
	}
}

// Any failure ends the measurement and is returned.
func TestMeasureAllFails(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, pairs(50))
	for failing, want := range [][]int{{2, 0, 0}, {1, 2, 9}, {1, 9, 2}} {
		synctest.Test(t, func(t *testing.T) {
			o := Options{Limit: longWait, Queries: 18, Helpers: 2, Progress: func(int64, int64) { synctest.Wait() }}
			c, scripts := begin(t, snapshot, o)
			r := scripts[failing]
			r.took = func(string, *dispatch.Step) (time.Duration, error) {
				if r.queries() == 2 {
					return 0, io.ErrUnexpectedEOF
				}
				return tooLong + 1, nil
			}
			samples, err := c.measure(t.Context())
			if !errors.Is(err, io.ErrUnexpectedEOF) || samples != nil {
				t.Errorf("measurer %d fails: %v, %d samples", failing, err, len(samples))
			}
			for i, n := range want {
				// The first may begin its query before the failure, the other helper end before or after it.
				got := scripts[i].queries()
				if i == failing && got != n || i == 0 && got > n {
					t.Errorf("measurer %d fails: %d queries of measurer %d, want %d", failing, got, i, n)
				}
			}
		})
	}
}

// The first does not wait for further queries of the helpers, but for the
// current ones: they use the snapshot. Their failures are returned.
func TestHelpersEnd(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, pairs(50))
	for _, c := range []struct {
		name   string
		panics bool
		err    error
	}{
		{"success", false, nil},
		{"failure", false, io.ErrUnexpectedEOF},
		{"panic", true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cal, scripts := begin(t, snapshot, Options{Limit: longWait, Queries: 2, Helpers: 1, Progress: func(int64, int64) {
					if synctest.Wait(); c.panics {
						panic("progress")
					}
				}})
				slept := 0
				scripts[1].took = func(string, *dispatch.Step) (time.Duration, error) {
					time.Sleep(time.Second)
					slept++
					return tooLong + 1, c.err
				}
				func() {
					defer func() {
						if got := recover(); (got == "progress") != c.panics {
							t.Errorf("panic: %v", got)
						}
					}()
					if samples, err := cal.measure(t.Context()); !errors.Is(err, c.err) || (samples == nil) != (err != nil) {
						t.Errorf("%v, %d samples", err, len(samples))
					}
				}()
				if slept != 1 {
					t.Errorf("the helper had %d runs when the measurement was over, want 1", slept)
				}
			})
		})
	}
}

// If the context ends, its error is returned, also between two queries.
func TestMeasureAllCancelled(t *testing.T) {
	snapshot := textIndex(t, index.Options{}, pairs(50))
	for _, helpers := range []int{0, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		c, scripts := begin(t, snapshot, Options{Limit: longWait, Queries: 50, Helpers: helpers, Progress: func(done, _ int64) {
			if done == 3 {
				cancel()
			}
		}})
		if samples, err := c.measure(ctx); !errors.Is(err, context.Canceled) || samples != nil || scripts[0].queries() != 3 {
			t.Errorf("%d helpers: %v after %d queries, %d samples", helpers, err, scripts[0].queries(), len(samples))
		}
	}
}

// A query that the index cannot answer is a failure.
func TestQueryErrors(t *testing.T) {
	c, _ := begin(t, textIndex(t, index.Options{}, pairs(5)), Options{})
	one := &c.all[0]
	one.impacts = true // wrongly
	var err error
	for range 300 {
		if err = one.query(t.Context()); err != nil {
			break
		}
	}
	if !errors.Is(err, index.ErrNoImpacts) {
		t.Errorf("%v, want %v", err, index.ErrNoImpacts)
	}
}
