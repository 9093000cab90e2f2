package rest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// fieldOfQuery returns the only key that is no option, and its value.
func (o *object) fieldOfQuery(known ...string) (name string, value json.RawMessage) {
	for key, raw := range o.values {
		if slices.Contains(known, key) {
			continue
		}
		if name != "" {
			o.fail("[%s] query has the fields [%s] and [%s]: want one", o.of, min(name, key), max(name, key))
			return name, value
		}
		name, value = key, raw
	}
	if name == "" {
		o.fail("[%s] query has no field", o.of)
	}
	return name, value
}

// anyField reads options, and one key that is a field.
func anyField(of string, raw json.RawMessage, known ...string) (o object, name string, value json.RawMessage, err *Error) {
	o.of, o.raw = of, raw
	var bad error
	if o.values, bad = decodeObject(raw); bad != nil || o.values == nil {
		return o, "", nil, badRequest(typeParsing, "[%s] query malformed, want an object", of)
	}
	name, value = o.fieldOfQuery(known...)
	return o, name, value, o.err
}

// point reads a point in any of OpenSearch's forms.
func (o *object) point(key string, raw json.RawMessage) (lat, lon float64) {
	texts, err := mapping.Points(raw)
	if err == nil && len(texts) == 1 {
		lat, lon, err = mapping.ParsePoint(texts[0])
	}
	if (err != nil || len(texts) != 1) && o.err == nil {
		o.err = badRequest(typeParsing, "[%s] query has [%s] %.60s: want one point such as {\"lat\":1,\"lon\":2} or \"1,2\"", o.of, key, raw).at(raw)
	}
	return lat, lon
}

func (p *queryParser) geoDistance(raw json.RawMessage) (query.Node, *Error) {
	o, name, value, err := anyField("geo_distance", raw, "distance", "distance_type", "validation_method", "ignore_unmapped", "boost")
	if err != nil {
		return nil, err
	}
	o.only("distance_type", "arc")
	o.only("validation_method", "STRICT")
	if o.boolean("ignore_unmapped", false) && !p.x.isDeclared(name) {
		return &query.IDs{Boost: 1}, o.err
	}
	g := &query.GeoDistance{Boost: o.boost()}
	var bad error
	if g.Meters, bad = query.ParseDistance(o.needed("distance")); bad != nil {
		o.refuse("distance", "[geo_distance] query has [distance] %s: want a distance such as 12km", o.values["distance"])
	}
	g.Lat, g.Lon = o.point(name, value)
	if o.err != nil {
		return nil, o.err
	}
	g.Field, err = p.x.field(name)
	return g, err.at(value)
}

// corner is the corner of the cell of a geohash.
func (o *object) corner(key, text string, lat, lon *float64) {
	c, ok := mapping.ParseGeohash(text)
	if !ok {
		return
	}
	if strings.HasPrefix(key, "top") {
		*lat = c.Top
	}
	if strings.HasSuffix(key, "right") {
		*lon = c.Right
	}
}

// boxText reads a box in well-known text.
func (o *object) boxText(g *query.GeoBox) {
	text := o.needed("wkt")
	kind, list, opened := strings.Cut(strings.TrimSpace(text), "(")
	list, closed := strings.CutSuffix(list, ")")
	edges := strings.Split(list, ",")
	ok := opened && closed && len(edges) == 4 && strings.EqualFold(strings.TrimSpace(kind), "bbox")
	for i, to := range []*float64{&g.Left, &g.Right, &g.Top, &g.Bottom} {
		if ok {
			var err error
			*to, err = strconv.ParseFloat(strings.TrimSpace(edges[i]), 64)
			ok = err == nil
		}
	}
	if !ok {
		o.refuse("wkt", "[geo_bounding_box] query has [wkt] %s: want BBOX (left, right, top, bottom)", text)
	}
}

func (p *queryParser) geoBox(raw json.RawMessage) (query.Node, *Error) {
	o, name, value, err := anyField("geo_bounding_box", raw, "validation_method", "type", "ignore_unmapped", "boost")
	if err != nil {
		return nil, err
	}
	o.only("validation_method", "STRICT")
	if o.boolean("ignore_unmapped", false) && !p.x.isDeclared(name) {
		return &query.IDs{Boost: 1}, o.err
	}
	if kind, ok := o.text("type"); ok && kind != "memory" && kind != "indexed" {
		o.refuse("type", "[geo_bounding_box] query has [type] %s: want memory or indexed", kind)
	}
	edges, err := options("geo_bounding_box", value, "top_left", "bottom_right", "top_right", "bottom_left", "top", "left", "bottom", "right", "wkt")
	if err != nil {
		return nil, err
	}
	g := &query.GeoBox{Boost: o.boost()}
	at := func(key string, lat, lon *float64) bool {
		if edges.values[key] == nil {
			return false
		}
		*lat, *lon = edges.point(key, edges.values[key])
		if text, ok := scalarText(edges.values[key]); ok {
			edges.corner(key, text, lat, lon)
		}
		return true
	}
	switch {
	case edges.values["wkt"] != nil && len(edges.values) == 1:
		edges.boxText(g)
	case at("top_left", &g.Top, &g.Left) && at("bottom_right", &g.Bottom, &g.Right) && len(edges.values) == 2:
	case at("top_right", &g.Top, &g.Right) && at("bottom_left", &g.Bottom, &g.Left) && len(edges.values) == 2:
	case edges.values["top"] != nil && len(edges.values) == 4:
		for key, edge := range map[string]*float64{"top": &g.Top, "left": &g.Left, "bottom": &g.Bottom, "right": &g.Right} {
			edges.needed(key)
			*edge = edges.number(key, 0, -180, 180)
		}
	default:
		edges.fail("[geo_bounding_box] query of field [%s]: want top_left and bottom_right, or top, left, bottom and right", name)
	}
	if o.err == nil {
		o.err = edges.err
	}
	if o.err != nil {
		return nil, o.err
	}
	g.Field, err = p.x.field(name)
	return g, err.at(value)
}

func geoPolygon(p *queryParser, raw json.RawMessage) (query.Node, *Error) {
	o, name, value, err := anyField("geo_polygon", raw, "validation_method", "ignore_unmapped", "boost")
	if err != nil {
		return nil, err
	}
	o.only("validation_method", "STRICT")
	if o.boolean("ignore_unmapped", false) && !p.x.isDeclared(name) {
		return &query.IDs{Boost: 1}, o.err
	}
	inner, err := options("geo_polygon", value, "points")
	if err != nil {
		return nil, err
	}
	g := &query.GeoPolygon{Boost: o.boost()}
	points, ok := decodeList(inner.values["points"])
	if !ok {
		inner.fail("[geo_polygon] query of field [%s]: want a list of [points]", name)
	}
	for _, one := range points {
		lat, lon := inner.point("points", one)
		g.Points = append(g.Points, query.GeoPoint{Lat: lat, Lon: lon})
	}
	if o.err == nil {
		o.err = inner.err
	}
	if o.err != nil {
		return nil, o.err
	}
	g.Field, err = p.x.field(name)
	return g, err.at(value)
}

func (x *Index) isDeclared(field string) bool {
	_, ok := x.meta().fields.Field(field)
	return ok
}
