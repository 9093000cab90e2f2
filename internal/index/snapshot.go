package index

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/topk"
)

// Snapshot is one commit: a fixed set of segments and live documents. It is safe for concurrent
// use until released.
type Snapshot struct {
	// Segments are in DocID order.
	Segments []View
	// Generation counts commits; 0: none yet.
	Generation uint64
	// Serial numbers the process's snapshots, from 1. Results of one hold for no other:
	// impact-ordered lists may differ.
	Serial uint64
	// Options are the index's.
	Options Options
	// Fields are statistics by base.FieldID.
	Fields []FieldStats
	// NumDocs includes deleted documents, NumLive does not.
	NumDocs, NumLive int

	references atomic.Int64
	held       []*openSegment // of Segments, in their order

	index   *Index
	indexID string
	grown   int // manifest.Grown
	ties    sortedTies
	impacts openImpacts

	kept atomic.Value // of Keep

	onRelease struct {
		sync.Mutex
		calls []func()
	}
}

// OnRelease adds a call for the end of an unreleased snapshot: the last Release makes it, so it must be
// short.
func (s *Snapshot) OnRelease(call func()) {
	s.onRelease.Lock()
	defer s.onRelease.Unlock()
	s.onRelease.calls = append(s.onRelease.calls, call)
}

// Kept returns the value of Keep, nil before.
func (s *Snapshot) Kept() any { return s.kept.Load() }

// Keep stores a value for all users of the snapshot, until the snapshot is freed. All values have the same type.
func (s *Snapshot) Keep(v any) { s.kept.Store(v) }

var serials atomic.Uint64

// View is one segment of a Snapshot.
type View struct {
	*segment.Segment
	// Name is the segment's folder.
	Name string
	// Base is a DocID of the index minus the segment's.
	Base base.DocID
	// Live are the documents not deleted; nil: all. Deletions has them with the statistics of the
	// deleted ones.
	Live      *segment.Bitmap
	Deletions *segment.Deletions
	// Derived keeps traversals' structures until the segment is closed.
	Derived *derived.Segment

	former   int    // as in the manifest
	liveName string // of the file of Deletions, "" for none
	liveSum  uint32
}

// FieldStats are a field's statistics over all segments, of live documents only.
type FieldStats struct {
	Name        string
	NumDocs     uint64 // live documents of the index, with or without the field
	TotalTokens uint64
	NumPostings uint64
	// UnitLengths is as in segment.Options.
	UnitLengths bool
	// WeightScale is not 0 if frequencies are weights times it.
	WeightScale float64
}

// AvgLen is the mean length in tokens; 0 without documents, 1 for a field with unit lengths.
func (f *FieldStats) AvgLen() float64 {
	switch {
	case f.UnitLengths:
		return 1
	case f.NumDocs == 0:
		return 0
	}
	return float64(f.TotalTokens) / float64(f.NumDocs)
}

// Counts the snapshots that hold a segment.
type openSegment struct {
	*segment.Segment
	derived    *derived.Segment
	unmapping  *unmapping
	references atomic.Int64
}

func (o *openSegment) release() {
	if left := o.references.Add(-1); left != 0 {
		invariant.Check(left > 0, "a segment is released more often than held")
		return
	}
	o.derived.Close()
	o.unmapping.run(o.Meta().SizeBytes(), o.unmap)
}

func (o *openSegment) unmap() {
	_ = o.Close() // a read-only mapping loses no data
}

// newSnapshot shares segments of others, snapshots that the caller holds, or nil. The first of them has
// the former deletions.
func (ix *Index) newSnapshot(m *manifest, others ...*Snapshot) (*Snapshot, error) {
	s := &Snapshot{Generation: m.Generation, Serial: serials.Add(1), Options: m.Options, index: ix, indexID: m.ID, grown: m.Grown}
	s.impacts.settings, s.impacts.computing = m.Impacts, newBaton()
	s.references.Store(1)
	s.Fields = make([]FieldStats, 1+len(m.Options.Fields))
	s.Fields[0].WeightScale = m.Options.WeightScale
	units, weights := m.Options.unitLengths(), m.Options.weightFields()
	for i, name := range m.Options.Fields {
		s.Fields[i+1].Name = name
		s.Fields[i+1].UnitLengths = units != nil && units[i+1]
		if weights != nil && weights[i+1] {
			f, _ := m.Options.Mapping.Field(name)
			s.Fields[i+1].WeightScale = f.Scale()
		}
	}
	for i := range m.Segments {
		if err := ix.addView(s, m, &m.Segments[i], others); err != nil {
			s.Release()
			return nil, fmt.Errorf("index %s: segment %s: %w", ix.dir, m.Segments[i].Name, err)
		}
	}
	return s, nil
}

type sortedTies struct {
	once sync.Once
	ties topk.Ties
	err  error
}

// Ties order documents of equal score in reordered segments by the order of writing. The first
// call reads it. The error wraps base.ErrCorrupt.
func (s *Snapshot) Ties() (topk.Ties, error) {
	t := &s.ties
	t.once.Do(func() {
		for i := range s.Segments {
			v := &s.Segments[i]
			ranks, docs, err := v.Written()
			if err != nil {
				t.ties, t.err = nil, err
				return
			}
			if ranks != nil {
				t.ties = append(t.ties, topk.TieRange{Base: v.Base, Ranks: ranks, Docs: docs})
			}
		}
	})
	return t.ties, t.err
}

// Owner identifies the Index within the process.
func (s *Snapshot) Owner() Owner { return s.index.owner }

// Retired reports whether Index.Retire was called.
func (s *Snapshot) Retired() bool { return s.index.retired.Load() }

// IndexID is the index's random name.
func (s *Snapshot) IndexID() string { return s.indexID }

// opened returns the segment of that name that s has open, or nil.
func (s *Snapshot) opened(name string) *openSegment {
	if s != nil {
		for i := range s.Segments {
			if s.Segments[i].Name == name {
				return s.held[i]
			}
		}
	}
	return nil
}

func (ix *Index) addView(s *Snapshot, m *manifest, ms *manifestSegment, others []*Snapshot) error {
	var seg *openSegment
	for i := 0; i < len(others) && seg == nil; i++ {
		seg = others[i].opened(ms.Name)
	}
	if seg == nil {
		opened, err := segment.Open(ix.fs, ix.path(ms.Name))
		if err != nil {
			return err
		}
		seg = &openSegment{Segment: opened, derived: ix.derived.NewSegment(), unmapping: &ix.unmapping}
	}
	seg.references.Add(1)
	s.held = append(s.held, seg)
	v := View{Segment: seg.Segment, Name: ms.Name, Base: base.DocID(s.NumDocs), Derived: seg.derived, former: ms.Former, liveName: ms.Live, liveSum: ms.LiveSum}
	if err := checkSegment(m, ms, seg.Segment); err != nil {
		return err
	}
	if ms.deletions != nil {
		v.Deletions, v.Live = ms.deletions, ms.deletions.Live()
	} else if ms.Live != "" {
		var err error
		if v.Deletions, err = ix.deletions(ms, seg.Segment, others); err != nil {
			return err
		}
		v.Live = v.Deletions.Live()
	}
	s.Segments = append(s.Segments, v)
	s.NumDocs += ms.NumDocs
	s.NumLive += ms.NumLive
	meta := seg.Meta()
	for i := range s.Fields {
		gone := v.Deletions.Field(base.FieldID(i))
		s.Fields[i].NumDocs += uint64(ms.NumLive)
		if i >= len(meta.Fields) {
			continue // it was written before the field was added
		}
		s.Fields[i].TotalTokens += meta.Fields[i].TotalTokens - gone.Tokens
		s.Fields[i].NumPostings += meta.Fields[i].NumPostings - gone.Postings
	}
	return nil
}

// deletions returns a segment's deletions, which the first of others may have.
func (ix *Index) deletions(ms *manifestSegment, seg *segment.Segment, others []*Snapshot) (*segment.Deletions, error) {
	if len(others) > 0 && others[0] != nil {
		former := others[0]
		for i := range former.Segments {
			if v := &former.Segments[i]; v.Name == ms.Name && v.liveName == ms.Live && v.liveSum == ms.LiveSum {
				return v.Deletions, nil
			}
		}
	}
	d, err := seg.LoadDeletions(ix.fs, ix.path(ms.Live), ms.LiveSum)
	if err != nil {
		return nil, err
	}
	if n := d.Live().Count(); n != ms.NumLive {
		return nil, fmt.Errorf("%s: %d of %d documents live, but the manifest has %d: %w", ms.Live, n, ms.NumDocs, ms.NumLive, base.ErrCorrupt)
	}
	return d, nil
}

// checkSegment returns an error if a segment's metadata disagree with the manifest. Fields that were
// added can be missing.
func checkSegment(m *manifest, ms *manifestSegment, seg *segment.Segment) error {
	meta, want := seg.Meta(), m.Options.segmentOptions(0)
	if meta.Sum() != ms.Sum {
		return fmt.Errorf("of another index, or an older one: %w", base.ErrCorrupt)
	}
	ok := meta.NumDocs == ms.NumDocs && meta.Analyzer == want.Analyzer && meta.Positions == want.Positions &&
		meta.Stored == want.Stored && meta.BM25 == want.BM25 && meta.Weights == want.Weights &&
		len(meta.Fields) <= len(want.Fields) && len(meta.Fields) >= len(want.Fields)-m.grownTerms()
	for i := 0; ok && i < len(meta.Fields); i++ {
		ok = meta.Fields[i].Name == want.Fields[i] && meta.Fields[i].UnitLengths == (want.UnitLengths != nil && want.UnitLengths[i]) &&
			meta.Fields[i].Weights == (want.WeightFields != nil && want.WeightFields[i])
	}
	if !ok {
		return fmt.Errorf("its metadata contradict the manifest: %w", base.ErrCorrupt)
	}
	return nil
}

// Retain adds a reference to an unreleased snapshot and returns it. Each reference must be
// released.
func (s *Snapshot) Retain() *Snapshot {
	s.references.Add(1)
	return s
}

// retain adds a reference to a snapshot that others may release, false if they have released it.
func (s *Snapshot) retain() bool {
	for {
		n := s.references.Load()
		if n == 0 {
			return false
		}
		if s.references.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release drops a reference, after which the caller must not use the snapshot.
func (s *Snapshot) Release() {
	left := s.references.Add(-1)
	invariant.Check(left >= 0, "snapshot of generation %d released once too often", s.Generation)
	if left != 0 {
		return
	}
	for _, call := range s.onRelease.calls {
		call()
	}
	for _, seg := range s.held {
		seg.release()
	}
	s.impacts.close()
}

// FindIDs reports for each external id whether a segment has a document with it, deleted ones too. It is true for all that
// damaged segments may have.
func (s *Snapshot) FindIDs(ids []string) (found []bool) {
	hashes := make([]segment.IDHash, len(ids))
	for i, id := range ids {
		hashes[i] = segment.HashID([]byte(id))
	}
	found = make([]bool, len(ids))
	for i := range s.Segments {
		segment.FindIDs(s.Segments[i].Segment, ids, hashes, found)
	}
	return found
}

// Lookup finds the live document of an external id.
func (s *Snapshot) Lookup(id string) (view int, doc base.DocID, found bool, err error) {
	key := []byte(id)
	hash := segment.HashID(key)
	for i := len(s.Segments) - 1; i >= 0; i-- {
		v := &s.Segments[i]
		doc, found, err := hash.Lookup(v.Segment, key)
		if err != nil {
			return 0, 0, false, fmt.Errorf("segment %s: %w", v.Name, err)
		}
		if found && (v.Live == nil || v.Live.Has(int(doc))) {
			return i, doc, true, nil
		}
	}
	return 0, 0, false, nil
}
