package aggregate

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// params reads the parameters of an aggregation. The first error stays; done returns it, or an error for
// a parameter that was not asked for.
type params struct {
	r    *Request
	list []base.Member
	used []bool
	err  error
}

func newParams(r *Request, raw json.RawMessage) (*params, error) {
	list, err := members(raw)
	return &params{r: r, list: list, used: make([]bool, len(list))}, r.wrap(err)
}

func (p *params) fail(key, format string, args ...any) {
	if p.err == nil {
		p.err = p.r.errorIn(p.raw(key), "parameter ["+key+"]: "+format, args...)
	}
}

func (p *params) done() error {
	for i, m := range p.list {
		if !p.used[i] && p.err == nil {
			p.err = p.r.errorIn(m.Value, "unknown parameter [%s]", m.Name)
		}
	}
	return p.err
}

// raw is nil if there is no such parameter.
func (p *params) raw(key string) json.RawMessage {
	for i, m := range p.list {
		if m.Name == key {
			p.used[i] = true
			return m.Value
		}
	}
	return nil
}

func (p *params) has(key string) bool { return p.raw(key) != nil }

func (p *params) text(key, otherwise string) string {
	raw := p.raw(key)
	if raw == nil {
		return otherwise
	}
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		p.fail(key, "want a string, have %s", shortened(raw))
		return otherwise
	}
	return *s
}

// missing is the value of documents without one.
func (p *params) missing() (string, bool) {
	const key = "missing"
	raw := p.raw(key)
	if raw == nil {
		return "", false
	}
	s, ok := scalarText(raw)
	if !ok {
		p.fail(key, "want a string, a number or a boolean, have %s", shortened(raw))
	}
	return s, ok
}

func scalarText(raw json.RawMessage) (string, bool) {
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

func (p *params) field() string {
	name := p.text("field", "")
	if name == "" && p.err == nil {
		p.err = p.r.errorf("the parameter [field] is required")
	}
	return name
}

func (p *params) integer(key string, otherwise, least, most int) int {
	raw := p.raw(key)
	if raw == nil {
		return otherwise
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || string(raw) == "null" || f != math.Trunc(f) || f < float64(least) || f > float64(most) {
		p.fail(key, "want an integer from %d to %d, have %s", least, most, shortened(raw))
		return otherwise
	}
	return int(f)
}

func (p *params) float(key string, otherwise float64) float64 {
	raw := p.raw(key)
	if raw == nil {
		return otherwise
	}
	var f *float64
	if json.Unmarshal(raw, &f) != nil || f == nil {
		p.fail(key, "want a number, have %s", shortened(raw))
		return otherwise
	}
	return *f
}

func (p *params) boolean(key string, otherwise bool) bool {
	raw := p.raw(key)
	if raw == nil {
		return otherwise
	}
	var b *bool
	if json.Unmarshal(raw, &b) != nil || b == nil {
		p.fail(key, "want true or false, have %s", shortened(raw))
		return otherwise
	}
	return *b
}

func (p *params) choice(key, otherwise string, choices ...string) string {
	s := p.text(key, otherwise)
	if !slices.Contains(choices, s) {
		p.fail(key, "want one of %s, have %q", strings.Join(choices, ", "), s)
		return otherwise
	}
	return s
}

func (p *params) floats(key string) []float64 {
	raw := p.raw(key)
	if raw == nil {
		return nil
	}
	var list []*float64
	if json.Unmarshal(raw, &list) != nil || list == nil || slices.Contains(list, nil) {
		p.fail(key, "want a list of numbers, have %s", shortened(raw))
		return nil
	}
	out := make([]float64, len(list))
	for i, n := range list {
		out[i] = *n
	}
	return out
}

func (p *params) objects(key string) []json.RawMessage {
	raw := p.raw(key)
	if raw == nil {
		p.fail(key, "it is required")
		return nil
	}
	list, err := base.Elements(raw)
	if err != nil || len(list) == 0 {
		p.fail(key, "want a list that is not empty, have %s", shortened(raw))
	}
	return list
}

// ignored accepts hints about how to compute, which change no answer.
func (p *params) ignored(keys ...string) {
	for _, key := range keys {
		p.raw(key)
	}
}
