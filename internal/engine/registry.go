package engine

import (
	"fmt"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/suggest"
)

// Default is the name of Griffin's own engine, package dispatch.
const Default = "griffin"

// Info describes an engine for users.
type Info struct {
	Name string `json:"name"`
	// Paper is its reference; "" of the default engine.
	Paper   string `json:"paper,omitempty"`
	Summary string `json:"summary"`
	// Algorithms, a line each, with the section of the paper.
	Algorithms []string `json:"algorithms,omitempty"`
	// Modes are the query modes that it answers, as --mode takes them.
	Modes   []string `json:"modes"`
	Options []Option `json:"options,omitempty"`
	// ResultCache: the system has a cache of results in front, where the index has one.
	ResultCache bool `json:"result_cache,omitempty"`
	// Open returns an Engine; nil of the default engine.
	Open func(Options, Resources) (Engine, error) `json:"-"`
}

// Option is a parameter of an engine, with the paper's name and default.
type Option struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	// Values are the choices, or a range such as "1 to 4".
	Values string `json:"values"`
	// Help is a phrase, with the section of the paper.
	Help string `json:"help"`
}

// Resources belong to the process, which lends them to an engine.
type Resources struct {
	// Device is the GPU: "cpu" or "" (none), "gpu" or a number (must exist), or "auto" (one if there is
	// any). Engines use one GPU, the first.
	Device string
	// CPUs is the number of queries that run on CPUs at the same time; 0: all processors.
	CPUs int
}

// RefuseGPU returns an error that wraps base.ErrBadInput if a GPU must exist, which an engine does not use
// because of an option, such as "on=cpu", or "" for any options.
func (r Resources) RefuseGPU(because string) error {
	switch {
	case r.Device == "" || r.Device == "cpu" || r.Device == "auto":
		return nil
	case because == "":
		return fmt.Errorf("device %s: this engine runs on CPUs only: use the device cpu or auto: %w", r.Device, base.ErrBadInput)
	}
	return fmt.Errorf("device %s: %s uses no GPU: leave %s out, or use the device cpu or auto: %w", r.Device, because, because, base.ErrBadInput)
}

var registry = []Info{{
	Name: Default, Summary: "Griffin's own engine: the fastest way for each query, on CPU and GPU",
	Algorithms: []string{
		"OR: block-max MaxScore; AND: small against small; score at a time with --mode saat",
		"GPU: decoded or compressed lists in its memory, one launch for a query or a batch",
		"a cost model chooses the processor for each step (see griffin bench --help for --policy)",
	},
	Modes: []string{"or", "and", "and+or", "saat"}, ResultCache: true,
}}

// Register adds an engine. Init functions call it; the name must be new.
func Register(info Info) {
	if find(info.Name) != nil || info.Open == nil {
		panic("engine: " + info.Name + " is registered twice, or cannot be opened")
	}
	registry = append(registry, info)
	base.Sort(registry[1:], func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
}

// All returns the engines, the default first, then by name. The caller must not change them.
func All() []Info { return registry }

func find(name string) *Info {
	for i := range registry {
		if registry[i].Name == name {
			return &registry[i]
		}
	}
	return nil
}

// Spec is a chosen engine with its options.
type Spec struct {
	Info    *Info
	options Options
}

// Parse parses NAME or NAME:OPTION=VALUE,OPTION=VALUE; "" is Default. The error wraps
// base.ErrBadInput. Values are checked by Open.
func Parse(text string) (Spec, error) {
	name, list, hasOptions := strings.Cut(text, ":")
	if text == "" {
		name = Default
	}
	s := Spec{Info: find(name)}
	if s.Info == nil && len(registry) == 1 {
		return Spec{}, fmt.Errorf("engine %q: this program has only the default one; those of the papers need the import of github.com/griffin-search/griffin/engines, and a binary built without the tag nolab: %w", name, base.ErrBadInput)
	}
	if s.Info == nil {
		return Spec{}, fmt.Errorf("engine %q: %s: %w", name, unknown(name, registry, func(i Info) string { return i.Name }), base.ErrBadInput)
	}
	s.options = Options{info: s.Info, values: map[string]string{}}
	for _, o := range s.Info.Options {
		s.options.values[o.Name] = o.Default
	}
	if !hasOptions {
		return s, nil
	}
	given := map[string]bool{}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return Spec{}, fmt.Errorf("engine %s: option %q: want NAME=VALUE: %w", name, pair, base.ErrBadInput)
		}
		if given[key] {
			return Spec{}, fmt.Errorf("engine %s: option %s is given twice: %w", name, key, base.ErrBadInput)
		}
		if err := s.Set(key, value); err != nil {
			return Spec{}, err
		}
		given[key] = true
	}
	return s, nil
}

// IsDefault reports whether the spec is of Griffin's own engine.
func (s Spec) IsDefault() bool { return s.Info.Open == nil }

// String returns the spec in the form of Parse.
func (s Spec) String() string {
	text, separator := s.Info.Name, ":"
	for _, o := range s.Info.Options {
		if v := s.options.values[o.Name]; v != o.Default {
			text += separator + o.Name + "=" + v
			separator = ","
		}
	}
	return text
}

// Set sets an option. The error wraps base.ErrBadInput if there is none of that name.
func (s Spec) Set(option, value string) error {
	if _, ok := s.options.values[option]; !ok {
		return fmt.Errorf("engine %s: option %q: %s: %w", s.Info.Name, option,
			unknown(option, s.Info.Options, func(o Option) string { return o.Name }), base.ErrBadInput)
	}
	s.options.values[option] = value
	return nil
}

// Has reports whether the engine has an option.
func (s Spec) Has(option string) bool {
	_, ok := s.options.values[option]
	return ok
}

// Open opens the engine, which must not be the default one. The error wraps base.ErrBadInput if a
// value of an option cannot be used, or the device does not exist.
func (s Spec) Open(r Resources) (Engine, error) {
	e, err := s.Info.Open(s.options, r)
	if err != nil {
		return nil, fmt.Errorf("engine %s: %w", s.Info.Name, err)
	}
	return named{e, s.String()}, nil
}

// named adds its name to the counts of an engine.
type named struct {
	Engine
	name string
}

func (n named) Stats() Stats {
	s := n.Engine.Stats()
	s.Name = n.name
	return s
}

// unknown lists the names that there are, or suggests the closest.
func unknown[T any](name string, all []T, nameOf func(T) string) string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = nameOf(all[i])
	}
	switch s := suggest.Closest(name, names); {
	case s != "":
		return "there is none of that name; did you mean " + s + "?"
	case len(names) == 0:
		return "it has no options"
	}
	return "there is none of that name; there are " + strings.Join(names, ", ")
}
