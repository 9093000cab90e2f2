package index

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
)

// Options of an index are fixed when it is made, but for fields that are added; zero has the defaults.
type Options struct {
	// Analyzer names the analyzer of documents and queries; "": "english".
	Analyzer string `json:"analyzer"`
	// Analysis defines further analyzers; nil: none.
	Analysis *analysis.Settings `json:"analysis,omitempty"`
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
	// title goes to "title", its further fields to equal names. With a Mapping, they are its fields with
	// posting lists.
	Fields []string `json:"fields"`
	// Mapping describes all fields next to the default one. nil: they are the texts of Fields.
	Mapping *mapping.Mapping `json:"mapping,omitempty"`
	// WeightScale, if not 0, makes an index of vectors: weighted terms, as of learned sparse
	// models (corpus.Document.Vector), stored as round(weight*WeightScale) instead of a
	// frequency. A score is the dot product of query and document; BM25 does not apply. Terms
	// are not analysed; there are no positions and further fields.
	WeightScale float64 `json:"weight_scale,omitempty"`
	// TitleWeight is how often the title counts in the default field, up to inverter.MaxTitleWeight; 0: once.
	TitleWeight int `json:"title_weight,omitempty"`
	// NameField, if not "", names a further field of documents with the path of a file: the words of the
	// file's name count as the title does.
	NameField string `json:"name_field,omitempty"`
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
	switch {
	case o.Mapping != nil && o.Fields != nil && !slices.Equal(o.Fields, o.Mapping.TermFields()):
		return o, fmt.Errorf("fields %q beside a mapping: declare them there: %w", o.Fields, base.ErrBadInput)
	case o.Mapping != nil && o.Mapping.Dynamic() == mapping.DynamicTrue:
		return o, fmt.Errorf("mapping with [dynamic] true: only the HTTP API of a folder of indexes declares fields of documents; use false or strict, and griffin mapping --guess for the fields of files: %w", base.ErrBadInput)
	case o.Mapping != nil:
		o.Fields = o.Mapping.TermFields()
	case o.Fields == nil:
		o.Fields = []string{inverter.TitleField}
		if o.Weighted() {
			o.Fields = []string{}
		}
	}
	o.Fields = slices.Clone(o.Fields)
	for _, name := range o.Fields {
		if err := mapping.CheckName(name); err != nil {
			return o, err
		}
	}
	return o, o.validate()
}

func (o *Options) validate() error {
	if err := o.validateMapping(); err != nil {
		return err
	}
	if err := o.Scheme().Check(); err != nil {
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
	if o.TitleWeight < 0 || o.TitleWeight > inverter.MaxTitleWeight {
		return fmt.Errorf("title weight %d: want 1 to %d: %w", o.TitleWeight, inverter.MaxTitleWeight, base.ErrBadInput)
	}
	if len(o.Fields) >= base.MaxFields {
		return fmt.Errorf("%d fields next to the default one, at most %d: %w", len(o.Fields), base.MaxFields-1, base.ErrBadInput)
	}
	seen := make(map[string]bool, len(o.Fields))
	for _, name := range o.Fields {
		if seen[name] {
			return fmt.Errorf("field %q is declared twice: %w", name, base.ErrBadInput)
		}
		seen[name] = true
	}
	return nil
}

func (o *Options) validateMapping() error {
	if o.Mapping == nil {
		return nil
	}
	if err := o.Mapping.Complete(); err != nil {
		return err
	}
	if !slices.Equal(o.Fields, o.Mapping.TermFields()) {
		return fmt.Errorf("fields %q, but the mapping has lists of %q: %w", o.Fields, o.Mapping.TermFields(), base.ErrBadInput)
	}
	for _, f := range o.Mapping.Fields() {
		if f.Normalizer != "" {
			if _, err := o.Analysis.Normalizer(f.Normalizer); err != nil {
				return fmt.Errorf("field %q: %w", f.Name, err)
			}
		}
		for _, name := range []string{f.Analyzer, f.SearchAnalyzer} {
			if name == "" {
				continue
			}
			if _, err := o.Analysis.New(name, analysis.Documents); err != nil {
				return fmt.Errorf("field %q: %w", f.Name, err)
			}
		}
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
	case o.Mapping != nil:
		return fmt.Errorf("an index of weights has no mapping: %w", base.ErrBadInput)
	case len(o.Fields) > 0:
		return fmt.Errorf("an index of weights has no fields %q: %w", o.Fields, base.ErrBadInput)
	case o.TitleWeight > 1 || o.NameField != "":
		return fmt.Errorf("an index of weights has no weight of titles: %w", base.ErrBadInput)
	}
	return nil
}

// Scheme maps the fields to their analyzers.
func (o *Options) Scheme() *analysis.Scheme {
	s := analysis.NewScheme(o.Analysis, o.Analyzer)
	if o.Mapping == nil {
		return s
	}
	for _, f := range o.Mapping.Fields() {
		switch {
		case f.Type == mapping.Text:
			s.Set(f.Name, f.Analyzer, f.SearchAnalyzer)
		case f.HasTerms() && f.Normalizer != "":
			s.Set(f.Name, analysis.NormalizerPrefix+f.Normalizer, "")
		case f.HasTerms():
			s.Set(f.Name, "keyword", "")
		}
	}
	return s
}

// Schema is how documents are inverted.
func (o *Options) Schema() *inverter.Schema {
	return &inverter.Schema{
		Analyzer:    o.Analyzer,
		Analysis:    o.Analysis,
		Fields:      append([]string{""}, o.Fields...),
		Positions:   o.Positions,
		Stored:      !o.NoStored,
		WeightScale: o.WeightScale,
		TitleWeight: o.TitleWeight,
		NameField:   o.NameField,
		Mapping:     o.Mapping,
	}
}

func (o *Options) segmentOptions(threads int) segment.Options {
	return segment.Options{
		Fields:      append([]string{""}, o.Fields...),
		UnitLengths: o.unitLengths(),
		Codec:       o.Codec,
		Analyzer:    o.Analyzer,
		BM25:        o.BM25,
		Weights:     o.Weighted(),
		Positions:   o.Positions,
		Stored:      !o.NoStored,
		Threads:     threads,

		WeightFields: o.weightFields(),
	}
}

// weightFields marks the vectors by base.FieldID; nil: there is none.
func (o *Options) weightFields() []bool {
	return o.termFields(func(f *mapping.Field) bool { return f.Type.Vector() })
}

// unitLengths marks the keywords by base.FieldID; nil: there is none.
func (o *Options) unitLengths() []bool {
	return o.termFields(func(f *mapping.Field) bool { return f.Type == mapping.Keyword })
}

// termFields marks the fields with posting lists that are of a kind by base.FieldID; nil: there is none.
func (o *Options) termFields(is func(f *mapping.Field) bool) []bool {
	if o.Mapping == nil {
		return nil
	}
	marks, found := []bool{false}, false
	fields := o.Mapping.Fields()
	for i := range fields {
		if f := &fields[i]; f.HasTerms() {
			marks, found = append(marks, is(f)), found || is(f)
		}
	}
	if !found {
		return nil
	}
	return marks
}
