package index

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
)

// Options of an index are fixed when it is made, but for fields that are added; zero has the defaults.
type Options struct {
	// Analyzer names the analyzer of documents and queries; "": "english".
	Analyzer string `json:"analyzer"`
	// Codec names the posting lists' codec; "": "simdbp".
	Codec string `json:"codec"`
	// BM25 parameters of scores and bounds; zero: score.DefaultBM25, unless BM25IsSet.
	BM25      score.BM25 `json:"bm25"`
	BM25IsSet bool       `json:"-"`
	// Positions keeps terms' positions, which phrases need.
	Positions bool `json:"positions"`
	// NoStored leaves out titles, texts and further fields: hits have ids only.
	NoStored bool `json:"no_stored"`
	// Fields names indexed fields next to the default one; nil: "title" alone. A document's
	// title goes to "title", its further fields to equal names.
	Fields []string `json:"fields"`
	// WeightScale, if not 0, makes an index of vectors: weighted terms, as of learned sparse
	// models (corpus.Document.Vector), stored as round(weight*WeightScale) instead of a
	// frequency. A score is the dot product of query and document; BM25 does not apply. Terms
	// are not analysed; there are no positions and further fields.
	WeightScale float64 `json:"weight_scale,omitempty"`
}

// Weighted reports whether the index stores weights of vectors.
func (o Options) Weighted() bool { return o.WeightScale != 0 }

// Defaults of Options.
const (
	DefaultAnalyzer = "english"
	DefaultCodec    = "simdbp"
	// Queries of weights are plain text, tokenised beforehand.
	weightAnalyzer = "whitespace"
)

// withDefaults fills in zero values. The error wraps base.ErrBadInput.
func (o Options) withDefaults() (Options, error) {
	if o.Analyzer == "" {
		o.Analyzer = DefaultAnalyzer
		if o.Weighted() {
			o.Analyzer = weightAnalyzer
		}
	}
	if o.Codec == "" {
		o.Codec = DefaultCodec
	}
	if o.BM25 == (score.BM25{}) && !o.BM25IsSet {
		o.BM25 = score.DefaultBM25
	}
	if o.Fields == nil {
		o.Fields = []string{inverter.TitleField}
		if o.Weighted() {
			o.Fields = []string{}
		}
	}
	o.Fields = slices.Clone(o.Fields)
	for _, name := range o.Fields {
		if err := CheckFieldName(name); err != nil {
			return o, err
		}
	}
	return o, o.validate()
}

func (o *Options) validate() error {
	if _, err := analysis.New(o.Analyzer); err != nil {
		return err
	}
	if _, err := codec.Lookup(o.Codec); err != nil {
		return err
	}
	if !(o.BM25.K1 >= 0 && o.BM25.K1 <= 1000 && o.BM25.B >= 0 && o.BM25.B <= 1) {
		return fmt.Errorf("BM25 with k1=%g, b=%g: want k1 in 0..1000 and b in 0..1: %w", o.BM25.K1, o.BM25.B, base.ErrBadInput)
	}
	if err := o.validateWeights(); err != nil {
		return err
	}
	if len(o.Fields) >= base.MaxFields {
		return fmt.Errorf("%d fields next to the default one, at most %d: %w", len(o.Fields), base.MaxFields-1, base.ErrBadInput)
	}
	seen := make(map[string]bool, len(o.Fields))
	for _, name := range o.Fields {
		if !validFieldName(name) {
			return fmt.Errorf("field name %q: want letters, digits, '_', '-' or '.': %w", name, base.ErrBadInput)
		}
		if seen[name] {
			return fmt.Errorf("field %q is declared twice: %w", name, base.ErrBadInput)
		}
		seen[name] = true
	}
	return nil
}

// Far above useful values: 1000 for a weight of 0.001.
const maxWeightScale = 1e6

func (o *Options) validateWeights() error {
	switch {
	case !o.Weighted():
		return nil
	case !(o.WeightScale >= 1/maxWeightScale && o.WeightScale <= maxWeightScale):
		return fmt.Errorf("weight scale %g: want %g to %g: %w", o.WeightScale, 1/maxWeightScale, float64(maxWeightScale), base.ErrBadInput)
	case o.Positions:
		return fmt.Errorf("an index of weights has no positions: %w", base.ErrBadInput)
	case len(o.Fields) > 0:
		return fmt.Errorf("an index of weights has no fields %q: %w", o.Fields, base.ErrBadInput)
	}
	return nil
}

func validFieldName(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	})
}

func (o *Options) schema() *inverter.Schema {
	return &inverter.Schema{
		Analyzer:    o.Analyzer,
		Fields:      append([]string{""}, o.Fields...),
		Positions:   o.Positions,
		Stored:      !o.NoStored,
		WeightScale: o.WeightScale,
	}
}

func (o *Options) segmentOptions(threads int) segment.Options {
	return segment.Options{
		Fields:    append([]string{""}, o.Fields...),
		Codec:     o.Codec,
		Analyzer:  o.Analyzer,
		BM25:      o.BM25,
		Weights:   o.Weighted(),
		Positions: o.Positions,
		Stored:    !o.NoStored,
		Threads:   threads,
	}
}
