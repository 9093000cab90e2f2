package codec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A specification's parameters (key=value, comma-separated). A constructor takes each once;
// errors are collected.
type params struct {
	values map[string]string
	known  []string
	errs   []error
}

func parseParams(text string, present bool) (*params, error) {
	p := &params{values: map[string]string{}}
	if !present {
		return p, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" || value == "" {
			return nil, fmt.Errorf("parameter %q is not key=value: %w", part, ErrUnknown)
		}
		if _, twice := p.values[key]; twice {
			return nil, fmt.Errorf("parameter %q twice: %w", key, ErrUnknown)
		}
		p.values[key] = value
	}
	return p, nil
}

// take returns a key's value, and whether it was given.
func (p *params) take(key string) (string, bool) {
	p.known = append(p.known, key)
	value, ok := p.values[key]
	delete(p.values, key)
	return value, ok
}

// int returns the number of a key, which must be in [least, most], or def if it is
// absent.
func (p *params) int(key string, def, least, most int) int {
	text, ok := p.take(key)
	if !ok {
		return def
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < least || v > most {
		p.errs = append(p.errs, fmt.Errorf("parameter %s=%s: want a whole number in %d..%d: %w", key, text, least, most, ErrUnknown))
		return def
	}
	return v
}

func (p *params) float(key string, def, least, most float64) float64 {
	text, ok := p.take(key)
	if !ok {
		return def
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= least && v <= most) {
		p.errs = append(p.errs, fmt.Errorf("parameter %s=%s: want a number in %g..%g: %w", key, text, least, most, ErrUnknown))
		return def
	}
	return v
}

// err returns all errors, including parameters that nobody took.
func (p *params) err() error {
	unknown := make([]string, 0, len(p.values))
	for key := range p.values {
		unknown = append(unknown, key)
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		if len(p.known) == 0 {
			p.errs = append(p.errs, fmt.Errorf("parameter %q: it has none: %w", key, ErrUnknown))
			continue
		}
		p.errs = append(p.errs, fmt.Errorf("parameter %q (there are: %s): %w", key, strings.Join(p.known, ", "), ErrUnknown))
	}
	return errors.Join(p.errs...)
}

// spec returns the canonical specification: name and non-default parameters. Each of
// pairs is "" or key=value.
func spec(name string, pairs ...string) string {
	pairs = slices.DeleteFunc(pairs, func(s string) bool { return s == "" })
	if len(pairs) == 0 {
		return name
	}
	return name + ":" + strings.Join(pairs, ",")
}

// given returns key=value, or "" if value is the default.
func given[T int | float64](key string, value, def T) string {
	if value == def {
		return ""
	}
	return fmt.Sprintf("%s=%v", key, value)
}
