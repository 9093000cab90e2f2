package lab

import (
	"strings"
	"testing"
	"time"
)

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		claim       Claim
		plain       bool
		ours, paper float64
		want        string
	}{
		{Equal, false, 1.5, 1.5, reproduced},
		{Equal, false, 1.2, 1.5, reproduced}, // the factor is inclusive
		{Equal, false, 1.19, 1.5, sameDirection},
		{Equal, false, 1.1, 0.95, notReproduced}, // close, but of the other direction
		{Equal, false, 0.9, 1, reproduced},       // 1 has no direction
		{Equal, false, 0.7, 1, notReproduced},
		{Equal, false, 0.2, 0.5, sameDirection},
		{Equal, true, 60, 64, reproduced},
		{Equal, true, 30, 64, notReproduced},
		{Above, false, 55, 3, reproduced},
		{Above, false, 2, 3, sameDirection},
		{Above, false, 0.9, 1, notReproduced},
		{Above, true, 56.9, 64, notReproduced},
		{Below, false, 0.4, 2, reproduced}, // a bound has no direction
		{Below, true, 0.4, 2, reproduced},
	} {
		v := Verdict{Claim: c.claim, Plain: c.plain}
		if got := v.outcome(Pair{Ours: c.ours, Paper: c.paper}); got != c.want {
			t.Errorf("%s%g, plain %t, ours %g: %s, want %s", c.claim, c.paper, c.plain, c.ours, got, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	r := &Result{Tables: []*Table{sampleTable()}}
	ms := At("Times", "and", "ms")
	if p := ms(r); p.Ours != 1.25 || p.Paper != 2.5 {
		t.Errorf("a cell: %+v", p)
	}
	if p := At("Times", "or", "ms").Over(ms).Stated(7)(r); p.Ours != 12345.6/1.25 || p.Paper != 7 {
		t.Errorf("a ratio: %+v", p)
	}
	absent, unknown := At("Times", "and", "GPU"), At("Times", "and", "hours")
	if p := absent.Over(ms)(r); finite(p.Ours) || p.Absent != "no device" {
		t.Errorf("an empty cell: %+v", p)
	}
	if p := unknown.Or(ms)(r); p.Ours != 1.25 {
		t.Errorf("instead of an unknown cell: %+v", p)
	}
	if p := absent.Or(ms)(r); finite(p.Ours) {
		t.Errorf("instead of an empty cell: %+v", p)
	}
	for _, c := range []struct {
		finding Finding
		want    string
	}{
		{Say("It takes %s ms.", ms), "It takes 1.25 ms."},
		{Say("It takes %s ms.", ms).If(ms, Is(2)), "It takes 1.25 ms."},
		{Say("It takes %s ms.", ms).If(Is(2), ms), ""},
		{Say("It takes %s ms.", absent), ""},
	} {
		if got := c.finding.Text(r); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A record older than its experiment keeps its texts; a newer one has the
// experiment's, and its findings.
func TestTextsOfTheExperiment(t *testing.T) {
	e := sample("ao11-sample")
	rec, err := quickEnv(t).Run(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	e.Differs = "It differs otherwise."
	ms := At("Times", "and", "ms")
	e.Findings = []Finding{Say("It takes %s ms.", ms)}
	e.Verdicts = []Verdict{{Compares: "and, ms", Value: ms, Why: "Luck"}}
	report := &Report{Experiments: []Experiment{e}, Items: []Item{
		{Paper: "ao11", Shows: "Fig. 1", Why: "A photograph"}, {Paper: "ao11", Shows: "Table 9", Experiment: e.Name},
	}}
	for _, want := range []string{"It differs otherwise.", "## Findings\n\n- It takes 1.25 ms."} {
		if page := report.page(rec); !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	contents := report.contents([]*Record{rec})
	for _, want := range []string{
		"| ao11, Fig. 1 | – | – | – | not repeated | A photograph | – |\n",
		"| [ao11, Table 9](ao11-sample.md) | and, ms | 2.5 | 1.25 | direction | Luck | ",
		"Reproduced: 0; direction only: 1; not: 0;",
	} {
		if !strings.Contains(contents, want) {
			t.Errorf("the contents lack %q:\n%s", want, contents)
		}
	}
	if contents := report.contents(nil); !strings.Contains(contents, "| not measured | `griffin lab run ao11-sample` measures it") {
		t.Errorf("the contents lack the missing measurement:\n%s", contents)
	}
	if err := report.CheckRecord(rec); err != nil {
		t.Error(err)
	}
	report.Experiments[0].Findings = []Finding{Say("It is slow.").If(Is(2), ms)}
	if report.CheckRecord(rec) == nil {
		t.Error("a finding that does not hold: no error")
	}
	report.Experiments[0].Since = rec.Provenance.Date.Add(time.Second)
	if page := report.page(rec); !strings.Contains(page, "It differs.") || strings.Contains(page, "Findings") {
		t.Errorf("the page of an older record has other texts:\n%s", page)
	}
}

func TestCheckItems(t *testing.T) {
	e := sample("ao11-sample")
	e.Verdicts = []Verdict{{}}
	whole := Report{Experiments: []Experiment{e}, Items: []Item{{Paper: "ao11", Shows: "Table 9", Experiment: e.Name}}}
	if err := whole.CheckItems(); err != nil {
		t.Error(err)
	}
	without := e
	without.Verdicts = nil
	for name, bad := range map[string]Report{
		"an experiment without an item":      {Experiments: whole.Experiments},
		"an experiment without a verdict":    {Experiments: []Experiment{without}, Items: whole.Items},
		"an item without reason":             {Items: []Item{{Paper: "ao11", Shows: "Fig. 1"}}},
		"an item of an unknown experiment":   {Items: []Item{{Paper: "ao11", Shows: "Fig. 1", Experiment: "ao11-fig1"}}},
		"an item with experiment and reason": {Experiments: whole.Experiments, Items: []Item{{Paper: "ao11", Shows: "Table 9", Experiment: e.Name, Why: "Both"}}},
	} {
		if bad.CheckItems() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
