package lab

import (
	"errors"
	"time"
)

// Result is the result of an experiment.
type Result struct {
	Tables  []*Table  `json:"tables,omitempty"`
	Figures []*Figure `json:"figures,omitempty"`
	// Sentences in Markdown about the numbers.
	Notes []string `json:"notes,omitempty"`
}

// Check reports declared but missing items.
func (r *Result) Check() error {
	var errs []error
	for _, t := range r.Tables {
		errs = append(errs, t.Check())
	}
	for _, f := range r.Figures {
		errs = append(errs, f.Check())
	}
	if len(r.Tables)+len(r.Figures) == 0 {
		errs = append(errs, errors.New("the result has neither table nor figure"))
	}
	return errors.Join(errs...)
}

// Record is a result with its provenance: all that a report needs.
type Record struct {
	Name       string     `json:"name"`
	Paper      string     `json:"paper"`
	Shows      string     `json:"shows"`
	Title      string     `json:"title"`
	Did        string     `json:"did"`
	Ours       string     `json:"ours"`
	Differs    string     `json:"differs"`
	Result     *Result    `json:"result"`
	Provenance Provenance `json:"provenance"`
}

// Provenance describes how numbers were obtained.
type Provenance struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	SIMD  string `json:"simd"`
	// With the driver; "" if none was used.
	GPU      string `json:"gpu,omitempty"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
	Commit   string `json:"commit"`
	// Mean number of runnable tasks of other programs in the minute before; 0:
	// unknown.
	Load        float64       `json:"load,omitempty"`
	Seed        uint64        `json:"seed"`
	Collections []string      `json:"collections,omitempty"` // opened by the experiment
	Command     string        `json:"command"`
	Date        time.Time     `json:"date"`
	Took        time.Duration `json:"took_ns"`
	Prepared    time.Duration `json:"prepared_ns"` // time to build collections, in addition to Took
	Budget      time.Duration `json:"budget_ns"`
	Quick       bool          `json:"quick,omitempty"`
}
