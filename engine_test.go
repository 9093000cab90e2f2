package griffin_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin"
	_ "github.com/griffin-search/griffin/engines"
)

func openWithEngine(t *testing.T, o griffin.RuntimeOptions, cache int64) (*griffin.Index, error) {
	t.Helper()
	o.CostDir = t.TempDir()
	r, err := griffin.NewRuntime(o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	ix, err := griffin.Create(t.TempDir()+"/index", griffin.Settings{}, griffin.Options{Runtime: r, ResultCache: cache})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = ix.Close() })
	for _, text := range []string{"cat dog", "cat", "dog dog bird", "fish"} {
		if err := ix.Add(t.Context(), griffin.Document{ID: text, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = ix.BuildImpacts(t.Context(), griffin.ImpactOptions{})
	return ix, err
}

func TestEngine(t *testing.T) {
	for _, o := range []griffin.RuntimeOptions{
		{Engine: "saat:accumulators=array,heap=1"},
		{Engine: "saat:accumulators=array,heap=1", Limits: &griffin.Limits{Running: 1}},
	} {
		ix, err := openWithEngine(t, o, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ix.Search(t.Context(), griffin.Query{Text: "cat bird", Trace: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Traversal != "array:heap=1" || r.Engine != o.Engine || r.Mode != griffin.ModeSaat || len(r.Hits) != 3 || r.Trace == nil {
			t.Errorf("%+v", r)
		}
		if _, err := ix.Search(t.Context(), griffin.Query{Text: "cat bird", MinScore: 1}); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("a least score: error %v", err)
		}
		batch, err := ix.SearchBatch(t.Context(), []griffin.Query{{Text: "cat bird"}, {Text: "cat", Mode: griffin.ModeAnd}})
		if err != nil || batch[0].Err != nil || batch[0].Results.Engine != o.Engine || !errors.Is(batch[1].Err, griffin.ErrBadInput) {
			t.Fatalf("%+v, %v", batch, err)
		}
		if !slices.EqualFunc(batch[0].Results.Hits, r.Hits, func(a, b griffin.Hit) bool { return a.ID == b.ID && a.Score == b.Score }) {
			t.Errorf("batch: %+v, want %+v", batch[0].Results.Hits, r.Hits)
		}
		if s := ix.Runtime().DispatchStats(); s.Engine == nil || s.Engine.OnCPU != 2 || s.Engine.Name != o.Engine || s.Policy != "" || s.CPUSteps != 2 {
			t.Errorf("%+v", s)
		}
		if !ix.Calibrated() {
			t.Error("an engine asks for a calibration")
		}
		if _, err := ix.Search(t.Context(), griffin.Query{Text: "cat", Policy: griffin.PolicyCPU}); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("a policy with an engine: %v", err)
		}
	}
}

func TestEngineRefuses(t *testing.T) {
	for _, o := range []griffin.RuntimeOptions{
		{Engine: "sat"}, {Engine: "saat:heap=3"}, {Engine: "saat:leap=1"}, {Engine: "saat", Policy: griffin.PolicyCost},
	} {
		if _, err := openWithEngine(t, o, 0); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := openWithEngine(t, griffin.RuntimeOptions{Engine: "saat"}, 1<<20); !errors.Is(err, griffin.ErrBadInput) {
		t.Errorf("a result cache, which the paper does not have: %v", err)
	}
	if ix, err := openWithEngine(t, griffin.RuntimeOptions{Engine: "griffin"}, 1<<20); err != nil || ix.Runtime().DispatchStats().Engine != nil {
		t.Errorf("the default engine by name: %v", err)
	}
}

func TestEngines(t *testing.T) {
	all := griffin.Engines()
	if all[0].Name != "griffin" || all[0].Paper != "" || !all[0].ResultCache {
		t.Errorf("the first is %+v", all[0])
	}
	for _, e := range all[1:] {
		if e.Paper == "" || e.Summary == "" || len(e.Algorithms) == 0 || len(e.Modes) == 0 || len(e.Options) == 0 {
			t.Errorf("%+v", e)
		}
		for _, o := range e.Options {
			if o.Help == "" || o.Values == "" {
				t.Errorf("%s: %+v", e.Name, o)
			}
		}
	}
}
