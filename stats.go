package griffin

import (
	"encoding/json"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
)

// Stats describes an index as of one commit.
type Stats struct {
	NumDocs     int    `json:"num_docs"`     // that a search can find
	DeletedDocs int    `json:"deleted_docs"` // not yet merged away
	Generation  uint64 `json:"generation"`   // number of the commit
	Analyzer    string `json:"analyzer"`
	// Analysis as in Settings, with the content of files.
	Analysis  json.RawMessage `json:"analysis,omitempty"`
	Codec     string          `json:"codec"`
	Positions bool            `json:"positions"`
	// WeightScale as in Settings.
	WeightScale float64 `json:"weight_scale,omitempty"`
	// TitleWeight and NameField as in Settings.
	TitleWeight int    `json:"title_weight,omitempty"`
	NameField   string `json:"name_field,omitempty"`
	Stored      bool   `json:"stored"`
	// K1 and B of BM25, as searches use them.
	K1       float32        `json:"k1"`
	B        float32        `json:"b"`
	Fields   []FieldStats   `json:"fields"` // the default field, named "", first
	Segments []SegmentStats `json:"segments"`
	// Columns are the fields whose values can be filtered, sorted or counted.
	Columns []ColumnStats `json:"columns,omitempty"`
	// SizeBytes of all parts by name ("postings", "stored", …), and in all.
	Parts     map[string]int64 `json:"parts"`
	SizeBytes int64            `json:"size_bytes"`
	// BitsPerPosting is the size of all posting lists, with frequencies and directories of
	// blocks, over the number of postings.
	BitsPerPosting float64 `json:"bits_per_posting"`
	// Impacts are the impact-ordered lists; nil if there are none.
	Impacts *ImpactStats `json:"impacts,omitempty"`
}

// FieldStats describes a field over all segments.
type FieldStats struct {
	Name        string  `json:"name"`
	NumDocs     uint64  `json:"num_docs"` // that have a token in the field
	NumTokens   uint64  `json:"num_tokens"`
	NumPostings uint64  `json:"num_postings"`
	NumTerms    uint64  `json:"num_terms"` // summed over segments
	AvgLength   float64 `json:"avg_length"`
}

// SegmentStats describes one segment.
type SegmentStats struct {
	Name        string `json:"name"`
	NumDocs     int    `json:"num_docs"`
	DeletedDocs int    `json:"deleted_docs"`
	SizeBytes   int64  `json:"size_bytes"`
}

// Stats describes the index as of the last commit that this Index has seen.
func (ix *Index) Stats() (Stats, error) {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return Stats{}, err
	}
	defer snapshot.Release()
	o := &snapshot.Options
	bm25 := dispatch.NewSearcher(snapshot, ix.options.bm25()).BM25()
	s := Stats{
		NumDocs: snapshot.NumLive, DeletedDocs: snapshot.NumDocs - snapshot.NumLive, Generation: snapshot.Generation,
		Analyzer: o.Analyzer, Codec: o.Codec, Positions: o.Positions, WeightScale: o.WeightScale, TitleWeight: o.TitleWeight, NameField: o.NameField, Stored: !o.NoStored, K1: bm25.K1, B: bm25.B,
		Fields: make([]FieldStats, len(snapshot.Fields)), Segments: make([]SegmentStats, len(snapshot.Segments)), Parts: map[string]int64{},
	}
	if o.Analysis != nil {
		if s.Analysis, err = o.Analysis.MarshalJSON(); err != nil {
			return Stats{}, err
		}
	}
	var postings uint64
	for i := range s.Fields {
		f := &snapshot.Fields[i]
		s.Fields[i] = FieldStats{Name: f.Name, NumTokens: f.TotalTokens, NumPostings: f.NumPostings, AvgLength: f.AvgLen()}
		postings += f.NumPostings
	}
	for i := range snapshot.Segments {
		view := &snapshot.Segments[i]
		meta := view.Meta()
		seg := SegmentStats{Name: view.Name, NumDocs: meta.NumDocs, SizeBytes: meta.SizeBytes()}
		if view.Live != nil {
			seg.DeletedDocs = meta.NumDocs - view.Live.Count()
		}
		s.Segments[i] = seg
		s.SizeBytes += seg.SizeBytes
		for _, f := range meta.Files {
			s.Parts[f.Name] += f.SizeBytes
		}
		for j := range meta.Fields {
			s.Fields[j].NumDocs += uint64(meta.Fields[j].NumDocs)
			s.Fields[j].NumTerms += meta.Fields[j].NumTerms
		}
	}
	if s.Columns, err = columnStats(snapshot); err != nil {
		return Stats{}, err
	}
	if s.Impacts, err = statsOfImpacts(snapshot); err != nil {
		return Stats{}, err
	}
	if s.Impacts != nil && !s.Impacts.Computed {
		s.Parts["impacts"] = s.Impacts.SizeBytes
		s.SizeBytes += s.Impacts.SizeBytes
	}
	if postings > 0 {
		s.BitsPerPosting = 8 * float64(s.Parts["postings"]) / float64(postings)
	}
	return s, nil
}

// Analyzers returns the names of all analyzers.
func Analyzers() []string { return analysis.Names() }

// Codecs returns the names of all codecs.
func Codecs() []string { return codec.Names() }

// Formats returns the names of all input formats of IndexFiles.
func Formats() []string { return corpus.Formats() }

// Traversals returns the sorted names of the algorithms for flat queries of a mode.
func Traversals(m Mode) []string { return plan.Traversals(plan.Mode(m)) }
