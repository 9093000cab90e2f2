package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Impact-ordered lists (package impact) are one file beside the segments, of one commit and
// named by its generation. The manifest does not name it; after the next commit it is a
// leftover. The manifest has their settings.
const impactsTemp = "IMPACTS.new"

var impactsPattern = regexp.MustCompile(`^impacts-[0-9]{6,20}$`)

func impactsName(generation uint64) string { return fmt.Sprintf("impacts-%06d", generation) }

// ErrNoImpacts wraps base.ErrBadInput.
var ErrNoImpacts = fmt.Errorf("no impact-ordered lists: %w", base.ErrBadInput)

// ImpactOptions are the options of BuildImpacts; zero values mean defaults.
type ImpactOptions struct {
	// Ranking names the formula; "" is impact.RankingBM25. BM25 has its parameters; nil: as in
	// the index. An index of weights has impact.RankingWeights only, without parameters.
	Ranking string
	BM25    *score.BM25
	// Codec, BitmapBits and RawBelow are as in impact.Options.
	Codec      string
	BitmapBits int
	RawBelow   int
	// Progress, if set, is called periodically.
	Progress func(done, total int64)
}

// ImpactSettings is how impact-ordered lists are made.
type ImpactSettings struct {
	// Ranking, K1 and B are as in impact.Ranking.
	Ranking string  `json:"ranking"`
	K1      float32 `json:"k1"`
	B       float32 `json:"b"`
	// The rest is as in impact.Options.
	Codec      string `json:"codec"`
	BitmapBits int    `json:"bitmap_bits"`
	RawBelow   int    `json:"raw_below"`
}

func (s *ImpactSettings) ranking() impact.Ranking {
	return impact.Ranking{Name: s.Ranking, BM25: score.BM25{K1: s.K1, B: s.B}}
}

func (s *ImpactSettings) options() impact.Options {
	return impact.Options{Ranking: s.ranking(), Codec: s.Codec, BitmapBits: s.BitmapBits, RawBelow: s.RawBelow}
}

// validate accepts nil. weighted is whether the index has learned weights.
func (s *ImpactSettings) validate(weighted bool) error {
	if s == nil {
		return nil
	}
	var err error
	if weighted || s.Ranking == impact.RankingWeights {
		if !weighted || s.Ranking != impact.RankingWeights {
			err = fmt.Errorf("ranking %q", s.Ranking)
		}
	} else {
		err = s.ranking().Check()
	}
	if err != nil {
		return fmt.Errorf("impact-ordered lists: %w: %w", err, base.ErrCorrupt)
	}
	return nil
}

// settings of lists of an index with options o. The error wraps base.ErrBadInput.
func (opts *ImpactOptions) settings(o *Options) (*ImpactSettings, error) {
	r, err := opts.ranking(o)
	if err != nil {
		return nil, err
	}
	written := impact.Options{Codec: opts.Codec, BitmapBits: opts.BitmapBits, RawBelow: opts.RawBelow}.WithDefaults()
	if _, err := codec.Lookup(written.Codec); err != nil {
		return nil, err
	}
	return &ImpactSettings{Ranking: r.Name, K1: r.K1, B: r.B, Codec: written.Codec, BitmapBits: written.BitmapBits, RawBelow: written.RawBelow}, nil
}

func (opts *ImpactOptions) ranking(o *Options) (impact.Ranking, error) {
	r := impact.Ranking{Name: opts.Ranking, BM25: o.BM25}
	if o.Weighted() {
		if r.Name != "" && r.Name != impact.RankingWeights || opts.BM25 != nil {
			return r, fmt.Errorf("ranking %q: the index stores learned weights, which are the impacts: rankings and BM25 parameters do not apply: %w", r.Name, base.ErrBadInput)
		}
		return impact.Ranking{Name: impact.RankingWeights}, nil
	}
	if r.Name == "" {
		r.Name = impact.RankingBM25
	}
	if opts.BM25 != nil {
		r.BM25 = *opts.BM25
	}
	return r, r.Check()
}

// BuildImpacts makes or replaces the last commit's impact-ordered lists, of live documents and
// the default field. New options are a commit: from then on, Merge computes the lists again, and
// Snapshot.Impacts computes lists of commits that have none. It holds the write lock and reads all
// lists twice: for the range of scores, and to quantise. Whoever has opened former lists keeps
// them. It needs memory for the longest list and 16 bytes a term; if it fails, the former lists stay.
func (ix *Index) BuildImpacts(ctx context.Context, opts ImpactOptions) (meta *impact.Meta, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	s, err := ix.begin()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	snapshot, err := ix.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Release()
	if snapshot.Generation == 0 {
		return nil, fmt.Errorf("index %s: nothing is committed yet: %w", ix.dir, base.ErrBadInput)
	}
	settings, err := opts.settings(&snapshot.Options)
	if err != nil {
		return nil, err
	}
	b := &impactBuild{snapshot: snapshot, settings: settings, progress: opts.Progress}
	if now := snapshot.impacts.settings; now == nil || *now != *settings {
		return b.commit(ctx, s)
	}
	return b.store(ctx, s)
}

// store stores the lists of the last commit.
func (b *impactBuild) store(ctx context.Context, s *session) (*impact.Meta, error) {
	meta, err := b.write(ctx, s.ix)
	if err != nil {
		return nil, fmt.Errorf("index %s: impact-ordered lists: %w", s.ix.dir, err)
	}
	return meta, s.ix.showImpacts()
}

// commit commits new settings, with the lists.
func (b *impactBuild) commit(ctx context.Context, s *session) (meta *impact.Meta, err error) {
	c := &commit{session: s, base: b.snapshot, next: s.ix.currentManifest().clone()}
	c.next.Generation++
	c.next.Impacts = b.settings
	next, err := s.ix.newSnapshot(c.next, c.base)
	if err != nil {
		return nil, err
	}
	defer next.Release()
	b.snapshot = next
	if meta, err = b.write(ctx, s.ix); err != nil {
		return nil, fmt.Errorf("index %s: impact-ordered lists: %w", s.ix.dir, err)
	}
	renamed, err := c.publish()
	switch {
	case !renamed:
		return nil, errors.Join(err, ignoreMissing(s.ix.fs.Remove(s.ix.path(impactsName(next.Generation)))))
	case err == nil:
		_ = s.removeLeftovers() // the next writer retries
	}
	return meta, err
}

// showImpacts replaces the current snapshot by a new one of the same commit, because the
// former may have opened replaced lists.
func (ix *Index) showImpacts() error {
	ix.showing.Lock()
	defer ix.showing.Unlock()
	return ix.show(ix.currentManifest())
}

type impactBuild struct {
	snapshot *Snapshot
	settings *ImpactSettings
	progress func(done, total int64)
	done     int64
}

// write makes the file under a temporary name and renames it when it is complete.
func (b *impactBuild) write(ctx context.Context, ix *Index) (*impact.Meta, error) {
	quantizer := impact.NewQuantizer()
	err := b.eachList(ctx, func(_ []byte, postings []scoredPosting) error {
		for i := range postings {
			quantizer.See(postings[i].score)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if b.settings.Ranking == impact.RankingWeights {
		quantizer = impact.WeightQuantizer(quantizer.Max)
	}
	temp := ix.path(impactsTemp)
	w, err := impact.Create(ix.fs, temp, b.snapshot.impactOptions(b.settings, quantizer))
	if err != nil {
		return nil, err
	}
	var list []impact.Posting
	err = b.eachList(ctx, func(term []byte, postings []scoredPosting) error {
		list = list[:0]
		for i := range postings {
			list = append(list, impact.Posting{DocID: postings[i].doc, Impact: quantizer.Impact(postings[i].score)})
		}
		return w.Add(term, list)
	})
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	if err = w.Close(); err == nil {
		err = ix.fs.Rename(temp, ix.path(impactsName(b.snapshot.Generation)))
	}
	if err != nil {
		return nil, errors.Join(err, ignoreMissing(ix.fs.Remove(temp)))
	}
	return w.Meta(), ix.fs.SyncDir(ix.dir)
}

type scoredPosting struct {
	doc          base.DocID
	freq, length uint32
	score        base.Score
}

// eachList calls visit with each list of the default field, ordered by term: the live
// documents of all segments and their scores.
func (b *impactBuild) eachList(ctx context.Context, visit func(term []byte, postings []scoredPosting) error) (err error) {
	inputs := make([]impactInput, len(b.snapshot.Segments))
	defer func() {
		for i := range inputs {
			if inputs[i].lists != nil {
				err = errors.Join(err, inputs[i].lists.Close())
			}
		}
	}()
	for i := range inputs {
		if err := inputs[i].open(&b.snapshot.Segments[i]); err != nil {
			return err
		}
	}
	var postings []scoredPosting
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var term []byte
		for i := range inputs {
			in := &inputs[i]
			if in.ended {
				continue
			}
			if term == nil || bytes.Compare(in.lists.Term(), term) < 0 {
				term = in.lists.Term()
			}
		}
		if term == nil {
			return nil
		}
		term = slices.Clone(term)
		postings = postings[:0]
		for i := range inputs {
			if in := &inputs[i]; !in.ended && bytes.Equal(in.lists.Term(), term) {
				if postings, err = in.read(postings); err != nil {
					return err
				}
			}
		}
		if len(postings) == 0 { // of deleted documents only
			continue
		}
		score := b.snapshot.impactScorer(b.settings, uint64(len(postings)))
		for i := range postings {
			p := &postings[i]
			p.score = score(p.freq, p.length)
		}
		if err := visit(term, postings); err != nil {
			return err
		}
		b.advance(int64(len(postings)))
	}
}

func (b *impactBuild) advance(postings int64) {
	const passes = 2
	total := passes * int64(b.snapshot.Fields[0].NumPostings)
	before := b.done
	if b.done += postings; b.progress != nil && (b.done>>20 != before>>20 || b.done == total) {
		b.progress(b.done, total)
	}
}

// Reads the default field's lists of a segment.
type impactInput struct {
	view    *View
	lists   segment.ListIterator
	lengths []uint32
	ended   bool
	block   segment.PostingBlock
}

func (in *impactInput) open(view *View) error {
	source, err := view.Source(nil)
	if err != nil {
		return err
	}
	in.view, in.lengths = view, source.Lengths(0)
	if in.lists, err = source.Lists(); err != nil {
		return err
	}
	return in.next()
}

func (in *impactInput) next() error {
	in.ended = !in.lists.Next() || in.lists.Field() != 0
	return in.lists.Err()
}

// read appends the live postings of the current list to dst and advances to the next
// list.
func (in *impactInput) read(dst []scoredPosting) ([]scoredPosting, error) {
	live := in.view.Live
	for {
		if err := in.lists.ReadBlock(&in.block); err != nil {
			return dst, err
		}
		if in.block.N == 0 {
			return dst, in.next()
		}
		for i, d := range in.block.DocIDs[:in.block.N] {
			if live == nil || live.Has(int(d)) {
				dst = append(dst, scoredPosting{doc: in.view.Base + base.DocID(d), freq: in.block.Freqs[i], length: in.lengths[d]})
			}
		}
	}
}
