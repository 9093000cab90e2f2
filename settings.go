package griffin

import (
	"encoding/json"
	"fmt"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/score"
)

// DefaultAnalyzer is the default of Settings.Analyzer. Stop words are in the index, for phrases and for
// queries of nothing else. "english", Lucene's chain of that name, leaves them out.
const DefaultAnalyzer = "english-full"

// Settings of an index are fixed when it is created, except that fields can be added. The zero value
// has the defaults.
type Settings struct {
	// Analyzer turns text into index terms: one of Analyzers, or of Analysis; "" is
	// DefaultAnalyzer, or the analyzer "default" of Analysis.
	Analyzer string
	// Analysis defines analyzers, in the JSON of OpenSearch's analysis settings. ReadAnalysis reads
	// it from a file. Parameters that name files are ErrBadInput here.
	Analysis json.RawMessage
	// Codec compresses posting lists: one of Codecs; "" is "simdbp".
	Codec string
	// Fields are the fields that queries can search (name:word) beside the default field. nil
	// is "title" only; an empty slice is none. At most 1,000. Index.AddFields and Writer.AddFields
	// add further ones.
	Fields []string
	// Mapping describes the fields in place of Fields, which is then nil: their types, multi-fields and
	// parameters. Fields that it does not declare are stored only, or refused if its "dynamic" is
	// "strict".
	Mapping *Mapping
	// NoPositions leaves out the positions of terms: the index is smaller and has no phrases.
	NoPositions bool
	// NoStored keeps no text: hits have neither title nor snippet, and the index is a third to
	// a half smaller.
	NoStored bool
	// WeightScale, if not 0, makes an index of sparse vectors from learned models: documents
	// have weighted terms (Document.Vector; the field "vector" of JSON Lines), queries too
	// ({"term": 1.5, …}, or words of weight 1 each), and a score is the dot product. The
	// precision of weights is 1/WeightScale: use 1 for models with integer weights up to 65535,
	// 100 for most others. Such an index has no positions and no fields.
	WeightScale float64
	// TitleWeight is how often a title counts in the default field, 1 to 100; 0 is 1. It is the weight of BM25F
	// (Robertson, Zaragoza and Taylor, CIKM 2004), applied to frequencies and lengths when documents are indexed.
	TitleWeight int
	// NameField names a field of documents with the path of a file, such as "path" of what AddFiles reads from
	// folders. The words of the file's name count as the title does.
	NameField string
	// BM25 are the parameters of the ranking function. nil: DefaultBM25.
	BM25 *BM25
}

// BM25 holds the parameters of the ranking function; other values are ErrBadInput. A field that
// is not set is 0: BM25{K1: 1.2} ignores the lengths of documents. To change one parameter,
// start from DefaultBM25. With both 0, a term adds the same to the score of each document that
// has it.
type BM25 struct {
	K1 float32 // 0 to 1000: saturation of term frequencies
	B  float32 // 0 to 1: influence of document length
}

// DefaultBM25 returns the default parameters, K1 0.9 and B 0.4, which published baselines
// of BM25 use (Anserini).
func DefaultBM25() BM25 { return BM25(score.DefaultBM25) }

// With a greater K1, frequencies hardly saturate.
const maxK1 = 1000

func (b *BM25) check() error {
	if b != nil && !(b.K1 >= 0 && b.K1 <= maxK1 && b.B >= 0 && b.B <= 1) {
		return fmt.Errorf("BM25 with k1 = %g, b = %g: k1 must be within 0 and %d, b within 0 and 1: %w", b.K1, b.B, maxK1, ErrBadInput)
	}
	return nil
}

// override returns nil for the parameters of the index.
func (b *BM25) override() *score.BM25 {
	if b == nil {
		return nil
	}
	return &score.BM25{K1: b.K1, B: b.B}
}

func (s *Settings) options() (index.Options, error) {
	o := index.Options{
		Analyzer: s.Analyzer, Codec: s.Codec, Positions: !s.NoPositions && s.WeightScale == 0, NoStored: s.NoStored,
		Fields: s.Fields, Mapping: s.Mapping.of(), WeightScale: s.WeightScale, TitleWeight: s.TitleWeight, NameField: s.NameField,
	}
	if o.TitleWeight == 1 {
		o.TitleWeight = 0 // as without it
	}
	if s.Analysis != nil {
		var err error
		if o.Analysis, err = analysis.ParseSettings(s.Analysis, nil); err != nil {
			return o, err
		}
		if o.Analyzer == "" && o.Analysis.Defines("default") {
			o.Analyzer = "default"
		}
	}
	if o.Analyzer == "" && s.WeightScale == 0 {
		o.Analyzer = DefaultAnalyzer
	}
	if s.BM25 != nil {
		o.BM25, o.BM25IsSet = score.BM25(*s.BM25), true
	}
	return o, s.BM25.check()
}
