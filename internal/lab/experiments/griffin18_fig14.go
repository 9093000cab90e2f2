package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/regret"
)

func griffin18Fig14() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig14", Paper: "griffin18", Shows: "Fig. 14", Title: "Latency of a query by number of terms",
		Did: "Queries of TREC 2005 and 2006 over about 100 GB of ClueWeb12, lists in host memory, one query at a time: mean latency by number of terms with the CPU " +
			"alone, with Griffin-GPU alone, and with Griffin, which moves a query from the GPU to the CPU when the next list is 128 times as long as what is left. " +
			"Griffin is on average about 10 times as fast as the CPU and about 1.5 times as fast as the GPU alone.",
		Ours: "AND queries, best 10, on a collection like GOV2, one at a time, planning included. CPU: Griffin's best traversal on one thread, and a baseline of the paper's kind (PForDelta, " +
			"the two shortest lists first, skip pointers and binary search, one thread). Then the policies `gpu`, `ratio` (the paper's) and `cost` (Griffin's default), " +
			"once with all lists of 1,000 postings and more on the GPU, and once with them in page-locked host memory and device memory of a tenth of the index. There `gpu` reads the blocks that " +
			"it needs over the bus; with whole lists it brings all of each, as the paper's does.",
		Differs: "1,000 queries, each the median of 3 rounds after one to warm up; the paper ran 10,000. Its latencies are in a figure without numbers; " +
			"its speed-ups, of the whole log, stand beside both of our CPU engines. The paper's lists are moved for each query.",
		Budget: 6 * time.Minute,
		Run:    runGriffin18Fig14,
	}
}

// fig14Terms are the groups by number of terms; the last has those with more.
var fig14Terms = []string{"1", "2", "3", "4", "5", "6 and more"}

// fig14Variants are the columns.
var fig14Variants = []struct{ variant, name string }{
	{baselineName, "CPU, the paper's kind"},
	{string(exec.PolicyCPU), "CPU, ours"},
	{string(exec.PolicyGPU), "GPU alone"},
	{string(exec.PolicyRatio), "Griffin, ratio 128"},
	{string(exec.PolicyCost), "Griffin, cost"},
	{wholeName, "GPU alone, whole lists"},
}

// The paper's speed-ups of Griffin.
const (
	paperOverCPU = 10
	paperOverGPU = 1.5
)

func runGriffin18Fig14(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	runs, device, noDevice, err := griffin18Runs(ctx, env, false /* hindsight */)
	if err != nil {
		return nil, err
	}
	return fig14Result(runs, device, noDevice), nil
}

func fig14Result(runs *policyRuns, device bool, noDevice string) *lab.Result {
	r := &lab.Result{Notes: runs.notes()}
	for i, s := range settings {
		t, f := fig14Of(runs, i, s.name, device, noDevice)
		r.Tables = append(r.Tables, t)
		if f != nil {
			r.Figures = append(r.Figures, f)
		}
		if i < len(runs.whole) && runs.whole[i] != nil {
			r.Notes = append(r.Notes, onGPUNote(runs.whole[i], s.name))
		}
	}
	return r
}

// onGPUNote tells how many queries the GPU answered with whole lists.
func onGPUNote(m *regret.Measured, name string) string {
	n := 0
	for i := range m.Queries {
		if slices.ContainsFunc(m.Queries[i].Ran[0], func(p regret.Places) bool { return p.GPU }) {
			n++
		}
	}
	return fmt.Sprintf("%s: with whole lists the GPU answered %d of %d queries; the lists of the others have no room there as images, and the CPU answered them.", name, n, len(m.Queries))
}

// fig14Of returns the table of a setting, and its figure if there is something new in it.
func fig14Of(runs *policyRuns, i int, name string, device bool, noDevice string) (*lab.Table, *lab.Figure) {
	groups, names := fig14Groups(runs)
	columns := []string{"queries"}
	for _, v := range fig14Variants {
		columns = append(columns, v.name)
	}
	ratios := []struct {
		name     string
		of, to   int // of fig14Variants
		paper    float64
		hasPaper bool
	}{
		{"CPU, the paper's kind, to CPU, ours", 0, 1, 0, false},
		{"CPU, the paper's kind, to cost", 0, 4, paperOverCPU, true},
		{"CPU, ours, to cost", 1, 4, paperOverCPU, true},
		{"GPU to cost", 2, 4, paperOverGPU, true},
		{"GPU to ratio 128", 2, 3, paperOverGPU, true},
		{"GPU, whole lists, to cost", 5, 4, paperOverGPU, true},
	}
	for _, x := range ratios {
		columns = append(columns, x.name)
	}
	t := lab.NewTable("Mean latency of an AND query, µs: "+name, "terms", append(names, fig14Totals...), columns)
	f := &lab.Figure{Title: t.Title, Kind: lab.Bars, LogY: true, X: "terms", Y: "mean latency, µs", Categories: t.Rows}
	means := make([][]float64, len(fig14Variants)) // by variant, then row; nil: not measured
	for v, variant := range fig14Variants {
		us := runs.medians(i, variant.variant)
		for _, members := range withTotals(groups, names) {
			if us != nil {
				means[v] = append(means[v], mean(pick(us, members)))
			}
		}
		if us != nil {
			f.Series = append(f.Series, lab.Series{Name: variant.name, Points: lab.Heights(means[v]...)})
		}
	}
	for row, members := range withTotals(groups, names) {
		t.Set(row, 0, float64(len(members)))
		for v, variant := range fig14Variants {
			setOr(t, row, 1+v, means[v], row, runs.reason(i, variant.variant, noDevice))
		}
		for j, x := range ratios {
			column := 1 + len(fig14Variants) + j
			if x.hasPaper && row >= len(groups) {
				t.SetPaper(row, column, x.paper)
			}
			switch {
			case means[x.of] == nil:
				t.Leave(row, column, runs.reason(i, fig14Variants[x.of].variant, noDevice))
			case means[x.to] == nil:
				t.Leave(row, column, runs.reason(i, fig14Variants[x.to].variant, noDevice))
			default:
				t.Set(row, column, means[x.of][row]/means[x.to][row])
			}
		}
	}
	if !device && i > 0 {
		return t, nil
	}
	return t, f
}

// setOr fills a cell with a value, or leaves it out where there are none.
func setOr(t *lab.Table, row, column int, values []float64, i int, reason string) {
	if values == nil {
		t.Leave(row, column, reason)
		return
	}
	t.Set(row, column, values[i])
}

// fig14Groups returns which queries are in each group that has some, and its name.
func fig14Groups(runs *policyRuns) (groups [][]int, names []string) {
	by := make([][]int, len(fig14Terms))
	m := runs.all[0]
	for i := range m.Queries {
		if n := numTerms(&m.Queries[i]); n > 0 {
			g := min(n, len(by)) - 1
			by[g] = append(by[g], i)
		}
	}
	for g, members := range by {
		if len(members) > 0 {
			groups, names = append(groups, members), append(names, fig14Terms[g])
		}
	}
	return groups, names
}

// fig14Totals are the last rows.
var fig14Totals = []string{"2 and more", "all"}

// withTotals returns the groups, and those of fig14Totals.
func withTotals(groups [][]int, names []string) [][]int {
	all, several := slices.Concat(groups...), []int(nil)
	for i, g := range groups {
		if names[i] != fig14Terms[0] {
			several = append(several, g...)
		}
	}
	return append(slices.Clone(groups), several, all)
}

func pick[T any](values []T, members []int) []T {
	var some []T
	for _, i := range members {
		some = append(some, values[i])
	}
	return some
}
