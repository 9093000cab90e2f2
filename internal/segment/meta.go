package segment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
)

// FormatVersion is the files' version. History:
//
//	1: the first. The order is kept with stored documents only, without its inverse.
//	2: order and inverse of every reordered segment; optional files.
const (
	FormatVersion    = 2
	minFormatVersion = 1
)

// The files' names and kinds. Optional files are absent if empty.
const (
	fileMeta      = "meta"
	fileTerms     = "terms"   // dictionary: term to record
	fileRecords   = "records" // postings.Meta of each term
	filePostings  = "postings"
	filePositions = "position" // only with Options.Positions
	fileFrontiers = "frontier"
	fileLengths   = "lengths"
	fileIDs       = "ids"
	fileStored    = "stored"  // only with Options.Stored
	fileOrder     = "order"   // only if documents are not in the order in which they were written
	fileInverse   = "inverse" // of order
	fileVersions  = "version" // only if documents have versions
	fileColumns   = "columns" // only if documents have values in columns
)

// Options configure Write.
type Options struct {
	// Fields names indexed fields, at most base.MaxFields; Fields[0] is "", the default.
	Fields []string
	// UnitLengths marks, by FieldID, fields in which a document has the length 1, or 0 without a
	// value: a bit is stored, and their mean length is 1. Missing ones are false; the default field
	// is never one.
	UnitLengths []bool
	// Codec names the lists' codec (codec.Names).
	Codec string
	// Analyzer is only recorded.
	Analyzer string
	// BM25 parameters of the bounds.
	BM25 score.BM25
	// Weights marks frequencies as learned weights, at most score.MaxBound, which give the
	// bounds, without BM25.
	Weights bool
	// WeightFields marks, by FieldID, fields with such weights beside others; missing ones are false. They have
	// no positions. The default field is never one.
	WeightFields []bool
	// Positions and Stored keep these; Write fails if a source lacks them.
	Positions, Stored bool
	// Recompress makes blocks of stored documents smaller that were compressed quickly (StoredWriter.Reset).
	Recompress bool
	// Order, if not nil, assigns DocID i to document Order[i]: a permutation of the kept
	// documents, counted over all sources in order. Stored documents keep the sources' order; two
	// columns map DocIDs to that order and back. Each thread holds its posting list in memory: 20 bytes a
	// posting, with positions 28 and the positions.
	Order []base.DocID
	// Threads encode concurrently; 0 means GOMAXPROCS. The files do not depend on it.
	Threads int
	// Turns bound the goroutines of Write that compute at the same time, together with other holders; nil: no bound.
	Turns *turns.Turns
}

// Meta is the JSON of a segment's meta file (docs/formats/segment.md).
type Meta struct {
	FormatVersion int         `json:"format_version"`
	NumDocs       int         `json:"num_docs"`
	Fields        []FieldMeta `json:"fields"`
	Codec         string      `json:"codec"`
	Analyzer      string      `json:"analyzer"`
	BM25          score.BM25  `json:"bm25"`
	Weights       bool        `json:"weights,omitempty"`
	Positions     bool        `json:"positions"`
	Stored        bool        `json:"stored"`
	Files         []FileMeta  `json:"files"`

	sum uint32 // checksum of the meta file
}

// Sum identifies the content: the checksum of the metadata, which contain the files' checksums.
func (m *Meta) Sum() uint32 { return m.sum }

// FieldMeta counts one field.
type FieldMeta struct {
	Name string `json:"name"`
	// NumDocs have at least one token in the field.
	NumDocs     int    `json:"num_docs"`
	TotalTokens uint64 `json:"total_tokens"` // sum of the lengths
	NumTerms    uint64 `json:"num_terms"`
	NumPostings uint64 `json:"num_postings"`
	// AvgLen is TotalTokens divided by all documents, as published BM25 results count, or 0; 1 of a
	// unit field. Bounds are for it.
	AvgLen float64 `json:"avg_len"`
	// UnitLengths is as in Options.
	UnitLengths bool `json:"unit_lengths,omitempty"`
	// Weights is as Options.WeightFields.
	Weights bool `json:"weights,omitempty"`
}

// Saturation is the one for which the bounds of a field's lists were computed.
func (m *Meta) Saturation(f base.FieldID) score.Saturation {
	field := &m.Fields[f]
	return score.Saturation{BM25: m.BM25, AvgLen: field.AvgLen, Linear: m.Weights || field.Weights}
}

// FileMeta identifies a file of a segment for Open.
type FileMeta struct {
	Name      string `json:"name"`
	SizeBytes int64  `json:"size_bytes"`
	// Sum is the checksum of the checksum table; it differs between segments.
	Sum uint32 `json:"sum"`
	// Optional files can be ignored by a program that does not know them.
	Optional bool `json:"optional,omitempty"`
}

// SizeBytes excludes meta.
func (m *Meta) SizeBytes() int64 {
	var n int64
	for _, f := range m.Files {
		n += f.SizeBytes
	}
	return n
}

// avgLen returns the mean length for which bounds are made and that searches of one
// segment use.
func (f *FieldMeta) avgLen(numDocs int) float64 {
	switch {
	case f.UnitLengths:
		return 1
	case numDocs == 0:
		return 0
	}
	return float64(f.TotalTokens) / float64(numDocs)
}

// saveMeta writes meta, which completes a segment and is therefore last.
func saveMeta(fs vfs.FS, dir string, m *Meta) error {
	payload, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	w, err := sealed.Create(fs, filepath.Join(dir, fileMeta), fileMeta, FormatVersion)
	if err != nil {
		return err
	}
	if _, err := w.Write(payload); err != nil {
		return abort(err, w)
	}
	if err := w.Close(); err != nil {
		return err
	}
	m.sum = w.Sum()
	return nil
}

func loadMeta(fs vfs.FS, dir string) (*Meta, error) {
	f, err := sealed.Open(fs, filepath.Join(dir, fileMeta), fileMeta, FormatVersion)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	payload, err := f.Range(0, f.Len())
	if err != nil {
		return nil, err
	}
	m, err := parseMeta(payload)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	m.sum = f.Sum()
	return m, nil
}

// parseMeta returns only consistent metadata, on which later steps rely.
func parseMeta(payload []byte) (*Meta, error) {
	m := new(Meta)
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", err, base.ErrCorrupt)
	}
	if d.More() {
		return nil, fmt.Errorf("bytes after the end: %w", base.ErrCorrupt)
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Meta) validate() error {
	if m.FormatVersion < minFormatVersion || m.FormatVersion > FormatVersion {
		return fmt.Errorf("segment format %d, this program reads %d to %d: %w", m.FormatVersion, minFormatVersion, FormatVersion, base.ErrVersion)
	}
	if m.NumDocs < 0 || m.NumDocs > base.MaxDocs {
		return fmt.Errorf("%d documents: %w", m.NumDocs, base.ErrCorrupt)
	}
	names := make([]string, len(m.Fields))
	for i := range m.Fields {
		f := &m.Fields[i]
		names[i] = f.Name
		if f.Weights && (i == 0 || f.UnitLengths || m.Weights) {
			return fmt.Errorf("field %q: it cannot have weights: %w", f.Name, base.ErrCorrupt)
		}
		if f.UnitLengths && (i == 0 || f.TotalTokens != uint64(f.NumDocs)) {
			return fmt.Errorf("field %q: %d unit lengths of %d documents: %w", f.Name, f.TotalTokens, f.NumDocs, base.ErrCorrupt)
		}
		if f.NumDocs < 0 || f.NumDocs > m.NumDocs || f.TotalTokens < uint64(f.NumDocs) || f.NumPostings < f.NumTerms ||
			f.AvgLen != f.avgLen(m.NumDocs) {
			return fmt.Errorf("field %q: counts contradict each other: %w", f.Name, base.ErrCorrupt)
		}
	}
	if err := validateFields(names); err != nil {
		return fmt.Errorf("%w: %w", err, base.ErrCorrupt)
	}
	for i, f := range m.Files {
		if f.SizeBytes < 0 || i > 0 && f.Name <= m.Files[i-1].Name {
			return fmt.Errorf("file %q: size or order: %w", f.Name, base.ErrCorrupt)
		}
	}
	return nil
}

func validateFields(names []string) error {
	if len(names) == 0 || len(names) > base.MaxFields || names[0] != "" {
		return fmt.Errorf("%d fields (want 1 to %d, the first the default field): %w", len(names), base.MaxFields, base.ErrBadInput)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("field %q twice: %w", name, base.ErrBadInput)
		}
		seen[name] = true
	}
	return nil
}

// validate checks options for numDocs kept documents and returns the codec.
func (o *Options) validate(numDocs int) (codec.Codec, error) {
	if numDocs > base.MaxDocs {
		return nil, fmt.Errorf("%d documents, more than %d: %w", numDocs, base.MaxDocs, base.ErrBadInput)
	}
	if err := validateFields(o.Fields); err != nil {
		return nil, err
	}
	if len(o.UnitLengths) > len(o.Fields) || o.unitLengths(0) {
		return nil, fmt.Errorf("unit lengths of %d fields, the first %t: %w", len(o.UnitLengths), o.unitLengths(0), base.ErrBadInput)
	}
	if len(o.WeightFields) > len(o.Fields) || o.weights(0) {
		return nil, fmt.Errorf("weights of %d fields, of the first %t: %w", len(o.WeightFields), o.weights(0), base.ErrBadInput)
	}
	for f := range o.WeightFields {
		if o.weights(f) && (o.Weights || o.unitLengths(f)) {
			return nil, fmt.Errorf("field %q cannot have weights: %w", o.Fields[f], base.ErrBadInput)
		}
	}
	c, err := codec.Lookup(o.Codec)
	if err != nil {
		return nil, err
	}
	if o.Order == nil {
		return c, nil
	}
	if len(o.Order) != numDocs {
		return nil, fmt.Errorf("order of %d documents for %d: %w", len(o.Order), numDocs, base.ErrBadInput)
	}
	seen := NewBitmap(numDocs)
	for i, d := range o.Order {
		if int64(d) >= int64(numDocs) || !seen.Set(int(d)) {
			return nil, fmt.Errorf("order[%d] = %d: not a permutation: %w", i, d, base.ErrBadInput)
		}
	}
	return c, nil
}

// weights reports whether a field has weights beside others.
func (o *Options) weights(field int) bool {
	return field < len(o.WeightFields) && o.WeightFields[field]
}

// positionsOf reports whether the lists of a field have positions.
func (o *Options) positionsOf(field base.FieldID) bool { return o.Positions && !o.weights(int(field)) }

func abort(err error, w interface{ Abort() error }) error { return errors.Join(err, w.Abort()) }
