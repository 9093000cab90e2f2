package ao11

import (
	"errors"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
)

func TestOptionErrors(t *testing.T) {
	for _, c := range []struct{ options, want string }{
		{"on=gpu", "on=gpu, but no GPU is used: select one, such as --device gpu, or on=cpu"},
		{"on=both", "on=both: want gpu or cpu"},
		{"threshold=0", "threshold=0: want a whole number from 1 to"},
		{"threshold=1M", "threshold=1M"},
		{"search=hs8", "search=hs8: want auto, binary"},
		{"search=skip", "search=skip: want another search with on=gpu"},
		{"codec=pfd", "codec=pfd: want none, parapfd"},
		{"codec=parapfd,search=lr", "search=lr: want binary"},
		{"codec=newpfd,search=hs16", "search=hs16: want binary"},
		{"codec=lrc,search=binary", "search=binary: want lr"},
		{"codec=seglrc,search=hs16", "search=hs16: want lr"},
		{"codec=hs-lrc,search=lr", "search=lr: want hs16 to hs256"},
		{"h=off", "h=off: want on"},
		{"codec=hs-lrc,h=off", "h=off: want on"},
		{"h=2", "h=2: want on or off"},
		{"range=local", "range=local: want global"},
		{"codec=lrc,range=local", "range=local: want global"},
		{"search=lr,range=local,g=0", "g=0: want a whole number from 1 to 65536"},
		{"codec=lrc,exceptions=0.7", "exceptions=0.7: want a number from 0 to 0.6"},
		{"exceptions=x", "exceptions=x"},
		{"memory=0", "memory=0"},
		{"g=3", "g=3: want it with range=local only"},
		{"search=lr,g=3", "add range=local, or leave g out"},
		{"g=0", "g=0: want a whole number from 1 to 65536"},
		{"exceptions=0.1", "exceptions=0.1: want 0 with codec=none"},
		{"on=cpu,search=hs16,exceptions=0.1", "choose another codec, or leave exceptions out"},
		{"on=cpu,threshold=1000", "threshold=1000 has no effect with on=cpu"},
		{"on=cpu,memory=100", "memory=100 has no effect with on=cpu"},
	} {
		s, err := engine.Parse("ao11:" + c.options)
		if err == nil {
			_, err = s.Open(engine.Resources{})
		}
		if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.options, err, c.want)
		}
	}
	// Defaults may be given.
	for _, options := range []string{"search=skip", "threshold=1048576,memory=auto", "g=64,range=global", "codec=none,exceptions=0.0"} {
		if _, err := openOn(nil, "ao11:on=cpu,"+options); err != nil {
			t.Error(err)
		}
	}
}

// on=cpu refuses a device that must be used.
func TestDeviceOfCPU(t *testing.T) {
	for device, want := range map[string]string{
		"": "", "cpu": "", "auto": "", "gpu": "device gpu: on=cpu uses no GPU", "0": "device 0: on=cpu", "0,1": "device 0,1: on=cpu",
	} {
		s, err := engine.Parse("ao11:on=cpu")
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.Open(engine.Resources{Device: device})
		switch {
		case want == "" && err == nil:
			enginetest.Close(t, e)
		case want == "" || !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), want):
			t.Errorf("device %q: %v, want %q", device, err, want)
		}
	}
}

// The automatic searches are the fastest of Table 3.
func TestAutomaticSearches(t *testing.T) {
	for _, c := range []struct {
		codec  string
		search search
		bucket int
	}{
		{"none", hs, 16},
		{"parapfd", binary, 0},
		{"newpfd", binary, 0},
		{"lrc", lr, 0},
		{"lrcseg", lr, 0},
		{"seglrc", lr, 0},
		{"hs-lrc", hs, 128},
	} {
		e, err := openOn(nil, "ao11:on=cpu,codec="+c.codec)
		if err != nil {
			t.Fatal(err)
		}
		if e.form.search != c.search || e.form.bucket != c.bucket || e.threshold != 1<<20 {
			t.Errorf("%s: %+v", c.codec, e.form)
		}
	}
}

// Different codes of a list have different numbers.
func TestNumbers(t *testing.T) {
	numbers := map[uint64]string{}
	for _, options := range []string{
		"codec=none", "codec=parapfd", "codec=parapfd,exceptions=0.1", "codec=newpfd", "codec=lrc", "codec=lrcseg", "codec=seglrc",
		"codec=hs-lrc", "codec=hs-lrc,search=hs16", "codec=hs-lrc,search=hs16,exceptions=0.5", "codec=lrc,exceptions=0.5",
	} {
		e, err := openOn(nil, "ao11:on=cpu,"+options)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := numbers[e.form.number]; taken {
			t.Errorf("%s and %s have number %d", options, other, e.form.number)
		}
		numbers[e.form.number] = options
	}
}

func TestOpenOnCPU(t *testing.T) {
	e := enginetest.Open(t, "ao11:on=cpu")
	if e.BatchSize() < 2 || e.Stats() != (engine.Stats{Name: "ao11:on=cpu"}) {
		t.Errorf("batches of %d, %+v", e.BatchSize(), e.Stats())
	}
}
