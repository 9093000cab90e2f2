package lab

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/collection"
)

func sampleTable() *Table {
	t := NewTable("Times", "mode", []string{"and", "or"}, []string{"ms", "GPU"})
	t.Set(0, 0, 1.25)
	t.SetPaper(0, 0, 2.5)
	t.Set(1, 0, 12345.6)
	t.LeaveColumn(1, "no device")
	t.SetPaper(1, 1, 29.31)
	return t
}

func sampleFigure(kind Kind) *Figure {
	return &Figure{
		Title: "A figure", Kind: kind, X: "elements", Y: "time, ms", LogY: true, LogX: kind == Lines, Categories: []string{"a", "b"},
		Series: []Series{
			{Name: "ours", Points: []Point{{1, 0.5}, {1000, 20}}},
			{Name: "paper", Paper: true, Points: []Point{{1, 1}, {1000, 300}}},
		},
	}
}

func sample(name string) Experiment {
	return Experiment{
		Name: name, Paper: "ao11", Shows: "Table 9", Title: "A sample", Did: "They did.", Ours: "We do.", Differs: "It differs.",
		Budget: time.Minute,
		Run: func(context.Context, *Env) (*Result, error) {
			return &Result{
				Tables: []*Table{sampleTable()}, Figures: []*Figure{sampleFigure(Lines), sampleFigure(Bars)}, Notes: []string{"A note."},
			}, nil
		},
	}
}

func quickEnv(t *testing.T) *Env {
	env := NewEnv(Config{Work: t.TempDir(), Seed: 1, Quick: true, Command: "griffin lab run x"})
	t.Cleanup(env.Close)
	return env
}

func TestCheckFindsWhatIsMissing(t *testing.T) {
	if err := sampleTable().Check(); err != nil {
		t.Errorf("a full table: %v", err)
	}
	for name, spoil := range map[string]func(t *Table){
		"empty cell":        func(t *Table) { t.Cells[0][0].Ours = nil },
		"NaN":               func(t *Table) { t.Set(0, 0, math.NaN()) },
		"infinity":          func(t *Table) { t.Set(1, 0, math.Inf(1)) },
		"number and reason": func(t *Table) { t.Set(0, 1, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			table := sampleTable()
			spoil(table)
			if table.Check() == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	for name, spoil := range map[string]func(f *Figure){
		"no series":         func(f *Figure) { f.Series = nil },
		"zero on log axis":  func(f *Figure) { f.Series[0].Points[0].Y = 0 },
		"no label":          func(f *Figure) { f.Y = "" },
		"unknown kind":      func(f *Figure) { f.Kind = "pie" },
		"series of nothing": func(f *Figure) { f.Series[1].Points = nil },
	} {
		t.Run(name, func(t *testing.T) {
			figure := sampleFigure(Lines)
			spoil(figure)
			if figure.Check() == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
	bars := sampleFigure(Bars)
	bars.Categories = bars.Categories[:1]
	if bars.Check() == nil {
		t.Error("two bars for one category: no error")
	}
	if (&Result{}).Check() == nil {
		t.Error("a result of nothing: no error")
	}
}

func TestRunRefusesAnEmptyCell(t *testing.T) {
	e := sample("ao11-sample")
	e.Run = func(context.Context, *Env) (*Result, error) {
		return &Result{Tables: []*Table{NewTable("t", "r", []string{"a"}, []string{"b"})}}, nil
	}
	if _, err := quickEnv(t).Run(t.Context(), e); err == nil || !strings.Contains(err.Error(), `row "a", column "b"`) {
		t.Errorf("error %v, want the place of the cell", err)
	}
}

// If the build lacks a revision, the checkout provides it; other folders do
// not.
func TestRevisionOfTheCheckout(t *testing.T) {
	if got := checkedOut(); got != "unknown" && !regexp.MustCompile(`^[0-9a-f]{12}( with changes)?, of the checkout it ran in$`).MatchString(got) {
		t.Errorf("here: %q", got)
	} else if _, err := os.Stat("../../.git"); err == nil && got == "unknown" {
		if _, err := exec.LookPath("git"); err == nil {
			t.Error("a checkout, and its revision is unknown")
		}
	}
	t.Chdir(t.TempDir())
	if got := checkedOut(); got != "unknown" {
		t.Errorf("elsewhere: %q", got)
	}
}

func TestBudget(t *testing.T) { synctest.Test(t, testBudget) }

func testBudget(t *testing.T) {
	e := sample("ao11-sample")
	e.Budget = 20 * time.Millisecond
	e.Run = func(ctx context.Context, _ *Env) (*Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err := quickEnv(t).Run(t.Context(), e); !errors.Is(err, ErrOverBudget) {
		t.Errorf("error %v", err)
	}
	e.Run = func(context.Context, *Env) (*Result, error) {
		time.Sleep(40 * time.Millisecond)
		return &Result{Tables: []*Table{sampleTable()}}, nil
	}
	if _, err := quickEnv(t).Run(t.Context(), e); !errors.Is(err, ErrOverBudget) {
		t.Errorf("one that does not look at its context: error %v", err)
	}
	// Building a collection does not count against the budget.
	e.Budget = 200 * time.Millisecond
	e.Run = func(ctx context.Context, env *Env) (*Result, error) {
		err := env.prepare(func() error {
			time.Sleep(300 * time.Millisecond)
			return ctx.Err()
		})
		return &Result{Tables: []*Table{sampleTable()}}, err
	}
	r, err := quickEnv(t).Run(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Provenance; p.Prepared != 300*time.Millisecond || p.Took != 0 {
		t.Errorf("took %v and %v to prepare", p.Took, p.Prepared)
	}
	// An interrupt is not reported as a budget overrun.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Run = func(ctx context.Context, _ *Env) (*Result, error) { return nil, ctx.Err() }
	if _, err := quickEnv(t).Run(ctx, e); !errors.Is(err, context.Canceled) || errors.Is(err, ErrOverBudget) {
		t.Errorf("error %v", err)
	}
}

func TestStoreRoundTrip(t *testing.T) {
	r, err := quickEnv(t).Run(t.Context(), sample("ao11-sample"))
	if err != nil {
		t.Fatal(err)
	}
	store := RecordsIn(t.TempDir())
	if _, err := store.Load(r.Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is saved: %v", err)
	}
	if err := store.Save(r); err != nil {
		t.Fatal(err)
	}
	got, err := store.Load(r.Name)
	if err != nil {
		t.Fatal(err)
	}
	if want := r.page(nil); got.page(nil) != want {
		t.Errorf("the page of the record loaded differs:\n%s\nwant:\n%s", got.page(nil), want)
	}
	if err := os.WriteFile(store.path("ao11-bad"), []byte(`{"name":"ao11-bad","result":{}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load("ao11-bad"); err == nil {
		t.Error("a record of nothing: no error")
	}
}

func TestRender(t *testing.T) {
	r, err := quickEnv(t).Run(t.Context(), sample("ao11-sample"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	e := sample("ao11-sample")
	e.Verdicts = []Verdict{{Compares: "and", Value: At("Times", "and", "ms"), Why: "A sample"}}
	report := &Report{Experiments: []Experiment{e}, Items: []Item{{Paper: "ao11", Shows: "Table 9", Experiment: "ao11-sample"}}}
	if err := report.Render(dir, []*Record{r}); err != nil {
		t.Fatal(err)
	}
	page := read("ao11-sample.md")
	for _, want := range []string{
		"**1.25**<br><sub>paper 2.5 · × 0.50</sub>", "| **12,346** |", "–<sup>1</sup><br><sub>paper 29.31</sub>",
		"<sup>1</sup> no device", "A note.", "figures/ao11-sample-2.svg", "the numbers mean nothing", "`griffin lab run x`",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if contents := read("README.md"); !strings.Contains(contents, "(ao11-sample.md)") {
		t.Errorf("the contents lack the experiment:\n%s", contents)
	}
	first := read("figures/ao11-sample-1.svg")
	if !strings.Contains(first, "<svg") || !strings.Contains(first, "time, ms") || !strings.Contains(first, ">paper<") {
		t.Error("the figure lacks its axis or legend")
	}
	if err := report.Render(dir, []*Record{r}); err != nil || read("figures/ao11-sample-1.svg") != first {
		t.Errorf("rendered again, the figure differs (%v)", err)
	}
}

func TestText(t *testing.T) {
	want := strings.Join([]string{
		"  Times",
		"  mode          ms            GPU",
		"  and   1.25 (2.5)          - [1]",
		"  or        12,346  - [1] (29.31)",
		"  [1] no device",
		"",
	}, "\n")
	if got := sampleTable().Text(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.037512: "0.03751", 12.3456: "12.35", 1234: "1234", 25205179: "25,205,179", -12345: "-12,345", 99.99: "99.99", 3.74e6: "3,740,000", 5.3e-10: "5.3e-10",
	} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestSelect(t *testing.T) {
	all := []Experiment{sample("ao11-a"), sample("ao11-b")}
	if got, err := Select(all, []string{"ao11-b"}); err != nil || len(got) != 1 || got[0].Name != "ao11-b" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Select(all, []string{"ao11"}); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Select(all, []string{"ao12"}); !errors.Is(err, base.ErrBadInput) {
		t.Error(err)
	}
}

func TestCompareTakesTurns(t *testing.T) {
	var calls bytes.Buffer
	call := func(name string) Variant {
		return Variant{Name: name, Do: func() error {
			calls.WriteString(name)
			return nil
		}}
	}
	timings, err := Compare(t.Context(), 2, call("a"), call("b"))
	if err != nil || len(timings) != 2 || timings[0].Min > timings[0].Median {
		t.Errorf("%v, %v", timings, err)
	}
	if got := calls.String(); got != "ababab" { // a warm-up and two rounds
		t.Errorf("calls %s", got)
	}
	failed := errors.New("failed")
	if _, err := Compare(t.Context(), 2, Variant{Do: func() error { return failed }}); !errors.Is(err, failed) {
		t.Error(err)
	}
}

// A collection without its queries is built again.
func TestGeneratedIsKept(t *testing.T) {
	work := t.TempDir()
	spec := Spec{Like: "gov2", Order: collection.Crawl, Log: TB05}
	made := 0
	open := func() *Collection {
		env := NewEnv(Config{Work: work, Seed: 1, Quick: true, Progress: func(phase string, _, _ int64) {
			if strings.HasSuffix(phase, ": compose") {
				made++
			}
		}})
		t.Cleanup(env.Close)
		c, queries, err := env.Generated(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(queries) < quickQueries/2 || len(queries) > quickQueries || c.NumDocs() != quickDocs {
			t.Errorf("%d queries, %d documents", len(queries), c.NumDocs())
		}
		return c
	}
	c := open()
	if before := made; before == 0 || open().NumDocs() != c.NumDocs() || made != before {
		t.Errorf("composed %d times at first, then %d", before, made)
	}
	if err := os.Remove(filepath.Join(work, c.Name+".queries.tsv")); err != nil {
		t.Fatal(err)
	}
	before := made
	if open(); made == before {
		t.Error("without its queries it was not made again")
	}
}

// Every axis has at least two round numbers.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		log       bool
		want      string
	}{
		{1, 1000, true, "1 10 100 1000"},
		{8, 60, true, "10 20 50"},
		{8.2, 8.75, true, "8.2 8.3 8.4 8.5 8.6 8.7"},
		{0, 0.19, false, "0 0.05 0.1 0.15"},
		{-0.4, 0.4, false, "-0.4 -0.3 -0.2 -0.1 0 0.1 0.2 0.3 0.4"},
		{100, 800, false, "100 200 300 400 500 600 700 800"},
		{0, 2_500_000, false, "0 500 K 1 M 1.5 M 2 M 2.5 M"},
		{99, 101, false, "99 99.5 100 100.5 101"},
		{7, 7, false, "7"},
	} {
		t.Run(c.want, func(t *testing.T) {
			var labels []string
			for _, m := range (ticks{log: c.log}).Ticks(c.low, c.high) {
				if m.Label != "" {
					labels = append(labels, m.Label)
				}
			}
			if got := strings.Join(labels, " "); got != c.want {
				t.Errorf("from %g to %g, log=%t: %s; want %s", c.low, c.high, c.log, got, c.want)
			}
		})
	}
}
