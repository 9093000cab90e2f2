package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
)

func TestQueryParts(t *testing.T) {
	p := queryParts{every: 3}
	picked := 0
	for range 3000 {
		if p.picks() {
			picked++
		}
	}
	if picked < 800 || picked > 1200 { // seven standard deviations
		t.Errorf("%d of 3,000 queries picked, want one of 3", picked)
	}
	p.restart(time.Hour)
	trace := &griffin.Trace{Steps: []griffin.TraceStep{
		{Name: griffin.StepPlan, Processor: "cpu", Place: "cpu", Took: time.Microsecond},
		{Name: griffin.StepWait, Processor: "gpu", Place: "gpu", Start: time.Microsecond, Took: 3 * time.Microsecond},
		{Name: griffin.StepGPU, Processor: "gpu0", Place: "gpu", Batch: 20, Start: 4 * time.Microsecond, Took: 40 * time.Microsecond, Device: &griffin.TraceDevice{
			Took: 20 * time.Microsecond, TraceHostTimes: griffin.TraceHostTimes{Preparing: 5000, Launching: 4000, Waiting: 24_000, Taking: 2000},
		}},
	}}
	p.add(trace, time.Now(), 50*time.Microsecond)
	if got := p.take(); got != nil {
		t.Errorf("a query of the warm-up has parts: %v", got)
	}
	p.restart(0)
	p.add(trace, time.Now(), 50*time.Microsecond)
	p.add(&griffin.Trace{Steps: trace.Steps[:1]}, time.Now(), 10*time.Microsecond)
	want := map[string]loadPart{
		"plan":                 {Queries: 2, Share: 2.0 / 60},
		"wait for the gpu":     {Queries: 1, Share: 3.0 / 60},
		"gpu, in a batch":      {Queries: 1, Share: 40.0 / 60},
		"gpu: kernels":         {Queries: 1, Share: 20.0 / 60},
		"gpu: prepare":         {Queries: 1, Share: 5.0 / 60},
		"gpu: launch":          {Queries: 1, Share: 4.0 / 60},
		"gpu: wait":            {Queries: 1, Share: 24.0 / 60},
		"gpu: take hits":       {Queries: 1, Share: 2.0 / 60},
		"gpu: lane and others": {Queries: 1, Share: 5.0 / 60},
		"rest":                 {Queries: 2, Share: 15.0 / 60},
		"all":                  {Queries: 2, Share: 1},
	}
	got := p.take()
	if len(got) != len(want) {
		t.Errorf("%d parts, want %d", len(got), len(want))
	}
	for _, part := range got {
		if w := want[part.Name]; part.Queries != w.Queries || part.Share < w.Share-1e-3 || part.Share > w.Share+1e-3 {
			t.Errorf("%s: %d queries, share %.4f, want %d and %.4f", part.Name, part.Queries, part.Share, w.Queries, w.Share)
		}
	}
}

// The steps of traced queries have nearly all of their time, for each rate.
func TestLoadTraces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notes")
	makeIndexOf(t, dir, 300)
	queries := filepath.Join(t.TempDir(), "log.tsv")
	if err := os.WriteFile(queries, []byte("1\tcommon word5\n2\tword7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := runGriffin(t, "load", dir, "--json", "-q", "--queries", queries, "--rate", "400,800", "--for", "200ms", "--warmup", "20ms", "--trace-every", "2")
	var r loadResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Parts) != 2 {
		t.Fatalf("%d rates have parts, want 2", len(r.Parts))
	}
	for i, parts := range r.Parts {
		seen := map[string]int{}
		for _, p := range parts {
			seen[p.Name] = p.Queries
		}
		sent := int(r.Points[i].Sent)
		if n := seen["all"]; n < sent/8 || n > sent || seen["plan"] != n || seen["segment"] == 0 || seen["rest"] != n {
			t.Errorf("rate %g: %d queries sent, parts %v", r.Points[i].Rate, sent, seen)
		}
	}
	for _, args := range [][]string{{"--trace-every", "-1"}, {"--trace-every", "2", "--batch", "3"}} {
		if _, code, _, stderr := runLoad(t, dir, "1\tword7\n", args...); code != exitUsage || !strings.Contains(stderr, "--trace-every") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// Steps of several segments or devices that ran at the same time count once in the rest, and as one part of a query.
func TestQueryPartsAtTheSameTime(t *testing.T) {
	p := queryParts{every: 1}
	p.restart(0)
	segment := griffin.TraceStep{Name: griffin.StepSegment, Start: 10, Took: 30}
	late := segment
	late.Start = 20
	p.add(&griffin.Trace{Steps: []griffin.TraceStep{late, segment, {Name: griffin.StepFetch, Start: 60, Took: 5}}}, time.Now(), 100)
	want := map[string]time.Duration{"segment": 60, "fetch": 5, "rest": 55, "all": 100}
	for _, part := range p.take() {
		if part.Queries != 1 || part.Latency.Mean != want[part.Name] {
			t.Errorf("%s: %d queries, %v, want one, %v", part.Name, part.Queries, part.Latency.Mean, want[part.Name])
		}
	}
}
