package collection

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/trec"
)

// Options configure Generate.
type Options struct {
	Like  Preset
	Order Order
	Seed  uint64
	// NumDocs and NumQueries, if not 0, replace the preset's.
	NumDocs    int
	NumQueries int
	Codec      string // "": the default
	Typed      bool   // documents have FieldKind, FieldDay and FieldNumber
	Threads    int    // 0: all processors
	// Progress, if not nil, is called with a phase's progress.
	Progress func(phase string, done, total int64)
}

func (o *Options) fill() error {
	if o.NumDocs == 0 {
		o.NumDocs = o.Like.NumDocs
	}
	if o.NumQueries == 0 {
		o.NumQueries = o.Like.NumQueries
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.NumDocs < 1 || int64(o.NumDocs) > base.MaxDocs || o.NumQueries < 0 {
		return fmt.Errorf("%d documents and %d queries: want 1 to %d and at least 0: %w", o.NumDocs, o.NumQueries, int64(base.MaxDocs), base.ErrBadInput)
	}
	_, err := ParseOrder(string(o.Order))
	return err
}

// The function is safe for concurrent use and serialises the calls.
func (o *Options) phase(name string) func(done, total int64) {
	if o.Progress == nil {
		return func(int64, int64) {}
	}
	var mu sync.Mutex
	return func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		o.Progress(name, done, total)
	}
}

// Generate creates an index in dir from the documents of source and the queries of log, and
// reports its statistics. It has source's analyzer, or weights, no stored documents, and one
// segment.
//
// The error wraps base.ErrExists or base.ErrBadInput as in index.Create, base.ErrBadInput if
// source cannot answer any query or an option is impossible, base.ErrCorrupt, or is ctx's;
// nothing is left behind.
func Generate(ctx context.Context, fs vfs.FS, dir string, source *index.Snapshot, log []trec.Topic, o Options) (report *Report, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	ix, err := index.Create(fs, dir, o.indexOptions(source))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	compose := composeTexts
	if o.Like.Vectors.MeanTerms > 0 {
		compose = composeVectors
	}
	made, report, err := compose(ctx, source, log, &o)
	if err != nil {
		return nil, err
	}
	var all segment.Source = made
	if o.Typed {
		if all, err = addColumns(made, o.Seed); err != nil {
			return nil, err
		}
	}
	writing := o.phase("write")
	_, err = ix.Import(ctx, all, index.ImportOptions{Threads: o.Threads, Progress: func(p index.Progress) {
		const thousandths = 1000
		writing(int64(p.Fraction*thousandths), thousandths)
	}})
	return report, err
}

func (o *Options) indexOptions(source *index.Snapshot) index.Options {
	to := index.Options{Codec: o.Codec, NoStored: true, Fields: []string{}}
	if o.Typed {
		to.Mapping = newTypedMapping()
	}
	if o.Like.Vectors.MeanTerms > 0 {
		to.WeightScale = weightScale
	} else {
		to.Analyzer, to.Analysis, to.BM25 = source.Options.Analyzer, source.Options.Analysis, source.Options.BM25
	}
	return to
}

func composeTexts(ctx context.Context, from *index.Snapshot, log []trec.Topic, o *Options) (*source, *Report, error) {
	queries, v, err := drawQueries(from, log, o)
	if err != nil {
		return nil, nil, err
	}
	f, p, err := layOut(ctx, from, v, o)
	if err != nil {
		return nil, nil, err
	}
	how, err := calibrate(ctx, o, f, p, queries, o.phase("calibrate"))
	if err != nil {
		return nil, nil, err
	}
	quantiles := newSpans(how.span)
	made, err := composeAll(ctx, o, v, p, func() maker { return newComposer(f, p, o.Seed, quantiles, how.keep) }, o.phase("compose"))
	if err != nil {
		return nil, nil, err
	}
	report, err := newReport(ctx, o, queries, made)
	if err != nil {
		return nil, nil, err
	}
	report.Span, report.Keep = how.span, how.kept
	report.addTermShares(o.Like.TermShares)
	return made, report, nil
}

func layOut(ctx context.Context, from *index.Snapshot, v *vocabulary, o *Options) (*forward, *plan, error) {
	f, err := newForward(ctx, from, v, o.phase("read the source"))
	if err != nil {
		return nil, nil, err
	}
	topics, err := topicOrder(ctx, f, o.Threads, o.phase("find topics"))
	if err != nil {
		return nil, nil, err
	}
	return f, newPlan(o, f, topics), nil
}
