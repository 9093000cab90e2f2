package ao11

import (
	"testing"

	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// forms are the combinations of codes and searches that a CPU and a GPU have.
var forms = []string{
	"search=binary", "search=interpolation", "search=lr", "search=lr,range=local,g=3", "search=lr,range=local,g=5000",
	"search=hs16", "search=hs32", "search=hs64", "search=hs128", "search=hs256",
	"codec=parapfd", "codec=parapfd,exceptions=0.2", "codec=newpfd", "codec=newpfd,exceptions=0.6",
	"codec=lrc", "codec=lrc,h=off", "codec=lrcseg", "codec=lrcseg,h=off,exceptions=0.3", "codec=seglrc", "codec=seglrc,h=off",
	"codec=hs-lrc", "codec=hs-lrc,search=hs16", "codec=hs-lrc,search=hs256,exceptions=0.2",
}

func TestRandomOnCPU(t *testing.T) {
	for _, form := range append([]string{"search=skip"}, sampletest.Some(t, sampletest.UnderRace(8, 2), forms)...) {
		t.Run(form, func(t *testing.T) {
			e := enginetest.Open(t, "ao11:on=cpu,"+form)
			enginetest.CompareRandom(t, e, 2, plan.ModeAnd)
			if s := e.Stats(); s.OnCPU == 0 || s.OnGPU != 0 || s.Faults != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}
