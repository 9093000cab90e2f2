package rest

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/griffin-search/griffin/query"
)

// object holds the options of a query. Its methods keep the first fault in err.
type object struct {
	of     string
	raw    json.RawMessage
	values map[string]json.RawMessage
	err    *Error
}

func options(of string, raw json.RawMessage, known ...string) (o object, err *Error) {
	o.of, o.raw = of, raw
	var bad error
	if o.values, bad = decodeObject(raw); bad != nil || o.values == nil {
		return o, badRequest(typeParsing, "[%s] query malformed, want an object", of).at(raw)
	}
	if o.stand(); o.err != nil {
		return o, o.err
	}
	unknown := ""
	for key := range o.values {
		if !slices.Contains(known, key) && (unknown == "" || key < unknown) {
			unknown = key
		}
	}
	if value, found := o.values[unknown]; found && !slices.Contains(known, unknown) {
		return o, badRequest(typeParsing, "[%s] query does not support [%s]", of, unknown).at(value)
	}
	return o, nil
}

func (o *object) fail(format string, args ...any) {
	if o.err == nil {
		o.err = badRequest(typeParsing, format, args...).at(o.raw)
	}
}

// refuse is fail for the value of a key.
func (o *object) refuse(key, format string, args ...any) {
	if o.err == nil {
		o.err = badRequest(typeParsing, format, args...).at(o.values[key])
	}
}

// text returns a text, or the text of a number or a boolean.
func (o *object) text(key string) (string, bool) {
	raw, ok := o.values[key]
	if !ok {
		return "", false
	}
	text, ok := scalarText(raw)
	if !ok {
		o.refuse(key, "[%s] query has [%s] %.60s: want a text", o.of, key, raw)
	}
	return text, ok
}

// needed is text of a key that must be there.
func (o *object) needed(key string) string {
	text, ok := o.text(key)
	if !ok {
		o.fail("[%s] query needs [%s]", o.of, key)
	}
	return text
}

// texts returns the texts of an array, or the only one.
func (o *object) texts(key string) []string {
	raw, ok := o.values[key]
	if !ok {
		o.fail("[%s] query needs [%s]", o.of, key)
		return nil
	}
	return o.list(key, scalars(raw))
}

func (o *object) list(key string, raw json.RawMessage) []string {
	list, ok := decodeList(raw)
	if !ok {
		o.refuse(key, "[%s] query has [%s] that is no array of values", o.of, key)
	}
	texts := make([]string, len(list))
	for i, raw := range list {
		text, ok := scalarText(raw)
		if !ok && o.err == nil {
			o.err = badRequest(typeParsing, "[%s] query has [%s] with %.60s: want a value", o.of, key, raw).at(raw)
		}
		texts[i] = text
	}
	return texts
}

func (o *object) number(key string, otherwise, least, most float64) float64 {
	raw, ok := o.values[key]
	if !ok {
		return otherwise
	}
	text, _ := scalarText(raw)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= least && n <= most) {
		o.refuse(key, "[%s] query has [%s] %.60s: want a number from %g to %g", o.of, key, raw, least, most)
		return otherwise
	}
	return n
}

func (o *object) whole(key string, most int) int {
	n := o.number(key, 0, 0, float64(most))
	if n != float64(int(n)) {
		o.refuse(key, "[%s] query has [%s] %g: want a whole number", o.of, key, n)
	}
	return int(n)
}

func (o *object) boolean(key string, otherwise bool) bool {
	text, ok := o.text(key)
	if !ok {
		return otherwise
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		o.refuse(key, "[%s] query has [%s] %s: want true or false", o.of, key, text)
	}
	return value
}

// only refuses all values of an option except the supported one.
func (o *object) only(key, value string) {
	if text, ok := o.text(key); ok && text != value {
		o.refuse(key, "[%s] query has [%s] %s: only %s is supported", o.of, key, text, value)
	}
}

func (o *object) boost() float64 { return o.number("boost", 1, query.MinBoost, query.MaxBoost) }

// occur reads an operator.
func (o *object) occur(key string) query.Occur {
	switch text, _ := o.text(key); text {
	case "", "or", "OR", "Or":
		return query.Should
	case "and", "AND", "And":
		return query.Must
	default:
		if o.err == nil {
			o.err = illegal("operator needs to be either OR or AND, but not [%s]", text).at(o.values[key])
		}
		return query.Should
	}
}

func (o *object) minimum() query.Minimum {
	text, ok := o.text("minimum_should_match")
	if !ok {
		return ""
	}
	m := query.Minimum(text)
	if _, err := m.Of(1); err != nil {
		o.refuse("minimum_should_match", "[%s] query has [minimum_should_match] %s: want a number or percentage of clauses such as 2, -1, 75%% or 2<75%%", o.of, text)
	}
	return m
}

// similarity reads the options of fuzziness.
func (o *object) similarity() query.Similarity {
	s := query.Similarity{
		PrefixLength: o.whole("prefix_length", query.MaxBytes), MaxExpansions: o.whole("max_expansions", query.MaxClauses),
		NoSwaps: !o.boolean("fuzzy_transpositions", o.boolean("transpositions", true)),
	}
	s.Edits, _ = o.text("fuzziness")
	if _, err := s.Max(""); err != nil {
		o.refuse("fuzziness", "[%s] query has [fuzziness] %s: want 0, 1, 2, AUTO or AUTO:low,high", o.of, s.Edits)
	}
	return s
}
