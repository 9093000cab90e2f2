package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// MergeOptions are the options of Merge; zero merges everything into one segment.
type MergeOptions struct {
	// MaxSegments is the most segments to leave; 0: 1.
	MaxSegments int
	// As in BuildOptions, but MemoryBytes limits reordering only. ReorderBP writes every
	// segment again.
	Threads     int
	MemoryBytes int64
	Reorder     string
	// DryRun only reports the plan, without a lock.
	DryRun   bool
	Progress func(Progress)
	// Join chooses which of the pairs of neighbours is joined next; nil: the smallest. Tests choose any.
	Join func(pairs int) int
}

// MergeReport compares an index before and after.
type MergeReport struct {
	Before, After MergeSize
	// Changed is false if there was nothing to merge or drop. Impact-ordered lists can be stored nevertheless.
	Changed bool
	// Impacts is the fate of the impact-ordered lists.
	Impacts MergedImpacts
}

// MergeSize is the size of an index; after a dry run, bytes are estimated in proportion to
// documents.
type MergeSize struct {
	Segments int
	// Docs includes Deleted.
	Docs, Deleted int
	SizeBytes     int64
}

// MergedImpacts is the fate of impact-ordered lists.
type MergedImpacts int

const (
	// ImpactsNone means that there were none.
	ImpactsNone MergedImpacts = iota
	// ImpactsRebuilt means computed again, with the same ranking and codec.
	ImpactsRebuilt
	// ImpactsDropped means that another program computed them, so they cannot be rebuilt.
	ImpactsDropped
)

// Merge writes adjacent segments as one until at most MaxSegments are left, and rewrites
// segments with deleted documents. The order stays, and so do all scores.
// Impact-ordered lists are computed again.
//
// It is one commit, under the write lock; if ctx ends or anything fails, the index stays as it
// was. Snapshots stay valid. The disk needs room for old and new segments; old ones are removed
// at the end, and freed when no process has them open.
//
// Errors: base.ErrLocked, base.ErrBadInput for options and without a commit, base.ErrCorrupt,
// errors of the file system and of ctx.
func (ix *Index) Merge(ctx context.Context, opts MergeOptions) (report MergeReport, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	o, err := BuildOptions{MemoryBytes: opts.MemoryBytes, Threads: opts.Threads, Reorder: opts.Reorder}.withDefaults()
	if err != nil {
		return MergeReport{}, err
	}
	if opts.MaxSegments < 0 {
		return MergeReport{}, fmt.Errorf("merge into %d segments: want 1 or more: %w", opts.MaxSegments, base.ErrBadInput)
	}
	opts.MaxSegments = max(opts.MaxSegments, 1)
	if opts.DryRun {
		return ix.planMerge(&opts)
	}
	s, err := ix.begin()
	if err != nil {
		return MergeReport{}, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	m := startMeter(nil, opts.Progress)
	defer m.end()
	m.enter(PhaseMerging, 0, 0)

	snapshot, err := ix.Snapshot()
	if err != nil {
		return MergeReport{}, err
	}
	defer snapshot.Release()
	if report, err = snapshot.mergeReport(&opts); err != nil {
		return report, err
	}
	if !report.Changed {
		if snapshot.lacksImpacts() {
			report.Impacts = ImpactsRebuilt
			b := &impactBuild{snapshot: snapshot, settings: snapshot.impacts.settings, progress: func(done, total int64) { m.enter(PhaseImpacts, done, total) }}
			_, err = b.store(ctx, s)
		}
		return report, err
	}
	result, err := s.apply(ctx, change{
		failed:      func() error { return nil },
		merge:       snapshot.mergeGroups(&opts),
		reorder:     o.Reorder == ReorderBP,
		memoryBytes: o.MemoryBytes,
		threads:     o.Threads,
		progress:    m.enter,
	})
	if err != nil && !result.changed {
		return MergeReport{}, fmt.Errorf("merge: %w", err)
	}
	merged, snapshotErr := ix.Snapshot()
	if snapshotErr != nil {
		return report, errors.Join(err, snapshotErr)
	}
	defer merged.Release()
	report.After = merged.size()
	report.Impacts = result.impacts
	return report, err
}

func (ix *Index) planMerge(opts *MergeOptions) (MergeReport, error) {
	s, err := ix.Snapshot()
	if err != nil {
		return MergeReport{}, err
	}
	defer s.Release()
	report, err := s.mergeReport(opts)
	if err != nil || !report.Changed && !s.lacksImpacts() {
		return report, err
	}
	_, err = s.StoredImpacts()
	switch settings := s.keptImpacts(); {
	case settings != nil && report.After.Docs > 0:
		report.Impacts = ImpactsRebuilt
	case err != nil && !errors.Is(err, ErrNoImpacts):
		return MergeReport{}, err
	case err == nil:
		report.Impacts = ImpactsDropped
	}
	return report, nil
}

// A dry run, without impacts.
func (s *Snapshot) mergeReport(opts *MergeOptions) (MergeReport, error) {
	if s.Generation == 0 {
		return MergeReport{}, fmt.Errorf("index %s: nothing is committed yet: %w", s.index.dir, base.ErrBadInput)
	}
	report := MergeReport{Before: s.size(), After: MergeSize{Docs: s.NumLive}}
	groups := s.mergeGroups(opts)
	report.After.Segments = len(groups)
	for _, g := range groups {
		report.Changed = report.Changed || g.rewrite
		for _, i := range g.segments {
			v := &s.Segments[i]
			fraction := float64(v.numLive()) / float64(v.NumDocs())
			report.After.SizeBytes += int64(float64(v.Meta().SizeBytes()) * fraction)
		}
	}
	report.Changed = report.Changed || s.NumLive < s.NumDocs
	return report, nil
}

func (s *Snapshot) size() MergeSize {
	size := MergeSize{Segments: len(s.Segments), Docs: s.NumDocs, Deleted: s.NumDocs - s.NumLive}
	for i := range s.Segments {
		size.SizeBytes += s.Segments[i].Meta().SizeBytes()
	}
	return size
}

func (v *View) numLive() int {
	if v.Live == nil {
		return v.NumDocs()
	}
	return v.Live.Count()
}

// mergeGroup is segments to write as one, or one to keep.
type mergeGroup struct {
	segments []int // indexes in the snapshot, rising
	numLive  int
	rewrite  bool
}

// Segments without a live document are in no group.
func (s *Snapshot) mergeGroups(opts *MergeOptions) []mergeGroup {
	groups := []mergeGroup{} // not nil: an index can have no live document
	for i := range s.Segments {
		v := &s.Segments[i]
		if n := v.numLive(); n > 0 {
			rewrite := n < v.NumDocs() || opts.Reorder == ReorderBP
			groups = append(groups, mergeGroup{segments: []int{i}, numLive: n, rewrite: rewrite})
		}
	}
	return joinGroups(groups, opts.MaxSegments, opts.Join)
}

// The two adjacent groups that are smallest together (the first of equal pairs) are joined,
// or the one that join chooses, until at most maxGroups are left.
func joinGroups(groups []mergeGroup, maxGroups int, join func(pairs int) int) []mergeGroup {
	if join == nil {
		join = func(int) int { return smallestPair(groups) }
	}
	for len(groups) > maxGroups {
		i := join(len(groups) - 1)
		to, from := &groups[i], &groups[i+1]
		to.segments = append(to.segments, from.segments...)
		to.numLive += from.numLive
		to.rewrite = true
		groups = slices.Delete(groups, i+1, i+2)
	}
	return groups
}

func smallestPair(groups []mergeGroup) (least int) {
	for i := range len(groups) - 1 {
		if groups[i].numLive+groups[i+1].numLive < groups[least].numLive+groups[least+1].numLive {
			least = i
		}
	}
	return least
}

func (c *commit) mergeSegments(ctx context.Context) error {
	old := c.next.Segments
	c.next.Segments = make([]manifestSegment, 0, len(c.merge))
	total, done := 0, 0
	for i := range c.merge {
		if c.merge[i].rewrite {
			total += c.merge[i].numLive
		}
	}
	report := c.progress
	defer func() { c.progress = report }()
	for i := range c.merge {
		g := &c.merge[i]
		if !g.rewrite {
			if err := c.keep(ctx, g.segments[0], old[g.segments[0]]); err != nil {
				return err
			}
			continue
		}
		// A segment's progress becomes the merge's.
		c.progress = func(p Phase, part, of int64) {
			report(p, int64(done)*max(of, 1)+int64(g.numLive)*part, int64(total)*max(of, 1))
		}
		var sources []segment.Source
		for _, i := range g.segments {
			src, err := c.committed(i)
			if err != nil {
				return err
			}
			sources = append(sources, src)
		}
		first, last := g.segments[0], g.segments[len(g.segments)-1]
		if _, err := c.write(ctx, sources, first, last+1, 0, c.reorder); err != nil {
			return err
		}
		done += g.numLive
	}
	return nil
}

func (c *commit) rebuildImpacts(ctx context.Context) error {
	settings := c.next.Impacts
	if settings == nil || len(c.next.Segments) == 0 {
		if _, err := c.base.StoredImpacts(); err == nil {
			c.result.impacts = ImpactsDropped
		} else if !errors.Is(err, ErrNoImpacts) {
			return err
		}
		return nil
	}
	next, err := c.ix.newSnapshot(c.next, c.base)
	if err != nil {
		return err
	}
	defer next.Release()
	b := &impactBuild{snapshot: next, settings: settings, progress: c.phase(PhaseImpacts)}
	c.made = append(c.made, impactsName(next.Generation))
	if _, err := b.write(ctx, c.ix); err != nil {
		return fmt.Errorf("impact-ordered lists: %w", err)
	}
	c.result.impacts = ImpactsRebuilt
	return nil
}
