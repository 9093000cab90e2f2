package trec

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// Worked values.
//
// q1: a 2, b 1, c 0, d 1, e -1. The ranking is c, a, x, e, b, with relevances 0, 2, unjudged,
// unjudged (negative), 1; a, b, d are relevant, R = 3. q2 has no relevant document, q3 is
// missing from the run, q4 is not judged.
const (
	workedQrels = `q1 0 a 2
q1 0 b 1
q1 0 c 0
q1 0 d 1
q1 0 e -1
q2 0 z 0
q3 0 y 1
`
	workedRun = `q1 Q0 a 9 4.0 worked
q1 Q0 b 9 2.0 worked
q1 Q0 c 9 5.0 worked
q1 Q0 x 9 3.0 worked
q1 Q0 e 9 2.5 worked
q2 Q0 z 1 1.0 worked
q4 Q0 y 1 1.0 worked
`
)

func mustQrels(t testing.TB, text string) *Qrels {
	t.Helper()
	q, err := ReadQrels(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func mustRun(t testing.TB, text string) *Run {
	t.Helper()
	r, err := ReadRun(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustMeasures(t testing.TB, names ...string) []Measure {
	t.Helper()
	var measures []Measure
	for _, name := range names {
		m, err := ParseMeasures(name)
		if err != nil {
			t.Fatal(err)
		}
		measures = append(measures, m...)
	}
	return measures
}

func mustEvaluate(t testing.TB, qrels, run string, opts Options, names ...string) *Evaluation {
	t.Helper()
	ev, err := Evaluate(mustQrels(t, qrels), mustRun(t, run), mustMeasures(t, names...), opts)
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func near(a, b float64) bool { return math.Abs(a-b) < 5e-7 }

func TestWorkedQuery(t *testing.T) {
	tests := []struct {
		opts    Options
		measure string
		want    float64
	}{
		{Options{}, "num_ret", 5},
		{Options{}, "num_rel", 3},
		{Options{}, "num_rel_ret", 2},
		{Options{}, "map", (1.0/2 + 2.0/5) / 3},
		{Options{}, "map_cut_4", (1.0 / 2) / 3},
		{Options{}, "map_cut_5", 0.3},
		{Options{}, "Rprec", 1.0 / 3},
		{Options{}, "recip_rank", 0.5},
		{Options{}, "RR@2", 0.5},
		{Options{}, "RR@1", 0},
		{Options{}, "P_5", 0.4},
		{Options{}, "P_10", 0.2}, // missing ranks are not relevant
		{Options{}, "recall_2", 1.0 / 3},
		{Options{}, "recall_1000", 2.0 / 3},
		{Options{}, "success_1", 0},
		{Options{}, "success_5", 1},
		// (2/log2(3) + 1/log2(6)) / (2/log2(2) + 1/log2(3) + 1/log2(4)) = 1.648713/3.130930
		{Options{}, "ndcg", 0.526589},
		{Options{}, "ndcg_cut_5", 0.526589},
		// 1.261860 / 2.630930
		{Options{}, "ndcg_cut_2", 0.479625},
		{Options{}, "ndcg_cut_1", 0},
		// The only judged non-relevant document is above both relevant ones.
		{Options{}, "bpref", 0},

		{Options{RelevanceLevel: 2}, "num_rel", 1},
		{Options{RelevanceLevel: 2}, "map", 0.5},
		{Options{RelevanceLevel: 2}, "P_5", 0.2},
		{Options{RelevanceLevel: 2}, "Rprec", 0},
		{Options{RelevanceLevel: 2}, "ndcg", 0.526589}, // gains do not depend on the level
		{Options{RelevanceLevel: 3}, "map", 0},         // nothing is relevant
		{Options{RelevanceLevel: 3}, "recall_5", 0},

		{Options{Depth: 2}, "num_ret", 2},
		{Options{Depth: 2}, "num_rel", 3},
		{Options{Depth: 2}, "map", (1.0 / 2) / 3},
		{Options{Depth: 2}, "ndcg", 0.403030}, // 1.261860/3.130930: the ideal is not cut
	}
	for _, tt := range tests {
		ev := mustEvaluate(t, workedQrels, workedRun, tt.opts, tt.measure)
		if q := ev.Queries[0]; q.Query != "q1" || !near(q.Values[0], tt.want) {
			t.Errorf("%+v: %s of %s = %.6f, want %.6f", tt.opts, tt.measure, q.Query, q.Values[0], tt.want)
		}
	}
}

func TestBprefWorked(t *testing.T) {
	// R = 2, N = 3; ranking: not, relevant, unjudged, not, relevant.
	const qrels = "q 0 r1 1\nq 0 r2 1\nq 0 n1 0\nq 0 n2 0\nq 0 n3 0\nq 0 u -1\n"
	const run = "q Q0 n1 1 9 t\nq Q0 r1 2 8 t\nq Q0 u 3 7 t\nq Q0 n2 4 6 t\nq Q0 r2 5 5 t\n"
	ev := mustEvaluate(t, qrels, run, Options{}, "bpref")
	if want := ((1 - 1.0/2) + (1 - 2.0/2)) / 2; !near(ev.All[0], want) {
		t.Errorf("bpref = %v, want %v", ev.All[0], want)
	}
	// Without a judged non-relevant document above, a relevant one counts 1.
	ev = mustEvaluate(t, "q 0 r1 1\nq 0 r2 1\n", "q Q0 x 1 9 t\nq Q0 r1 2 8 t\n", Options{}, "bpref")
	if !near(ev.All[0], 0.5) {
		t.Errorf("bpref = %v, want 0.5", ev.All[0])
	}
}

// q1 (map 0.3), q2 (0, no relevant document) and, if complete, q3 (0, missing) count; never q4.
func TestWorkedSummary(t *testing.T) {
	tests := []struct {
		complete bool
		measure  string
		want     float64
	}{
		{false, "num_q", 2},
		{false, "num_ret", 6},
		{false, "num_rel", 3},
		{false, "num_rel_ret", 2},
		{false, "map", 0.15},
		{false, "recip_rank", 0.25},
		{false, "ndcg_cut_10", 0.2632945},
		{false, "gm_map", 0.00173205}, // sqrt(0.3 · 0.00001)
		{true, "num_q", 3},
		{true, "num_ret", 6},
		{true, "num_rel", 4},
		{true, "num_rel_ret", 2},
		{true, "map", 0.1},
		{true, "recall_100", 2.0 / 9},
		{true, "gm_map", 0.000310723}, // cube root of 0.3 · 0.00001 · 0.00001
	}
	for _, tt := range tests {
		ev := mustEvaluate(t, workedQrels, workedRun, Options{Complete: tt.complete}, tt.measure)
		if got, ok := ev.Value(tt.measure); !ok || !near(got, tt.want) {
			t.Errorf("complete %v: %s = %.7f, want %.7f", tt.complete, tt.measure, got, tt.want)
		}
		if !slices.Equal(ev.Missing, []string{"q3"}) || !slices.Equal(ev.Unjudged, []string{"q4"}) {
			t.Errorf("missing %q, unjudged %q", ev.Missing, ev.Unjudged)
		}
	}
	if _, ok := mustEvaluate(t, workedQrels, workedRun, Options{}, "map").Value("P_5"); ok {
		t.Error("a measure that was not asked for has a value")
	}
	// trec_eval -c -l2 counts all positive judgements in num_rel.
	if got, _ := mustEvaluate(t, workedQrels, workedRun, Options{Complete: true, RelevanceLevel: 2}, "num_rel").Value("num_rel"); got != 4 {
		t.Errorf("num_rel at level 2, complete: %v, want 4", got)
	}
}

// Two ties documented for trec_eval (issues usnistgov/trec_eval#22 and
// terrierteam/ir_measures#18), and ties that only 32-bit floats cause.
func TestTies(t *testing.T) {
	const qrels22 = "1 Q0 a 0\n1 Q0 b 1\n1 Q0 c 0\n"
	tests := []struct {
		name, qrels, run, measure string
		want                      float64
	}{
		{"#22 run1", qrels22, "1 0 b 1 1.0 run1\n1 0 a 2 1.0 run1\n", "ndcg", 1},
		{"#22 run2", qrels22, "1 0 b 1 1.0 run2\n1 0 c 2 1.0 run2\n", "ndcg", 0.6309298},
		{"#18", "0 0 0 0\n0 0 1 1\n", "0 Q0 0 0 0 run\n0 Q0 1 1 0 run\n", "P_1", 1},
		{"float32", "1 0 a 1\n", "1 Q0 a 1 1.00000002 t\n1 Q0 b 2 1.00000001 t\n", "recip_rank", 0.5},
		{"ids are text", "1 0 10 1\n", "1 Q0 9 1 2 t\n1 Q0 10 1 2 t\n", "recip_rank", 0.5},
		{"signed zero", "1 0 a 1\n", "1 Q0 a 1 0 t\n1 Q0 b 2 -0.0 t\n", "recip_rank", 0.5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustEvaluate(t, tt.qrels, tt.run, Options{}, tt.measure).All[0]; !near(got, tt.want) {
				t.Errorf("%s: %s = %v, want %v", tt.name, tt.measure, got, tt.want)
			}
		})
	}
}

func TestEvaluateErrors(t *testing.T) {
	measures := mustMeasures(t, "map")
	if _, err := Evaluate(mustQrels(t, workedQrels), mustRun(t, "q9 Q0 a 1 1 t\n"), measures, Options{Complete: true}); !errors.Is(err, ErrNoQueries) {
		t.Errorf("no common query: %v", err)
	}
	if _, err := Evaluate(mustQrels(t, ""), new(Run), measures, Options{}); !errors.Is(err, ErrNoQueries) {
		t.Errorf("empty files: %v", err)
	}
	for _, opts := range []Options{{RelevanceLevel: -1}, {Depth: -1}} {
		if _, err := Evaluate(mustQrels(t, workedQrels), mustRun(t, workedRun), measures, opts); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

func TestWrite(t *testing.T) {
	ev := mustEvaluate(t, workedQrels, workedRun, Options{}, "num_q", "num_rel", "map", "gm_map", "ndcg_cut_10")
	var b strings.Builder
	if err := ev.Write(&b, true /* perQuery */); err != nil {
		t.Fatal(err)
	}
	const want = `num_rel               	q1	3
map                   	q1	0.3000
ndcg_cut_10           	q1	0.5266
num_rel               	q2	0
map                   	q2	0.0000
ndcg_cut_10           	q2	0.0000
num_q                 	all	2
num_rel               	all	3
map                   	all	0.1500
gm_map                	all	0.0017
ndcg_cut_10           	all	0.2633
`
	if b.String() != want {
		t.Errorf("Write:\n%s\nwant:\n%s", b.String(), want)
	}
	if err := ev.Write(failingWriter{}, false /* perQuery */); !errors.Is(err, errFull) {
		t.Errorf("Write to a full disk: %v", err)
	}
}

func TestEvaluationJSON(t *testing.T) {
	ev := mustEvaluate(t, workedQrels, workedRun, Options{}, "num_rel", "recip_rank")
	data, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"missing":["q3"],"num_rel":3,` +
		`"queries":{"q1":{"num_rel":3,"recip_rank":0.5},"q2":{"num_rel":0,"recip_rank":0}},"recip_rank":0.25,"unjudged":["q4"]}`
	if string(data) != want {
		t.Errorf("JSON\n%s\nwant\n%s", data, want)
	}
}

func TestParseMeasures(t *testing.T) {
	tests := []struct{ name, want string }{
		{"map", "map"},
		{"gm_map", "gm_map"},
		{"map_cut_10", "map_cut_10"},
		{"ndcg", "ndcg"},
		{"ndcg_cut.5,10,5", "ndcg_cut_5 ndcg_cut_10"},
		{"P.30", "P_30"},
		{"num_rel_ret", "num_rel_ret"},
		{"success", "success_1 success_5 success_10"},
		{"nDCG@10", "ndcg_cut_10"},
		{"ndcg@7", "ndcg_cut_7"},
		{"nDCG", "ndcg"},
		{"AP", "map"},
		{"MAP", "map"},
		{"AP@100", "map_cut_100"},
		{"RR", "recip_rank"},
		{"MRR@10", "recip_rank_cut_10"},
		{"P@5", "P_5"},
		{"R@1000", "recall_1000"},
		{"Success@1", "success_1"},
		{"Rprec", "Rprec"},
		{"Bpref", "bpref"},
		{"NumRet", "num_ret"},
		{"recall", "recall_5 recall_10 recall_15 recall_20 recall_30 recall_100 recall_200 recall_500 recall_1000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var names []string
			for _, m := range mustMeasures(t, tt.name) {
				names = append(names, m.String())
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("ParseMeasures(%q) = %s, want %s", tt.name, got, tt.want)
			}
		})
	}
	for _, name := range []string{"", "GM_MAP", "ndcg@", "ndcg@0", "ndcg@-1", "ndcg@x", "AP(rel=2)", "Rprec@10", "numq@5", "@10", "P_", "P_0", "P_-5", "P_+5", "P_5,10", "P.5,", "map_5", "mapx", "recall5", "P_99999999999999999999"} {
		if _, err := ParseMeasures(name); !errors.Is(err, ErrUnknownMeasure) {
			t.Errorf("ParseMeasures(%q): %v", name, err)
		}
	}
	for _, m := range AllMeasures() {
		back, err := ParseMeasures(m.String())
		if err != nil || len(back) != 1 || back[0] != m {
			t.Errorf("%s does not read back: %v, %v", m, back, err)
		}
	}
	if got := (Measure{}).String(); got != "" {
		t.Errorf("the zero Measure is %q", got)
	}
}

var errFull = errors.New("no space left")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }
