package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

// BuildOptions say how a corpus is indexed. What the index holds depends on
// the corpus, MaxErrors and Reorder only, not on memory or threads: the files of
// a segment have the same bytes, except that stored documents are cut into
// compressed blocks at the borders of chunks too.
type BuildOptions struct {
	// MemoryBytes bounds what a build holds: raw batches, inverted indexes,
	// runs, buffers of the merge; 0: DefaultMemoryBytes. Half of it is planned
	// with, since the garbage collector lets memory grow to about twice what is
	// in use. What does not fit goes to temporary files in the index's folder.
	// What every document needs until the end is not counted: 8 bytes for each
	// field, the default one included, 12 for its id, and 8 more if some
	// documents are left out as duplicates.
	MemoryBytes int64
	// Threads is the number of workers; 0: one a processor.
	Threads int
	// MaxErrors is how many bad records are passed over: one more ends the
	// build with a *TooManyErrors. Negative: any number.
	MaxErrors int
	// Reorder is "none" (or "") or "bp": recursive graph bisection (package reorder).
	Reorder string
	// Progress, if set, is called about ten times a second and at the end, from
	// one goroutine at a time.
	Progress func(Progress)
	// OnBadRecord, if set, is called for each bad record, from one goroutine at
	// a time; in corpus order if Threads is 1, nearly so otherwise.
	OnBadRecord func(*corpus.RecordError)
	// OnDuplicate, if set, is called for each document that is left out because
	// a later one of the corpus has its id, in corpus order.
	OnDuplicate func(id string, earlier, later corpus.Location)
}

const (
	// DefaultMemoryBytes is the default of BuildOptions.MemoryBytes.
	DefaultMemoryBytes = 1 << 30
	minMemoryBytes     = 16 << 20
)

// The values of BuildOptions.Reorder.
const (
	ReorderNone = "none"
	ReorderBP   = "bp"
)

func (o BuildOptions) withDefaults() (BuildOptions, error) {
	if o.MemoryBytes == 0 {
		o.MemoryBytes = DefaultMemoryBytes
	}
	if o.MemoryBytes < minMemoryBytes {
		return o, fmt.Errorf("memory limit of %d bytes, at least %d: %w", o.MemoryBytes, minMemoryBytes, base.ErrBadInput)
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Reorder == "" {
		o.Reorder = ReorderNone
	}
	if o.Reorder != ReorderNone && o.Reorder != ReorderBP {
		return o, fmt.Errorf("reorder %q: want %q or %q: %w", o.Reorder, ReorderNone, ReorderBP, base.ErrBadInput)
	}
	return o, nil
}

// TooManyErrors ends a build that met more bad records than it may pass over.
// It wraps base.ErrBadInput.
type TooManyErrors struct {
	Limit int                 // BuildOptions.MaxErrors
	First *corpus.RecordError // the first bad record of those met
}

// Error says the limit and the first error with its place.
func (e *TooManyErrors) Error() string {
	if e.Limit == 0 {
		return fmt.Sprintf("bad record: %v", e.First)
	}
	return fmt.Sprintf("more than %d bad records, the first: %v", e.Limit, e.First)
}

// Unwrap returns base.ErrBadInput and the first record's error.
func (e *TooManyErrors) Unwrap() []error { return []error{base.ErrBadInput, e.First} }

// Report says what a build did.
type Report struct {
	Docs       int64 // in the index because of this build
	Bytes      int64 // of the corpus, uncompressed
	BadRecords int64 // passed over
	Duplicates int64 // left out because a later document of the corpus has the id
	Replaced   int64 // committed documents that have the id of a new one
	Skipped    int64 // files and records that are not documents (corpus.Reader.Skipped)
	Runs       int   // parts that were inverted, of which
	Spilled    int   // went to files
	Segment    string
	// ReadTime is until the last document was inverted, MergeTime the rest.
	ReadTime, MergeTime time.Duration
}

// Build indexes a corpus and commits it, all or nothing, as one more segment.
// Documents get DocIDs in corpus order. It holds the index's write lock from
// beginning to end. If ctx ends or anything fails, the index is what it was
// before: if this was to be its first commit, there is none.
//
// The reader is closed; if ctx ends while it waits for input, as soon as that
// comes. Errors: *TooManyErrors, base.ErrLocked, base.ErrBadInput for
// options, the reader's, the file system's (disk full: nothing is damaged), ctx's.
func (ix *Index) Build(ctx context.Context, reader corpus.Reader, opts BuildOptions) (report Report, err error) {
	started := false
	defer func() {
		if !started {
			err = errors.Join(err, reader.Close())
		}
	}()
	if opts, err = opts.withDefaults(); err != nil {
		return Report{}, err
	}
	s, err := ix.begin()
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	m := startMeter(reader, opts.Progress)
	defer m.end()

	start := time.Now()
	p, err := newPipeline(s, reader, opts, m)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	started = true // the pipeline closes the reader
	runs, err := p.invert(ctx)
	if err != nil {
		return Report{}, err
	}
	report = Report{
		Bytes: m.bytes.Load(), BadRecords: m.bad.Load(), Skipped: reader.Skipped(),
		Runs: len(runs), Spilled: p.numSpilled, ReadTime: time.Since(start),
	}
	start = time.Now()
	err = s.commitRuns(ctx, runs, opts, m, &report)
	report.MergeTime = time.Since(start)
	if err != nil {
		return Report{}, err
	}
	return report, nil
}

// commitRuns merges the runs of a build and commits them.
func (s *session) commitRuns(ctx context.Context, runs []*run, opts BuildOptions, m *meter, report *Report) error {
	m.enter(PhaseMerging, 0, 0)
	dropped, err := dropDuplicates(runs)
	if err != nil {
		return err
	}
	if opts.OnDuplicate != nil {
		if err := reportDuplicates(runs, dropped, opts.OnDuplicate); err != nil {
			return err
		}
	}
	result, err := s.apply(ctx, change{
		sources:     runSources(runs),
		failed:      func() error { return runError(runs) },
		reorder:     opts.Reorder == ReorderBP,
		memoryBytes: opts.MemoryBytes,
		threads:     opts.Threads,
		progress:    m.enter,
	})
	if err != nil {
		return err
	}
	for _, r := range runs {
		report.Docs += int64(r.numDocs - r.dropped.Count())
	}
	report.Duplicates = int64(len(dropped))
	report.Replaced, report.Segment = int64(result.deleted), result.segment
	return nil
}

func runSources(runs []*run) []segment.Source {
	sources := make([]segment.Source, len(runs))
	for i, r := range runs {
		sources[i] = r
	}
	return sources
}

// runError returns the first error of a method that could not return it.
func runError(runs []*run) error {
	for _, r := range runs {
		if r.err != nil {
			return r.err
		}
	}
	return nil
}
