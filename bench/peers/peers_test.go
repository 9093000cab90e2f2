package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/trec"
)

func TestTerms(t *testing.T) {
	long := strings.Repeat("x", 40)
	tests := []struct {
		text string
		want []string
	}{
		{"The Lazy-dog's 3.14", []string{"the", "lazy", "dog", "s", "3", "14"}},
		{"naïve ÉCOLE, Ωμέγα", []string{"naïve", "école", "ωμέγα"}},
		{"cat Cat CAT", []string{"cat"}},
		{long + " " + long + "x", []string{long}},
		{"snake_case\xff\xfebad \ufffd end", []string{"snake", "case", "bad", "end"}},
		{" -- ", nil},
	}
	for _, tt := range tests {
		if got := terms(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("terms(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestTokenOffsets(t *testing.T) {
	const text = "Ab, é x"
	var got []string
	for i, token := range (tokenizer{}).Tokenize([]byte(text)) {
		if token.Position != i+1 {
			t.Errorf("token %d has position %d", i, token.Position)
		}
		got = append(got, text[token.Start:token.End])
	}
	if want := []string{"Ab", "é", "x"}; !slices.Equal(got, want) {
		t.Errorf("tokens lie at %q, want %q", got, want)
	}
}

// Plain and compressed inputs of two passages each.
func writePassages(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	plain := filepath.Join(dir, "a.jsonl")
	compressed := filepath.Join(dir, "b.jsonl.zst")
	first := `{"id":"1","title":"Cats","text":"purr"}` + "\n" + `{"id":"2","title":"Dogs","text":"bark at cats"}` + "\n"
	second := `{"id":"3","title":"Owls","text":"hoot"}` + "\n" + `{"id":"4","title":"Cats","text":"and dogs"}`
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plain, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(compressed, encoder.EncodeAll([]byte(second), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{plain, compressed}
}

func TestWriteSubset(t *testing.T) {
	inputs := writePassages(t)
	for _, tt := range []struct{ limit, docs int }{{0, 4}, {1, 1}, {2, 2}, {3, 3}, {9, 4}} {
		to := filepath.Join(t.TempDir(), "subset.jsonl")
		s, err := writeSubset(to, inputs, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		if s.numDocs != tt.docs || s.numBytes != int64(len(text)) || strings.Count(string(text), "\n") != tt.docs {
			t.Errorf("limit %d: %+v, %d bytes in the file", tt.limit, s, len(text))
		}
	}
	if _, err := writeSubset(filepath.Join(t.TempDir(), "x"), []string{"absent"}, 0); err == nil {
		t.Error("a missing input is accepted")
	}
}

func TestBleve(t *testing.T) {
	in, err := writeSubset(filepath.Join(t.TempDir(), "subset.jsonl"), writePassages(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	e := &bleveEngine{
		dir: filepath.Join(t.TempDir(), "bleve"), in: in, batchSize: 3, threads: 2,
		topics: []trec.Topic{{ID: "1", Title: "cats dogs"}, {ID: "2", Title: "owls cats"}, {ID: "3", Title: "fish"}},
		search: searchOptions{k: 10, runs: 2},
	}
	results, err := measure(t.Context(), []engine{e}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	}()
	r := results[0]
	if r.Or.NoResult != 1 || r.And.NoResult != 2 {
		t.Errorf("%d OR and %d AND queries without results, want 1 and 2", r.Or.NoResult, r.And.NoResult)
	}
	if r.Or.Latency.Count != 3 || r.Or.Latency.Mean <= 0 || r.IndexBytes == 0 {
		t.Errorf("result %+v", r)
	}
	if r.Index.OnDisk <= 0 || r.Index.OneSegment < r.Index.OnDisk {
		t.Errorf("build times %+v", r.Index)
	}
}

func TestBleveStops(t *testing.T) {
	in, err := writeSubset(filepath.Join(t.TempDir(), "subset.jsonl"), writePassages(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := &bleveEngine{dir: filepath.Join(t.TempDir(), "bleve"), in: in, batchSize: 1, threads: 1}
	if _, err := e.build(ctx); err == nil {
		t.Error("a cancelled build returned no error")
	}
	if err := e.close(); err != nil {
		t.Error(err)
	}
}

// The calls of the griffin command and the parsing of its output, with a script
// in its place.
func TestGriffinCommand(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "griffin")
	body := `#!/bin/sh
case "$1" in
version) echo "griffin v0.1.0"; echo more ;;
index) mkdir "$4" && echo data > "$4/segment" ;;
bench) echo "{\"latency_us\":{\"mean\":12.5,\"p50\":10,\"p95\":20,\"p99\":30,\"p999\":40,\"max\":50},\"qps\":80000,\"no_result\":7,\"mode\":\"$6\"}" ;;
*) exit 3 ;;
esac
`
	if err := os.WriteFile(script, []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	e := &griffinEngine{binary: script, dir: filepath.Join(dir, "index"), threads: 1, search: searchOptions{k: 10, runs: 1}}
	results, err := measure(t.Context(), []engine{e}, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	if r.Engine != "griffin v0.1.0" || r.IndexBytes != 5 || r.And.NoResult != 7 || r.Or.Latency.Mean != 12500 {
		t.Errorf("result %+v", r)
	}
	e.binary = filepath.Join(dir, "absent")
	if _, err := measure(t.Context(), []engine{e}, 1); err == nil {
		t.Error("a missing command is accepted")
	}
}

// Griffin is faster than bleve by the given factors.
func exampleReport(index, or float64) *report {
	b := &engineResult{Engine: "bleve", Index: buildTimes{OnDisk: 10, OneSegment: 12}}
	b.Or.Latency = latency.Summary{Mean: 2 * time.Millisecond}
	b.And.Latency = latency.Summary{Mean: time.Millisecond}
	g := &engineResult{Engine: "griffin", Index: buildTimes{OnDisk: 12 / index, OneSegment: 12 / index}}
	g.Or.Latency = latency.Summary{Mean: time.Duration(2e6 / or)}
	g.And.Latency = latency.Summary{Mean: 100 * time.Microsecond}
	return &report{Bleve: b, Griffin: g, Ratios: compareEngines(b, g), K: 10, NumBytes: 60e6}
}

func TestFastEnough(t *testing.T) {
	tests := []struct {
		index, or float64
		wants     []string // in the error
	}{
		{6, 25, nil},
		{4, 25, []string{"indexing 4.0 times"}},
		{6, 16, []string{"OR 16.0 times"}},
		{4, 16, []string{"indexing", "OR"}},
	}
	for _, tt := range tests {
		err := exampleReport(tt.index, tt.or).fastEnough()
		if (err == nil) != (tt.wants == nil) {
			t.Errorf("%v and %v times: %v", tt.index, tt.or, err)
		}
		for _, want := range tt.wants {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v and %v times: %q lacks %q", tt.index, tt.or, err, want)
			}
		}
	}
}

func TestSameWork(t *testing.T) {
	r := exampleReport(6, 25)
	if err := r.sameWork(); err != nil {
		t.Error(err)
	}
	r.Griffin.And.NoResult = 1
	if r.sameWork() == nil {
		t.Error("engines with different results are accepted")
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	r := exampleReport(6, 25)
	if err := r.writeTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| | bleve | griffin | times faster |\n|---|---|---|---|\n",
		"| index, until one segment, s (MB/s) | 12.00 (5.0) | 2.00 (30.0) | 6.0 |\n",
		"| OR mean / p50 / p95 / p99, µs | 2000 / 0 / 0 / 0 | 80 / 0 / 0 / 0 | 25.0 |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestParseOptions(t *testing.T) {
	for _, args := range []string{
		"", "-queries q", "p", "-queries q -only lucene p", "-queries q -k 0 p", "-queries q -only bleve -check p", "-queries q -pisa d p", "-game q -pisa d -check p", "-game q -bp p",
	} {
		if _, err := parseOptions(strings.Fields(args)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	o, err := parseOptions(strings.Fields("-queries q -docs 7 -check a b"))
	if err != nil || o.docs != 7 || !o.check || !slices.Equal(o.passages, []string{"a", "b"}) {
		t.Errorf("options %+v, %v", o, err)
	}
	if got := fmt.Sprint(o.search.k, o.builds); got != "10 3" {
		t.Errorf("default k and builds: %s", got)
	}
}
