package griffin

import (
	"errors"
	"math"
	"path/filepath"
	"testing"
)

func TestDefaultBM25(t *testing.T) {
	s, err := newTestIndex(t, animals).Stats()
	if got := (BM25{K1: s.K1, B: s.B}); err != nil || got != DefaultBM25() || got != (BM25{K1: 0.9, B: 0.4}) {
		t.Errorf("%+v, %v, want %+v", got, err, DefaultBM25())
	}
}

func TestBM25IsChecked(t *testing.T) {
	nan := float32(math.NaN())
	for _, p := range []BM25{{K1: -1}, {K1: 1001}, {K1: nan}, {B: -0.1}, {B: 1.1}, {B: nan}} {
		if _, err := Create(filepath.Join(t.TempDir(), "index"), Settings{BM25: &p}, Options{}); !errors.Is(err, ErrBadInput) {
			t.Errorf("settings with %+v: %v", p, err)
		}
		if _, err := Create(filepath.Join(t.TempDir(), "index"), Settings{}, Options{BM25: &p}); !errors.Is(err, ErrBadInput) {
			t.Errorf("options with %+v: %v", p, err)
		}
	}
}
