package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Options are the values of an engine's options. Its methods read the options that
// the engine's Info lists; Err names the values that could not be read.
type Options struct {
	info   *Info
	values map[string]string
	errs   []error
}

// Int reads a number in a range.
func (o *Options) Int(name string, least, most int) int {
	n, err := strconv.Atoi(o.values[name])
	if err != nil || n < least || n > most {
		o.Fail(name, fmt.Sprintf("a whole number from %d to %d", least, most))
	}
	return n
}

// Float reads a number that is at least least.
func (o *Options) Float(name string, least float64) float64 {
	f, err := strconv.ParseFloat(o.values[name], 64)
	if err != nil || !(f >= least) {
		o.Fail(name, fmt.Sprintf("a number, at least %g", least))
	}
	return f
}

// Choice reads the index of one of several words.
func (o *Options) Choice(name string, choices ...string) int {
	i := slices.Index(choices, o.values[name])
	if i < 0 {
		o.Fail(name, alternatives(choices))
	}
	return i
}

// alternatives returns words as in "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Text reads a value that the engine parses itself. Fail reports an unsuitable one.
func (o *Options) Text(name string) string { return o.values[name] }

// Fail records that the value of an option cannot be used.
func (o *Options) Fail(name, want string) {
	o.errs = append(o.errs, fmt.Errorf("%s=%s: want %s: %w", name, o.values[name], want, base.ErrBadInput))
}

// Ignore records an error if any of the options is not at its default, because another one, such as
// "on=cpu", leaves it without effect.
func (o *Options) Ignore(because string, names ...string) {
	var ignored []string
	for _, option := range o.info.Options {
		if v := o.values[option.Name]; slices.Contains(names, option.Name) && v != option.Default {
			ignored = append(ignored, fmt.Sprintf("%s=%s has no effect with %s", option.Name, v, because))
		}
	}
	if len(ignored) > 0 {
		o.errs = append(o.errs, fmt.Errorf("%s: %w", strings.Join(ignored, "; "), base.ErrBadInput))
	}
}

// Err returns an error that wraps base.ErrBadInput if values could not be read.
func (o *Options) Err() error { return errors.Join(o.errs...) }
