package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// taskEngine runs tasks in this process, on one goroutine.
type taskEngine interface {
	name() string
	build(ctx context.Context, dir string, passages []taskPassage) error
	// prepare returns a function that runs the task.
	prepare(t *task) (func(ctx context.Context) (taskAnswer, error), error)
	close() error
}

// taskAnswer is what engines are compared by.
type taskAnswer struct {
	total  int64
	ids    []string
	facets map[string]int64
	took   time.Duration // if the engine measures itself
}

// taskHits is the number of hits, and of values of a facet.
const taskHits = 10

// leastTaskRatio is the least speed of Griffin relative to bleve: of the geometric mean of the categories.
const leastTaskRatio = 20

type taskReport struct {
	Time    time.Time `json:"time"`
	Command string    `json:"command"`
	Machine machine   `json:"machine"`
	NumDocs int       `json:"num_docs"`
	Runs    int       `json:"runs"`
	Engines []string  `json:"engines"`
	// Ratio is the geometric mean of the categories' ratios; RatioLucene likewise, with Lucene.
	Ratio       float64        `json:"ratio"`
	RatioLucene float64        `json:"ratio_lucene,omitempty"`
	Categories  []taskCategory `json:"categories"`
	// Skipped are categories that are not run.
	Skipped []string `json:"skipped"`
}

// taskCategory has means over the tasks, by engine.
type taskCategory struct {
	Name  string    `json:"name"`
	Tasks int       `json:"tasks"`
	Mean  []float64 `json:"mean_us"`
	// Ratio is the time of bleve relative to Griffin's, RatioLucene Lucene's.
	Ratio       float64 `json:"ratio"`
	RatioLucene float64 `json:"ratio_lucene,omitempty"`
	// Matches is the mean number of matching documents of Griffin.
	Matches float64 `json:"matches"`
	// Unequal counts tasks of which the engines count different matches. Only similar terms may differ.
	Unequal int `json:"unequal"`
}

func runTasks(ctx context.Context, o options, work string) (err error) {
	tasks, skipped, err := readTasks(o.tasks)
	if err != nil {
		return err
	}
	in, err := writeSubset(filepath.Join(work, "passages.jsonl"), o.passages, o.docs)
	if err != nil {
		return err
	}
	passages, err := readTaskPassages(in)
	if err != nil {
		return err
	}
	engines := []taskEngine{new(bleveTasks), new(griffinTasks)}
	if o.lucene != "" {
		engines = append(engines, &luceneTasks{luceneProcess{java: strings.Fields(o.java), jar: o.lucene}})
	}
	defer func() {
		for _, e := range engines {
			err = errors.Join(err, e.close())
		}
	}()
	r := &taskReport{
		Time: time.Now().UTC().Truncate(time.Second), Command: command(), Machine: thisMachine(), NumDocs: len(passages), Runs: o.search.runs, Skipped: skipped,
	}
	for _, e := range engines {
		r.Engines = append(r.Engines, e.name())
		if err := e.build(ctx, filepath.Join(work, strings.Fields(e.name())[0]), passages); err != nil {
			return fmt.Errorf("%s: %w", e.name(), err)
		}
	}
	runtime.GC()
	m := &taskRun{engines: engines, runs: o.search.runs, byID: map[string]*taskPassage{}}
	for i := range passages {
		m.byID[passages[i].ID] = &passages[i]
	}
	if r.Categories, err = m.measure(ctx, tasks); err != nil {
		return err
	}
	r.Ratio = geometricMean(r.Categories, func(c *taskCategory) float64 { return c.Ratio })
	if o.lucene != "" {
		r.RatioLucene = geometricMean(r.Categories, func(c *taskCategory) float64 { return c.RatioLucene })
	}
	r.write(os.Stdout)
	if o.json != "" {
		if err := writeJSON(o.json, r); err != nil {
			return err
		}
	}
	if o.check && r.Ratio < leastTaskRatio {
		return fmt.Errorf("griffin is %.1f times as fast as bleve, want %d", r.Ratio, leastTaskRatio)
	}
	return nil
}

func geometricMean(all []taskCategory, ratio func(c *taskCategory) float64) float64 {
	logs := 0.0
	for i := range all {
		logs += math.Log(ratio(&all[i]))
	}
	return math.Exp(logs / float64(len(all)))
}

type taskRun struct {
	engines []taskEngine
	runs    int
	byID    map[string]*taskPassage
}

func (m *taskRun) measure(ctx context.Context, tasks []task) (all []taskCategory, err error) {
	for i := range tasks {
		t := &tasks[i]
		if len(all) == 0 || all[len(all)-1].Name != t.category {
			all = append(all, taskCategory{Name: t.category, Mean: make([]float64, len(m.engines))})
		}
		c := &all[len(all)-1]
		if err := m.task(ctx, t, c); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t.category, t.text, err)
		}
	}
	for i := range all {
		c := &all[i]
		for e := range c.Mean {
			c.Mean[e] /= float64(c.Tasks)
		}
		c.Matches /= float64(c.Tasks)
		c.Ratio = c.Mean[0] / c.Mean[1]
		if len(c.Mean) > 2 {
			c.RatioLucene = c.Mean[2] / c.Mean[1]
		}
	}
	return all, nil
}

// task runs each engine once and then by turns; the least time of an engine counts.
func (m *taskRun) task(ctx context.Context, t *task, c *taskCategory) error {
	run := make([]func(ctx context.Context) (taskAnswer, error), len(m.engines))
	answers := make([]taskAnswer, len(m.engines))
	least := make([]time.Duration, len(m.engines))
	for e, engine := range m.engines {
		least[e] = math.MaxInt64
		var err error
		if run[e], err = engine.prepare(t); err == nil {
			answers[e], err = run[e](ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", engine.name(), err)
		}
	}
	for range m.runs {
		for e := range run {
			began := time.Now()
			a, err := run[e](ctx)
			if err != nil {
				return err
			}
			took := time.Since(began)
			if a.took > 0 {
				took = a.took
			}
			least[e] = min(least[e], took)
		}
	}
	c.Tasks++
	for e := range least {
		c.Mean[e] += float64(least[e].Nanoseconds()) / 1000
	}
	total, err := m.engines[1].(*griffinTasks).total(ctx, t)
	if err != nil {
		return err
	}
	c.Matches += float64(total)
	answers[1].total = total
	unequal := false
	for e := range answers {
		if t.fuzzy != "" && answers[e].total != total {
			unequal = true
			continue
		}
		if err := m.compare(t, &answers[e], &answers[1]); err != nil {
			return fmt.Errorf("%s and %s: %w", m.engines[e].name(), m.engines[1].name(), err)
		}
	}
	if unequal {
		c.Unequal++
	}
	return nil
}

// compare compares totals, the order of a sort and facets. Scores differ in rounding, so hits by score are only
// counted.
func (m *taskRun) compare(t *task, a, b *taskAnswer) error {
	switch {
	case a.total != b.total:
		return fmt.Errorf("%d and %d documents match", a.total, b.total)
	case !t.count && !t.every && len(a.ids) != len(b.ids):
		return fmt.Errorf("%d and %d hits", len(a.ids), len(b.ids))
	case t.sort != "" && !slices.Equal(m.sortValues(t, a.ids), m.sortValues(t, b.ids)):
		return fmt.Errorf("hits by %s are %q and %q", t.sort, m.sortValues(t, a.ids), m.sortValues(t, b.ids))
	case t.facet != "" && !slices.Equal(sortedCounts(a.facets), sortedCounts(b.facets)): // which of equal counts are last differs
		return fmt.Errorf("facets are %v and %v", a.facets, b.facets)
	}
	return nil
}

func (m *taskRun) sortValues(t *task, ids []string) (values []string) {
	for _, id := range ids {
		values = append(values, m.byID[id].sortValue(t.sort))
	}
	return values
}

func sortedCounts(facets map[string]int64) []int64 {
	return slices.Sorted(maps.Values(facets))
}

// write writes a table in Markdown.
func (r *taskReport) write(w io.Writer) {
	fmt.Fprintf(w, "%d passages, least of %d runs of each task, one thread. %s\n\n", r.NumDocs, r.Runs, r.Machine)
	header, line := "| tasks | matches |", "|---|---|---|"
	for _, name := range r.Engines {
		header += " " + name + ", µs |"
		line += "---|"
	}
	lucene := len(r.Engines) > 2
	header += " times bleve |"
	if lucene {
		header += " times Lucene |"
		line += "---|"
	}
	fmt.Fprintf(w, "%s\n%s\n", header, line)
	for _, c := range r.Categories {
		fmt.Fprintf(w, "| %s | %.0f |", c.Name, c.Matches)
		for _, mean := range c.Mean {
			fmt.Fprintf(w, " %.1f |", mean)
		}
		fmt.Fprintf(w, " %.1f |", c.Ratio)
		if lucene {
			fmt.Fprintf(w, " %.1f |", c.RatioLucene)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nGeometric mean: %.1f times faster than bleve.\n", r.Ratio)
	if lucene {
		fmt.Fprintf(w, "Geometric mean: %.1f times faster than Lucene.\n", r.RatioLucene)
	}
	for _, c := range r.Categories {
		if c.Unequal > 0 {
			fmt.Fprintf(w, "%s: the engines find different terms, and other numbers of matches, in %d of %d tasks.\n", c.Name, c.Unequal, c.Tasks)
		}
	}
}
