package griffin

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/engine"
)

// EngineInfo describes an engine: a system that answers queries by its own algorithms, end to end.
type EngineInfo struct {
	Name string `json:"name"`
	// Paper is the reference of the paper that describes it; "" of the default engine.
	Paper   string `json:"paper,omitempty"`
	Summary string `json:"summary"`
	// Algorithms, a line each, with the section of the paper.
	Algorithms []string `json:"algorithms,omitempty"`
	// Modes of the queries that it answers, in the form of ParseMode.
	Modes   []string       `json:"modes"`
	Options []EngineOption `json:"options,omitempty"`
	// ResultCache: Options.ResultCache can be used with it.
	ResultCache bool `json:"result_cache,omitempty"`
}

// EngineOption is a parameter of an engine, with the name and the default of the paper.
type EngineOption struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Values  string `json:"values"`
	Help    string `json:"help"`
}

// Engines returns the engines of this program, the default ("griffin") first. A program that imports
// the package github.com/griffin-search/griffin/engines has the papers' engines, too.
func Engines() []EngineInfo {
	var all []EngineInfo
	for _, i := range engine.All() {
		e := EngineInfo{Name: i.Name, Paper: i.Paper, Summary: i.Summary, Algorithms: i.Algorithms, Modes: i.Modes, ResultCache: i.ResultCache}
		for _, o := range i.Options {
			e.Options = append(e.Options, EngineOption(o))
		}
		all = append(all, e)
	}
	return all
}

// openEngine opens the engine of the options, nil for the default one, and returns its name with options.
func (o *RuntimeOptions) openEngine() (name string, e engine.Engine, err error) {
	spec, err := engine.Parse(o.Engine)
	if err != nil {
		return "", nil, err
	}
	if spec.IsDefault() {
		return spec.String(), nil, nil
	}
	if o.Policy != "" {
		return "", nil, fmt.Errorf("policy %s with engine %s: policies are of the default engine: %w", o.Policy, spec.Info.Name, ErrBadInput)
	}
	r := engine.Resources{Device: o.GPU.Device}
	if o.Limits != nil {
		r.CPUs = o.Limits.Running
	}
	e, err = spec.Open(r)
	return spec.String(), e, err
}

// checkEngine returns an error if the options of an index do not fit the engine of its Runtime.
func (o *Options) checkEngine(r *Runtime) error {
	spec, err := engine.Parse(r.options.Engine)
	if err == nil && o.ResultCache > 0 && !spec.Info.ResultCache {
		err = fmt.Errorf("result cache: engine %s has none: %w", spec.Info.Name, ErrBadInput)
	}
	return err
}
