package griffin

import (
	"github.com/griffin-search/griffin/codec"
)

// Stats describes an index as of one commit.
type Stats struct {
	NumDocs     int    `json:"num_docs"`     // that a search can find
	DeletedDocs int    `json:"deleted_docs"` // not yet merged away
	Generation  uint64 `json:"generation"`   // number of the commit
	Analyzer    string `json:"analyzer"`
	Codec       string `json:"codec"`
	Positions   bool   `json:"positions"`
	Stored      bool   `json:"stored"`
	// K1 and B of BM25, as searches use them.
	K1       float32        `json:"k1"`
	B        float32        `json:"b"`
	Fields   []FieldStats   `json:"fields"` // the default field, named "", first
	Segments []SegmentStats `json:"segments"`
	// SizeBytes of all parts by name ("postings", "stored", …), and in all.
	Parts     map[string]int64 `json:"parts"`
	SizeBytes int64            `json:"size_bytes"`
	// BitsPerPosting is the size of all posting lists (DocIDs, frequencies and
	// the directory of their blocks) over the number of postings.
	BitsPerPosting float64 `json:"bits_per_posting"`
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

// Stats describes the index.
func (ix *Index) Stats() (Stats, error) { return Stats{}, errIncomplete }

// Analyzers returns the names of all analyzers.
func Analyzers() []string { return nil }

// Codecs returns the names of all codecs.
func Codecs() []string { return codec.Names() }

// Formats returns the names of all input formats of IndexFiles.
func Formats() []string { return nil }

// Traversals returns the names of the algorithms that a mode can run on, the
// default first.
func Traversals(m Mode) []string { return nil }
