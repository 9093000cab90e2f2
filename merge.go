package griffin

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
)

// MergeOptions are the options of Index.Merge. The zero value merges everything into
// one segment.
type MergeOptions struct {
	// Segments is the largest number of segments to leave; 0: 1.
	Segments int
	// Reorder is the order of the documents; "": ReorderNone. With ReorderBP every segment is
	// written again.
	Reorder Reorder
	// DryRun reports the result of a merge without changing the index or taking its lock.
	DryRun bool
	// Progress, if set, is called a few times a second and at the end.
	Progress func(Progress)

	join func(pairs int) int // index.MergeOptions.Join; tests set it
}

// MergeReport describes an index before and after a merge.
type MergeReport struct {
	Before MergeSize `json:"before"`
	After  MergeSize `json:"after"`
	// Changed is false if the index already had few enough segments and no deleted document.
	Changed bool `json:"changed"`
	// Impacts is the fate of the impact-ordered lists; "" if there were none.
	Impacts MergedImpacts `json:"impacts,omitempty"`
	// Committed is the number of writes that a program had left in the log. They are committed before the merge, also if
	// nothing is merged.
	Committed int           `json:"committed_writes,omitempty"`
	Took      time.Duration `json:"took_ns"`
}

// MergedImpacts is the fate of impact-ordered lists in a merge.
type MergedImpacts string

const (
	// ImpactsRebuilt means that the merge computed them again.
	ImpactsRebuilt MergedImpacts = "rebuilt"
	// ImpactsDropped means that they came from another program and are gone.
	ImpactsDropped MergedImpacts = "dropped"
)

// MergeSize is the size of an index.
type MergeSize struct {
	Segments int `json:"num_segments"`
	// Docs counts all documents, Deleted the deleted or replaced ones among them, which take
	// space until a merge.
	Docs    int `json:"num_docs"`
	Deleted int `json:"num_deleted"`
	// SizeBytes is the size of the segments, after a dry run an estimate.
	SizeBytes int64 `json:"size_bytes"`
}

// Merge merges adjacent segments until at most Segments are left, and rewrites every segment
// with deleted documents without them. Documents keep their order unless Reorder is set. Scores
// stay the same.
//
// A merge is one commit: if ctx ends or anything fails, the index stays unchanged. Searches
// continue meanwhile. The disk needs room for the segments before and after. The error wraps
// ErrLocked if this or another process has uncommitted changes, and ErrBadInput for invalid
// options and an index without a commit.
func (ix *Index) Merge(ctx context.Context, opts MergeOptions) (MergeReport, error) {
	began := time.Now()
	o := index.MergeOptions{
		MaxSegments: opts.Segments, Reorder: string(opts.Reorder), DryRun: opts.DryRun, MemoryBytes: ix.options.IndexMemory, Threads: ix.options.IndexThreads, Join: opts.join,
	}
	if opts.Progress != nil {
		o.Progress = func(p index.Progress) { opts.Progress(progressOf(p, time.Since(began))) }
	}
	var report MergeReport
	if !opts.DryRun {
		var err error
		if report.Committed, err = living.Waiting(ix.ix.FS(), ix.ix); err != nil {
			return MergeReport{}, err
		}
		if err := recoverLog(ctx, ix.ix); err != nil {
			return MergeReport{}, err
		}
	}
	r, err := ix.ix.Merge(ctx, o)
	if err != nil {
		return MergeReport{}, err
	}
	report.Before, report.After, report.Changed, report.Took = MergeSize(r.Before), MergeSize(r.After), r.Changed, time.Since(began)
	switch r.Impacts {
	case index.ImpactsNone:
	case index.ImpactsRebuilt:
		report.Impacts = ImpactsRebuilt
	case index.ImpactsDropped:
		report.Impacts = ImpactsDropped
	}
	return report, nil
}
