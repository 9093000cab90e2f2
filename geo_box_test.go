package griffin

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/query"
)

// The edges of a box count: points on them are found, those beyond are not.
func TestEdgesOfBoxes(t *testing.T) {
	m, err := ParseMapping([]byte(`{"properties": {"at": {"type": "geo_point"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := Create(filepath.Join(t.TempDir(), "ix"), Settings{Mapping: m}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	rng := rand.New(rand.NewPCG(7, 1))
	points := []query.GeoPoint{{Lat: -90, Lon: -180}, {Lat: 90, Lon: 180}, {Lat: 0, Lon: 180}, {Lat: 0, Lon: -180}}
	for range 300 {
		points = append(points, query.GeoPoint{Lat: float64(rng.IntN(1_800_001)-900_000) / 1e4, Lon: float64(rng.IntN(3_600_001)-1_800_000) / 1e4})
	}
	for i, p := range points {
		if err := ix.Add(t.Context(), Document{ID: fmt.Sprint(i), Fields: []Field{{Name: "at", Value: fmt.Sprintf("%v,%v", p.Lat, p.Lon)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		a, b := points[rng.IntN(len(points))], points[rng.IntN(len(points))]
		box := &query.GeoBox{Field: "at", Top: max(a.Lat, b.Lat), Bottom: min(a.Lat, b.Lat), Left: a.Lon, Right: b.Lon}
		var want []string
		for i, p := range points {
			across := p.Lon >= box.Left && p.Lon <= box.Right
			if box.Left > box.Right {
				across = p.Lon >= box.Left || p.Lon <= box.Right
			}
			if across && p.Lat >= box.Bottom && p.Lat <= box.Top {
				want = append(want, fmt.Sprint(i))
			}
		}
		r, err := ix.Search(t.Context(), Query{Node: box, K: len(points)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range r.Hits {
			got = append(got, h.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", box, got, want)
		}
	}
}
