package impact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// Options configure a Writer; zero values mean defaults.
type Options struct {
	// IndexID and Generation are the lists' commit.
	IndexID    string
	Generation uint64
	// NumDocs is above all DocIDs.
	NumDocs int
	// Ranking, and Quantizer unless RankingExternal, are the source of impacts.
	Ranking   Ranking
	Quantizer Quantizer
	// Codec is as in package codec; "": DefaultCodec.
	Codec string
	// BitmapBits per posting, at most, store a segment as a bitmap; 0: DefaultBitmapBits,
	// negative: none.
	BitmapBits int
	// Segments shorter than RawBelow are plain DocIDs; 0: DefaultRawBelow, negative: none.
	RawBelow int
}

// QMX is the paper's codec. On 750,000 passages bitmaps make lists 1 % larger; queries take
// 0.35 to 0.45 of the time (docs/benchmarks/saat.md).
const (
	DefaultCodec      = "qmx"
	DefaultBitmapBits = 16
	DefaultRawBelow   = 16
)

// WithDefaults replaces zero values by the defaults.
func (o Options) WithDefaults() Options {
	if o.Codec == "" {
		o.Codec = DefaultCodec
	}
	if o.BitmapBits == 0 {
		o.BitmapBits = DefaultBitmapBits
	}
	if o.RawBelow == 0 {
		o.RawBelow = DefaultRawBelow
	}
	return o
}

// Meta describes a file.
type Meta struct {
	FormatVersion int     `json:"format_version"`
	IndexID       string  `json:"index_id"`
	Generation    uint64  `json:"generation"`
	NumDocs       int     `json:"num_docs"`
	NumTerms      uint64  `json:"num_terms"`
	NumPostings   uint64  `json:"num_postings"`
	Ranking       string  `json:"ranking"`
	K1            float32 `json:"k1"`
	B             float32 `json:"b"`
	// Quantizer maps scores to impacts; zero if the ranking is external.
	Quantizer  Quantizer `json:"quantizer"`
	Codec      string    `json:"codec"`
	Raw        FormStats `json:"raw"`
	Blocks     FormStats `json:"blocks"`
	Bitmap     FormStats `json:"bitmap"`
	ListBytes  uint64    `json:"list_bytes"`
	TableBytes uint64    `json:"table_bytes"`
}

// RankingOf returns the impacts' ranking.
func (m *Meta) RankingOf() Ranking {
	return Ranking{Name: m.Ranking, BM25: score.BM25{K1: m.K1, B: m.B}}
}

// FormStats counts one Form.
type FormStats struct {
	Segments uint64 `json:"segments"`
	Postings uint64 `json:"postings"`
	Bytes    uint64 `json:"bytes"`
}

func (m *Meta) forms() [numForms]*FormStats {
	return [numForms]*FormStats{Raw: &m.Raw, Blocks: &m.Blocks, Bitmap: &m.Bitmap}
}

// BitsPerPosting is the lists' size divided by postings.
func (m *Meta) BitsPerPosting() float64 {
	if m.NumPostings == 0 {
		return 0
	}
	return 8 * float64(m.ListBytes) / float64(m.NumPostings)
}

func parseMeta(data []byte) (*Meta, error) {
	m := new(Meta)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("description: %w: %w", err, base.ErrCorrupt)
	}
	if d.More() {
		return nil, fmt.Errorf("description: bytes after the end: %w", base.ErrCorrupt)
	}
	return m, m.validate()
}

func (m *Meta) validate() error {
	if m.FormatVersion != FormatVersion {
		return fmt.Errorf("impacts format %d, this program reads %d: %w", m.FormatVersion, FormatVersion, base.ErrVersion)
	}
	var postings uint64
	for _, f := range m.forms() {
		if f.Postings < f.Segments {
			return fmt.Errorf("description: %d postings in %d segments: %w", f.Postings, f.Segments, base.ErrCorrupt)
		}
		postings += f.Postings
	}
	table := m.TableBytes / slotBytes
	switch {
	case m.NumDocs < 0 || m.NumDocs > base.MaxDocs, postings != m.NumPostings, m.NumPostings < m.NumTerms:
		return fmt.Errorf("description: %d documents, %d terms, %d postings: %w", m.NumDocs, m.NumTerms, m.NumPostings, base.ErrCorrupt)
	case m.TableBytes%slotBytes != 0, table == 0, table&(table-1) != 0, table <= m.NumTerms:
		return fmt.Errorf("description: table of %d bytes for %d terms: %w", m.TableBytes, m.NumTerms, base.ErrCorrupt)
	case !slices.Contains(Rankings, m.Ranking) && m.Ranking != RankingWeights && m.Ranking != RankingExternal:
		return fmt.Errorf("description: ranking %q: %w", m.Ranking, base.ErrCorrupt)
	}
	if _, err := codec.Lookup(m.Codec); err != nil {
		return fmt.Errorf("description: %w", err)
	}
	return nil
}
