package experiments

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/regret"
)

func griffin18Regret() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-regret", Paper: "griffin18", Shows: "§3.2, regret", Title: "The loss of the policies relative to the best placement in hindsight",
		Did: "Griffin decides by one ratio of lengths, 128, whether the next step runs on the GPU. The paper shows" +
			" where the processors cross for a single intersection, but not the loss of the rule relative to the " +
			"best choice for each query.",
		Ours: "Griffin's own engine, one AND query at a time, best 10, on a collection similar to GOV2, in two settings: " +
			"all lists of 1,000 or more postings on the GPU; and lists in page-locked host memory with device " +
			"memory for a tenth of the index. A time begins before planning and ends with the hits on the host; copies over the bus and launches are inside. Policy `ratio` is the paper's rule over Griffin's kernels, not the " +
			"paper's system, which is in griffin18-fig14. Each query runs under each policy, and in " +
			"placements of its steps (entirely on the CPU, on the GPU by images, on the GPU from compressed " +
			"lists; in two parts, split at every list, in both directions). Of all of these, the oracle takes the" +
			" one whose slower even round is the fastest, and is measured by the odd rounds, so that it does not " +
			"profit from luck. The regret of a policy is its mean excess time over the oracle, also by the odd " +
			"rounds, and where memory is short in the oracle's memory. If noise makes the oracle choose wrongly, " +
			"the regret is too small, even negative. \"At most\" is the regret against an oracle chosen by the " +
			"rounds that measure it, which is too large: the true regret lies between them. The means of policies" +
			" use all rounds and the policies' own memory; the oracle's use the odd rounds and its memory. The " +
			"second tables show Griffin's policy `cost` by classes of queries, and its excess time over the " +
			"better of `cpu` and `gpu` alone.",
		Differs: "Not in the paper. With `ratio`, candidates return to the host after each intersection. The oracle uses 330 queries in 4 rounds. Its placements have at most two parts, " +
			"and are skipped once one took more than four times the time of another. Classes use 1,000 queries in " +
			"3 rounds, and the minimum time of each. `query` predicts with model trees trained on 3,000 other " +
			"queries in the same setting.",
		Findings: regretFindings, Verdicts: regretVerdicts,
		Budget: 6 * time.Minute,
		Run:    runGriffin18Regret,
	}
}

// For an empty row of a policy.
const noBatchAlone = "It collects queries into batches, but here queries run one at a time."

func runGriffin18Regret(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	runs, device, noDevice, err := griffin18Runs(ctx, env)
	if err != nil {
		return nil, err
	}
	return regretResult(runs, device, noDevice), nil
}

func regretResult(runs *policyRuns, device bool, noDevice string) *lab.Result {
	r := &lab.Result{Notes: runs.notes()}
	rows := []string{regret.Oracle}
	for _, p := range griffin18Policies {
		rows = append(rows, string(p))
	}
	rows = append(rows, string(dispatch.PolicyBatch))
	figure := &lab.Figure{Title: "Mean latency of an AND query", Kind: lab.Bars, LogY: true, X: "policy", Y: "µs", Categories: rows[:len(rows)-1]}
	for i, s := range settings {
		t := lab.NewTable("Policies one query at a time: "+s.name, "policy", rows,
			[]string{"mean, µs", "regret, %", "at most, %", "on the CPU, %", "on the GPU, %", "on both, %", "migrations a query", "worst class, % over the better of cpu and gpu", "which"})
		r.Tables = append(r.Tables, t)
		if !device {
			for row := range rows {
				t.LeaveRow(row, noDevice)
			}
			t.Cells[1][0] = lab.Cell{}
			t.Set(1, 0, mean(mediansOf(runs.all[0], string(dispatch.PolicyCPU))))
			continue
		}
		if missing := cmp.Or(runs.failed[partAll][i], runs.failed[partHindsight][i]); missing != "" {
			for row := range rows {
				t.LeaveRow(row, missing)
			}
			continue
		}
		figure.Series = append(figure.Series, lab.Series{Name: s.name, Points: lab.Heights(regretRows(t, runs, i)...)})
		r.Notes = append(r.Notes, fmt.Sprintf("%s: the oracle has %d queries.", s.name, len(runs.hindsight[i].Queries)))
	}
	if len(figure.Series) > 0 {
		r.Figures = []*lab.Figure{figure}
	}
	for i, s := range settings {
		if i < len(runs.all) && runs.all[i] != nil && device {
			r.Tables = append(r.Tables, costByClass(runs.all[i].Report(), s.name))
		}
	}
	return r
}

// regretRows returns the means of a setting.
func regretRows(t *lab.Table, runs *policyRuns, setting int) (means []float64) {
	hindsight, all := runs.hindsight[setting].Report(), runs.all[setting].Report()
	for row, name := range t.Rows {
		if name == string(dispatch.PolicyBatch) {
			t.LeaveRow(row, noBatchAlone)
			continue
		}
		f := variantOf(hindsight, name)
		t.Set(row, 0, f.Latency.Mean)
		means = append(means, f.Latency.Mean)
		if name == regret.Oracle {
			t.Set(row, 1, 0)
			t.Set(row, 2, 0)
			for column := 3; column < len(t.Columns); column++ {
				t.Leave(row, column, "The oracle is the best of all placements of each query.")
			}
			continue
		}
		of := variantOf(all, name)
		for column, v := range []float64{100 * *f.Regret, 100 * *f.RegretAtMost, 100 * f.OnCPU, 100 * f.OnGPU, 100 * f.OnBoth, f.Migrations, 100 * *of.Excess} {
			t.Set(row, 1+column, v)
		}
		t.SetText(row, 8, of.Worst)
	}
	return means
}

func variantOf(r *regret.Report, name string) *regret.Figures {
	return &r.Variants[slices.IndexFunc(r.Variants, func(f regret.Figures) bool { return f.Name == name })]
}

// costByClass compares policy cost with each processor alone.
func costByClass(r *regret.Report, name string) *lab.Table {
	var rows []string
	for _, c := range r.Classes {
		rows = append(rows, c.By+" "+c.Name)
	}
	t := lab.NewTable("Policy cost by class of queries, mean of least times, µs: "+name, "class", rows,
		[]string{"queries", "cpu", "gpu", "ratio", "cost", "cost over the better of cpu and gpu, %"})
	for row, c := range r.Classes {
		cpu, gpu, cost := c.Mean[string(dispatch.PolicyCPU)], c.Mean[string(dispatch.PolicyGPU)], c.Mean[string(dispatch.PolicyCost)]
		for column, v := range []float64{float64(c.Queries), cpu, gpu, c.Mean[string(dispatch.PolicyRatio)], cost, 100 * (cost/math.Min(cpu, gpu) - 1)} {
			t.Set(row, column, v)
		}
	}
	return t
}
