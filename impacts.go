package griffin

import (
	"context"
	"errors"

	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
	"github.com/griffin-search/griffin/internal/saat"
)

// ErrNoImpacts is the error of a search in ModeSaat if nobody made impact-ordered lists of the index
// (Index.BuildImpacts). It wraps ErrBadInput.
var ErrNoImpacts = index.ErrNoImpacts

// DefaultImpactCodec is the default of ImpactOptions.Codec.
const DefaultImpactCodec = impact.DefaultCodec

// ImpactOptions configure BuildImpacts. The zero value has the defaults.
type ImpactOptions struct {
	// Ranking is "bm25" (the default), the formula of all other modes, or "atire", the formula
	// of the search engines ATIRE and JASS. BM25 has its parameters; nil: the ones of the
	// index. Neither applies to an index of learned weights, which are the impacts.
	Ranking string
	BM25    *BM25
	// Codec compresses the DocIDs: one of Codecs; "" is DefaultImpactCodec.
	Codec string
	// BitmapBits is the limit, in bits per posting, up to which documents of one impact are
	// stored as a bitmap, which is larger and faster to search. 0 is 16; negative: no bitmaps.
	BitmapBits int
	// Progress, if not nil, is called a few times a second with postings. Each posting
	// is read twice.
	Progress func(done, total int64)
}

// ImpactStats describes impact-ordered lists.
type ImpactStats struct {
	Ranking   string  `json:"ranking"` // "bm25", "atire", "weights" or "external"
	K1        float32 `json:"k1"`
	B         float32 `json:"b"`
	Codec     string  `json:"codec"`
	NumTerms  uint64  `json:"num_terms"`
	NumLists  uint64  `json:"num_segments"` // documents of a term with the same impact
	Postings  uint64  `json:"num_postings"`
	SizeBytes int64   `json:"size_bytes"`
	// BitsPerPosting is the size of the lists over the number of postings.
	BitsPerPosting float64 `json:"bits_per_posting"`
	// Computed means that the index changed since lists were stored: searches compute those that they
	// need. Nothing is counted then.
	Computed bool `json:"computed,omitempty"`
}

func impactStats(m *impact.Meta, sizeBytes int64) *ImpactStats {
	return &ImpactStats{
		Ranking: m.Ranking, K1: m.K1, B: m.B, Codec: m.Codec, NumTerms: m.NumTerms, Postings: m.NumPostings,
		NumLists: m.Raw.Segments + m.Blocks.Segments + m.Bitmap.Segments, SizeBytes: sizeBytes, BitsPerPosting: m.BitsPerPosting(),
	}
}

// BuildImpacts makes the impact-ordered lists that ModeSaat searches, of the live documents of
// the last commit and the default field: for each term its documents, ordered by the term's
// contribution to their scores, quantised to 8 bits.
//
// After a change of the index, the quantisation of a new index of its live documents would differ in all
// lists. So the stored ones are dropped, and a search computes the lists of its terms from the posting
// lists, as a new index would have them; Merge stores all lists again, with the same options. The error
// wraps ErrLocked if this Index or another process is writing to the index, and ErrBadInput if
// an option is not valid or nothing was committed yet.
func (ix *Index) BuildImpacts(ctx context.Context, opts ImpactOptions) (ImpactStats, error) {
	if err := recoverLog(ctx, ix.ix); err != nil {
		return ImpactStats{}, err
	}
	if _, err := ix.ix.BuildImpacts(ctx, opts.options()); err != nil {
		return ImpactStats{}, err
	}
	return storedImpacts(ix.ix)
}

// BuildImpacts is Index.BuildImpacts of all acknowledged writes, which it commits. Writes and searches go
// on; the error wraps ErrImpactsChanged if writes changed the index before the end, and ErrClosed or ErrDown if the
// Writer was closed or went down.
func (w *Writer) BuildImpacts(ctx context.Context, opts ImpactOptions) (ImpactStats, error) {
	o := opts.options()
	if _, err := living.BuildImpacts(ctx, w.store, &o); err != nil {
		return ImpactStats{}, err
	}
	return storedImpacts(w.index.ix)
}

// ErrImpactsChanged is the error of Writer.BuildImpacts if the index changed while it ran, so that the lists are
// not stored. Searches compute the lists that they need.
var ErrImpactsChanged = index.ErrChanged

func (opts *ImpactOptions) options() index.ImpactOptions {
	return index.ImpactOptions{
		Ranking: opts.Ranking, BM25: opts.BM25.override(),
		Codec: opts.Codec, BitmapBits: opts.BitmapBits, Progress: opts.Progress,
	}
}

func storedImpacts(ix *index.Index) (ImpactStats, error) {
	snapshot, err := ix.Snapshot()
	if err != nil {
		return ImpactStats{}, err
	}
	defer snapshot.Release()
	s, err := statsOfImpacts(snapshot)
	if err != nil {
		return ImpactStats{}, err
	}
	return *s, nil
}

// statsOfImpacts returns nil if nobody made any.
func statsOfImpacts(snapshot *index.Snapshot) (*ImpactStats, error) {
	x, err := snapshot.StoredImpacts()
	if errors.Is(err, ErrNoImpacts) {
		if s := snapshot.ImpactSettings(); s != nil {
			return &ImpactStats{Ranking: s.Ranking, K1: s.K1, B: s.B, Codec: s.Codec, Computed: true}, nil
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return impactStats(x.Meta(), x.SizeBytes()), nil
}

// Accumulators returns the names of the accumulators of ModeSaat, the default first.
func Accumulators() []string { return saat.Accumulators() }

// ParseAccumulators checks a value of Query.Accumulators: a name, and after a colon the
// parameters that differ from the default, as in "array:heap=1,outlined". The error wraps
// ErrBadInput.
func ParseAccumulators(text string) error {
	_, err := saat.ParseVariant(text)
	return err
}
