package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/lab"
)

func griffin18Fig14() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig14", Paper: "griffin18", Shows: "Fig. 14", Title: "Latency of a query by number of terms",
		Did: "Queries of TREC 2005 and 2006 over about 100 GB of ClueWeb12, lists in host memory, one query at a " +
			"time: mean latency by number of terms with the CPU alone, with Griffin-GPU alone, and with Griffin, " +
			"which moves a query from the GPU to the CPU when the next list is 128 times as long as the " +
			"intermediate result. Griffin is on average about 10 times as fast as the CPU and about 1.5 times as " +
			"fast as the GPU alone.",
		Ours: "AND queries, best 10, on a collection similar to GOV2, one at a time, including planning. CPU: " +
			"Griffin's best traversal on one thread, and a baseline similar to the paper's (PForDelta, the two " +
			"shortest lists first, skip pointers and binary search, one thread). Then the policies `gpu`, `ratio`" +
			" (the paper's) and `cost` (Griffin's default): first with all lists of 1,000 or more postings on the" +
			" GPU, then with them in page-locked host memory and device memory for a tenth of the index. There " +
			"`gpu` reads the required blocks over the bus; \"whole lists\" loads complete lists, as the paper does.",
		Differs: griffin18RunsDiffer +
			" The paper prints a figure of latencies without numbers; its speed-ups over the whole log are shown " +
			"next to both of our CPU engines.",
		Budget: 6 * time.Minute,
		Run:    runGriffin18Fig14,
	}
}

// By number of terms; the last includes higher numbers.
var fig14Terms = []string{"1", "2", "3", "4", "5", "6 and more"}

var fig14Variants = []struct{ variant, name string }{
	{baselineName, "CPU, the paper's kind"},
	{string(dispatch.PolicyCPU), "CPU, ours"},
	{string(dispatch.PolicyGPU), "GPU alone"},
	{string(dispatch.PolicyRatio), "Griffin, ratio 128"},
	{string(dispatch.PolicyCost), "Griffin, cost"},
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
	r := &lab.Result{Notes: append(runs.notes(), runs.wholeNotes()...)}
	for i, s := range settings {
		t, f := fig14Of(runs, i, s.name, device, noDevice)
		r.Tables = append(r.Tables, t)
		if f != nil {
			r.Figures = append(r.Figures, f)
		}
	}
	return r
}

// How many queries the GPU answered with whole lists.
func (r *policyRuns) wholeNotes() (notes []string) {
	for i, m := range r.whole {
		if m == nil {
			continue
		}
		all := numbers(m.Queries)
		if n := len(r.counted(i, wholeName, all)); n < len(all) {
			notes = append(notes, fmt.Sprintf("%s: with whole lists the GPU answered %d of %d queries. The images of the other queries' lists do not fit into its memory; "+
				"the CPU answered these queries, which are excluded from this column and its ratio.", settings[i].name, n, len(all)))
		}
	}
	return notes
}

// The table of a setting, and its figure if it has new content.
func fig14Of(runs *policyRuns, i int, name string, device bool, noDevice string) (*lab.Table, *lab.Figure) {
	groups, names := fig14Groups(runs)
	columns := []string{"queries"}
	for _, v := range fig14Variants {
		columns = append(columns, v.name)
	}
	ratios := []struct {
		name     string
		of, to   int // indexes in fig14Variants
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
	rows := withTotals(groups, names)
	us := make([][]float64, len(fig14Variants)) // by variant, then query; nil: not measured
	for v, variant := range fig14Variants {
		us[v] = runs.medians(i, variant.variant)
		var heights []lab.Point
		for row, members := range rows {
			if mean, ok := meanOf(us[v], runs.counted(i, variant.variant, members)); ok {
				heights = append(heights, lab.Point{X: float64(row), Y: mean})
			}
		}
		if len(heights) == len(rows) { // a bar for each
			f.Series = append(f.Series, lab.Series{Name: variant.name, Points: heights})
		}
	}
	for row, members := range rows {
		t.Set(row, 0, float64(len(members)))
		for v, variant := range fig14Variants {
			mean, ok := meanOf(us[v], runs.counted(i, variant.variant, members))
			setIf(t, row, 1+v, mean, ok, runs.reason(i, variant.variant, noDevice))
		}
		for j, x := range ratios {
			column := 1 + len(fig14Variants) + j
			if x.hasPaper && row >= len(groups) {
				t.SetPaper(row, column, x.paper)
			}
			missing := fig14Variants[x.of].variant
			counted := runs.counted(i, missing, members)
			of, ok := meanOf(us[x.of], counted)
			to, both := meanOf(us[x.to], counted)
			if ok && !both {
				missing = fig14Variants[x.to].variant
			}
			setIf(t, row, column, of/to, ok && both, runs.reason(i, missing, noDevice))
		}
	}
	if !device && i > 0 || len(f.Series) == 0 {
		return t, nil
	}
	return t, f
}

func meanOf(us []float64, members []int) (float64, bool) {
	if us == nil || len(members) == 0 {
		return 0, false
	}
	return mean(pick(us, members)), true
}

// setIf fills a cell, or omits it if there is no value.
func setIf(t *lab.Table, row, column int, value float64, ok bool, reason string) {
	if !ok {
		t.Leave(row, column, reason)
		return
	}
	t.Set(row, column, value)
}

// The queries of each non-empty group, and the groups' names.
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

var fig14Totals = []string{"2 and more", "all"}

func withTotals(groups [][]int, names []string) [][]int {
	all, several := slices.Concat(groups...), []int(nil)
	for i, g := range groups {
		if names[i] != fig14Terms[0] {
			several = append(several, g...)
		}
	}
	return append(slices.Clone(groups), several, all)
}

// 0, 1 and so on, for each value.
func numbers[T any](values []T) []int {
	n := make([]int, len(values))
	for i := range n {
		n[i] = i
	}
	return n
}

func pick[T any](values []T, members []int) []T {
	var some []T
	for _, i := range members {
		some = append(some, values[i])
	}
	return some
}
