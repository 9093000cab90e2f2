package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Experiment reproduces one table or figure of a paper.
type Experiment struct {
	// Such as "ao11-table1".
	Name string
	// Short name of one of Papers.
	Paper string
	// Its name in the paper: "Table 1".
	Shows string
	Title string // a line, without full stop

	// In Markdown: the paper's experiment, this experiment, and the differences.
	Did, Ours, Differs string

	// Findings are sentences with our numbers, and why they deviate from the
	// paper's.
	Findings []Finding
	// Verdicts are the rows of the report's table.
	Verdicts []Verdict
	// Since is the last change of what Run measures. Older records keep the texts
	// they were saved with, and have no Findings.
	Since time.Time

	// Maximum time of Run on two cores, without building collections; a longer run
	// fails.
	Budget time.Duration

	// With Env.Quick, used by tests, Run takes a second or two, and fills the same
	// cells.
	Run func(ctx context.Context, env *Env) (*Result, error)
}

// Paper is a publication.
type Paper struct {
	Short    string // "ao11"
	Citation string
}

// Papers are in the order of the report.
var Papers = []Paper{
	{"griffin18", "Liu, Wang, Swanson: Griffin: Uniting CPU and GPU in Information Retrieval Systems for Intra-Query Parallelism. PPoPP 2018"},
	{"ding09", "Ding, He, Yan, Suel: Using Graphics Processors for High Performance IR Query Processing. WWW 2009"},
	{"ding08", "Ding, He, Yan, Suel: Using Graphics Processors for High-Performance IR Query Processing. WWW 2008 (poster)"},
	{"ao11", "N. Ao, F. Zhang, D. Wu, D. S. Stones, G. Wang, X. Liu, J. Liu, S. Lin: Efficient Parallel Lists Intersection and Index Compression Algorithms using Graphics Processing Units. PVLDB 4(8), 2011"},
	{"saat", "Trotman, Crane: Micro and Macro Optimization of SaaT Search. Software: Practice and Experience, 2019"},
}

// Check returns the first error in the declaration, or nil.
func (e *Experiment) Check() error {
	switch {
	case !strings.HasPrefix(e.Name, e.Paper+"-"):
		return fmt.Errorf("experiment %q: name does not begin with its paper, %q", e.Name, e.Paper)
	case !slices.ContainsFunc(Papers, func(p Paper) bool { return p.Short == e.Paper }):
		return fmt.Errorf("experiment %q: no paper %q", e.Name, e.Paper)
	case e.Shows == "" || e.Title == "" || e.Did == "" || e.Ours == "" || e.Differs == "":
		return fmt.Errorf("experiment %q: Shows, Title, Did, Ours and Differs must all be set", e.Name)
	case e.Budget <= 0 || e.Run == nil:
		return fmt.Errorf("experiment %q: has no budget or no Run", e.Name)
	}
	return nil
}

// Select returns the experiments with the given names, or of the named papers,
// in the order of all; no names select all. The error wraps base.ErrBadInput.
func Select(all []Experiment, names []string) ([]Experiment, error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, n := range names {
		if !slices.ContainsFunc(all, func(e Experiment) bool { return e.Name == n || e.Paper == n }) {
			return nil, fmt.Errorf("no experiment %q (see: griffin lab list): %w", n, base.ErrBadInput)
		}
	}
	var chosen []Experiment
	for _, e := range all {
		if slices.Contains(names, e.Name) || slices.Contains(names, e.Paper) {
			chosen = append(chosen, e)
		}
	}
	return chosen, nil
}
