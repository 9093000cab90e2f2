package latency

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestQuantileWorkedValues(t *testing.T) {
	five := []time.Duration{15, 20, 35, 40, 50}
	ten := []time.Duration{3, 6, 7, 8, 8, 10, 13, 15, 16, 20}
	thousand := make([]time.Duration, 1000)
	for i := range thousand {
		thousand[i] = time.Duration(i + 1)
	}
	tests := []struct {
		sorted   []time.Duration
		num, den int
		want     time.Duration
	}{
		{five, 0, 100, 15},
		{five, 5, 100, 15},
		{five, 30, 100, 20},
		{five, 40, 100, 20},
		{five, 50, 100, 35},
		{five, 100, 100, 50},
		{ten, 25, 100, 7},
		{ten, 50, 100, 8},
		{ten, 75, 100, 15},
		{ten, 999, 1000, 20},
		{thousand, 50, 100, 500},
		{thousand, 95, 100, 950},
		{thousand, 999, 1000, 999},
		{thousand[:1], 50, 100, 1},
		{nil, 50, 100, 0},
	}
	for _, tt := range tests {
		if got := Quantile(tt.sorted, tt.num, tt.den); got != tt.want {
			t.Errorf("Quantile(%d samples, %d/%d) = %d, want %d", len(tt.sorted), tt.num, tt.den, got, tt.want)
		}
	}
}

// By counting.
func TestQuantileDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		sorted := make([]time.Duration, 1+random.IntN(40))
		for i := range sorted {
			sorted[i] = time.Duration(random.IntN(20))
		}
		slices.Sort(sorted)
		for num := 1; num <= 20; num++ {
			got := Quantile(sorted, num, 20)
			want := time.Duration(-1)
			for _, candidate := range sorted {
				notAbove := 0
				for _, d := range sorted {
					if d <= candidate {
						notAbove++
					}
				}
				if notAbove*20 >= num*len(sorted) {
					want = candidate
					break
				}
			}
			if got != want {
				t.Fatalf("Quantile(%v, %d/20) = %d, want %d", sorted, num, got, want)
			}
		}
	}
}

func TestQuantilePanics(t *testing.T) {
	for _, q := range [][2]int{{-1, 100}, {101, 100}, {0, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Quantile %d/%d did not panic", q[0], q[1])
				}
			}()
			Quantile([]time.Duration{1}, q[0], q[1])
		}()
	}
}

func TestSummarize(t *testing.T) {
	samples := []time.Duration{40, 15, 50, 20, 36}
	got := Summarize(samples)
	want := Summary{Count: 5, Mean: 32, P50: 36, P90: 50, P95: 50, P99: 50, P999: 50, Max: 50} // mean 161/5 = 32.2
	if got != want {
		t.Errorf("Summarize = %+v, want %+v", got, want)
	}
	if !slices.Equal(samples, []time.Duration{40, 15, 50, 20, 36}) {
		t.Error("Summarize reordered its input")
	}
	if (Summarize(nil) != Summary{}) {
		t.Error("the summary of no samples is not zero")
	}
}

func TestRecorder(t *testing.T) {
	r := NewRecorder(2, 3)
	for run, d := range []time.Duration{5000, 3000, 4000} {
		r.Record(0, run, d)
		r.Record(1, run, 10*d)
	}
	if got := r.Minima(); !slices.Equal(got, []time.Duration{3000, 30000}) {
		t.Errorf("Minima = %v", got)
	}
	if got := r.MinPerQuery(); got.Mean != 16500 || got.P50 != 3000 || got.Max != 30000 || got.Count != 2 {
		t.Errorf("MinPerQuery = %+v", got)
	}
	if got := r.AllRuns(); got.Mean != 22000 || got.P50 != 5000 || got.Max != 50000 || got.Count != 6 {
		t.Errorf("AllRuns = %+v", got)
	}
	var b strings.Builder
	if err := r.WriteTSV(&b, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	const want = "query\tmin_us\trun1_us\trun2_us\trun3_us\n" +
		"a\t3.000\t5.000\t3.000\t4.000\n" +
		"b\t30.000\t50.000\t30.000\t40.000\n"
	if b.String() != want {
		t.Errorf("WriteTSV wrote\n%s\nwant\n%s", b.String(), want)
	}
	if err := r.WriteTSV(&b, []string{"a"}); err == nil {
		t.Error("WriteTSV accepted one id for two queries")
	}
	if err := r.WriteTSV(failingWriter{}, []string{"a", "b"}); !errors.Is(err, errFull) {
		t.Errorf("WriteTSV to a full disk: %v", err)
	}
}

func TestRecorderWithoutSamples(t *testing.T) {
	for _, r := range []*Recorder{NewRecorder(0, 3), NewRecorder(3, 0)} {
		if r.MinPerQuery() != (Summary{}) || r.AllRuns() != (Summary{}) {
			t.Error("no samples have a summary")
		}
	}
}

func TestRecordConcurrently(t *testing.T) {
	r := NewRecorder(100, 4)
	var wg sync.WaitGroup
	for run := range 4 {
		wg.Go(func() {
			for query := range 100 {
				r.Record(query, run, time.Duration(query+run))
			}
		})
	}
	wg.Wait()
	for query, least := range r.Minima() {
		if least != time.Duration(query) {
			t.Fatalf("query %d: minimum %d", query, least)
		}
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	r := NewRecorder(10, 10)
	if n := testing.AllocsPerRun(100, func() { r.Record(3, 4, 5) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

func TestSummaryJSON(t *testing.T) {
	s := Summary{Mean: 1500, P50: 1000, P90: 1500, P95: 2000, P99: 3000, P999: 4000, Max: 5001}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"mean":1.5,"p50":1,"p90":1.5,"p95":2,"p99":3,"p999":4,"max":5.001}`
	if string(data) != want {
		t.Errorf("JSON %s, want %s", data, want)
	}
	var back Summary
	if err := json.Unmarshal(data, &back); err != nil || back != s {
		t.Errorf("read back %+v, %v; want %+v", back, err, s)
	}
	if err := json.Unmarshal([]byte(`{"mean":"x"}`), &back); err == nil {
		t.Error("a string was read as a time")
	}
}

var errFull = errors.New("no space left")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }
