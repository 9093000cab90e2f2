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
	"github.com/griffin-search/griffin/internal/vfs"
)

// FormatVersion is the version of a segment's files. History:
//
//	1: the first.
const FormatVersion = 1

// Names of the files of a segment, which are their kinds too. Optional ones
// are not there if there is nothing for them to hold.
const (
	fileMeta      = "meta"
	fileTerms     = "terms"   // dictionary: term to record
	fileRecords   = "records" // postings.Meta of each term
	filePostings  = "postings"
	filePositions = "position" // only with Options.Positions
	fileFrontiers = "frontier"
	fileLengths   = "lengths"
	fileIDs       = "ids"
	fileStored    = "stored" // only with Options.Stored
	fileOrder     = "order"  // only if stored documents are not in DocID order
)

// Options say how Write makes a segment.
type Options struct {
	// Fields are the names of the indexed fields, at most base.MaxFields.
	// Fields[0] is "", the default field.
	Fields []string
	// Codec is the name of the posting lists' codec (codec.Names).
	Codec string
	// Analyzer is the name of the analyzer that made the terms. Kept, not used.
	Analyzer string
	// BM25 are the parameters that the bounds of lists and blocks are made for.
	BM25 score.BM25
	// Weights says that frequencies are weights from outside, at most
	// score.MaxBound: bounds are for them, and BM25 plays no part.
	Weights bool
	// Positions and Stored say whether positions and stored documents are
	// kept. Where a source has none, Write fails.
	Positions, Stored bool
	// Order, if not nil, renumbers the documents: Order[i] is the number of the
	// document that gets DocID i, counted through all sources in order with the
	// dropped documents left out (the DocID that it had without Order). It is a
	// permutation of [0, number of documents kept). Stored documents stay in
	// the order of the sources; a column finds them. Each thread of Write then
	// holds the posting list that it is at in memory: 20 bytes a posting, with
	// positions 28 and the positions themselves.
	Order []base.DocID
	// Threads is how many lists are encoded at a time; 0 means GOMAXPROCS. The
	// files do not depend on it.
	Threads int
}

// Meta describes a segment.
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

	sum uint32 // of the file that it was read from or written to
}

// Sum identifies the segment's content: the checksum of its metadata, which
// hold those of its files.
func (m *Meta) Sum() uint32 { return m.sum }

// FieldMeta has the counts of one field of a segment.
type FieldMeta struct {
	Name string `json:"name"`
	// NumDocs is the number of documents with at least one token in the field.
	NumDocs     int    `json:"num_docs"`
	TotalTokens uint64 `json:"total_tokens"` // sum of the lengths
	NumTerms    uint64 `json:"num_terms"`
	NumPostings uint64 `json:"num_postings"`
	// AvgLen is TotalTokens divided by the segment's number of documents (all
	// of them, as published BM25 figures count), 0 if there are none. The
	// bounds of the field's lists are made for it.
	AvgLen float64 `json:"avg_len"`
}

// FileMeta names a file of a segment and what Open holds it against.
type FileMeta struct {
	Name      string `json:"name"`
	SizeBytes int64  `json:"size_bytes"`
	// Sum is the checksum of the file's checksum table: files of another
	// segment or another time do not pass.
	Sum uint32 `json:"sum"`
}

// SizeBytes is the size of all files but meta itself.
func (m *Meta) SizeBytes() int64 {
	var n int64
	for _, f := range m.Files {
		n += f.SizeBytes
	}
	return n
}

// avgLen is the mean that bounds are made for and searches of one segment use.
func avgLen(totalTokens uint64, numDocs int) float64 {
	if numDocs == 0 {
		return 0
	}
	return float64(totalTokens) / float64(numDocs)
}

// saveMeta writes the file that makes a folder a segment: it is written last.
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

// parseMeta reads a meta file's payload. What it returns is consistent: every
// later step may rely on it.
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
	if m.FormatVersion != FormatVersion {
		return fmt.Errorf("segment format %d, this program reads %d: %w", m.FormatVersion, FormatVersion, base.ErrVersion)
	}
	if m.NumDocs < 0 || m.NumDocs > base.MaxDocs {
		return fmt.Errorf("%d documents: %w", m.NumDocs, base.ErrCorrupt)
	}
	names := make([]string, len(m.Fields))
	for i, f := range m.Fields {
		names[i] = f.Name
		if f.NumDocs < 0 || f.NumDocs > m.NumDocs || f.TotalTokens < uint64(f.NumDocs) || f.NumPostings < f.NumTerms ||
			f.AvgLen != avgLen(f.TotalTokens, m.NumDocs) {
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

// validate checks options against the number of documents that are kept and
// returns the codec.
func (o *Options) validate(numDocs int) (codec.Codec, error) {
	if numDocs > base.MaxDocs {
		return nil, fmt.Errorf("%d documents, more than %d: %w", numDocs, base.MaxDocs, base.ErrBadInput)
	}
	if err := validateFields(o.Fields); err != nil {
		return nil, err
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

// abort gives a file up because of err.
func abort(err error, w *sealed.Writer) error { return errors.Join(err, w.Abort()) }
