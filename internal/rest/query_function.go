package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// functionKinds are the functions of function_score by name.
var functionKinds = map[string]func(p *queryParser, f *query.Function, raw json.RawMessage) *Error{
	"random_score": (*queryParser).randomScore, "field_value_factor": (*queryParser).fieldValueFactor,
	"gauss": decayParser(query.Gauss), "exp": decayParser(query.Exp), "linear": decayParser(query.Linear),
}

const functionScoreName = "function_score"

func (p *queryParser) functionScore(raw json.RawMessage) (query.Node, *Error) {
	known := []string{"query", "functions", "score_mode", "boost_mode", "max_boost", "min_score", "boost"}
	members, bad := decodeObject(raw)
	if bad != nil || members == nil {
		return nil, badRequest(typeParsing, "[%s] query malformed, want an object", functionScoreName)
	}
	own := map[string]json.RawMessage{}
	for key, value := range members {
		if !slices.Contains(known, key) {
			own[key] = value
			delete(members, key)
		}
	}
	o := object{of: functionScoreName, raw: raw, values: members}
	f := &query.FunctionScore{
		ScoreMode: query.ScoreMode(o.mode("score_mode", query.ScoreModes)), BoostMode: query.BoostMode(o.mode("boost_mode", query.BoostModes)),
		MaxBoost: o.number("max_boost", 0, 1e-30, 1e30), MinScore: o.number("min_score", 0, 0, 1e9), Boost: o.boost(),
	}
	var err *Error
	if members["query"] != nil {
		if f.Node, err = p.query(members["query"]); err != nil {
			return nil, err
		}
	}
	list := []json.RawMessage{}
	switch {
	case members["functions"] != nil && len(own) > 0:
		return nil, badRequest(typeParsing, "[%s] query has [functions] and [%s]: want one of them", functionScoreName, slices.Min(slices.Collect(maps.Keys(own))))
	case members["functions"] != nil:
		var ok bool
		if list, ok = decodeList(members["functions"]); !ok {
			return nil, badRequest(typeParsing, "[%s] query has [functions] that are no list", functionScoreName).at(members["functions"])
		}
	}
	for _, raw := range list {
		function, bad := decodeObject(raw)
		if bad != nil || len(function) == 0 {
			return nil, badRequest(typeParsing, "[%s] query has the function %.60s: want an object", functionScoreName, raw).at(raw)
		}
		if err := p.addFunction(f, function); err != nil {
			return nil, err.at(raw)
		}
	}
	if len(own) > 0 {
		if err := p.addFunction(f, own); err != nil {
			return nil, err
		}
	}
	return f, o.err
}

// mode returns the place of a name in a list.
func (o *object) mode(key string, names []string) int {
	text, ok := o.text(key)
	if !ok {
		return 0
	}
	i := slices.Index(names, strings.ToLower(text))
	if i < 0 {
		o.refuse(key, "[%s] query has [%s] %s: there are %s", o.of, key, text, strings.Join(names, ", "))
		return 0
	}
	return i
}

func (p *queryParser) addFunction(f *query.FunctionScore, members map[string]json.RawMessage) *Error {
	fn := query.Function{}
	kind := ""
	for _, key := range slices.Sorted(maps.Keys(members)) {
		switch parse := functionKinds[key]; {
		case key == "filter":
			node, err := p.query(members[key])
			if err != nil {
				return err
			}
			fn.Filter = node
		case key == "weight":
			o := object{of: functionScoreName, values: members}
			weight := o.number("weight", 1, 0, 1e30)
			if o.err != nil {
				return o.err
			}
			fn.Weight = &weight
		case key == "script_score":
			return badRequest(typeParsing, "[%s] query has [script_score]: scripts are not supported", functionScoreName).at(members[key])
		case parse == nil:
			return badRequest(typeParsing, "[%s] query does not support [%s]: functions are weight, %s", functionScoreName, key, strings.Join(slices.Sorted(maps.Keys(functionKinds)), ", ")).at(members[key])
		case kind != "":
			return badRequest(typeParsing, "[%s] query has a function with [%s] and [%s]: want one of them", functionScoreName, kind, key).at(members[key])
		default:
			kind = key
			if err := parse(p, &fn, members[key]); err != nil {
				return err.at(members[key])
			}
		}
	}
	if kind == "" && fn.Weight == nil {
		return badRequest(typeParsing, "[%s] query has a function without a weight or one of %s", functionScoreName, strings.Join(slices.Sorted(maps.Keys(functionKinds)), ", "))
	}
	f.Functions = append(f.Functions, fn)
	return nil
}

func (p *queryParser) randomScore(f *query.Function, raw json.RawMessage) *Error {
	o, err := options("random_score", raw, "seed", "field")
	if err != nil {
		return err
	}
	f.Random = &query.RandomScore{Seed: rand.Int64()}
	if text, ok := o.text("seed"); ok {
		var bad error
		if f.Random.Seed, bad = strconv.ParseInt(text, 10, 64); bad != nil {
			f.Random.Seed = 0
			for _, b := range []byte(text) { // any text is a seed
				f.Random.Seed = f.Random.Seed*31 + int64(b)
			}
		}
	}
	if field, ok := o.text("field"); ok && field != idField && field != "_seq_no" { // both are of one document only
		if f.Random.Field, err = p.x.field(field); err != nil {
			return err.at(o.values["field"])
		}
	}
	return o.err
}

func (p *queryParser) fieldValueFactor(f *query.Function, raw json.RawMessage) *Error {
	o, err := options("field_value_factor", raw, "field", "factor", "modifier", "missing")
	if err != nil {
		return err
	}
	v := &query.FieldValue{Factor: o.number("factor", 1, -1e30, 1e30), Modifier: query.Modifier(o.mode("modifier", query.Modifiers))}
	if v.Factor == 0 {
		o.refuse("factor", "[field_value_factor] query has [factor] 0: want another number")
	}
	if o.values["missing"] != nil {
		missing := o.number("missing", 0, -1e300, 1e300)
		v.Missing = &missing
	}
	name := o.needed("field")
	if o.err != nil {
		return o.err
	}
	v.Field, err = p.x.field(name)
	f.Value = v
	return err.at(o.values["field"])
}

// decayParser reads {"field": {"origin": …, "scale": …}, "multi_value_mode": …}.
func decayParser(shape query.DecayShape) func(p *queryParser, f *query.Function, raw json.RawMessage) *Error {
	name := query.DecayShapes[shape]
	return func(p *queryParser, f *query.Function, raw json.RawMessage) *Error {
		members, bad := decodeObject(raw)
		if bad != nil || members == nil {
			return badRequest(typeParsing, "[%s] malformed, want an object", name)
		}
		modes := object{of: name, raw: raw, values: members}
		d := &query.Decay{Shape: shape, Of: query.DistanceMode(modes.mode("multi_value_mode", query.DistanceModes))}
		if modes.err != nil {
			return modes.err
		}
		delete(members, "multi_value_mode")
		if len(members) != 1 {
			return wantOne(name, "field", raw, members)
		}
		for field, raw := range members {
			o, err := options(name, raw, "origin", "scale", "offset", "decay")
			if err != nil {
				return err
			}
			if d.Field, err = p.x.field(field); err != nil {
				return err.at(raw)
			}
			if d.Origin, err = decayOrigin(&o); err != nil {
				return err
			}
			d.Scale, d.Decay = o.needed("scale"), o.number("decay", 0, 1e-9, 1-1e-9)
			d.Offset, _ = o.text("offset")
			if o.err != nil {
				return o.err
			}
		}
		f.Decay = d
		return nil
	}
}

// decayOrigin is a value, or a point in one of its forms.
func decayOrigin(o *object) (string, *Error) {
	raw := bytes.TrimSpace(o.values["origin"])
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		text, _ := o.text("origin")
		return text, o.err
	}
	points, err := mapping.Points(raw)
	if err != nil || len(points) != 1 {
		return "", badRequest(typeParsing, "[%s] has [origin] %.60s: want a value, or one point", o.of, raw).at(o.values["origin"])
	}
	return points[0], nil
}
