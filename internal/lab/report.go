package lab

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	figuresFolder = "figures"
	recordsFolder = "data"
)

// RecordsIn returns the Store of the report in dir.
func RecordsIn(dir string) Store { return Store{Dir: filepath.Join(dir, recordsFolder)} }

// Report is the report of some experiments.
type Report struct {
	Experiments []Experiment
	// Items are the rows of the table of all tables and figures, in their order.
	Items []Item
}

// Render writes the report of records into dir, reproducibly: README.md, a page
// per experiment, and the figures. Files of other experiments stay unchanged.
// Texts come from the experiments, unless a record is older than its experiment.
func (r *Report) Render(dir string, records []*Record) error {
	for _, rec := range records {
		for i, f := range rec.Result.Figures {
			svg, err := f.SVG()
			if err != nil {
				return fmt.Errorf("%s: %w", rec.Name, err)
			}
			if err := replaceFile(filepath.Join(dir, filepath.FromSlash(figurePath(rec.Name, i))), svg); err != nil {
				return err
			}
		}
		if err := replaceFile(filepath.Join(dir, rec.Name+".md"), []byte(r.page(rec))); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(dir, "README.md"), []byte(r.contents(records)))
}

// page returns the page of a record.
func (r *Report) page(rec *Record) string {
	e := r.experiment(rec.Name)
	if e == nil || rec.Provenance.Date.Before(e.Since) {
		return rec.page(nil)
	}
	current := *rec
	current.Title, current.Shows, current.Did, current.Ours, current.Differs = e.Title, e.Shows, e.Did, e.Ours, e.Differs
	var findings []string
	for _, f := range e.Findings {
		if text := f.Text(rec.Result); text != "" {
			findings = append(findings, text)
		}
	}
	return current.page(findings)
}

func figurePath(name string, i int) string {
	return fmt.Sprintf("%s/%s-%d.svg", figuresFolder, name, i+1)
}

func (r *Record) page(findings []string) string {
	var b strings.Builder
	citation := ""
	for _, p := range Papers {
		if p.Short == r.Paper {
			citation = p.Citation
		}
	}
	fmt.Fprintf(&b, "# %s\n\n%s of %s.\n", r.Title, r.Shows, citation)
	if r.Provenance.Quick {
		b.WriteString("\n**A quick run on toy collections: the numbers mean nothing.**\n")
	}
	fmt.Fprintf(&b, "\n**The paper.** %s\n\n**Here.** %s\n\n**What differs.** %s\n\n**Measured.** %s\n", r.Did, r.Ours, r.Differs, r.Provenance.sentence())
	list(&b, "Findings", findings)
	for _, t := range r.Result.Tables {
		b.WriteString("\n" + t.markdown())
	}
	for i, f := range r.Result.Figures {
		fmt.Fprintf(&b, "\n![%s](%s)\n", f.Title, figurePath(r.Name, i))
	}
	list(&b, "Notes", r.Result.Notes)
	b.WriteString(r.Provenance.markdown(r.Name))
	return b.String()
}

// list writes a section, unless it is empty.
func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", item)
	}
}

// sentence names the commit, the machine and the collections.
func (p *Provenance) sentence() string {
	s := fmt.Sprintf("At commit %s, on %s with %d cores", p.Commit, p.CPU, p.Cores)
	if gpu, _, _ := strings.Cut(p.GPU, ","); gpu != "" {
		s += " and an " + gpu
	}
	s += "."
	if len(p.Collections) > 0 {
		s += " Collections: " + strings.Join(p.Collections, "; ") + "."
	}
	return s
}

func (p *Provenance) markdown(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## How it was obtained\n\n| | |\n|---|---|\n")
	row := func(key, value string) { fmt.Fprintf(&b, "| %s | %s |\n", key, value) }
	row("processor", fmt.Sprintf("%s, %d cores, SIMD %s, %s", p.CPU, p.Cores, p.SIMD, p.Platform))
	if p.GPU != "" {
		row("GPU", p.GPU)
	}
	if p.Load > 0 {
		row("load", fmt.Sprintf("%.1f tasks of other programs in the minute before", p.Load))
	}
	row("program", fmt.Sprintf("commit %s, %s", p.Commit, p.Go))
	row("command", "`"+p.Command+"`")
	row("seed", fmt.Sprint(p.Seed))
	if len(p.Collections) > 0 {
		row("collections", strings.Join(p.Collections, "<br>"))
	}
	row("date", p.Date.Format(time.DateTime)+" UTC")
	row("took", fmt.Sprintf("%s of %s, and %s to make collections", seconds(p.Took), seconds(p.Budget), seconds(p.Prepared)))
	row("raw numbers", fmt.Sprintf("[%[1]s/%[2]s.json](%[1]s/%[2]s.json)", recordsFolder, name))
	return b.String()
}

// Reasons for empty cells follow the table, once each.
func (t *Table) markdown() string {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "### %s\n\n", t.Title)
	}
	fmt.Fprintf(&b, "| %s |", t.RowHead)
	for _, c := range t.Columns {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(t.Columns)) + "\n")
	var reasons []string
	for i, row := range t.Cells {
		fmt.Fprintf(&b, "| %s |", t.Rows[i])
		for _, c := range row {
			fmt.Fprintf(&b, " %s |", c.markdown(&reasons))
		}
		b.WriteString("\n")
	}
	for i, r := range reasons {
		fmt.Fprintf(&b, "\n<sup>%d</sup> %s\n", i+1, r)
	}
	return b.String()
}

func (c *Cell) markdown(reasons *[]string) string {
	var own string
	switch {
	case c.Ours != nil:
		own = "**" + Number(*c.Ours) + "**"
	case c.Text != "":
		own = c.Text
	default:
		own = fmt.Sprintf("–<sup>%d</sup>", reasonIndex(reasons, c.Absent)+1)
	}
	switch {
	case c.Paper == nil:
		return own
	case c.Ours == nil || *c.Paper == 0:
		return fmt.Sprintf("%s<br><sub>paper %s</sub>", own, Number(*c.Paper))
	}
	return fmt.Sprintf("%s<br><sub>paper %s · × %s</sub>", own, Number(*c.Paper), Ratio(*c.Ours / *c.Paper))
}

// Number formats four significant digits, or all before the decimal point, in
// groups of three.
func Number(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(v))))
	if digits > 8 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	s := strconv.FormatFloat(v, 'f', max(0, digits), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	whole, fraction, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-' && len(whole) > 4; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		return whole + "." + fraction
	}
	return whole
}

// Ratio formats a ratio with two or three digits.
func Ratio(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func seconds(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
