package main

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// luceneTasks runs tasks in a process of Java, which measures itself: the times leave out the pipes. The tokens
// and the values are the same as in the other engines. Lucene may stop counting the matches of a search after 1,000,
// as it does by default.
type luceneTasks struct{ luceneProcess }

var _ taskEngine = (*luceneTasks)(nil)

//go:embed lucene/LuceneTasks.java
var luceneSource []byte

func (*luceneTasks) name() string { return "Lucene" }

func (e *luceneTasks) build(ctx context.Context, dir string, passages []taskPassage) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := writeLuceneDocuments(filepath.Join(dir, luceneDocuments), passages); err != nil {
		return err
	}
	return e.start(ctx, dir, "LuceneTasks.java", luceneSource, len(passages))
}

func writeLuceneDocuments(path string, passages []taskPassage) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := range passages {
		p := &passages[i]
		values := []string{p.ID, strings.Join(wordsOf(p.Title+" "+p.Text), " ")}
		for _, name := range numberFieldNames {
			values = append(values, strconv.FormatInt(p.number(name), 10))
		}
		for _, name := range keywordFieldNames {
			values = append(values, strings.NewReplacer("\t", " ", "\n", " ").Replace(p.keyword(name)))
		}
		if _, err := fmt.Fprintln(w, strings.Join(values, "\t")); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func (e *luceneTasks) prepare(t *task) (func(ctx context.Context) (taskAnswer, error), error) {
	text, err := e.ask(t.lucene()...)
	if err != nil {
		return nil, err
	}
	total, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (taskAnswer, error) {
		line, err := e.ask("run")
		if err != nil {
			return taskAnswer{}, err
		}
		a, err := parseLuceneAnswer(line)
		a.total = total
		return a, err
	}, nil
}

// lucene is the command that prepares the task.
func (t *task) lucene() []string {
	flag := func(set bool) string {
		if set {
			return "1"
		}
		return ""
	}
	kind, text := "words", strings.Join(t.words, " ")
	switch {
	case t.every:
		kind = "every"
	case t.numbers != nil:
		kind, text = "range", t.numbers.lucene()
	case t.prefix != "":
		kind, text = "prefix", t.prefix
	case t.wildcard != "":
		kind, text = "wildcard", t.wildcard
	case t.fuzzy != "":
		kind, text = "fuzzy", t.fuzzy
	case len(t.phrase) > 0:
		kind, text = "phrase", strings.Join(t.phrase, " ")
	}
	filter, within := "", ""
	if t.filter {
		filter = taskFilter
	}
	if t.within != nil {
		within = t.within.lucene()
	}
	return []string{"task", kind, text, flag(t.all), strconv.Itoa(t.edits), filter, within, t.sort, flag(t.desc), t.facet, flag(t.count)}
}

func (r *numberRange) lucene() string { return fmt.Sprintf("%s %d %d", r.field, r.lo, r.hi) }

// parseLuceneAnswer parses the answer to "run".
func parseLuceneAnswer(line string) (a taskAnswer, err error) {
	values := strings.Split(line, "\t")
	if len(values) != 3 {
		return a, fmt.Errorf("answer %q", line)
	}
	nanos, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return a, err
	}
	a.took = time.Duration(nanos)
	a.ids = strings.Fields(values[1])
	a.facets = map[string]int64{}
	for _, pair := range strings.Fields(values[2]) {
		at := strings.LastIndexByte(pair, '=')
		if a.facets[pair[:max(at, 0)]], err = strconv.ParseInt(pair[at+1:], 10, 64); err != nil {
			return a, err
		}
	}
	return a, nil
}
