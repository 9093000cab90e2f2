package collect

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// MaxKeys bounds the keys of an order.
const MaxKeys = 16

// Fields finds a field by its dotted name.
type Fields func(name string) (*mapping.Field, bool)

// Parse reads the value of "sort": a name, an object, or a list of both. Errors wrap base.ErrBadInput.
func Parse(raw []byte, fields Fields) ([]Key, error) {
	list := []json.RawMessage{raw}
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		var err error
		if list, err = base.Elements(raw); err != nil {
			return nil, base.Locate(fmt.Errorf("sort: %w", err), raw)
		}
	}
	var keys []Key
	for _, one := range list {
		more, err := parseOne(one, fields)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	if len(keys) > MaxKeys {
		return nil, fmt.Errorf("sort: %d keys, more than %d: %w", len(keys), MaxKeys, base.ErrBadInput)
	}
	return keys, nil
}

func parseOne(raw json.RawMessage, fields Fields) ([]Key, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil && string(raw) != "null" {
		k, err := NewKey(name, "", fields)
		return []Key{k}, base.Locate(err, raw)
	}
	members, err := base.Members(raw)
	if err != nil || len(members) == 0 {
		return nil, base.Locate(fmt.Errorf("sort: want a field or an object, have %.60s: %w", raw, base.ErrBadInput), raw)
	}
	var keys []Key
	for _, m := range members {
		k, err := parseKey(m.Name, m.Value, fields)
		if err != nil {
			return nil, base.Locate(err, m.Value)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// NewKey returns the key of a name, _score, _doc or a field, and a direction: asc, desc or "", which is
// desc for _score. The error wraps base.ErrBadInput.
func NewKey(name, direction string, fields Fields) (Key, error) {
	var k Key
	switch name {
	case "_score":
		k.By, k.Desc = Score, true
	case "_doc":
		k.By = Written
	default:
		k.By = Values
		f, ok := fields(name)
		switch {
		case ok:
		case name == "_script":
			return k, fmt.Errorf("sort: [_script]: scripts are not supported: %w", base.ErrBadInput)
		case name == "_id":
			return k, fmt.Errorf("sort: [_id] has no column to sort on: _doc, the order in which documents were written, breaks ties: %w", base.ErrBadInput)
		default:
			return k, fmt.Errorf("sort: No mapping found for [%s] in order to sort on: %w", name, base.ErrBadInput)
		}
		k.Field = f
	}
	if err := k.direct(name, direction); err != nil {
		return k, err
	}
	return k, k.check()
}

// direct sets the direction, and the mode that it implies.
func (k *Key) direct(name, direction string) error {
	switch strings.ToLower(direction) {
	case "":
	case "asc":
		k.Desc = false
	case "desc":
		k.Desc = true
	default:
		return fmt.Errorf("sort by [%s]: order %q: want asc or desc: %w", name, direction, base.ErrBadInput)
	}
	k.Mode = MinMode
	if k.Desc {
		k.Mode = MaxMode
	}
	return nil
}

func parseKey(name string, raw json.RawMessage, fields Fields) (Key, error) {
	var direction string
	if json.Unmarshal(raw, &direction) == nil && string(raw) != "null" {
		if direction == "" {
			return Key{}, noOrder(name)
		}
		return NewKey(name, direction, fields)
	}
	members, err := base.Members(raw)
	if err != nil {
		return Key{}, fmt.Errorf("sort by [%s]: want a direction or an object, have %.60s: %w", name, raw, base.ErrBadInput)
	}
	p := keyParser{name: name, options: map[string]json.RawMessage{}, fields: fields}
	for _, m := range members {
		p.options[m.Name] = m.Value
	}
	if name == "_geo_distance" {
		return p.distance()
	}
	return p.values()
}

// keyParser reads the options of a key. The first error stays.
type keyParser struct {
	name    string
	options map[string]json.RawMessage
	fields  Fields
	err     error
}

func (p *keyParser) fail(format string, args ...any) { p.failIn(nil, format, args...) }

// failIn is fail for the value of an option.
func (p *keyParser) failIn(raw []byte, format string, args ...any) {
	if p.err == nil {
		p.err = base.Locate(fmt.Errorf("sort by [%s]: %s: %w", p.name, fmt.Sprintf(format, args...), base.ErrBadInput), raw)
	}
}

// take removes an option and returns its text, also of a number or a boolean.
func (p *keyParser) take(option string) (string, bool) {
	raw, ok := p.options[option]
	if !ok {
		return "", false
	}
	delete(p.options, option)
	text, ok := scalar(raw)
	if !ok {
		p.failIn(raw, "[%s] is %.60s: want a text, a number or a boolean", option, raw)
	}
	return text, true
}

func scalar(raw json.RawMessage) (string, bool) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case float64, bool:
		return strings.TrimSpace(string(raw)), true
	}
	return "", false
}

func noOrder(name string) error {
	return fmt.Errorf("sort by [%s]: order \"\": want asc or desc: %w", name, base.ErrBadInput)
}

func (p *keyParser) order() string {
	direction, given := p.take("order")
	if given && direction == "" && p.err == nil {
		p.err = noOrder(p.name)
	}
	return direction
}

// rest reports options that were not taken.
func (p *keyParser) rest() {
	for _, option := range slices.Sorted(keysOf(p.options)) {
		p.failIn(p.options[option], "[%s] is not supported", option)
	}
}

func keysOf(m map[string]json.RawMessage) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (p *keyParser) values() (Key, error) {
	fields := p.fields
	if unmapped, ok := p.take("unmapped_type"); ok {
		var t mapping.Type
		if err := t.UnmarshalText([]byte(unmapped)); err != nil {
			p.fail("[unmapped_type] %q is no type", unmapped)
		}
		if _, known := fields(p.name); !known && p.name != "_score" && p.name != "_doc" {
			fields = func(string) (*mapping.Field, bool) { return nil, true }
		}
	}
	direction := p.order()
	k, err := NewKey(p.name, direction, fields)
	if err != nil {
		return k, err
	}
	if k.By == Values {
		p.missing(&k)
		p.mode(&k, len(modeNames))
		k.Format, _ = p.take("format")
	}
	p.rest()
	if p.err == nil {
		p.err = k.check()
	}
	return k, p.err
}

func (p *keyParser) missing(k *Key) {
	switch text, given := p.take("missing"); {
	case !given || text == "_last":
	case text == "_first":
		k.Missing = First
	default:
		k.Missing, k.Default = AsValue, text
		if k.Field != nil {
			if _, err := k.value(text); err != nil {
				p.fail("[missing]: %s", base.Message(err))
			}
		}
	}
}

func (p *keyParser) mode(k *Key, most int) {
	text, given := p.take("mode")
	if !given {
		return
	}
	i := slices.Index(modeNames, strings.ToLower(text))
	if i < 0 || i >= most {
		p.fail("[mode] %q: want one of %s", text, strings.Join(modeNames[:most], ", "))
		return
	}
	k.Mode = Mode(i)
}

// units are meters.
var units = map[string]float64{
	"m": 1, "meters": 1, "km": 1000, "kilometers": 1000, "cm": 0.01, "centimeters": 0.01, "mm": 0.001, "millimeters": 0.001,
	"mi": 1609.344, "miles": 1609.344, "yd": 0.9144, "yards": 0.9144, "ft": 0.3048, "feet": 0.3048, "in": 0.0254, "inch": 0.0254,
	"nmi": 1852, "NM": 1852, "nauticalmiles": 1852,
}

func (p *keyParser) distance() (Key, error) {
	k := Key{By: Distance, Unit: 1}
	direction := p.order()
	if err := k.direct(p.name, direction); err != nil {
		return k, err
	}
	p.mode(&k, len(modeNames)-1)
	if unit, ok := p.take("unit"); ok {
		if k.Unit = units[unit]; k.Unit == 0 {
			p.fail("[unit] %q is unknown", unit)
		}
	}
	if kind, ok := p.take("distance_type"); ok && kind != "arc" {
		p.fail("[distance_type] %q: only arc is supported", kind)
	}
	ignore, _ := p.take("ignore_unmapped")
	if len(p.options) != 1 && p.err == nil {
		names := slices.Sorted(keysOf(p.options))
		p.fail("want one field with points, besides order, mode, unit, distance_type and ignore_unmapped; have [%s]", strings.Join(names, "], ["))
	}
	for name, raw := range p.options {
		f, ok := p.fields(name)
		if !ok && ignore != "true" {
			p.fail("failed to find mapper for [%s] for geo distance based sort", name)
		}
		k.Field = f
		texts, err := mapping.Points(raw)
		if err != nil || len(texts) == 0 {
			p.failIn(raw, "[%s] is %.60s: want a point or a list of points", name, raw)
		}
		for _, text := range texts {
			lat, lon, err := mapping.ParsePoint(text)
			if err != nil {
				p.fail("[%s]: %v", name, err)
			}
			k.Origins = append(k.Origins, Point{lat, lon})
		}
	}
	if p.err == nil {
		p.err = k.check()
	}
	return k, p.err
}
