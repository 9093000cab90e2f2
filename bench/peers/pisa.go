package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The commands of PISA that are used.
const (
	pisaCompress = "compress_inverted_index"
	pisaWand     = "create_wand_data"
	pisaLexicon  = "lexicon"
	pisaQueries  = "queries"
	pisaEvaluate = "evaluate_queries"
	pisaReorder  = "reorder-docids" // of -bp
)

const (
	pisaEncoding  = "block_simdbp"
	pisaBlockSize = 64 // postings of a block for its bound
	pisaPasses    = 5  // of the queries in a round, after one without the clock
)

// pisaTools runs PISA's commands, with files in dir.
type pisaTools struct {
	bin, dir string
}

// check fails if a command is missing; further are commands that not every comparison needs.
func (p *pisaTools) check(further ...string) error {
	for _, name := range append([]string{pisaCompress, pisaWand, pisaLexicon, pisaQueries, pisaEvaluate}, further...) {
		if _, err := exec.LookPath(filepath.Join(p.bin, name)); err != nil {
			return fmt.Errorf("PISA's command %s: %w", name, err)
		}
	}
	return nil
}

func (p *pisaTools) path(name string) string { return filepath.Join(p.dir, name) }

// command runs a command to its end; read gets its output.
func (p *pisaTools) command(ctx context.Context, read func(io.Reader) error, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("PISA's %s: %w", name, err)
	}
	readErr := read(out)
	if readErr != nil {
		readErr = errors.Join(fmt.Errorf("output of PISA's %s: %w", name, readErr), cmd.Process.Kill())
	}
	if err := cmd.Wait(); err != nil && readErr == nil {
		return fmt.Errorf("PISA's %s: %w: %s", name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return readErr
}

func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func pisaScorer() []string {
	return []string{"--scorer", "bm25", "--bm25-k1", "0.9", "--bm25-b", "0.4"}
}

// build writes the collection and makes the index, the bounds and the names of the documents, which are their numbers.
func (p *pisaTools) build(ctx context.Context, c *pisaCollection) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if err := c.write(p.path("collection")); err != nil {
		return err
	}
	var names strings.Builder
	for doc := range c.lengths {
		fmt.Fprintln(&names, doc)
	}
	if err := os.WriteFile(p.path("documents.txt"), []byte(names.String()), 0o600); err != nil {
		return err
	}
	if err := p.command(ctx, discard, pisaLexicon, "build", p.path("documents.txt"), p.path("documents")); err != nil {
		return err
	}
	return p.compress(ctx)
}

// reorder makes the same of another's collection, with its documents in BP order.
func (p *pisaTools) reorder(ctx context.Context, from *pisaTools) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	err := p.command(ctx, discard, pisaReorder, "--recursive-graph-bisection", "--collection", from.path("collection"), "--output", p.path("collection"),
		"--documents", from.path("documents"), "--reordered-documents", p.path("documents"))
	if err != nil {
		return err
	}
	return p.compress(ctx)
}

// compress makes the index and the bounds of the collection.
func (p *pisaTools) compress(ctx context.Context) error {
	if err := p.command(ctx, discard, pisaCompress, "--encoding", pisaEncoding, "--collection", p.path("collection"), "--output", p.path("index")); err != nil {
		return err
	}
	return p.command(ctx, discard, pisaWand, append(pisaScorer(), "--collection", p.path("collection"), "--output", p.path("wand"),
		"--block-size", strconv.Itoa(pisaBlockSize))...)
}

// search are the arguments of the commands that search.
func (p *pisaTools) search(queries string, k int, algorithms []string) []string {
	args := append(pisaScorer(), "--encoding", pisaEncoding, "--index", p.path("index"), "--wand", p.path("wand"),
		"--queries", queries, "-k", strconv.Itoa(k), "--tokenizer", "whitespace", "--weighted", "--log-level", "err")
	for _, a := range algorithms {
		args = append(args, "--algorithm", a)
	}
	return args
}

// times runs the queries pisaPasses times with each algorithm, after a pass without the clock, and calls f with each query's number and
// times.
func (p *pisaTools) times(ctx context.Context, queries string, k int, algorithms []string, f func(algorithm string, query int, took time.Duration)) error {
	if err := os.RemoveAll(p.path("times.tsv")); err != nil { // the command may end without writing it
		return err
	}
	args := append(p.search(queries, k, algorithms), "--runs", strconv.Itoa(pisaPasses), "--output", p.path("times.tsv"))
	if err := p.command(ctx, discard, pisaQueries, args...); err != nil {
		return err
	}
	data, err := os.ReadFile(p.path("times.tsv"))
	if err != nil {
		return err
	}
	if err := parsePisaTimes(string(data), f); err != nil {
		return fmt.Errorf("times of PISA's %s: %w", pisaQueries, err)
	}
	return nil
}

const pisaTimesHeader = "algorithm\tqid\trun\tusec\n"

// parsePisaTimes parses a line of an algorithm, a query, a run and whole microseconds for each query.
func parsePisaTimes(text string, f func(algorithm string, query int, took time.Duration)) error {
	lines, ok := strings.CutPrefix(text, pisaTimesHeader)
	if !ok {
		return fmt.Errorf("no header %q in %.100q", pisaTimesHeader, text)
	}
	for line := range strings.Lines(lines) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			return fmt.Errorf("line %q", line)
		}
		query, err := strconv.Atoi(fields[1])
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		micros, err := strconv.ParseUint(fields[3], 10, 40)
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		f(fields[0], query, time.Duration(micros)*time.Microsecond)
	}
	return nil
}

// hits calls f with each of the best k hits of each query, best first.
func (p *pisaTools) hits(ctx context.Context, queries string, k int, algorithm string, f func(query, doc int)) error {
	args := append(p.search(queries, k, []string{algorithm}), "--documents", p.path("documents"), "--threads", "1")
	return p.command(ctx, func(r io.Reader) error { return parsePisaHits(r, f) }, pisaEvaluate, args...)
}

// parsePisaHits parses lines of TREC's form: query, Q0, document, rank, score and run.
func parsePisaHits(r io.Reader, f func(query, doc int)) error {
	lines := newLineScanner(r)
	for lines.Scan() {
		query, rest, _ := bytes.Cut(lines.Bytes(), []byte(" Q0 "))
		doc, _, ok := bytes.Cut(rest, []byte(" "))
		q, err := strconv.Atoi(string(query))
		if err != nil || !ok {
			return fmt.Errorf("line %q", lines.Bytes())
		}
		d, err := strconv.Atoi(string(doc))
		if err != nil {
			return fmt.Errorf("line %q: %w", lines.Bytes(), err)
		}
		f(q, d)
	}
	return lines.Err()
}
