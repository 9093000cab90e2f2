package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/vfs"
)

// BuildOptions are the options of Build. The index depends on the corpus, MaxErrors and Reorder
// only: a segment's files have the same bytes for any memory and threads, except that stored
// documents are cut into compressed blocks at the ends of chunks too.
type BuildOptions struct {
	// MemoryBytes bounds raw batches, inverters, partial indexes and merge buffers (0:
	// DefaultMemoryBytes); more data goes to temporary files in the index's folder. Plans use
	// half of it, because the garbage collector lets memory grow to about twice the used size.
	// Each document takes more until the end: 8 bytes per field, with the default one, 12 for
	// its id, and 8 if there are duplicates.
	MemoryBytes int64
	// Threads is the number of workers; 0: one per processor.
	Threads int
	// MaxErrors bad records are skipped; then the build ends with an *inverter.TooManyErrors.
	// Negative: any number.
	MaxErrors int
	// Reorder is "none" (or "") or "bp": recursive graph bisection (package reorder).
	Reorder string
	// Progress, if set, is called about ten times a second and at the end, by one goroutine at
	// a time.
	Progress func(Progress)
	// OnBadRecord, if set, is called for each bad record, by one goroutine at a time, nearly in
	// corpus order (exactly if Threads is 1).
	OnBadRecord func(*corpus.RecordError)
	// OnDuplicate, if set, is called in corpus order for documents dropped for a later one with
	// their id.
	OnDuplicate func(id string, earlier, later corpus.Location)

	accepted bool // as inverter.Options.Accepted
}

const (
	// DefaultMemoryBytes is the default of BuildOptions.MemoryBytes.
	DefaultMemoryBytes = 1 << 30
	minMemoryBytes     = 16 << 20
)

// Values of BuildOptions.Reorder.
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

// Report is the result of a build.
type Report struct {
	Docs       int64 // added by this build
	Bytes      int64 // of the corpus, uncompressed
	BadRecords int64 // skipped
	Duplicates int64 // dropped because a later document of the corpus has the id
	Replaced   int64 // committed documents replaced by a new one
	Skipped    int64 // files and records that are not documents (corpus.Reader.Skipped)
	Partials   int   // partial indexes that were merged
	Spilled    int   // partial indexes that were in temporary files
	Segment    string
	// ReadTime ends when the last document is inverted.
	ReadTime, MergeTime time.Duration
}

// Build indexes a corpus and commits it, all or nothing, as one more segment, with DocIDs in
// corpus order. It holds the index's write lock throughout. If ctx ends or anything fails, the
// index stays unchanged or, without an earlier commit, absent.
//
// The reader is closed; if ctx ends while it waits for input, when that arrives. Errors:
// *inverter.TooManyErrors, base.ErrLocked, base.ErrBadInput for options, and errors of the
// reader, the file system (disk full: nothing is damaged) and ctx.
func (ix *Index) Build(ctx context.Context, reader corpus.Reader, opts BuildOptions) (report Report, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
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
	dir, err := s.temp()
	if err != nil {
		return Report{}, err
	}
	options := ix.Options()
	started = true // Invert closes the reader
	partials, err := inverter.Invert(ctx, reader, inverter.Options{
		Schema: options.Schema(), FS: ix.fs, Dir: dir, MemoryBytes: opts.MemoryBytes, Threads: opts.Threads,
		MaxErrors: opts.MaxErrors, OnBadRecord: opts.OnBadRecord, Counts: &m.counts, Accepted: opts.accepted,
	})
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, partials.Close()) }()
	report = Report{
		Bytes: m.counts.Bytes.Load(), BadRecords: m.counts.BadRecords.Load(), Skipped: reader.Skipped(),
		Partials: partials.Len(), Spilled: partials.Spilled(), ReadTime: time.Since(start),
	}
	start = time.Now()
	err = s.commitPartials(ctx, partials, opts, m, &report)
	report.MergeTime = time.Since(start)
	if err != nil {
		return Report{}, err
	}
	return report, nil
}

func (s *session) commitPartials(ctx context.Context, partials *inverter.Partials, opts BuildOptions, m *meter, report *Report) error {
	m.enter(PhaseMerging, 0, 0)
	dropped, err := partials.DropDuplicates(opts.OnDuplicate)
	if err != nil {
		return err
	}
	result, err := s.apply(ctx, change{
		sources:     partials.Sources(),
		failed:      partials.Err,
		reorder:     opts.Reorder == ReorderBP,
		memoryBytes: opts.MemoryBytes,
		threads:     opts.Threads,
		progress:    m.enter,
	})
	if err != nil {
		return err
	}
	report.Docs, report.Duplicates = partials.NumDocs(), int64(dropped)
	report.Replaced, report.Segment = int64(result.deleted), result.segment
	return nil
}
