package ao11

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/papers/para"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// The options of collections: each code, and the searches without one.
var collectionForms = []string{
	"search=binary", "search=interpolation", "search=lr", "search=hs16",
	"codec=parapfd,exceptions=0.2", "codec=newpfd", "codec=lrc", "codec=lrcseg,h=off", "codec=seglrc", "codec=hs-lrc",
}

func TestCollections(t *testing.T) {
	for _, name := range sampletest.UnderRace([]string{"cranfield", "scifact"}, []string{"cranfield"}) {
		ix, texts := enginetest.Collection(t, name, sampletest.UnderRace(200, 20))
		snapshot := indextest.Snapshot(t, ix)
		for _, form := range sampletest.Some(t, sampletest.UnderRace(2, 1), collectionForms) {
			both(t, 20000, form, func(t *testing.T, e *Engine) {
				enginetest.CompareAnswers(t, e, snapshot, and10, texts)
			})
		}
	}
}

func TestWiki(t *testing.T) {
	n, queries := sampletest.UnderRace(6000, 800), 60
	if gputest.OnGPU() {
		n, queries = 250_000, 500
	}
	ix, texts := enginetest.Wiki(t, n, queries)
	snapshot := indextest.Snapshot(t, ix)
	for _, form := range sampletest.Some(t, sampletest.UnderRace(2, 1), collectionForms) {
		for _, k := range []int{10, 1000} {
			t.Run(fmt.Sprintf("%s/k=%d", form, k), func(t *testing.T) {
				both(t, para.DefaultThreshold, form, func(t *testing.T, e *Engine) {
					enginetest.CompareAnswers(t, e, snapshot, plan.Options{Mode: plan.ModeAnd, K: k}, texts)
				})
			})
		}
	}
}
