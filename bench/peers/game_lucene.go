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

// luceneGame runs in a process of Java, which measures itself: the times leave out the pipes.
type luceneGame struct{ luceneProcess }

var _ gameEngine = (*luceneGame)(nil)

//go:embed lucene/LuceneGame.java
var luceneGameSource []byte

func (*luceneGame) name() string { return "Lucene" }

func (e *luceneGame) build(ctx context.Context, dir string, passages []passage) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, luceneDocuments))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for i := range passages {
		if _, err := fmt.Fprintln(w, strings.Join(wordsOf(passages[i].Title+" "+passages[i].Text), " ")); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return e.start(ctx, dir, "LuceneGame.java", luceneGameSource, len(passages))
}

// run takes the faster of two ways for hits and their number: one search that visits every match, or a search for the
// hits, which skips some, and then a count.
func (e *luceneGame) run(_ context.Context, c *gameCommand, q *gameQuery) (answer int64, took time.Duration, err error) {
	if answer, took, err = e.command(c.name, q); err != nil || c.k == 0 || !c.counts {
		return answer, took, err
	}
	again, twice, err := e.command(strings.TrimSuffix(c.name, "_COUNT")+"_TWICE", q)
	if err == nil && again != answer {
		err = fmt.Errorf("%s: the collector counts %d matches, the search %d", q.text, answer, again)
	}
	return answer, min(took, twice), err
}

func (e *luceneGame) command(name string, q *gameQuery) (answer int64, took time.Duration, err error) {
	line, err := e.ask(name, q.text)
	if err != nil {
		return 0, 0, err
	}
	return parseGameAnswer(line)
}

// parseGameAnswer parses a count and nanoseconds.
func parseGameAnswer(line string) (answer int64, took time.Duration, err error) {
	count, nanos, _ := strings.Cut(line, "\t")
	if answer, err = strconv.ParseInt(count, 10, 64); err != nil {
		return 0, 0, err
	}
	n, err := strconv.ParseInt(nanos, 10, 64)
	return answer, time.Duration(n), err
}

func (e *luceneGame) top(_ context.Context, q *gameQuery, k int) (docs []int, err error) {
	line, err := e.ask(fmt.Sprintf("DOCS_%d", k), q.text)
	if err != nil {
		return nil, err
	}
	for _, field := range strings.Fields(line) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		docs = append(docs, n)
	}
	return docs, nil
}
