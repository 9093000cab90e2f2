package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
)

type change struct {
	// sources hold the documents to add, in order, each id once; they replace committed ones.
	sources []segment.Source
	// failed returns errors of source methods that have no error result.
	failed func() error
	// schema has fields to declare or to change; nil: none.
	schema *inverter.Schema
	// former counts the first documents of sources, without dropped ones, of before a change of the shape that schema
	// has.
	former int
	// deletes are ids of committed documents to delete.
	deletes map[string]struct{}
	// merge, if not nil, has the segments, in order, after a commit that adds and deletes
	// nothing; else mergeFrom decides.
	merge []mergeGroup
	// reorder looks for a better order of the new segment.
	reorder bool
	// memoryBytes bounds reorder.
	memoryBytes int64
	threads     int
	progress    func(phase Phase, done, total int64)
}

type commitResult struct {
	// deleted counts committed documents deleted or replaced.
	deleted int
	// segment is the new segment, if any.
	segment string
	// changed is false if there was nothing to commit.
	changed bool
	impacts MergedImpacts // of a merge
}

type commit struct {
	*session
	change
	base     *Snapshot
	next     *manifest         // in progress
	dropped  []*segment.Bitmap // by segment of base; nil: no deletions
	numLive  []int             // by segment of base, after the change
	made     []string          // files and folders that this commit wrote
	numAdded int
	result   commitResult
}

// apply makes a change durable and visible, or changes nothing if it returns an error.
// Exception: if only the folder could not be synced, the change is visible, but a power failure
// may lose it; the next apply syncs first.
func (s *session) apply(ctx context.Context, ch change) (commitResult, error) {
	if s.unsynced {
		if err := s.settle(); err != nil {
			return commitResult{}, err
		}
	}
	if err := errors.Join(s.checkFolder(), s.checkSame(s.ix.currentManifest())); err != nil {
		return commitResult{}, err
	}
	snapshot, err := s.ix.Snapshot()
	if err != nil {
		return commitResult{}, err
	}
	defer snapshot.Release()
	c := &commit{session: s, change: ch, base: snapshot, next: s.ix.currentManifest().clone()}
	for _, src := range ch.sources {
		c.numAdded += src.NumDocs() - src.Dropped().Count()
	}
	c.next.Generation++
	c.next.Impacts = snapshot.keptImpacts()
	if _, err := c.next.addFields(ch.schema); err != nil {
		return commitResult{}, err
	}
	renamed, err := c.run(ctx)
	err = explainMissing(s, err)
	if renamed {
		// After a failed sync, a power failure can restore the old manifest, so its files stay.
		if err == nil {
			_ = s.removeLeftovers() // the next writer retries
		}
		return c.result, err
	}
	for _, name := range c.made {
		err = errors.Join(err, s.ix.fs.RemoveAll(s.ix.path(name)))
	}
	return commitResult{}, err
}

func (c *commit) run(ctx context.Context) (renamed bool, err error) {
	if err := c.dropDocuments(ctx); err != nil {
		return false, err
	}
	if c.numAdded == 0 && c.result.deleted == 0 && c.base.Generation > 0 && c.merge == nil && !c.next.changesFields(c.base) {
		return false, nil
	}
	if err := c.writeAll(ctx); err != nil {
		return false, err
	}
	if err := c.checkSize(); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return c.publish()
}

func (c *commit) writeAll(ctx context.Context) error {
	if c.merge == nil {
		return c.writeSegments(ctx)
	}
	if err := c.mergeSegments(ctx); err != nil {
		return err
	}
	return c.rebuildImpacts(ctx)
}

func (c *commit) dropDocuments(ctx context.Context) error {
	n := len(c.base.Segments)
	c.dropped, c.numLive = make([]*segment.Bitmap, n), make([]int, n)
	for i := range c.base.Segments {
		v := &c.base.Segments[i]
		c.numLive[i] = v.NumDocs()
		if v.Live != nil {
			c.dropped[i] = v.Live.Complement()
			c.numLive[i] = v.Live.Count()
		}
	}
	if n == 0 {
		return nil
	}
	for id := range c.deletes {
		if err := c.drop([]byte(id)); err != nil {
			return err
		}
	}
	for _, src := range c.sources {
		novel, _ := src.(segment.Novel)
		for doc := range src.NumDocs() {
			if doc%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if src.Dropped().Has(doc) || novel != nil && novel.IsNew(doc) {
				continue
			}
			if err := c.drop(src.ID(doc)); err != nil {
				return err
			}
		}
	}
	return c.failed()
}

func (c *commit) drop(id []byte) error {
	hash := segment.HashID(id)
	for i := range c.base.Segments {
		v := &c.base.Segments[i]
		doc, found, err := hash.Lookup(v.Segment, id)
		if err != nil {
			return fmt.Errorf("segment %s: %w", v.Name, err)
		}
		if !found || c.dropped[i].Has(int(doc)) {
			continue
		}
		if v.Live == nil && c.numLive[i] == v.NumDocs() {
			c.dropped[i] = segment.NewBitmap(v.NumDocs())
		}
		c.dropped[i].Set(int(doc))
		c.numLive[i]--
		c.result.deleted++
	}
	return nil
}

// writeSegments writes the new documents and the segments merged with them as one
// segment, and bitmaps for the other segments that lost documents.
func (c *commit) writeSegments(ctx context.Context) error {
	from := mergeFrom(c.numLive, c.numAdded)
	old := c.next.Segments
	c.next.Segments = make([]manifestSegment, 0, len(old)+1)
	for i := range from {
		switch numLive := c.numLive[i]; {
		case numLive == 0: // no live document is left
		case mostlyDead(old[i].NumDocs, numLive):
			src, err := c.committed(i)
			if err != nil {
				return err
			}
			if _, err := c.write(ctx, []segment.Source{src}, i, i+1, 0, false /* reorder */); err != nil {
				return err
			}
		default:
			if err := c.keep(ctx, i, old[i]); err != nil {
				return err
			}
		}
	}
	var sources []segment.Source
	numDocs := c.numAdded
	for i := from; i < len(old); i++ {
		if c.numLive[i] == 0 {
			continue
		}
		src, err := c.committed(i)
		if err != nil {
			return err
		}
		sources = append(sources, src)
		numDocs += c.numLive[i]
	}
	if numDocs == 0 {
		return nil
	}
	name, err := c.write(ctx, append(sources, c.sources...), from, len(old), c.former, c.reorder)
	c.result.segment = name
	return err
}

// committed returns the remaining documents of the base's segment i as a source.
func (c *commit) committed(i int) (segment.Source, error) {
	return c.base.Segments[i].Source(c.dropped[i])
}

// keep leaves the base's segment i in the index, with its new deletions if it lost documents.
func (c *commit) keep(ctx context.Context, i int, ms manifestSegment) error {
	if c.numLive[i] != ms.NumLive {
		d, err := c.deletionsOf(ctx, i)
		if err != nil {
			return err
		}
		name := liveName(ms.Name, c.next.Generation)
		c.made = append(c.made, name)
		sum, err := d.Save(c.ix.fs, c.ix.path(name))
		if err != nil {
			return err
		}
		ms.Live, ms.LiveSum, ms.NumLive, ms.deletions = name, sum, c.numLive[i], nil
	}
	c.next.Segments = append(c.next.Segments, ms)
	return nil
}

// deletionsOf returns the deletions of the base's segment i after the change.
func (c *commit) deletionsOf(ctx context.Context, i int) (*segment.Deletions, error) {
	v := &c.base.Segments[i]
	gone := c.dropped[i]
	if v.Live != nil {
		gone = v.Live.Minus(c.dropped[i].Complement())
	}
	recount := recount{fs: c.ix.fs, options: &c.next.Options, grown: c.next.Grown, memoryBytes: c.memoryBytes, temp: c.temp}
	counts, err := recount.count(ctx, v.Segment, gone, v.former > 0 || c.changesShape())
	if err != nil {
		return nil, err
	}
	return v.Deletions.With(gone, counts), nil
}

func (c *commit) newSegment() string {
	name := segmentName(c.next.NextSegment)
	c.next.NextSegment++
	c.made = append(c.made, name)
	return name
}

// write writes a segment of the documents that are left in the base's segments [from, to), and of new ones, of which
// added have a former shape.
func (c *commit) write(ctx context.Context, sources []segment.Source, from, to, added int, reorder bool) (name string, err error) {
	former, err := c.numFormer(from, to)
	if err != nil {
		return "", err
	}
	name = c.newSegment()
	opts := c.next.Options.segmentOptions(c.threads)
	opts.Recompress = c.merge != nil
	meta, err := segment.Write(ctx, c.ix.fs, c.ix.path(name), opts, sources, c.phase(PhaseMerging))
	if err := errors.Join(err, c.failed()); err != nil {
		return "", err
	}
	if reorder {
		if name, meta, err = c.reorderSegment(ctx, name); err != nil {
			return "", err
		}
	}
	c.next.Segments = append(c.next.Segments, manifestSegment{Name: name, Sum: meta.Sum(), NumDocs: meta.NumDocs, NumLive: meta.NumDocs, Former: former + added})
	return name, nil
}

func (c *commit) phase(p Phase) func(done, total int64) {
	return func(done, total int64) {
		if c.progress != nil {
			c.progress(p, done, total)
		}
	}
}

func (c *commit) checkSize() error {
	total := int64(0)
	for _, s := range c.next.Segments {
		total += int64(s.NumDocs)
	}
	if total > base.MaxDocs {
		return fmt.Errorf("index %s: %d documents, at most %d: %w", c.ix.dir, total, int64(base.MaxDocs), base.ErrBadInput)
	}
	return nil
}

// publish replaces the manifest and makes the new commit current. If the index is closed
// meanwhile, the change is committed nevertheless.
func (c *commit) publish() (renamed bool, err error) {
	// New files' names must be durable before the manifest.
	if err := c.ix.fs.SyncDir(c.ix.dir); err != nil {
		return false, err
	}
	if c.base.Generation == 0 {
		if err := c.syncParents(); err != nil {
			return false, err
		}
	}
	c.ix.showing.Lock()
	defer c.ix.showing.Unlock()
	if err := c.ix.checkOpen(); err != nil {
		return false, err
	}
	// Opening before publishing ensures that the commit can be read.
	shown, err := c.ix.newSnapshot(c.next, c.base)
	if err != nil {
		return false, err
	}
	if err = c.checkFolder(); err == nil {
		renamed, err = c.next.save(c.ix.fs, c.ix.dir)
	}
	if !renamed {
		shown.Release()
		return false, err
	}
	c.result.changed = true
	c.ix.makeReady(context.Background(), shown, c.base, false /* merged */)
	_ = c.ix.replace(shown, c.next)
	c.unsynced = err != nil
	if err != nil {
		err = fmt.Errorf("index %s: generation %d is committed, but its folder could not be synced: %w", c.ix.dir, c.next.Generation, err)
	}
	return true, err
}
