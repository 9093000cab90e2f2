package sched

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

func TestPlus(t *testing.T) {
	for _, c := range []struct{ a, b, want time.Duration }{
		{3, 4, 7},
		{Never - 4, 4, Never},
		{Never - 4, 3, Never - 1},
		{Never - 4, 5, Never},
		{5, Never - 4, Never},
		{Never, 0, Never},
		{0, Never, Never},
		{Never, -1, Never},
		{-1, Never, Never},
		{math.MinInt64 + 1, Never, Never},
	} {
		if got := plus(c.a, c.b); got != c.want {
			t.Errorf("plus(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestPlaceText(t *testing.T) {
	for p, name := range map[Place]string{CPU: "cpu", GPU: "gpu"} {
		text, err := p.MarshalText()
		if err != nil || string(text) != name || p.String() != name {
			t.Errorf("the name of place %d is %q, %v, want %q", p, text, err, name)
		}
		got := p.Other()
		if err := got.UnmarshalText(text); err != nil || got != p {
			t.Errorf("%q is place %d, %v, want %d", text, got, err, p)
		}
	}
	if Place(NumPlaces).String() != "no place" {
		t.Errorf("a place that does not exist is named %q", Place(NumPlaces))
	}
	for _, name := range []string{"", "CPU", "tpu", "no place"} {
		p := GPU
		if err := p.UnmarshalText([]byte(name)); !errors.Is(err, base.ErrBadInput) || p != GPU {
			t.Errorf("%q is place %d, %v, want an error", name, p, err)
		}
	}
}
