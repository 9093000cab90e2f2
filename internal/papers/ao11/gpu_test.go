package ao11

import (
	"testing"

	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// openOn opens an engine on a device, which the engine does not close.
func openOn(d *cuda.Device, spec string) (*Engine, error) {
	s, err := engine.Parse(spec)
	if err != nil {
		return nil, err
	}
	info := *s.Info
	var e *Engine
	info.Open = func(o engine.Options, _ engine.Resources) (engine.Engine, error) {
		c := readConfig(&o)
		c.cpus = 3
		if err := o.Err(); err != nil {
			return nil, err
		}
		e, err = newEngine(c, d)
		return e, err
	}
	s.Info = &info
	_, err = s.Open(engine.Resources{})
	return e, err
}

func onGPU(t *testing.T, spec string) *Engine {
	t.Helper()
	e, err := openOn(gputest.Open(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Close(t, e)
	return e
}

func TestRandomOnGPU(t *testing.T) {
	for _, form := range sampletest.Some(t, sampletest.UnderRace(5, 1), forms) {
		for _, threshold := range []string{"1", "700"} {
			t.Run(form+"/"+threshold, func(t *testing.T) {
				e := onGPU(t, "ao11:threshold="+threshold+","+form)
				enginetest.CompareRandom(t, e, 2, plan.ModeAnd)
				if s := e.Stats(); s.OnGPU == 0 || s.Faults != 0 || s.BusBytes == 0 {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}
