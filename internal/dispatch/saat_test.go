package dispatch

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/query"
)

// commonWords has impact-ordered lists, with more than manyPostings postings of "common" and
// "frequent" together.
func commonWords(t testing.TB) *index.Snapshot {
	t.Helper()
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i := range manyPostings/2 + 10 {
			text := "common frequent"
			if i%3 == 0 {
				text += " common"
			}
			w.Add(&corpus.Document{ID: fmt.Sprint(i), Text: text})
		}
	})
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	return indextest.Snapshot(t, ix)
}

// The lists are long enough for essential postings of an OR to be counted; plan.ModeSaat has no
// legs to count them in.
func TestSaatOfLongListsDispatched(t *testing.T) {
	snapshot := commonWords(t)
	q := &query.Words{Text: "common frequent", Boost: 1}
	o := Options{Mode: plan.ModeSaat, K: 10}
	t.Run("place=cpu", func(t *testing.T) {
		p, d := dispatched(t, snapshot, nil, Config{Admit: true})
		p.check(t, q, o)
		if s := d.Stats(); s.CPUSteps != 1 {
			t.Errorf("%d steps on the CPU, want 1", s.CPUSteps)
		}
	})
	for _, policy := range Policies() {
		t.Run("place=gpu/policy="+string(policy.Name), func(t *testing.T) {
			p, d := dispatched(t, snapshot, testGPU(t, pipeline.Options{}), Config{Policy: policy.Name})
			p.check(t, q, o)
			if s := d.Stats(); s.CPUSteps+s.GPUSteps != 1 {
				t.Errorf("%d steps on the CPU, %d on the GPU, want 1 in all", s.CPUSteps, s.GPUSteps)
			}
		})
	}
}
