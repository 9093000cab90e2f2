package main

import (
	"strings"
	"testing"
	"time"
)

func TestLiving(t *testing.T) {
	in, err := writeSubset(t.TempDir()+"/subset.jsonl", writePassages(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &living{work: t.TempDir(), queries: []string{"cats", "zebras"}, livingOptions: livingOptions{
		clients: 2, batch: 7, base: 20, duration: 100 * time.Millisecond, rounds: 2, queryRate: 200,
	}}
	if l.passages, l.sizes, err = readPassages(in.path); err != nil {
		t.Fatal(err)
	}
	results, err := l.measure(t.Context(), []livingEngine{&livingBleve{}, &livingGriffin{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if len(r.Rounds) != 2 || r.MBPerSecond <= 0 || r.QueryP50 <= 0 || r.QueryP99 < r.QueryP50 {
			t.Errorf("%s: %+v", r.Engine, r)
		}
		for _, round := range r.Rounds {
			// Every second query has no result.
			if n := round.Query.Count; n == 0 || round.NoResult != n/2 {
				t.Errorf("%s: %d of %d queries have no result", r.Engine, round.NoResult, n)
			}
			if round.Full.Ack.Count == 0 || round.Full.LongestPauseMS <= 0 || round.Full.MBPerSecond > r.MBPerSecond {
				t.Errorf("%s: %+v", r.Engine, round.Full)
			}
		}
	}
}

func TestLivingCheck(t *testing.T) {
	for _, test := range []struct {
		rate, p99 float64
		wants     []string // in the error
	}{
		{24, 900, nil},
		{23, 900, []string{"7.7 times the rate"}},
		{24, 1100, []string{"9.1 times lower"}},
		{23, 1100, []string{"rate", "lower"}},
	} {
		r := &livingReport{
			Bleve:   &livingResult{Engine: "bleve", MBPerSecond: 3, QueryP50: 500, QueryP99: 10_000},
			Griffin: &livingResult{Engine: "griffin", MBPerSecond: test.rate, QueryP50: 50, QueryP99: test.p99},
		}
		r.Ratios = r.compare()
		err := r.fastEnough()
		if (err == nil) != (test.wants == nil) {
			t.Errorf("%v MB/s, %v µs: %v", test.rate, test.p99, err)
		}
		for _, want := range test.wants {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v MB/s, %v µs: %q lacks %q", test.rate, test.p99, err, want)
			}
		}
		var b strings.Builder
		if err := r.writeTable(&b); err != nil || !strings.Contains(b.String(), "| OR beside half that rate, median, µs | 500 | 50 | 10.0 |\n") {
			t.Errorf("table, %v:\n%s", err, b.String())
		}
	}
}
