package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// testEngine registers an engine with options for the test.
func testEngine(t *testing.T, open func(Options, Resources) (Engine, error)) {
	before := registry
	registry = append([]Info(nil), registry...)
	t.Cleanup(func() { registry = before })
	Register(Info{
		Name: "paper", Open: open,
		Options: []Option{{Name: "ratio", Default: "128"}, {Name: "on", Default: "both"}, {Name: "share", Default: "0.1"}},
	})
	Register(Info{Name: "another", Open: open})
}

func TestParse(t *testing.T) {
	testEngine(t, func(Options, Resources) (Engine, error) { return nil, nil })
	for _, c := range []struct{ text, want string }{
		{"", "griffin"},
		{"griffin", "griffin"},
		{"paper", "paper"},
		{"paper:ratio=64", "paper:ratio=64"},
		{"paper:on=cpu,ratio=128", "paper:on=cpu"},
		{"paper:share=0.2,ratio=1", "paper:ratio=1,share=0.2"},
	} {
		s, err := Parse(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if s.String() != c.want || s.IsDefault() != (c.want == "griffin") {
			t.Errorf("%q: %q, default: %v", c.text, s, s.IsDefault())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	testEngine(t, func(Options, Resources) (Engine, error) { return nil, nil })
	for _, c := range []struct{ text, want string }{
		{"papr", `engine "papr": there is none of that name; did you mean paper?`},
		{"x", `engine "x": there is none of that name; there are griffin, another, paper`},
		{"griffin:ratio=1", `engine griffin: option "ratio": it has no options`},
		{"paper:ratoi=1", `engine paper: option "ratoi": there is none of that name; did you mean ratio?`},
		{"paper:ratio", `engine paper: option "ratio": want NAME=VALUE`},
		{"paper:", `engine paper: option "": want NAME=VALUE`},
		{"paper:ratio=1,ratio=2", "engine paper: option ratio is given twice"},
	} {
		_, err := Parse(c.text)
		if !errors.Is(err, base.ErrBadInput) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestRegistryIsSorted(t *testing.T) {
	testEngine(t, func(Options, Resources) (Engine, error) { return nil, nil })
	var names []string
	for _, i := range All() {
		names = append(names, i.Name)
	}
	if got := strings.Join(names, " "); got != "griffin another paper" {
		t.Error(got)
	}
}

func TestRegisterRefuses(t *testing.T) {
	testEngine(t, func(Options, Resources) (Engine, error) { return nil, nil })
	for _, info := range []Info{{Name: "new"}, {Name: "paper", Open: All()[1].Open}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is registered", info.Name)
				}
			}()
			Register(info)
		}()
	}
}

func TestOptions(t *testing.T) {
	var ratio, on int
	var share float64
	var device string
	testEngine(t, func(o Options, r Resources) (Engine, error) {
		ratio, share, on, device = o.Int("ratio", 1, 1000), o.Float("share", 0.05), o.Choice("on", "cpu", "both"), r.Device
		if o.Text("on") == "neither" {
			o.Fail("on", "one that exists")
		}
		return nil, o.Err()
	})
	for _, c := range []struct{ text, want string }{
		{"paper:ratio=7,share=0.5", ""},
		{"paper:ratio=0", "engine paper: ratio=0: want a whole number from 1 to 1000"},
		{"paper:ratio=1001", "engine paper: ratio=1001: want"},
		{"paper:ratio=many", "engine paper: ratio=many: want"},
		{"paper:share=0.01", "engine paper: share=0.01: want a number, at least 0.05"},
		{"paper:share=NaN", "engine paper: share=NaN: want"},
		{"paper:on=both ", "engine paper: on=both : want cpu or both"},
		{"paper:on=neither", "engine paper: on=neither: want cpu or both: bad input\non=neither: want one that exists"},
	} {
		s, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Open(Resources{Device: "gpu"})
		switch {
		case c.want == "" && err != nil, c.want != "" && (!errors.Is(err, base.ErrBadInput) || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		case c.want == "" && (ratio != 7 || share != 0.5 || on != 1 || device != "gpu"):
			t.Errorf("%q: ratio %d, share %g, on %d, device %s", c.text, ratio, share, on, device)
		}
	}
}

// An option that is set later, as a flag does.
func TestSet(t *testing.T) {
	testEngine(t, func(Options, Resources) (Engine, error) { return nil, nil })
	s, err := Parse("paper")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set("ratio", "9"); err != nil || s.String() != "paper:ratio=9" || !s.Has("ratio") || s.Has("levels") {
		t.Errorf("%v, %s", err, s)
	}
	if other, _ := Parse("paper"); other.String() != "paper" {
		t.Errorf("another spec has %s", other)
	}
}
