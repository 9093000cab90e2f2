// Command structured measures queries with filters on typed fields over passages: how much longer than
// without a filter they take, and sorting and facets of all matches.
//
//	go run ./bench/structured --passages wiki-passages-0.jsonl.zst --queries tb05-1000.tsv --dir /var/tmp --json result.json
//
// Each passage gets fields that the passage determines: "random", a number without a relation to the text;
// "place", which grows with the number of the passage, so that a range is a part of the collection whose
// passages are of few articles; "size", the bytes of the text, so that long passages, which match more
// queries, are in one range; "category", one of 1,000 values, frequent and rare ones; "date"; and "part", terms
// that parts of the documents have at random.
//
// # Method
//
// One thread. A query runs without a filter and with each filter in turn, --runs times, and the minimum counts: other
// programs only add time. Reported are means over the queries, and their ratio. Every answer with a filter is
// compared with the unfiltered ranking, from which the documents that do not match are removed.
//
// Then the matches of each query are counted, sorted by date and place, and the categories of all matches counted;
// these answers are compared with loops over the passages.
//
// With --check, a ratio beyond its bar is an error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/griffin-search/griffin"
)

type options struct {
	passages, queries, dir, json string
	analyzer                     string
	docs, most, runs             int
	check                        bool
}

func main() {
	var o options
	flag.StringVar(&o.passages, "passages", "", "JSON Lines with title and text, plain or .zst; several files with commas")
	flag.StringVar(&o.queries, "queries", "", "id, tab and query in each line")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "folder for the index")
	flag.StringVar(&o.json, "json", "", "write the result to this file instead of standard output")
	flag.StringVar(&o.analyzer, "analyzer", "english", "analyzer of the texts")
	flag.IntVar(&o.docs, "docs", 250_000, "passages to read")
	flag.IntVar(&o.most, "most", 1000, "queries to read")
	flag.IntVar(&o.runs, "runs", 3, "runs of each query")
	flag.BoolVar(&o.check, "check", false, "fail if a ratio is beyond its bar")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "structured:", err)
		os.Exit(1)
	}
}

type report struct {
	Time    time.Time `json:"time"`
	Machine string    `json:"machine"`
	Docs    int       `json:"docs"`
	Queries int       `json:"queries"`
	Runs    int       `json:"runs"`
	// Analyzer of the texts.
	Analyzer string `json:"analyzer"`
	// IndexSeconds are with and without the typed fields.
	IndexSeconds [2]float64 `json:"index_seconds"`
	IndexBytes   [2]int64   `json:"index_bytes"`
	PlainMean    float64    `json:"plain_mean_us"`
	Filters      []measured `json:"filters"`
	Fields       byFields   `json:"fields"`
}

// measured is a filter over all queries.
type measured struct {
	Field string `json:"field"`
	// Share of the documents that match, in percent, as wanted and as it is.
	Wanted float64 `json:"wanted_percent"`
	Share  float64 `json:"percent"`
	Mean   float64 `json:"mean_us"`
	Ratio  float64 `json:"ratio"` // of the mean to the mean without a filter
	Bar    float64 `json:"bar"`
}

// missed lists the ratios beyond their bars.
func (r *report) missed() error {
	var errs []error
	for _, f := range r.Filters {
		if f.Ratio > f.Bar {
			errs = append(errs, fmt.Errorf("filter %s of %g %%: %.2f times as long as without, want at most %g", f.Field, f.Wanted, f.Ratio, f.Bar))
		}
	}
	for name, by := range map[string]ranked{"date": r.Fields.ByDate, "place": r.Fields.ByPlace} {
		if by.Ratio > by.Bar {
			errs = append(errs, fmt.Errorf("sorting by %s: %.2f times as long as counting, want at most %g", name, by.Ratio, by.Bar))
		}
	}
	if v := r.Fields.AllValues; v < facetBar {
		errs = append(errs, fmt.Errorf("facet over all documents: %.0f million values a second, want at least %d", v, facetBar))
	}
	if v := r.Fields.FacetValues; v < facetBar {
		errs = append(errs, fmt.Errorf("facet over the matches of queries: %.0f million values a second, want at least %d", v, facetBar))
	}
	return errors.Join(errs...)
}

func run(ctx context.Context, o *options) error {
	if o.passages == "" || o.queries == "" || o.docs < 1 || o.most < 1 || o.runs < 1 {
		return errors.New("--passages and --queries are needed, and numbers of at least 1; see --help")
	}
	docs, err := readPassages(o)
	if err != nil {
		return err
	}
	queries, err := readQueries(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "structured-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := report{
		Time: time.Now().UTC().Truncate(time.Second), Docs: len(docs), Queries: len(queries), Runs: o.runs, Analyzer: o.analyzer,
		Machine: fmt.Sprintf("%s/%s, %s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU()),
	}
	for i, typed := range []bool{true, false} {
		if err := r.index(ctx, filepath.Join(dir, fmt.Sprint(i)), docs, typed, i, o.analyzer); err != nil {
			return err
		}
	}
	if err := r.measure(ctx, filepath.Join(dir, "0"), docs, queries, o.runs); err != nil {
		return err
	}
	out, err := json.MarshalIndent(&r, "", " ")
	if err != nil {
		return err
	}
	out = append(out, '\n')
	if o.json != "" {
		err = os.WriteFile(o.json, out, 0o644)
	} else {
		_, err = os.Stdout.Write(out)
	}
	if err == nil && o.check {
		err = r.missed()
	}
	return err
}

func readPassages(o *options) (docs []passage, err error) {
	for path := range strings.SplitSeq(o.passages, ",") {
		if docs, err = appendPassages(docs, path, o.docs); err != nil || len(docs) == o.docs {
			return docs, err
		}
	}
	return docs, nil
}

func appendPassages(docs []passage, path string, most int) (_ []passage, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := io.Reader(f)
	if strings.HasSuffix(path, ".zst") {
		cmd := exec.Command("zstd", "-dc")
		cmd.Stdin = f
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("%w: the program zstd is needed for %s", err, path)
		}
		defer func() {
			_ = cmd.Process.Kill() // it may have been read in part
			_ = cmd.Wait()
		}()
		in = out
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() && len(docs) < most {
		var p passage
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(docs)+1, err)
		}
		docs = append(docs, p)
	}
	return docs, lines.Err()
}

func readQueries(o *options) (queries []string, err error) {
	data, err := os.ReadFile(o.queries)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		_, text, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, fmt.Errorf("%s, line %d: no tab", o.queries, i+1)
		}
		if queries = append(queries, text); len(queries) == o.most {
			break
		}
	}
	return queries, nil
}

func (r *report) index(ctx context.Context, dir string, docs []passage, typed bool, i int, analyzer string) error {
	settings := griffin.Settings{Analyzer: analyzer}
	if typed {
		m, err := griffin.ParseMapping([]byte(mapping))
		if err != nil {
			return err
		}
		settings.Mapping = m
	}
	ix, err := griffin.Create(dir, settings, griffin.Options{})
	if err != nil {
		return err
	}
	began := time.Now()
	for n := range docs {
		d := griffin.Document{ID: docs[n].ID, Title: docs[n].Title, Text: docs[n].Text}
		if typed {
			d.Fields = docs[n].fields(n, len(docs))
		}
		if err := ix.Add(ctx, d); err != nil {
			return errors.Join(err, ix.Close())
		}
	}
	err = ix.Commit(ctx)
	if err == nil {
		_, err = ix.Merge(ctx, griffin.MergeOptions{Segments: 1})
	}
	r.IndexSeconds[i] = time.Since(began).Seconds()
	stats, statsErr := ix.Stats()
	r.IndexBytes[i] = stats.SizeBytes
	return errors.Join(err, statsErr, ix.Close())
}

const mapping = `{"properties": {
	"title": {"type": "text"},
	"random": {"type": "long"}, "place": {"type": "long"}, "size": {"type": "long"},
	"category": {"type": "keyword"}, "part": {"type": "keyword"}, "date": {"type": "date"}
}}`

type passage struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func (p *passage) fields(n, of int) []griffin.Field {
	fields := []griffin.Field{
		{Name: "random", Value: strconv.Itoa(random(n))},
		{Name: "place", Value: strconv.Itoa(place(n, of))},
		{Name: "size", Value: strconv.Itoa(len(p.Text))},
		{Name: "category", Value: categoryName(n)},
		{Name: "date", Value: time.UnixMilli(date(n)).UTC().Format(time.RFC3339)},
	}
	for i, c := range parts {
		if inPart(n, i) {
			fields = append(fields, griffin.Field{Name: "part", Value: fmt.Sprint(c)})
		}
	}
	return fields
}

func categoryName(n int) string { return fmt.Sprintf("c%03d", category(n)) }

// date is an hour of 20 years.
func date(n int) int64 {
	return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(hash(n, 3)%(20*365*24)) * time.Hour).UnixMilli()
}
