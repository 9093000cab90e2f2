package query

import (
	"fmt"
	"slices"
)

// GeoPolygon matches documents with a point in a polygon, the edges included. A stored point is rounded down to
// multiples of 180/2^32 degrees of latitude and 360/2^32 of longitude, so a point given on an edge can be stored outside of it. Edges are straight lines in degrees, as if
// the Earth were a plane of latitudes and longitudes, and do not cross the line of 180 degrees. A point within crossing
// edges is in the polygon if a line from it leaves across an odd number of them.
type GeoPolygon struct {
	Field string
	// Points are the corners, three or more; the last edge leads back to the first of them.
	Points []GeoPoint
	Boost  float64
}

// GeoPoint is a place in degrees.
type GeoPoint struct{ Lat, Lon float64 }

// MaxPolygonPoints bounds the corners of a polygon.
const MaxPolygonPoints = 10_000

func (*GeoPolygon) node() {}

func (g *GeoPolygon) boost() *float64 { return &g.Boost }

// String returns a description; there is no notation in query text.
func (g *GeoPolygon) String() string { return string(g.append(nil)) }

func (g *GeoPolygon) append(dst []byte) []byte {
	dst = append(appendField(dst, g.Field), "polygon("...)
	for i, p := range g.Points {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = fmt.Appendf(dst, "%g,%g", p.Lat, p.Lon)
	}
	return appendBoost(append(dst, ')'), g.Boost)
}

func (g *GeoPolygon) validate() error {
	corners := slices.CompactFunc(slices.Clone(g.Points), func(a, b GeoPoint) bool { return a == b })
	if n := len(corners); n > 1 && corners[0] == corners[n-1] {
		corners = corners[:n-1]
	}
	switch {
	case len(corners) < 3:
		return invalid(ErrSyntax, "a polygon of %d different points: want 3 or more", len(corners))
	case len(g.Points) > MaxPolygonPoints:
		return invalid(ErrSyntax, "a polygon of %d points, at most %d", len(g.Points), MaxPolygonPoints)
	}
	for _, p := range g.Points {
		if err := validPoint(p.Lat, p.Lon); err != nil {
			return err
		}
	}
	return nil
}
