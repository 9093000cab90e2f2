package plan

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// geoSource is the source of the documents with a point that contains accepts. The column is in the order of
// latitudes, so that only the values of a band are read.
type geoSource struct {
	name      string
	lo, hi    int64 // of the codes in the band
	contains  func(lat, lon float64) bool
	pointCost int // the time to test a point, in units of about a nanosecond
}

var _ tester = (*geoSource)(nil)

func (c *compiler) geo(name string, n query.Node, s *geoSource, boost float64) (node, error) {
	f, err := c.searchable(name)
	if err != nil {
		return nil, err
	}
	if f == nil || f.Type != mapping.GeoPoint {
		return nil, fmt.Errorf("%s: the index has no field %q of type geo_point: %w", n, name, base.ErrBadInput)
	}
	// The text of a float64 identifies it.
	return wrapSet(setKey("geo", 0, withoutBoost(n).String()), n.String(), s, constantScore(boost)), nil
}

func withoutBoost(n query.Node) query.Node {
	switch n := n.(type) {
	case *query.GeoDistance:
		g := *n
		g.Boost = 1
		return &g
	case *query.GeoPolygon:
		g := *n
		g.Boost = 1
		return &g
	case *query.GeoBox:
		g := *n
		g.Boost = 1
		return &g
	}
	return n
}

// band sets the codes of all points from one latitude to another. A point is coded as the lower corner of its
// cell, so points in the cell of bottom are below it.
func (s *geoSource) band(bottom, top float64) {
	s.lo = mapping.EncodePoint(max(bottom, -90), -180)
	s.hi = mapping.EncodePoint(min(top, 90), 180)
}

func newGeoBox(n *query.GeoBox) *geoSource {
	s := &geoSource{name: n.Field, pointCost: pointCost}
	// The edges below and to the left are rounded as points are, so that points on them are in the box.
	bottom, left := mapping.DecodePoint(mapping.EncodePoint(n.Bottom, n.Left))
	s.band(bottom, n.Top)
	s.contains = func(lat, lon float64) bool {
		if lat < bottom || lat > n.Top {
			return false
		}
		if n.Left > n.Right {
			return lon >= left || lon <= n.Right
		}
		return lon >= left && lon <= n.Right
	}
	return s
}

func newGeoPolygon(n *query.GeoPolygon) *geoSource {
	s := &geoSource{name: n.Field}
	bottom, top, left, right := 90.0, -90.0, 180.0, -180.0
	for _, p := range n.Points {
		bottom, top, left, right = min(bottom, p.Lat), max(top, p.Lat), min(left, p.Lon), max(right, p.Lon)
	}
	s.band(bottom, top)
	edges := newEdgeBands(n.Points, bottom, top)
	s.pointCost = pointCost + edgeCost*edges.perBand()
	s.contains = func(lat, lon float64) bool {
		return lat >= bottom && lat <= top && lon >= left && lon <= right && edges.around(lat, lon)
	}
	return s
}

// edgeBands are the edges of a polygon by latitude: a point needs only the edges of its band.
type edgeBands struct {
	bottom, perDegree float64
	corners           []query.GeoPoint
	bands             [][]uint16 // the corners to which edges lead
}

const (
	// maxEdgeBands bounds the memory of edges that are in all bands: 2.5 MB at query.MaxPolygonPoints.
	maxEdgeBands = 128
	// edgeCost is the time to test an edge, in the unit of pointCost.
	edgeCost = 6
)

func newEdgeBands(corners []query.GeoPoint, bottom, top float64) *edgeBands {
	e := &edgeBands{bottom: bottom, corners: corners, bands: make([][]uint16, min(1+len(corners)/8, maxEdgeBands))}
	if top-bottom > 1e-6 {
		e.perDegree = float64(len(e.bands)) / (top - bottom)
	}
	for i, to := range corners {
		from := corners[(i+len(corners)-1)%len(corners)]
		// The number of a band does not fall with the latitude, so all points between the ends are in these.
		for b := e.band(min(from.Lat, to.Lat)); b <= e.band(max(from.Lat, to.Lat)); b++ {
			e.bands[b] = append(e.bands[b], uint16(i))
		}
	}
	return e
}

// band returns the number of a latitude's band; the latitude is in the polygon's range.
func (e *edgeBands) band(lat float64) int {
	return min(int((lat-e.bottom)*e.perDegree), len(e.bands)-1)
}

// perBand is the mean number of edges.
func (e *edgeBands) perBand() (n int) {
	for _, edges := range e.bands {
		n += len(edges)
	}
	return n / len(e.bands)
}

// around counts the edges that a line to the east crosses. A point on an edge is in the polygon.
func (e *edgeBands) around(lat, lon float64) bool {
	inside := false
	for _, i := range e.bands[e.band(lat)] {
		from, to := e.corners[(int(i)+len(e.corners)-1)%len(e.corners)], e.corners[i]
		// Above 0 if the point is left of the edge, 0 on its line.
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

// earthRadius is the mean radius in meters, as in Lucene.
const earthRadius = 6_371_008.7714

func newGeoDistance(n *query.GeoDistance) *geoSource {
	s := &geoSource{name: n.Field, pointCost: pointCost}
	// A degree of latitude is the same distance everywhere; the slack covers rounding.
	degrees := float64(n.Meters/earthRadius*180/math.Pi*(1+1e-9)) + 1e-6
	s.band(n.Lat-degrees, n.Lat+degrees)
	s.contains = func(lat, lon float64) bool { return haversine(n.Lat, n.Lon, lat, lon) <= n.Meters }
	return s
}

// haversine returns the distance of two points on the sphere, in meters.
func haversine(lat1, lon1, lat2, lon2 float64) float64 {
	const radians = math.Pi / 180
	sinLat, sinLon := math.Sin((lat1-lat2)*radians/2), math.Sin((lon1-lon2)*radians/2)
	h := float64(sinLat*sinLat) + float64(math.Cos(lat1*radians)*math.Cos(lat2*radians)*sinLon*sinLon)
	return 2 * earthRadius * math.Asin(math.Min(1, math.Sqrt(h)))
}

func (s *geoSource) accepts(code int64) bool {
	return code >= s.lo && code <= s.hi && s.contains(mapping.DecodePoint(code))
}

func (s *geoSource) mark(m *matcher, words []uint64) error {
	c, ok, err := m.column(s.name)
	if err != nil || !ok {
		return err
	}
	band := m.take()
	defer m.put(band)
	if err := c.Range(s.lo, s.hi, band); err != nil {
		return err
	}
	return c.Scan(band, func(docs []base.DocID, values []int64) error {
		for i, v := range values {
			if d := docs[i]; s.accepts(v) {
				words[d/64] |= 1 << (d % 64)
			}
		}
		return m.stop.Err()
	})
}

// pointCost is the time to test a point with a circle, a box, or a polygon without edges.
const pointCost = 50

func (s *geoSource) cost(ws *words, segment int) int {
	return numValues(ws, segment, s.name) * s.pointCost / 4
}

func (s *geoSource) test(view *index.View) (func(doc base.DocID) (bool, error), error) {
	c, ok, err := view.Column(s.name)
	if err != nil || !ok {
		return nil, err
	}
	cursor := c.Cursor()
	return func(doc base.DocID) (bool, error) {
		values, err := cursor.Values(doc)
		for _, v := range values {
			if s.accepts(v) {
				return true, nil
			}
		}
		return false, err
	}, nil
}
