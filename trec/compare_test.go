package trec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func evaluationOf(t *testing.T, ranks ...int) *Evaluation {
	t.Helper()
	var qrels, run strings.Builder
	for q, rank := range ranks {
		fmt.Fprintf(&qrels, "%d 0 good 1\n", q)
		for r := 1; r <= 5; r++ {
			doc := fmt.Sprint("bad", r)
			if r == rank {
				doc = "good"
			}
			fmt.Fprintf(&run, "%d Q0 %s %d %d t\n", q, doc, r, 10-r)
		}
	}
	return mustEvaluate(t, qrels.String(), run.String(), Options{}, "recip_rank", "num_ret")
}

// Rows of the t table: P(|T| > t) for n-1 degrees of freedom.
func TestPairedTWorked(t *testing.T) {
	tests := []struct{ freedom, t, p float64 }{
		{1, 12.706, 0.05},
		{2, 4.303, 0.05},
		{9, 2.262, 0.05},
		{9, 3.250, 0.01},
		{29, 2.045, 0.05},
		{30, 1.310, 0.2},
		{100, 2.626, 0.01},
		{1, 1, 0.5},
		{50, 0.679, 0.5},
	}
	for _, tt := range tests {
		got := incompleteBeta(tt.freedom/2, 0.5, tt.freedom/(tt.freedom+tt.t*tt.t))
		if math.Abs(got-tt.p) > 0.0004 {
			t.Errorf("freedom %v, t = %v: p = %v, want %v", tt.freedom, tt.t, got, tt.p)
		}
	}
	stat, p := pairedT([]float64{1, 2, 3, 4})
	if math.Abs(stat-3.8730) > 5e-5 || math.Abs(p-0.0305) > 5e-5 {
		t.Errorf("t = %v, p = %v, want 3.8730, 0.0305", stat, p)
	}
	if stat, p := pairedT([]float64{-1, 1}); stat != 0 || p != 1 {
		t.Errorf("mean 0: t = %v, p = %v", stat, p)
	}
	if stat, p := pairedT([]float64{-1, -1}); !math.IsInf(stat, -1) || p != 0 {
		t.Errorf("no deviation: t = %v, p = %v", stat, p)
	}
	if stat, p := pairedT([]float64{1}); !math.IsNaN(stat) || !math.IsNaN(p) {
		t.Errorf("one query: t = %v, p = %v", stat, p)
	}
}

func TestRandomisationExact(t *testing.T) {
	for _, differences := range [][]float64{
		{1, 2, 3, 4},
		{0.1, -0.2, 0.3, 0.05, 0.07, -0.01},
		{0.5, 0.5, 0.5, 0.5, 0.5},
		{0, 0, 0},
	} {
		sum := 0.0
		for _, d := range differences {
			sum += d
		}
		extreme := 0
		for signs := range 1 << len(differences) {
			s := 0.0
			for i, d := range differences {
				if signs>>i&1 == 1 {
					d = -d
				}
				s += d
			}
			if math.Abs(s) >= math.Abs(sum)-1e-9 {
				extreme++
			}
		}
		want := float64(extreme) / float64(int(1)<<len(differences))
		if got := randomisation(differences, numPermutations); math.Abs(got-want) > 0.006 {
			t.Errorf("%v: p = %v, want %v", differences, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	a := evaluationOf(t, 2, 2, 4, 0, 1)
	b := evaluationOf(t, 1, 1, 2, 5, 2)
	c, err := Compare(a, b, "recip_rank")
	if err != nil {
		t.Fatal(err)
	}
	// Differences 0.5, 0.5, 0.25, 0.2, -0.5: mean 0.19, deviation 0.40988, t = 1.0365.
	if c.NumQueries != 5 || c.Better != 4 || c.Worse != 1 || !near(c.MeanA, 0.45) || !near(c.MeanB, 0.64) {
		t.Errorf("%+v", c)
	}
	if math.Abs(c.T-1.0365) > 5e-5 || c.TPValue < 0.3 || c.TPValue > 0.4 || c.RandomPValue < 0.3 || c.RandomPValue > 0.6 {
		t.Errorf("%+v", c)
	}
	again, err := Compare(a, b, "recip_rank")
	if err != nil || again != c {
		t.Errorf("a second comparison differs: %+v, %v", again, err)
	}
	same, err := Compare(a, a, "recip_rank")
	if err != nil || same.TPValue != 1 || same.RandomPValue != 1 || same.Better != 0 {
		t.Errorf("a run against itself: %+v, %v", same, err)
	}
}

func TestCompareCountsMissingAsZero(t *testing.T) {
	a := evaluationOf(t, 1, 1)
	b := evaluationOf(t, 1)
	c, err := Compare(a, b, "recip_rank")
	if err != nil || c.NumQueries != 2 || c.MeanB != 0.5 || c.Worse != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Queries that neither run answers count in complete evaluations.
func TestCompareComplete(t *testing.T) {
	const qrels = "1 0 a 1\n2 0 a 1\n3 0 a 1\n4 0 a 1\n"
	for _, tt := range []struct {
		complete   bool
		numQueries int
	}{{false, 2}, {true, 4}} {
		opts := Options{Complete: tt.complete}
		a := mustEvaluate(t, qrels, "1 Q0 a 1 1 t\n", opts, "P_1")
		b := mustEvaluate(t, qrels, "2 Q0 a 1 1 t\n", opts, "P_1")
		c, err := Compare(a, b, "P_1")
		if err != nil || c.NumQueries != tt.numQueries || c.MeanA != 1/float64(tt.numQueries) {
			t.Errorf("complete %v: %+v, %v", tt.complete, c, err)
		}
		if tt.complete && c.MeanA != a.All[0] {
			t.Errorf("mean %v, in the evaluation %v", c.MeanA, a.All[0])
		}
	}
}

func TestComparisonJSON(t *testing.T) {
	tests := []struct {
		c    Comparison
		want string
	}{
		{
			Comparison{Measure: "map", NumQueries: 2, MeanA: 0.25, MeanB: 0.5, Better: 1, T: 2, TPValue: 0.25, RandomPValue: 0.125},
			`{"measure":"map","num_q":2,"mean_a":0.25,"mean_b":0.5,"better":1,"worse":0,"t":2,"p_t":0.25,"p_randomisation":0.125}`,
		},
		{
			Comparison{Measure: "P_5", T: math.Inf(-1), TPValue: math.NaN(), RandomPValue: 1},
			`{"measure":"P_5","num_q":0,"mean_a":0,"mean_b":0,"better":0,"worse":0,"t":null,"p_t":null,"p_randomisation":1}`,
		},
	}
	for _, tt := range tests {
		if data, err := json.Marshal(tt.c); err != nil || string(data) != tt.want {
			t.Errorf("JSON %s, %v, want %s", data, err, tt.want)
		}
	}
}

func TestCompareErrors(t *testing.T) {
	a := evaluationOf(t, 1)
	if _, err := Compare(a, a, "map"); !errors.Is(err, ErrUnknownMeasure) {
		t.Errorf("a measure that is not there: %v", err)
	}
	if _, err := Compare(a, a, "num_ret"); !errors.Is(err, ErrNotMean) {
		t.Errorf("a count: %v", err)
	}
}
