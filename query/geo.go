package query

import (
	"fmt"
	"strconv"
	"strings"
)

// GeoDistance matches documents with a point at most Meters from another one, on a sphere with the mean
// radius of the Earth.
type GeoDistance struct {
	Field    string
	Lat, Lon float64 // degrees
	Meters   float64
	Boost    float64
}

// GeoBox matches documents with a point in a box, the edges included, after the rounding of GeoPolygon. With Left greater than Right it crosses
// the line of 180 degrees.
type GeoBox struct {
	Field                    string
	Top, Left, Bottom, Right float64 // degrees
	Boost                    float64
}

func (*GeoDistance) node() {}
func (*GeoBox) node()      {}

func (g *GeoDistance) boost() *float64 { return &g.Boost }
func (g *GeoBox) boost() *float64      { return &g.Boost }

// String returns a description; there is no notation in query text.
func (g *GeoDistance) String() string { return string(g.append(nil)) }

// String returns a description; there is no notation in query text.
func (g *GeoBox) String() string { return string(g.append(nil)) }

func (g *GeoDistance) append(dst []byte) []byte {
	return appendBoost(fmt.Appendf(appendField(dst, g.Field), "distance(%g,%g,%gm)", g.Lat, g.Lon, g.Meters), g.Boost)
}

func (g *GeoBox) append(dst []byte) []byte {
	return appendBoost(fmt.Appendf(appendField(dst, g.Field), "box(%g,%g,%g,%g)", g.Top, g.Left, g.Bottom, g.Right), g.Boost)
}

func validPoint(lat, lon float64) error {
	if !(lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180) {
		return invalid(ErrSyntax, "point %g,%g is not within 90 degrees of latitude and 180 of longitude", lat, lon)
	}
	return nil
}

func (g *GeoDistance) validate() error {
	if !(g.Meters >= 0) {
		return invalid(ErrSyntax, "distance of %g meters", g.Meters)
	}
	return validPoint(g.Lat, g.Lon)
}

func (g *GeoBox) validate() error {
	if g.Top < g.Bottom {
		return invalid(ErrSyntax, "the top %g of a box is below the bottom %g", g.Top, g.Bottom)
	}
	if err := validPoint(g.Top, g.Left); err != nil {
		return err
	}
	return validPoint(g.Bottom, g.Right)
}

var metersPerUnit = map[string]float64{
	"m": 1, "meters": 1, "": 1, "km": 1000, "kilometers": 1000, "cm": 0.01, "centimeters": 0.01, "mm": 0.001, "millimeters": 0.001,
	"mi": 1609.344, "miles": 1609.344, "yd": 0.9144, "yards": 0.9144, "ft": 0.3048, "feet": 0.3048, "in": 0.0254, "inch": 0.0254,
	"NM": 1852, "nmi": 1852, "nauticalmiles": 1852,
}

// ParseDistance parses a distance such as "12km" or "200" in meters. The error is an *Error.
func ParseDistance(text string) (meters float64, err error) {
	text = strings.TrimSpace(text)
	number := strings.TrimRightFunc(text, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == ' ' })
	n, parseErr := strconv.ParseFloat(number, 64)
	unit, ok := metersPerUnit[strings.TrimSpace(text[len(number):])]
	if parseErr != nil || !ok || !(n >= 0) {
		return 0, invalid(ErrSyntax, "%q is no distance such as 12km, 200m or 3mi", text)
	}
	return n * unit, nil
}
