package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/regret"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

func griffin18Fig8() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig8", Paper: "griffin18", Shows: "Fig. 8", Title: "Where CPU and GPU cross",
		Did: "100 pairs of lists from each of 7 groups by the ratio of their lengths, the longer with 1 to 2 " +
			"million elements: the time to intersect them on the CPU and on Griffin-GPU, including transfers. " +
			"Both fall as the ratio grows, the CPU's faster: below a ratio of 128 the GPU is faster, above it the" +
			" CPU.",
		Ours: "Up to 100 pairs per group of a collection similar to GOV2, as AND queries of two terms for the best " +
			"10, one at a time, including planning. On one CPU thread: Griffin's best traversal, and a baseline " +
			"similar to the paper's (PForDelta, skip pointers and binary search). On the GPU: compressed lists in" +
			" page-locked host memory, from which the kernel reads the required blocks over the bus; and images " +
			"in device memory.",
		Differs: "The paper prints a figure without numbers; its GPU receives whole lists. Our times include scoring " +
			"and selection. Device memory is limited to 1 % of the index for lists in host memory; the table has " +
			"the amount read over the bus.",
		Budget: 3 * time.Minute,
		Run:    runGriffin18Fig8,
	}
}

// The paper's groups: ratios from one bound to the next.
var fig8Groups = []int{1, 16, 32, 64, 128, 256, 512, 1024}

// The first two use the CPU.
var fig8Variants = []string{"CPU, ours", "CPU, the paper's kind", "GPU, lists in host memory", "GPU, images"}

// The ratio from which on the paper's CPU is faster.
const paperCrossing = 128

func runGriffin18Fig8(ctx context.Context, env *lab.Env) (_ *lab.Result, err error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	c, queries, err := policyLog(ctx, env, "")
	if err != nil {
		return nil, err
	}
	other, _, err := policyLog(ctx, env, "pfordelta")
	if err != nil {
		return nil, err
	}
	groups, err := fig8Pairs(env, c, queries)
	if err != nil {
		return nil, err
	}
	f := &fig8{env: env, c: c, columns: 2}
	ways := []regret.Variant{{
		Name: fig8Variants[1], Searcher: other.Searcher, Exec: dispatch.Options{Mode: plan.ModeAnd, K: stagedK, Traversal: "svs-binary"},
	}}
	searcher := c.Searcher
	if d != nil {
		host, err := openEngine(ctx, env, c, engineOptions{memory: "1%"})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, host.dispatcher.Close()) }()
		images, err := openEngine(ctx, env, c, engineOptions{memory: lab.Pick(env, "20GiB", "1GiB")})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, images.dispatcher.Close()) }()
		f.columns, f.host, searcher = 4, host.searcher, host.searcher
		ways = append(ways, onGPU(fig8Variants[2], host.searcher, pipeline.PathPacked), onGPU(fig8Variants[3], images.searcher, pipeline.PathImages))
	}
	for i := range groups {
		env.Progress("ratios", i, len(groups))
		if err := f.measure(ctx, searcher, ways, groups[i]); err != nil {
			return nil, fmt.Errorf("ratios from %d: %w", fig8Groups[i], err)
		}
	}
	return f.result(groups, noDevice), nil
}

// Whole queries on the GPU with a given path.
func onGPU(name string, s *dispatch.Searcher, path pipeline.Path) regret.Variant {
	return regret.Variant{Name: name, Searcher: s, Exec: dispatch.Options{Mode: plan.ModeAnd, K: stagedK, Placement: fig8Placement(path)}}
}

func fig8Placement(path pipeline.Path) *dispatch.Placement {
	return &dispatch.Placement{First: sched.GPU, Path: path, Or: sched.GPU, OrPath: path}
}

// Pairs of terms as queries, by group of ratios.
func fig8Pairs(env *lab.Env, c *lab.Collection, queries []lab.Query) ([][]lab.Query, error) {
	terms, err := byLength(c, queries)
	if err != nil {
		return nil, err
	}
	from, to := lab.Pick(env, 1_000_000, c.NumDocs()/12), lab.Pick(env, 2_000_000, c.NumDocs())
	groups := make([][]lab.Query, len(fig8Groups)-1)
	rng := rand.New(rand.NewPCG(env.Seed, 8))
	most := lab.Pick(env, 100, 2)
	for g := range groups {
		seen := 0
		for _, long := range terms {
			if long.n < from || long.n >= to {
				continue
			}
			for _, short := range terms {
				if short.n*fig8Groups[g] > long.n || short.n*fig8Groups[g+1] <= long.n || short.term == long.term {
					continue
				}
				// Reservoir sampling: all pairs are equally likely.
				seen++
				q := lab.Query{ID: short.term + " " + long.term, Text: short.term + " " + long.term, Terms: []string{short.term, long.term}}
				if len(groups[g]) < most {
					groups[g] = append(groups[g], q)
				} else if at := rng.IntN(seen); at < most {
					groups[g][at] = q
				}
			}
		}
	}
	return groups, nil
}

type fig8 struct {
	env     *lab.Env
	c       *lab.Collection
	columns int                // measured variants
	host    *dispatch.Searcher // with lists in host memory; nil without a GPU

	us    [][]float64 // mean microseconds by group, then variant; nil for a group without pairs
	bus   []float64   // KB per query, by group
	pairs []int       // counted pairs, by group
	fell  []string    // pairs that ran elsewhere, which do not count
}

func (f *fig8) measure(ctx context.Context, searcher *dispatch.Searcher, ways []regret.Variant, pairs []lab.Query) error {
	f.us, f.bus, f.pairs = append(f.us, nil), append(f.bus, 0), append(f.pairs, 0)
	if len(pairs) == 0 {
		return nil
	}
	g := len(f.us) - 1
	m, err := regret.Measure(ctx, asNodes(pairs), regret.Options{
		Searcher: searcher, Analyzer: f.c.Snapshot.Options.Analyzer, Exec: dispatch.Options{Mode: plan.ModeAnd, K: stagedK},
		Policies: []dispatch.Policy{dispatch.PolicyCPU}, Others: ways, Rounds: lab.Pick(f.env, 4, 2),
	})
	if err != nil {
		return err
	}
	var counted []int
	f.us[g], counted = f.means(m)
	f.pairs[g] = len(counted)
	if f.host != nil {
		f.bus[g], err = f.overBus(ctx, pick(pairs, counted))
	}
	return err
}

// means returns the mean times of the pairs that every variant ran at its
// place, and these pairs; nil if there are none.
func (f *fig8) means(m *regret.Measured) (us []float64, counted []int) {
	for i := range m.Queries {
		fell := slices.IndexFunc(m.Queries[i].Ran[min(2, len(m.Names)):], func(rounds []regret.Places) bool {
			return slices.ContainsFunc(rounds, func(p regret.Places) bool { return !p.GPU })
		})
		if fell < 0 {
			counted = append(counted, i)
		} else {
			f.fell = append(f.fell, fmt.Sprintf("%s (%s)", m.Queries[i].ID, m.Names[2+fell]))
		}
	}
	if len(counted) == 0 {
		return nil, nil
	}
	us = make([]float64, len(m.Names))
	for v := range us {
		medians := m.Medians(v)
		for _, i := range counted {
			us[v] += float64(medians[i]) / float64(time.Microsecond) / float64(len(counted))
		}
	}
	return us, counted
}

// Mean kilobytes of lists read over the bus.
func (f *fig8) overBus(ctx context.Context, pairs []lab.Query) (float64, error) {
	sc, err := dispatch.NewScratch(f.c.Snapshot.Options.Analyzer)
	if err != nil {
		return 0, err
	}
	bytes := int64(0)
	for _, q := range pairs {
		p, err := f.host.Prepare(sc, &query.Words{Text: q.Text, Boost: 1}, dispatch.Options{Mode: plan.ModeAnd, K: stagedK, Placement: fig8Placement(pipeline.PathPacked)})
		if err != nil {
			return 0, err
		}
		var trace plan.Trace
		if _, err := p.RunTraced(ctx, sc, make([]base.Hit, 0, stagedK), &trace); err != nil {
			return 0, err
		}
		if len(trace.Steps) == 0 {
			return 0, errors.New("a query leaves no trace")
		}
		for i := range trace.Steps {
			if d := trace.Steps[i].Device; d != nil {
				bytes += d.BytesInPlace + d.ListBytes
			}
		}
	}
	return float64(bytes) / 1000 / float64(len(pairs)), nil
}

func (f *fig8) result(groups [][]lab.Query, noDevice string) *lab.Result {
	var rows []string
	for g := range groups {
		rows = append(rows, fmt.Sprintf("[%d,%d)", fig8Groups[g], fig8Groups[g+1]))
	}
	gpu, host := len(fig8Variants)+1, fig8Variants[2]
	t := lab.NewTable("Time to intersect a pair of lists, µs", "ratio of lengths", rows,
		append(append([]string{"pairs"}, fig8Variants...), "KB over the bus", "CPU, ours, to "+host, "CPU, the paper's kind, to "+host))
	figure := &lab.Figure{Title: t.Title, Kind: lab.Lines, LogX: true, LogY: true, X: "ratio of lengths, from", Y: "time, µs", Series: make([]lab.Series, f.columns)}
	for row := range rows {
		t.Set(row, 0, float64(f.pairs[row]))
		us := f.us[row]
		if us == nil {
			reason := "The collection has no such lists."
			if len(groups[row]) > 0 {
				reason = "None of its pairs ran where it should."
			}
			for column := 1; column < len(t.Columns); column++ {
				t.Leave(row, column, reason)
			}
			continue
		}
		for v := range fig8Variants {
			if v >= f.columns {
				t.Leave(row, 1+v, noDevice)
				continue
			}
			t.Set(row, 1+v, us[v])
			figure.Series[v].Name = fig8Variants[v]
			figure.Series[v].Points = append(figure.Series[v].Points, lab.Point{X: float64(fig8Groups[row]), Y: us[v]})
		}
		if f.host == nil {
			for column := gpu; column < len(t.Columns); column++ {
				t.Leave(row, column, noDevice)
			}
			continue
		}
		t.Set(row, gpu, f.bus[row])
		t.Set(row, gpu+1, us[0]/us[2])
		t.Set(row, gpu+2, us[1]/us[2])
	}
	r := &lab.Result{Tables: []*lab.Table{t, f.crossings(noDevice)}, Figures: []*lab.Figure{figure}}
	if n := len(f.fell); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("Of the pairs, %d do not count, because the CPU instead of the GPU answered them: %s.", n, strings.Join(f.fell[:min(n, 5)], ", ")))
	}
	return r
}

// The ratios from which on the CPU is faster.
func (f *fig8) crossings(noDevice string) *lab.Table {
	t := lab.NewTable("Ratio of lengths from which on the CPU is faster", "", fig8Variants[:2], fig8Variants[2:])
	for cpu := range t.Rows {
		for column := range t.Columns {
			if cpu == 1 && column == 0 {
				t.SetPaper(cpu, column, paperCrossing)
			}
			if f.host == nil {
				t.Leave(cpu, column, noDevice)
				continue
			}
			from := crossing(f.us, cpu, 2+column)
			if from == 0 {
				t.SetText(cpu, column, fmt.Sprintf("none below %d", fig8Groups[len(fig8Groups)-1]))
				continue
			}
			t.Set(cpu, column, float64(from))
		}
	}
	return t
}

// The smallest ratio from which on the CPU is faster in every group, or 0.
func crossing(us [][]float64, cpu, gpu int) int {
	from := 0
	for g := len(us) - 1; g >= 0; g-- {
		if us[g] == nil {
			continue
		}
		if us[g][cpu] >= us[g][gpu] {
			break
		}
		from = fig8Groups[g]
	}
	return from
}
