package plan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/query"
)

// inPolygon tests all edges.
func inPolygon(corners []query.GeoPoint, lat, lon float64) bool {
	inside := false
	for i, to := range corners {
		from := corners[(i+len(corners)-1)%len(corners)]
		side := float64((to.Lon-from.Lon)*(lat-from.Lat)) - float64((lon-from.Lon)*(to.Lat-from.Lat))
		if side == 0 && min(from.Lat, to.Lat) <= lat && lat <= max(from.Lat, to.Lat) && min(from.Lon, to.Lon) <= lon && lon <= max(from.Lon, to.Lon) {
			return true
		}
		if (from.Lat <= lat) != (to.Lat <= lat) && (side > 0) == (to.Lat > from.Lat) {
			inside = !inside
		}
	}
	return inside
}

// The edges of a point's band decide as all edges do.
func TestEdgeBands(t *testing.T) {
	rng := rand.New(rand.NewPCG(94, 1))
	for round := range 300 {
		number := func(limit float64) float64 { return math.Round((2*rng.Float64()-1)*8) / 8 * limit }
		if round%2 == 0 {
			number = func(limit float64) float64 { return (2*rng.Float64() - 1) * limit }
		}
		height := []float64{90, 1, 1e-5, 1e-7, 0}[round%5]
		g := &query.GeoPolygon{Field: "at"}
		for range 3 + rng.IntN(1<<(1+round%11)) {
			g.Points = append(g.Points, query.GeoPoint{Lat: number(height), Lon: number(180)})
		}
		s := newGeoPolygon(g)
		inside := 0
		for i := range 400 {
			lat, lon := number(height), number(180)
			if i < len(g.Points) {
				if lat = g.Points[i].Lat; i%2 == 0 {
					lon = g.Points[i].Lon
				}
			}
			want := inPolygon(g.Points, lat, lon)
			if got := s.contains(lat, lon); got != want {
				t.Fatalf("%s: %g,%g is inside: %v, want %v", g, lat, lon, got, want)
			}
			if want {
				inside++
			}
		}
		if inside == 0 {
			t.Errorf("no points in %s", g)
		}
	}
}

// The cost of a point follows the edges of its band.
func TestPolygonCost(t *testing.T) {
	var circle, star query.GeoPolygon
	for i := range query.MaxPolygonPoints {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / query.MaxPolygonPoints)
		circle.Points = append(circle.Points, query.GeoPoint{Lat: 50 * sin, Lon: 50 * cos})
		star.Points = append(star.Points, query.GeoPoint{Lat: float64(i%2) * 50, Lon: float64(i) / 1000})
	}
	if got := newGeoPolygon(&star).pointCost; got != pointCost+edgeCost*query.MaxPolygonPoints {
		t.Errorf("the cost of edges in all bands is %d", got)
	}
	if got := newGeoPolygon(&circle).pointCost; got < pointCost+edgeCost*query.MaxPolygonPoints/maxEdgeBands || got > pointCost+edgeCost*2*query.MaxPolygonPoints/maxEdgeBands {
		t.Errorf("the cost of a circle is %d", got)
	}
}

func BenchmarkPolygon(b *testing.B) {
	var circle query.GeoPolygon
	for i := range query.MaxPolygonPoints {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / query.MaxPolygonPoints)
		circle.Points = append(circle.Points, query.GeoPoint{Lat: 50 * sin, Lon: 50 * cos})
	}
	s := newGeoPolygon(&circle)
	lat := 0.0
	for b.Loop() {
		if lat += 0.1; lat > 49 {
			lat = -49
		}
		s.contains(lat, 1)
	}
}
