package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A collection that fails does not affect the others.
func TestEachCollectionIsWritten(t *testing.T) {
	o := &options{json: filepath.Join(t.TempDir(), "out.json"), collections: []string{"gov2", "gov", "sparse"}}
	written := func() (names []string) {
		var r result
		if data, err := os.ReadFile(o.json); err != nil || json.Unmarshal(data, &r) != nil {
			return nil
		}
		for _, c := range r.Collections {
			names = append(names, c.Name)
		}
		return names
	}
	err := (&result{}).each(o, func(name string) (*collectionStats, error) {
		if name == "gov" {
			if got := strings.Join(written(), " "); got != "gov2" {
				t.Errorf("after gov2 the file has %q, want gov2", got)
			}
			return nil, errors.New("no room")
		}
		return &collectionStats{Name: name}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "gov: no room") || strings.Join(written(), " ") != "gov2 sparse" {
		t.Errorf("%v, written %q", err, written())
	}
}

// Nearest rank (docs/benchmarks/README.md): p99 of 1,000 values is the 990th.
func TestQuantile(t *testing.T) {
	var v []float64
	for i := range 1000 {
		v = append(v, float64(1000-i))
	}
	for q, want := range map[float64]float64{0.5: 500, 0.99: 990, 0.999: 999, 0: 1, 1: 1000} {
		if got := quantile(v, q); got != want {
			t.Errorf("quantile %g of 1 to 1000 is %g, want %g", q, got, want)
		}
	}
	if got := quantile([]float64{7}, 0.99); got != 7 {
		t.Errorf("quantile of one: %g", got)
	}
}
