package lab

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Item is a table or a figure of a paper, or a claim in its text.
type Item struct {
	Paper      string // short name
	Shows      string // "Table 1"
	Experiment string // that repeats it; "": none does
	Why        string // without Experiment, a line without full stop: why not
}

// CheckItems reports experiments without an item, and items without an
// experiment and a reason.
func (r *Report) CheckItems() error {
	for i := range r.Experiments {
		e := &r.Experiments[i]
		if !slices.ContainsFunc(r.Items, func(it Item) bool { return it.Experiment == e.Name && it.Paper == e.Paper }) {
			return fmt.Errorf("experiment %s is in no item", e.Name)
		}
		if len(e.Verdicts) == 0 {
			return fmt.Errorf("experiment %s has no verdict", e.Name)
		}
	}
	for _, it := range r.Items {
		if known := r.experiment(it.Experiment) != nil; known == (it.Why != "") {
			return fmt.Errorf("%s, %s: has experiment %q and reason %q, want one of them", it.Paper, it.Shows, it.Experiment, it.Why)
		}
	}
	return nil
}

func (r *Report) experiment(name string) *Experiment {
	for i := range r.Experiments {
		if r.Experiments[i].Name == name {
			return &r.Experiments[i]
		}
	}
	return nil
}

// contents is the page README.md.
func (r *Report) contents(records []*Record) string {
	var b strings.Builder
	b.WriteString("# Lab\n\nThe measurements of the papers, repeated with Griffin. " +
		"`griffin lab report` writes this folder; [the guide](../guides/lab.md) explains the terms, " +
		"and [collections](collections.md) describes how collections are generated. " +
		"The papers used other machines: compare ratios between columns and rows, not times.\n\n")
	for _, p := range Papers {
		fmt.Fprintf(&b, "- **%s**: %s.\n", p.Short, p.Citation)
	}
	fmt.Fprintf(&b, "\n## Tables and figures of the papers\n\nOne row for each number that is compared. The outcome is \"%s\" if our number is within a factor of %g of "+
		"the paper's, or satisfies its bound; \"%s\" if it is a ratio and only lies on the same side of 1; and \"%s\" otherwise. "+
		"\"%s\": the paper has none. "+
		"The last column has the commit of the measurement and its GPU, if any. Numbers come from the saved records.\n\n"+
		"| | compared | paper | ours | reproduced | why | measured |\n|---|---|---:|---:|---|---|---|\n", reproduced, closeTo, sameDirection, notReproduced, noNumber)
	total, counts := time.Duration(0), map[string]int{}
	for _, p := range Papers {
		for _, it := range r.Items {
			if it.Paper == p.Short {
				r.itemRows(&b, it, records, counts)
			}
		}
	}
	for _, rec := range records {
		total += rec.Provenance.Took + rec.Provenance.Prepared
	}
	fmt.Fprintf(&b, "\nReproduced: %d; direction only: %d; not: %d; without a number of the paper: %d; not measured: %d; not repeated: %d. The saved measurements took %s.\n",
		counts[reproduced], counts[sameDirection], counts[notReproduced], counts[noNumber], counts[notMeasured], counts[""], seconds(total))
	return b.String()
}

// itemRows writes the rows of an item, and counts their outcomes.
func (r *Report) itemRows(b *strings.Builder, it Item, records []*Record, counts map[string]int) {
	name := it.Paper + ", " + it.Shows
	e := r.experiment(it.Experiment)
	if e == nil {
		counts[""]++
		fmt.Fprintf(b, "| %s | – | – | – | not repeated | %s | – |\n", name, it.Why)
		return
	}
	at := slices.IndexFunc(records, func(rec *Record) bool { return rec.Name == e.Name })
	if at < 0 {
		counts[notMeasured]++
		fmt.Fprintf(b, "| %s | %s | – | – | %s | `griffin lab run %s` measures it; the report has no record | – |\n", name, e.Verdicts[0].Compares, notMeasured, e.Name)
		return
	}
	rec := records[at]
	for i := range e.Verdicts {
		v := &e.Verdicts[i]
		pair := v.Value(rec.Result)
		outcome := v.outcome(pair)
		counts[outcome]++
		paper, ours := "–", pair.text()
		if finite(pair.Paper) {
			paper = string(v.Claim) + Number(pair.Paper)
		}
		why := v.Why
		if outcome == notMeasured {
			why = cmp.Or(strings.TrimSuffix(pair.Absent, "."), "The saved record is of an earlier method and lacks the number")
		}
		if ours == "" {
			ours = "–"
		}
		fmt.Fprintf(b, "| [%s](%s.md) | %s | %s | %s | %s | %s | %s |\n", name, e.Name, v.Compares, paper, ours, outcome, why, rec.Provenance.short())
	}
}

// short names the commit and the GPU.
func (p *Provenance) short() string {
	const digits = 7
	commit := p.Commit[:min(len(p.Commit), digits)]
	if gpu, _, _ := strings.Cut(p.GPU, ","); gpu != "" {
		return commit + ", " + strings.TrimPrefix(gpu, "NVIDIA ")
	}
	return commit
}

// CheckRecord reports verdicts and findings of the record's experiment for which
// the record has neither a number nor a reason, or which do not hold. A record
// older than its experiment has no findings, and its verdicts may lack numbers.
func (r *Report) CheckRecord(rec *Record) error {
	e := r.experiment(rec.Name)
	if e == nil {
		return fmt.Errorf("%s: no such experiment", rec.Name)
	}
	if rec.Provenance.Date.Before(e.Since) {
		return nil
	}
	var errs []error
	for i := range e.Verdicts {
		if p := e.Verdicts[i].Value(rec.Result); p.text() == "" && p.Absent == "" {
			errs = append(errs, fmt.Errorf("%s: verdict %q: the record lacks the number", rec.Name, e.Verdicts[i].Compares))
		}
	}
	for _, f := range e.Findings {
		if f.Text(rec.Result) == "" {
			errs = append(errs, fmt.Errorf("%s: finding %.60q: the record lacks a number, or it does not hold", rec.Name, f.format))
		}
	}
	return errors.Join(errs...)
}
