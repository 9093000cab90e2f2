package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/sched"
)

func griffin18Fig8() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig8", Paper: "griffin18", Shows: "Fig. 8", Title: "Where CPU and GPU cross",
		Did: "100 pairs of lists from each of 7 groups by the ratio of their lengths, the longer with 1 to 2 " +
			"million elements: the time to intersect them on the CPU and on Griffin-GPU, including transfers. " +
			"Both fall as the ratio grows, the CPU's faster: below a ratio of 128 the GPU is faster, above it the" +
			" CPU.",
		Ours: "Up to 100 pairs per group of a collection similar to the paper's part of ClueWeb12, as AND queries of" +
			" two terms, one at a time. The paper's systems are the engine griffin18 with `on=cpu` and `on=gpu`; " +
			"each merges below a ratio of 128 and searches by skip pointers from there on. \"Merging\" and " +
			"\"searching\" are the same engine with one method at all ratios (`crossing`, `cpu-crossing`). " +
			"\"Intersection alone\" is the sum of the steps up to the last intersection, from a trace, which waits " +
			"for the GPU after each step; it is the median of 5 answers to the same query, one after the other. Griffin's own engine is a separate series: its CPU traversal on one " +
			"thread; on the GPU, which reads the required blocks from page-locked host memory; and its default policy with resident lists, without copies. " + fmt.Sprintf(griffin18Timed, fig8Rounds) + "Cells are means over the pairs.",
		Differs: griffin18Differs + "The paper prints a figure without numbers, and times the intersection; whole queries also score. " +
			"The two systems of the paper prune nothing; Griffin's own engine prunes by bounds of scores.",
		Findings: fig8Findings, Verdicts: fig8Verdicts,
		Budget: 6 * time.Minute,
		Run:    runGriffin18Fig8,
	}
}

// The paper's groups: ratios from one bound to the next.
var fig8Groups = []int{1, 16, 32, 64, 128, 256, 512, 1024}

const (
	// The ratio from which on the paper's CPU is faster.
	paperCrossing = 128
	fig8Rounds    = 5
	never         = 1 << 30 // a ratio above all
)

// Indexes in fig8Systems.
const (
	fig8CPU = iota
	fig8GPU
	fig8CPUMerging
	fig8CPUSearching
	fig8GPUMerging
	fig8GPUSearching
	fig8OwnCPU
	fig8OwnHost
	fig8Own
)

var fig8Systems = []griffin18System{
	fig8CPU:          {name: "CPU", spec: "griffin18:on=cpu"},
	fig8GPU:          {name: "Griffin-GPU", spec: "griffin18:on=gpu", gpu: true},
	fig8CPUMerging:   {name: "CPU, merging", spec: fmt.Sprintf("griffin18:on=cpu,cpu-crossing=%d", never)},
	fig8CPUSearching: {name: "CPU, searching", spec: "griffin18:on=cpu,cpu-crossing=1"},
	fig8GPUMerging:   {name: "Griffin-GPU, merging", spec: fmt.Sprintf("griffin18:on=gpu,crossing=%d", never), gpu: true},
	fig8GPUSearching: {name: "Griffin-GPU, searching", spec: "griffin18:on=gpu,crossing=1", gpu: true},
	fig8OwnCPU:       {name: "Griffin's own engine, CPU"},
	fig8OwnHost: {
		name: "Griffin's own engine, GPU, lists in host memory", gpu: true, memory: "1%",
		placement: &dispatch.Placement{First: sched.GPU, Path: pipeline.PathPacked, Or: sched.GPU, OrPath: pipeline.PathPacked},
	},
	fig8Own: {name: "Griffin's own engine", gpu: true},
}

func runGriffin18Fig8(ctx context.Context, env *lab.Env) (_ *lab.Result, err error) {
	_, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	c, queries, err := griffin18Log(ctx, env)
	if err != nil {
		return nil, err
	}
	groups, err := fig8Pairs(env, c, queries)
	if err != nil {
		return nil, err
	}
	s, err := newSystems(env, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	f := &fig8{pairs: make([]int, len(groups)), us: make([][]float64, len(groups)), alone: make([][]float64, len(groups)), bus: make([]float64, len(groups))}
	if f.measured, err = s.open(ctx, fig8Systems); err != nil {
		return nil, err
	}
	for g := range groups {
		env.Progress("ratios", g, len(groups))
		if err := f.measure(ctx, s, g, groups[g]); err != nil {
			return nil, fmt.Errorf("ratios from %d: %w", fig8Groups[g], err)
		}
	}
	r := f.result(noDevice)
	for _, of := range s.all {
		if of.elsewhere > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: the CPU answered %d queries of all rounds.", of.name, of.elsewhere))
		}
	}
	return r, nil
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
	measured []int // in fig8Systems

	pairs []int       // by group
	us    [][]float64 // mean microseconds by group, then system; nil for a group without pairs; 0: not measured
	alone [][]float64 // of the intersection alone: CPU, Griffin-GPU
	bus   []float64   // KB per pair that Griffin-GPU receives
}

func (f *fig8) measure(ctx context.Context, s *systems, g int, pairs []lab.Query) error {
	if f.pairs[g] = len(pairs); len(pairs) == 0 {
		return nil
	}
	rounds := lab.Pick(s.env, fig8Rounds, 1)
	us, bus, err := s.measure(ctx, fmt.Sprintf("ratios from %d", fig8Groups[g]), pairs, rounds)
	if err != nil {
		return err
	}
	f.us[g], f.alone[g] = make([]float64, len(fig8Systems)), make([]float64, 2)
	for k, i := range f.measured {
		f.us[g][i] = mean(us[k])
		if i > fig8GPU {
			continue
		}
		traced, err := s.trace(ctx, s.all[k], pairs, rounds)
		if err != nil {
			return err
		}
		for _, t := range traced {
			f.alone[g][i] += t.intersect / float64(len(pairs))
		}
		if i == fig8GPU {
			f.bus[g] = bus[k]
		}
	}
	return nil
}

func (f *fig8) result(noDevice string) *lab.Result {
	var rows []string
	for g := range f.us {
		rows = append(rows, fmt.Sprintf("[%d,%d)", fig8Groups[g], fig8Groups[g+1]))
	}
	columns := []string{"pairs"}
	for _, s := range fig8Systems {
		columns = append(columns, s.name)
	}
	columns = append(columns, "CPU, intersection alone", "Griffin-GPU, intersection alone", "KB to Griffin-GPU", "CPU to Griffin-GPU", "the same, intersection alone")
	t := lab.NewTable("Time of a pair of lists, µs", "ratio of lengths", rows, columns)
	systems := &lab.Figure{Title: t.Title, Kind: lab.Lines, LogX: true, LogY: true, X: "ratio of lengths, from", Y: "time, µs"}
	for v, s := range fig8Systems {
		series := lab.Series{Name: s.name}
		for g, us := range f.us {
			if us != nil && us[v] > 0 {
				series.Points = append(series.Points, lab.Point{X: float64(fig8Groups[g]), Y: us[v]})
			}
		}
		if len(series.Points) > 0 {
			systems.Series = append(systems.Series, series)
		}
	}
	for row := range rows {
		f.row(t, row, noDevice)
	}
	r := &lab.Result{Tables: []*lab.Table{t, f.crossings(noDevice)}}
	if low, high, ok := rangeOf(systems); ok {
		systems.Series = append(systems.Series, lab.Series{Name: "the paper's crossing, 128", Paper: true, Points: []lab.Point{{X: paperCrossing, Y: low}, {X: paperCrossing, Y: high}}})
		r.Figures = []*lab.Figure{systems}
	}
	return r
}

// rangeOf returns the least and the greatest Y of a figure.
func rangeOf(f *lab.Figure) (low, high float64, ok bool) {
	for _, s := range f.Series {
		for _, p := range s.Points {
			if !ok {
				low, high, ok = p.Y, p.Y, true
			}
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	return low, high, ok
}

func (f *fig8) row(t *lab.Table, row int, noDevice string) {
	t.Set(row, 0, float64(f.pairs[row]))
	us, alone := f.us[row], f.alone[row]
	if us == nil {
		for column := 1; column < len(t.Columns); column++ {
			t.Leave(row, column, "The collection has no such lists.")
		}
		return
	}
	values := append(append([]float64(nil), us...), alone[0], alone[1], f.bus[row], 0, 0)
	if us[fig8GPU] > 0 {
		values[len(values)-2], values[len(values)-1] = us[fig8CPU]/us[fig8GPU], alone[0]/max(alone[1], 1e-3)
	}
	for i, v := range values {
		measured := v > 0 || i == len(us)+2 && us[fig8GPU] > 0
		setIf(t, row, 1+i, v, measured, noDevice)
	}
}

// The ratios from which on one system is faster than another.
func (f *fig8) crossings(noDevice string) *lab.Table {
	pairs := []struct {
		name         string
		faster, than int
		gpu          bool
		paper        float64 // 0: none
	}{
		{"CPU is faster than Griffin-GPU", fig8CPU, fig8GPU, true, paperCrossing},
		{"CPU, by its faster method, is faster than Griffin-GPU by its", fig8Best, fig8Best + 1, true, paperCrossing},
		{"CPU searches faster than it merges", fig8CPUSearching, fig8CPUMerging, false, 0},
		{"Griffin-GPU searches faster than it merges", fig8GPUSearching, fig8GPUMerging, true, paperCrossing},
		{"Griffin's own engine is faster on the CPU", fig8OwnCPU, fig8Own, true, 0},
	}
	var rows []string
	for _, p := range pairs {
		rows = append(rows, p.name)
	}
	t := lab.NewTable("Ratio of lengths from which on one system is faster", "", rows, []string{"ratio"})
	for row, p := range pairs {
		if p.paper > 0 {
			t.SetPaper(row, 0, p.paper)
		}
		from := crossing(withBest(f.us), p.faster, p.than)
		switch {
		case p.gpu && len(f.measured) < len(fig8Systems):
			t.Leave(row, 0, noDevice)
		case from == 0:
			t.SetText(row, 0, fmt.Sprintf("none below %d", fig8Groups[len(fig8Groups)-1]))
		default:
			t.Set(row, 0, float64(from))
		}
	}
	return t
}

// fig8Best is the index of the CPU's faster method, and behind it of the GPU's.
const fig8Best = fig8Own + 1

// withBest adds the faster method of each processor.
func withBest(us [][]float64) [][]float64 {
	all := make([][]float64, len(us))
	for g, of := range us {
		if of != nil {
			all[g] = append(slices.Clone(of), min(of[fig8CPUMerging], of[fig8CPUSearching]), min(of[fig8GPUMerging], of[fig8GPUSearching]))
		}
	}
	return all
}

// The smallest ratio from which on a system is faster in every group, or 0.
func crossing(us [][]float64, faster, than int) int {
	from := 0
	for g := len(us) - 1; g >= 0; g-- {
		if us[g] == nil {
			continue
		}
		if us[g][faster] >= us[g][than] {
			break
		}
		from = fig8Groups[g]
	}
	return from
}
