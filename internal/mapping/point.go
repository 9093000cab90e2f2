package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A point is coded as the latitude, scaled to 32 bits, and below it the longitude, scaled to 32 bits with
// its sign bit flipped: the order is by latitude. The scale is Lucene's, whose cells are at most 4.7 cm
// high and 9.3 cm wide.
const (
	latScale = (1 << 32) / 180.0
	lonScale = (1 << 32) / 360.0
)

// EncodePoint codes a point of valid degrees.
func EncodePoint(lat, lon float64) int64 {
	return int64(scaled(lat, latScale))<<32 | int64(uint32(scaled(lon, lonScale))^1<<31)
}

func scaled(degrees, scale float64) int32 {
	return int32(max(min(math.Floor(degrees*scale), math.MaxInt32), math.MinInt32)) // 90 and 180 degrees
}

// DecodePoint returns the lower left corner of the cell of EncodePoint.
func DecodePoint(v int64) (lat, lon float64) {
	return float64(v>>32) / latScale, float64(int32(uint32(v)^1<<31)) / lonScale
}

// appendDegrees writes degrees with the precision of the code.
func appendDegrees(dst []byte, degrees float64) []byte {
	return strconv.AppendFloat(dst, math.Round(degrees*1e7)/1e7, 'f', -1, 64)
}

// ParsePoint parses "lat,lon", "POINT (lon lat)", or a geohash, which is the lower left corner of its cell.
func ParsePoint(text string) (lat, lon float64, err error) {
	first, second, ok := strings.Cut(text, ",")
	if !ok {
		if c, ok := ParseGeohash(text); ok {
			return c.Bottom, c.Left, nil
		}
		if second, first, ok = cutPoint(text); !ok {
			return 0, 0, errors.New(`want "lat,lon", "POINT (lon lat)" or a geohash`)
		}
	}
	if lat, err = parseDegrees(first, "latitude", 90); err == nil {
		lon, err = parseDegrees(second, "longitude", 180)
	}
	return lat, lon, err
}

// cutPoint splits a point in well-known text.
func cutPoint(text string) (lon, lat string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < 5 || !strings.EqualFold(text[:5], "point") {
		return "", "", false
	}
	text, opened := strings.CutPrefix(strings.TrimSpace(text[5:]), "(")
	text, closed := strings.CutSuffix(text, ")")
	parts := strings.Fields(text)
	if !opened || !closed || len(parts) != 2 {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// Cell is a box on earth, in degrees.
type Cell struct{ Bottom, Left, Top, Right float64 }

// maxGeohash is the length of the longest geohash.
const maxGeohash = 12

// ParseGeohash returns the cell of a geohash (Gustavo Niemeyer, geohash.org, 2008): digits of base 32 whose bits halve the
// longitudes and the latitudes in turn. One without a letter looks like a number and is none.
func ParseGeohash(text string) (c Cell, ok bool) {
	if strings.Trim(text, "0123456789") == "" || len(text) > maxGeohash {
		return c, false
	}
	c = Cell{Bottom: -90, Left: -180, Top: 90, Right: 180}
	east := true
	for _, r := range []byte(text) {
		digit := strings.IndexByte("0123456789bcdefghjkmnpqrstuvwxyz", r)
		if digit < 0 {
			return c, false
		}
		for bit := 16; bit > 0; bit /= 2 {
			low, high := &c.Bottom, &c.Top
			if east {
				low, high = &c.Left, &c.Right
			}
			middle := (*low + *high) / 2
			if digit&bit != 0 {
				*low = middle
			} else {
				*high = middle
			}
			east = !east
		}
	}
	return c, true
}

func parseDegrees(text, what string, limit float64) (float64, error) {
	if _, ok := parseDecimal(text); !ok {
		return 0, fmt.Errorf("%s %.40q is not a number", what, text)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.Abs(v) > limit {
		return 0, fmt.Errorf("%s %.40s is not between -%g and %g", what, text, limit, limit)
	}
	return v, nil
}

// Points returns the points of a value in JSON as texts of ParsePoint: it is a text, an object with lat and lon,
// a Point of GeoJSON, an array [lon, lat], an array of points, or null, which has none. The texts are not checked otherwise.
func Points(raw []byte) ([]string, error) { return pointsOr(raw, nil) }

// Points is the function Points for a value of the field: null_value takes the place of null, in lists too.
func (f *Field) Points(raw []byte) ([]string, error) { return pointsOr(raw, f.NullValue) }

// pointsOr is Points with the point that takes the place of null; nil: none does.
func pointsOr(raw []byte, null *string) ([]string, error) {
	var list []json.RawMessage
	switch kind(raw) {
	case 'n':
		if null != nil {
			return []string{*null}, nil
		}
		return nil, nil
	case '[':
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
	default:
		text, err := point(raw)
		if err != nil {
			return nil, err
		}
		return []string{text}, nil
	}
	if len(list) > 0 && kind(list[0]) == '0' {
		if len(list) != 2 || kind(list[1]) != '0' {
			return nil, errors.New("an array of a point is [lon, lat]")
		}
		return []string{string(list[1]) + "," + string(list[0])}, nil
	}
	var points []string
	for _, element := range list {
		inner, err := pointsOr(element, null)
		if err != nil {
			return nil, err
		}
		points = append(points, inner...)
	}
	return points, nil
}

// kind is the first byte of a JSON value, '0' for a number.
func kind(raw []byte) byte {
	for _, c := range raw {
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case c == '-' || c >= '0' && c <= '9':
			return '0'
		}
		return c
	}
	return 0
}

func point(raw []byte) (string, error) {
	switch kind(raw) {
	case '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err
	case '{':
		var p map[string]json.RawMessage
		if err := json.Unmarshal(raw, &p); err != nil {
			return "", err
		}
		if p["type"] != nil {
			return geoJSON(p)
		}
		lat, lon := p["lat"], p["lon"]
		if lat == nil || lon == nil || len(p) != 2 {
			return "", errors.New("the object of a point has lat and lon")
		}
		return degreesText(lat) + "," + degreesText(lon), nil
	}
	return "", errors.New(`a point is "lat,lon", {"lat": …, "lon": …} or [lon, lat]`)
}

// geoJSON reads a Point of RFC 7946 without a height.
func geoJSON(p map[string]json.RawMessage) (string, error) {
	var kind string
	var at []json.Number
	if json.Unmarshal(p["type"], &kind) != nil || !strings.EqualFold(kind, "point") || len(p) != 2 || json.Unmarshal(p["coordinates"], &at) != nil || len(at) != 2 {
		return "", errors.New(`a point in GeoJSON is {"type": "Point", "coordinates": [lon, lat]}`)
	}
	return at[1].String() + "," + at[0].String(), nil
}

// degreesText also takes numbers in quotes.
func degreesText(raw json.RawMessage) string {
	var text string
	if kind(raw) == '"' && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return strings.TrimSpace(string(raw))
}
