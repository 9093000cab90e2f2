package griffin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/staging"
)

// RebuildOptions are the options of Index.VerifyRebuild.
type RebuildOptions struct {
	// Temp is an existing folder for the new index; "" is the folder that holds the index's
	// folder.
	Temp string
	// Progress, if set, is called a few times a second. Phases are "verify" with bytes, "read" and
	// "merge" as in IndexFiles, "compare" with documents and postings, "query" with queries.
	Progress func(Progress)
}

// RebuildReport is the result of Index.VerifyRebuild: the numbers of compared items, and the differences.
type RebuildReport struct {
	Docs     int64 `json:"num_docs"` // live ones
	Terms    int64 `json:"num_terms"`
	Postings int64 `json:"num_postings"`
	Queries  int64 `json:"num_queries"`
	// Differences are at most MaxDifferences. If there are MaxDifferences, the comparison has ended early.
	Differences []Difference  `json:"differences,omitempty"`
	Took        time.Duration `json:"took_ns"`
}

// MaxDifferences is the greatest number of differences in a RebuildReport.
const MaxDifferences = 20

// Difference is one thing in which an index differs from a new index of its documents.
type Difference struct {
	// What differs: "document frequency", "posting", "length", "hit 3" …
	What string `json:"what"`
	// Place names the field, term, document and query, where they apply, in words.
	Place string `json:"place"`
	// Field is nil for what belongs to no field; "" is the default field.
	Field *string `json:"field,omitempty"`
	Term  string  `json:"term,omitempty"`
	ID    string  `json:"id,omitempty"` // of the document
	Query string  `json:"query,omitempty"`
	// Got is of this index, Want of the new one.
	Got  string `json:"got"`
	Want string `json:"want"`
}

// String has the form "PLACE: WHAT GOT, want WANT".
func (d Difference) String() string {
	s := fmt.Sprintf("%s %s, want %s", d.What, d.Got, d.Want)
	if d.Place != "" {
		s = d.Place + ": " + s
	}
	return s
}

// VerifyRebuild checks the last commit as Verify does, builds a new index of its live documents, as
// stored, in the order in which their last versions were written, and compares both: statistics,
// dictionaries, every posting with frequency and positions, lengths, ids, stored documents, and the
// hits, scores, order and counts of queries of random terms.
//
// The new index lies in a folder within RebuildOptions.Temp, which is removed at the end. It takes
// about the space of the index without deleted documents, and twice that space during the build.
// Options.IndexMemory and Options.IndexThreads apply.
//
// With differences, the error wraps ErrCorrupt and the report has them. If the index stores no
// text, or has vectors, which are not stored, the error wraps ErrBadInput.
func (ix *Index) VerifyRebuild(ctx context.Context, opts RebuildOptions) (_ RebuildReport, err error) {
	began := time.Now()
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return RebuildReport{}, err
	}
	snapshot.Release()
	r := &rebuild{opts: opts, began: began, dir: ix.ix.Dir(), memory: ix.options.IndexMemory, threads: ix.options.IndexThreads}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.run(ctx); err != nil {
		return RebuildReport{}, err
	}
	r.report.Took = time.Since(began)
	return r.report, r.differs()
}

// rebuild compares an index with a new one. It opens both itself, without a GPU, so that commits and
// Refresh do not change them meanwhile.
type rebuild struct {
	opts    RebuildOptions
	began   time.Time
	dir     string
	memory  int64
	threads int

	folder     *staging.Folder
	old, fresh *Index
	report     RebuildReport
}

// differs returns the first difference as an error, or nil.
func (r *rebuild) differs() error {
	n, more := len(r.report.Differences), ""
	switch n {
	case 0:
		return nil
	case 1:
	case MaxDifferences:
		more = fmt.Sprintf(" (and at least %d more)", n-1)
	default:
		more = fmt.Sprintf(" (and %d more)", n-1)
	}
	return fmt.Errorf("index %s: differs from a new index of its documents: %s%s: %w", r.dir, r.report.Differences[0], more, ErrCorrupt)
}

func (r *rebuild) close() error {
	var errs []error
	for _, ix := range []*Index{r.fresh, r.old} {
		if ix != nil {
			errs = append(errs, ix.Close())
		}
	}
	if r.folder != nil {
		errs = append(errs, r.folder.Remove())
	}
	return errors.Join(errs...)
}

func (r *rebuild) run(ctx context.Context) (err error) {
	if r.old, err = Open(r.dir, Options{}); err != nil {
		return err
	}
	snapshot, err := r.old.ix.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	if err := snapshot.CanRebuild(); err != nil {
		return err
	}
	if err := r.makeFolder(snapshot); err != nil {
		return err
	}
	if err := snapshot.Verify(ctx, r.progress("verify")); err != nil {
		return err
	}
	if err := r.build(ctx, snapshot); err != nil {
		return err
	}
	sample, err := r.compare(ctx, snapshot)
	if err != nil || len(r.report.Differences) == MaxDifferences {
		return err
	}
	return r.compareAnswers(ctx, sample)
}

// progress returns a function for a phase.
func (r *rebuild) progress(phase string) func(done, total int64) {
	return func(done, total int64) {
		if r.opts.Progress != nil {
			r.opts.Progress(Progress{Phase: phase, Done: done, Total: total, Elapsed: time.Since(r.began)})
		}
	}
}

// makeFolder checks the space that the new index takes at least.
func (r *rebuild) makeFolder(s *index.Snapshot) (err error) {
	dir, err := filepath.Abs(r.dir)
	if err != nil {
		return err
	}
	parent := r.opts.Temp
	if parent == "" {
		parent = filepath.Dir(dir)
	}
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return fmt.Errorf("folder for the new index: %w", cmp.Or(err, error(&fs.PathError{Op: "open", Path: parent, Err: syscall.ENOTDIR})))
	}
	need := int64(0)
	for i := range s.Segments {
		v := &s.Segments[i]
		live := v.NumDocs()
		if v.Live != nil {
			live = v.Live.Count()
		}
		need += int64(float64(v.Meta().SizeBytes()) * float64(live) / float64(v.NumDocs()))
	}
	if err := checkSpace(parent, need); err != nil {
		return err
	}
	r.folder, err = staging.New(filepath.Join(parent, filepath.Base(dir)+"-verify"))
	if err != nil {
		return fmt.Errorf("folder for the new index: %w", err)
	}
	return nil
}

// checkSpace returns an error that wraps syscall.ENOSPC if the file system of dir has less space.
func checkSpace(dir string, need int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil //nolint:nilerr // a file system that does not tell may have the space
	}
	if free := float64(st.Bavail) * float64(st.Bsize); free < float64(need) {
		return fmt.Errorf("folder for the new index: %s has %.0f MB free, and the index takes about %.0f MB: %w", dir, free/1e6, float64(need)/1e6, syscall.ENOSPC)
	}
	return nil
}

func (r *rebuild) build(ctx context.Context, s *index.Snapshot) error {
	o := index.RebuildOptions{MemoryBytes: r.memory, Threads: r.threads}
	if r.opts.Progress != nil {
		o.Progress = func(p index.Progress) { r.opts.Progress(progressOf(p, time.Since(r.began))) }
	}
	err := s.Rebuild(ctx, r.folder.Dir, o)
	if err == nil {
		r.fresh, err = Open(r.folder.Dir, Options{})
	}
	if err != nil {
		return fmt.Errorf("build a new index of the documents of %s: %w", r.dir, err)
	}
	return nil
}

// The seed and the number of terms of each kind in a sample of a dictionary.
const (
	sampleSeed  = 1
	sampleTerms = 150
)

func (r *rebuild) compare(ctx context.Context, s *index.Snapshot) ([]index.SampledTerm, error) {
	fresh, err := r.fresh.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	defer fresh.Release()
	c, err := s.Compare(ctx, fresh, index.CompareOptions{
		MaxDifferences: MaxDifferences, Progress: r.progress("compare"), SampleTerms: sampleTerms, Seed: sampleSeed,
	})
	if err != nil {
		return nil, err
	}
	r.report.Docs, r.report.Terms, r.report.Postings = c.Docs, c.Terms, c.Postings
	for _, d := range c.Differences {
		out := Difference{What: d.What, Place: d.Place(), Term: d.Term, ID: d.ID, Got: d.Got, Want: d.Want}
		if d.HasField {
			out.Field = &d.Field
		}
		r.report.Differences = append(r.report.Differences, out)
	}
	return c.Sample, nil
}
