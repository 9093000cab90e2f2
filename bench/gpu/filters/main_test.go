package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// The hits of the GPU are compared with the CPU's by the measurement itself.
func TestRun(t *testing.T) {
	t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
	dir := filepath.Join(t.TempDir(), "typed")
	m, err := griffin.ParseMapping([]byte(`{"dynamic":"false","properties":{"kind":{"type":"keyword","index":false},"day":{"type":"date"},"number":{"type":"long"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(dir, griffin.Settings{Analyzer: "whitespace", Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	const numDocs = 2000
	var docs []griffin.Document
	for i := range numDocs {
		var words strings.Builder
		for w := range 8 {
			if rng.IntN(w+1) == 0 {
				fmt.Fprintf(&words, "w%d ", w)
			}
		}
		day := time.Date(2004, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(20*365.25*float64(i)/numDocs))
		docs = append(docs, griffin.Document{ID: fmt.Sprint(i), Text: words.String(), Fields: []griffin.Field{
			{Name: "kind", Value: fmt.Sprint(rng.IntN(20))}, {Name: "day", Value: day.Format(time.DateOnly)}, {Name: "number", Value: fmt.Sprint(rng.IntN(1000))},
		}})
	}
	if err := ix.Add(t.Context(), docs...); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(dir+".queries.tsv", []byte("1\tw1 w3\n2\tw2\n3\tw4 w5 w7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parseOptions(strings.Fields("-index " + dir + " -json " + record + " -gpu-memory 4194304 -batch 20 -threads 2 -cpu 10 -facets 3 -seconds 0.01 -resident 0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 1+2*len(shares) || r.Docs != numDocs || len(r.Facets) != len(facetShares)+len(countings)-1 {
		t.Errorf("%+v", r)
	}
	o.words, o.batch, o.cpu, o.threads = true, 4, 4, 1
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(record); err != nil {
		t.Fatal(err)
	}
	var words report
	if err := json.Unmarshal(data, &words); err != nil || len(words.Figures) != len(wordsKinds) || len(words.Facets) != 0 {
		t.Errorf("%v: %+v", err, words)
	}
	for _, f := range words.Figures {
		if f.GPU <= 0 || f.CPU <= 0 || f.OnCPU != 0 || f.MeanHits == 0 {
			t.Errorf("%+v", f)
		}
	}
	o.words, o.phrases = false, true
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(record); err != nil {
		t.Fatal(err)
	}
	var phrases report
	if err := json.Unmarshal(data, &phrases); err != nil || len(phrases.Figures) != len(phraseKinds) || phrases.Figures[1].MeanHits == 0 {
		t.Errorf("%v: %+v", err, phrases)
	}
	if !slices.ContainsFunc(r.Facets, func(f *facet) bool { return f.Device > 0 }) { // one count in eight is timed, and nine are made
		t.Error("no count was timed on the device")
	}
	for _, f := range r.Facets {
		if f.Queries != 3 || f.CPU.Mean <= 0 || f.CPUCount.Median <= 0 || f.GPU.Max < f.Counting.Median || f.Counting.Mean <= 0 || f.Device < 0 || f.MeanMatches < 1 || (f.Values < 5) != (f.Of != countings[0].name) || f.Chosen.Mean <= 0 {
			t.Errorf("%+v", f)
		}
	}
	for _, f := range r.Figures {
		if f.GPU <= 0 || f.Device <= 0 || math.IsInf(f.Device, 0) || f.CPU <= 0 || f.OnCPU != 0 || f.Filter != "none" && f.Share > 0.01 && (f.Ratio <= 0 || f.FilterMiB <= 0) || f.Share > 0.05 && f.MeanHits < 9 {
			t.Errorf("%+v", f)
		}
	}
}
