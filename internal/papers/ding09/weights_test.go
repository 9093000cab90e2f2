package ding09

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/query"
)

func logOf(x float64) float64 { return math.Log(x) }

func TestReadWeights(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"good": "bm25\t1\r\nlength\t-0.25\n", "empty": "", "twice": "bm25\t1\nbm25\t2\n", "blank": "bm25\t1\n\nlength\t1\n", "zero": "bm25\t0\n",
	} {
		if err := os.WriteFile(filepath.Join(".", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]weights{
		"bm25:1":                           {bm25Feature: 1},
		"bm25:1e-3+global:2+loglength:-.5": {bm25Feature: 0.001, globalFeature: 2, logLengthFeature: -0.5},
		"constant:1+best:2+matched:3":      {constantFeature: 1, bestFeature: 2, matchedFeature: 3},
		"good":                             {bm25Feature: 1, lengthFeature: -0.25},
	} {
		if w, err := readWeights(text); err != nil || w != want {
			t.Errorf("%s: %v, %v, want %v", text, w, err, want)
		}
	}
	for text, want := range map[string]string{
		"bm52:1":         `second: feature "bm52": there are constant, bm25, best, matched, global, length, loglength`,
		"bm25:x":         `second: feature bm25: weight "x": want a number from -1e+09 to 1e+09`,
		"bm25:NaN":       `second: feature bm25: weight "NaN"`,
		"bm25:-2e9":      `second: feature bm25: weight "-2e9"`,
		"bm25:1+bm25:2":  "second: feature bm25 is given twice",
		"bm25:1+global":  `second: "global": want a feature, ":", and its weight`,
		"bm25:0+best:-0": "second=bm25:0+best:-0: all weights are 0",
		"missing":        "weights of the second phase: open missing",
		"empty":          `empty:1: "": want a feature, "\t", and its weight`,
		"twice":          "twice:2: feature bm25 is given twice",
		"blank":          `blank:2: "": want`,
		"zero":           "second=zero: all weights are 0",
	} {
		if _, err := readWeights(text); !errors.Is(err, base.ErrBadInput) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// 1.5 * 2 + 0.25 * 4 - 3 = 1 is 65536 units.
func TestScoreOfWeights(t *testing.T) {
	f := features{constantFeature: 1, bm25Feature: 2, globalFeature: 4, lengthFeature: 1e9}
	for _, c := range []struct {
		w    weights
		want base.Score
	}{
		{weights{bm25Feature: 1.5, globalFeature: 0.25, constantFeature: -3}, 65536},
		{weights{constantFeature: 1.0 / 65536 * 0.6}, 1},
		{weights{constantFeature: -1}, 0},
		{weights{lengthFeature: 1e9}, 1<<48 - 1},
	} {
		if got := c.w.score(&f); got != c.want {
			t.Errorf("%v: %d, want %d", c.w, got, c.want)
		}
	}
}

func TestOptionsOfPhases(t *testing.T) {
	file := writeFile(t, "1\t1\n")
	for spec, want := range map[string]string{
		"candidates=5":                        "candidates=5 needs second=WEIGHTS",
		"candidates=2049,second=bm25:1":       "candidates=2049: want a whole number from 0 to 2048",
		"second=bm25:1":                       "second has no effect without candidates=N",
		"candidates=5,second=global:1":        "second has a weight of global scores, but global=none",
		"candidates=5,second=x:1":             `feature "x"`,
		"global=" + file + ".not":             "global scores: open " + file + ".not",
		"global=" + writeFile(t, "1\t-1\n"):   `scores.tsv:1: score "-1"`,
		"global=" + file + ",candidates=0":    "",
		"candidates=5,second=bm25:1":          "",
		"global=" + file + ",second=global:1": "second has no effect without candidates=N",
	} {
		s, err := engine.Parse("ding09:on=cpu," + spec)
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.Open(engine.Resources{Device: "cpu"})
		switch {
		case want == "" && err == nil:
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		case want == "" || !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
}

// More hits than candidates are refused, before planning and after.
func TestMoreHitsThanCandidates(t *testing.T) {
	e := openEngine(t, nil, with(onCPU, func(o *options) { o.candidates, o.second = 5, weights{bm25Feature: 1} }))
	snapshot := skewed(t)
	for k, ok := range map[int]bool{0: true, 5: true, 6: false} {
		o := plan.Options{Mode: plan.ModeOr, K: k, Count: true}
		q := prepare(t, snapshot, &query.Words{Text: "all", Boost: 1}, o)
		q.Trace = &plan.Trace{}
		if err := e.Search(t.Context(), []*engine.Query{q.Query}); err != nil {
			t.Fatal(err)
		}
		if err := e.Adapt(&o); errors.Is(err, base.ErrBadInput) == ok || errors.Is(q.Err, base.ErrBadInput) == ok {
			t.Errorf("k=%d: %v, %v", k, err, q.Err)
		}
		if !ok {
			continue
		}
		q.check(t) // weight 1 of BM25: the order of one phase
		last := q.Trace.Steps[len(q.Trace.Steps)-1]
		if (last.Name == stepSecond) != (k > 0) || k > 0 && (last.Candidates != 5 || last.Left != 5 || last.PostingsScored != 5) {
			t.Errorf("k=%d: last step %+v", k, last)
		}
	}
}
