package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Impact-ordered lists (package impact) are one file beside the segments, of one commit and
// named by its generation. The manifest does not name it; after the next commit it is a
// leftover.
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

// BuildImpacts makes or replaces the last commit's impact-ordered lists, of live documents and
// the default field. It holds the write lock and reads all lists twice: for the range of
// scores, and to quantise. Whoever has opened former lists keeps them. It needs memory for the
// longest list and 16 bytes a term; if it fails, the former lists stay.
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
	b := &impactBuild{snapshot: snapshot, options: opts, progress: opts.Progress}
	if err := b.chooseRanking(); err != nil {
		return nil, err
	}
	if meta, err = b.write(ctx, ix); err != nil {
		return nil, fmt.Errorf("index %s: impact-ordered lists: %w", ix.dir, err)
	}
	return meta, ix.showImpacts()
}

// showImpacts replaces the current snapshot by a new one of the same commit, because the
// former may have opened replaced lists.
func (ix *Index) showImpacts() error {
	ix.showing.Lock()
	defer ix.showing.Unlock()
	return ix.show(ix.currentManifest())
}

type impactBuild struct {
	snapshot  *Snapshot
	options   ImpactOptions
	ranking   impact.Ranking
	quantizer impact.Quantizer
	progress  func(done, total int64)
	done      int64
}

func (b *impactBuild) chooseRanking() error {
	r := impact.Ranking{Name: b.options.Ranking, BM25: b.snapshot.Options.BM25}
	if b.snapshot.Options.Weighted() {
		if r.Name != "" && r.Name != impact.RankingWeights || b.options.BM25 != nil {
			return fmt.Errorf("ranking %q: the index stores learned weights, which are the impacts: rankings and BM25 parameters do not apply: %w", r.Name, base.ErrBadInput)
		}
		b.ranking = impact.Ranking{Name: impact.RankingWeights}
		return nil
	}
	if r.Name == "" {
		r.Name = impact.RankingBM25
	}
	if b.options.BM25 != nil {
		r.BM25 = *b.options.BM25
	}
	b.ranking = r
	return r.Check()
}

// write makes the file under a temporary name and renames it when it is complete.
func (b *impactBuild) write(ctx context.Context, ix *Index) (*impact.Meta, error) {
	b.quantizer = impact.NewQuantizer()
	err := b.eachList(ctx, func(_ []byte, postings []scoredPosting) error {
		for i := range postings {
			b.quantizer.See(postings[i].score)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if b.ranking.Name == impact.RankingWeights {
		b.quantizer = impact.WeightQuantizer(b.quantizer.Max)
	}
	temp := ix.path(impactsTemp)
	w, err := impact.Create(ix.fs, temp, impact.Options{
		IndexID: b.snapshot.indexID, Generation: b.snapshot.Generation, NumDocs: b.snapshot.NumDocs,
		Ranking: b.ranking, Quantizer: b.quantizer,
		Codec: b.options.Codec, BitmapBits: b.options.BitmapBits, RawBelow: b.options.RawBelow,
	})
	if err != nil {
		return nil, err
	}
	var list []impact.Posting
	err = b.eachList(ctx, func(term []byte, postings []scoredPosting) error {
		list = list[:0]
		for i := range postings {
			list = append(list, impact.Posting{DocID: postings[i].doc, Impact: b.quantizer.Impact(postings[i].score)})
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
		score := b.scorer(uint64(len(postings)))
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

// scorer returns the score of a posting as a function of its frequency and document
// length.
func (b *impactBuild) scorer(docFreq uint64) func(freq, length uint32) base.Score {
	if b.ranking.Name == impact.RankingWeights {
		return func(freq, _ uint32) base.Score { return base.Score(freq) }
	}
	f := &b.snapshot.Fields[0]
	term := b.ranking.Term(f.NumDocs, docFreq, f.AvgLen())
	return term.Score
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

// Impacts returns the commit's impact-ordered lists, valid until the snapshot is released. The
// first call opens them, others cost a load. The error wraps ErrNoImpacts, or base.ErrCorrupt
// if they are damaged or of another index.
func (s *Snapshot) Impacts() (*impact.Index, error) {
	if x := s.impacts.Load(); x != nil {
		return x, nil
	}
	return s.openImpacts()
}

func (s *Snapshot) openImpacts() (x *impact.Index, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	s.openingImpacts.Lock()
	defer s.openingImpacts.Unlock()
	if x := s.impacts.Load(); x != nil {
		return x, nil
	}
	x, err = impact.Open(s.index.fs, s.index.path(impactsName(s.Generation)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("index %s, generation %d (each commit leaves those of the one before behind): %w", s.index.dir, s.Generation, ErrNoImpacts)
	}
	if err != nil {
		return nil, err
	}
	if m := x.Meta(); m.IndexID != s.indexID || m.Generation != s.Generation || m.NumDocs != s.NumDocs {
		return nil, errors.Join(fmt.Errorf("%s: of another index, or an older one: %w", impactsName(s.Generation), base.ErrCorrupt), x.Close())
	}
	s.impacts.Store(x)
	return x, nil
}

func (s *Snapshot) closeImpacts() {
	if x := s.impacts.Load(); x != nil {
		_ = x.Close() // a read-only mapping loses no data
	}
}
