package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/residency"
)

// Ordinals is residency.Ordinals.
type Ordinals = residency.Ordinals

// Tally asks for the number of matches of a query, and for columns how many of them have each value.
type Tally struct {
	// Query has the lists, the filters and whether it is conjunctive. Without lists it is, and all documents of the
	// filters match.
	Query *Query
	// Columns by segment, then column: [numSegments][NumColumns].
	Columns    []Ordinals
	NumColumns int

	// Segments are the answer, in the memory of former ones, without segments that are on no device.
	Segments []SegmentTally
	// Err is not nil if the CPU must answer the query; then Segments is undefined.
	Err error
}

// SegmentTally is the answer of a segment.
type SegmentTally struct {
	Matches int64
	// Counts by column, then ordinal; nil of a column that the segment lacks. Missing are matches without a
	// value.
	Counts  [][]uint32
	Missing []int64
}

// tallyState is the memory of a lane for tallies.
type tallyState struct {
	*imagesearch.Tally // nil until the first one
	values             []imagesearch.Values
	runs               int
	share              int64 // of this run and the next ones that are not timed; 0: this run is not timed
}

// timedShare is the number of tallies of which one is timed. Timing takes longer than a launch.
const timedShare = 8

// begin begins a tally.
func (s *tallyState) begin(traced bool) {
	s.share = 0
	if s.runs%timedShare == 0 {
		s.share = timedShare
	}
	s.runs++
	s.SetTimed(traced || s.share > 0)
}

func (s *tallyState) close() error {
	t := s.Tally
	if s.Tally = nil; t == nil {
		return nil
	}
	return t.Close()
}

var (
	// errNoColumn means that a device has no room for a column.
	errNoColumn   = errors.New("the GPU has no room for a column")
	errManyValues = errors.New("the columns of a segment have too many values together for a GPU")
)

// reset prepares the answer.
func (t *Tally) reset(numSegments int) {
	t.Err = nil
	for len(t.Segments) < numSegments {
		t.Segments = append(t.Segments, SegmentTally{})
	}
	t.Segments = t.Segments[:numSegments]
	for s := range t.Segments {
		a := &t.Segments[s]
		*a = SegmentTally{Counts: make([][]uint32, t.NumColumns), Missing: make([]int64, t.NumColumns)}
		for i := range a.Counts {
			if c := t.Columns[s*t.NumColumns+i].Column; c != nil {
				a.Counts[i] = make([]uint32, c.NumTerms())
			}
		}
	}
}

func (t *Tally) check(v *View) error {
	q := t.Query
	if q.NumTerms < 1 && !q.Conjunctive || len(q.Legs) != q.NumTerms*len(v.segments) || len(q.Filters) > 0 && len(q.Filters) != len(v.segments) || len(t.Columns) != t.NumColumns*len(v.segments) {
		return fmt.Errorf("tally: %d legs of %d terms, %d filters and %d columns over %d segments: %w", len(q.Legs), q.NumTerms, len(q.Filters), len(t.Columns), len(v.segments), base.ErrBadInput)
	}
	slots := 0
	for i := range t.Columns {
		if i%t.NumColumns == 0 {
			slots = 0
		}
		of := &t.Columns[i]
		if of.Column == nil || v.segments[i/t.NumColumns].OnCPU {
			continue
		}
		if !of.Counts() {
			return errors.New("a column has numbers, or too many values for a GPU")
		}
		if slots += of.NumSlots(); slots > imagesearch.MaxTallyCounts {
			return errManyValues
		}
	}
	return v.engine.Lost()
}

// Tally counts on all devices, one after another; it uses images, which it uploads if they are missing. The
// returned error is the context's; other failures are in t.Err. trace, if not nil, is filled as by Run.
func (v *View) Tally(ctx context.Context, t *Tally, trace *Trace) error {
	if trace != nil {
		trace.Devices = append(trace.Devices[:0], make([]DeviceTrace, len(v.engine.devices))...)
	}
	if t.Err = t.check(v); t.Err != nil {
		return ctx.Err()
	}
	t.reset(len(v.segments))
	for i, d := range v.engine.devices {
		l := d.lane(ctx, 1)
		if l == nil {
			return ctx.Err()
		}
		l.countOn(v, i, &counting{query: t.Query, err: &t.Err, pin: func(targets []target) error { return l.pinColumns(targets, t) }, run: func(targets []target, columns []*residency.Entry) error {
			return l.tallyAll(targets, columns, t, trace != nil)
		}}, trace)
		if t.Err != nil {
			break
		}
	}
	return ctx.Err()
}

// HasTally reports whether all lists and columns of a tally are on the devices.
func (v *View) HasTally(t *Tally) bool {
	if t.check(v) != nil || t.Query.NumTerms > 0 && !v.HasImages(t.Query) {
		return false
	}
	for i, d := range v.engine.devices {
		for s := range v.targets[i] {
			p := v.targets[i][s].shard
			for j := 0; p != nil && !t.Query.lacks(s) && j < t.NumColumns; j++ {
				if !d.HasOrdinals(p, &t.Columns[s*t.NumColumns+j]) {
					return false
				}
			}
		}
	}
	return true
}

// counting is a run of a Tally or a Select on a device: pin adds the entries of columns, with which run is called.
type counting struct {
	query *Query
	err   *error
	pin   func(targets []target) error
	run   func(targets []target, columns []*residency.Entry) error
}

// countOn returns the lane.
func (l *lane) countOn(v *View, device int, c *counting, trace *Trace) {
	l.enter()
	defer l.leave()
	targets := v.targets[device]
	var results [1]Result
	if _, err := l.gather(v, targets, []*Query{c.query}, results[:]); err != nil {
		*c.err = err
		return
	}
	err := results[0].Err
	columns := len(l.entries)
	if err == nil {
		err = l.d.Note(c.pin(targets))
	}
	if err == nil {
		if err = l.openTally(); err == nil {
			l.tally.begin(trace != nil)
			err = c.run(targets, l.entries[columns:])
		}
		l.settle(err)
	}
	*c.err = err
	l.d.busy.Add(int64(l.counts.took) * l.tally.share)
	l.d.CountLists(l.counts.Hit, 0)
	l.d.asked.Add(&l.counts.Asked)
	l.d.tallies.Add(1)
	l.unpin(0)
	l.report(trace, device)
}

func (l *lane) openTally() (err error) {
	if l.tally.Tally == nil {
		l.tally.Tally, err = l.d.images.NewTally()
	}
	return err
}

// counted adds a count or a selection to the counters.
func (l *lane) counted(kernel string, traced bool) error {
	l.d.launches.Add(1)
	if traced {
		l.count(kernel)
	} else if l.tally.share == 0 {
		return nil
	}
	took, err := l.tally.Elapsed()
	l.counts.took += took
	return err
}

// pinColumns adds the columns of each segment to entries, nil for those that are not needed.
func (l *lane) pinColumns(targets []target, t *Tally) error {
	for s := range targets {
		for i := range t.NumColumns {
			var e *residency.Entry
			if of := &t.Columns[s*t.NumColumns+i]; of.Column != nil && targets[s].shard != nil && !t.Query.lacks(s) {
				var err error
				if e, err = l.uploader.Ordinals(targets[s].shard, of, &l.counts.Counts); err != nil {
					return err
				}
				if e == nil {
					return errNoColumn
				}
			}
			l.entries = append(l.entries, e)
		}
	}
	return nil
}

func (l *lane) tallyAll(targets []target, columns []*residency.Entry, t *Tally, traced bool) error {
	for s := range targets {
		if p := &targets[s]; p.shard != nil {
			if err := l.tallySegment(p, s, columns[s*t.NumColumns:][:t.NumColumns], t, traced); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lane) tallySegment(p *target, s int, entries []*residency.Entry, t *Tally, traced bool) error {
	var query imagesearch.Query
	var result Result
	q := *t.Query
	q.K = 1 // hits are not looked for
	if ok, err := l.query(p, s, 0, &q, &result, &query); err != nil || !ok {
		return err
	}
	l.tally.values = l.tally.values[:0]
	for i, e := range entries {
		if e == nil {
			continue
		}
		if err := l.waits.Image(l.stream, e); err != nil {
			return err
		}
		l.tally.values = append(l.tally.values, e.Values(p.shard, &t.Columns[s*t.NumColumns+i]))
	}
	if err := l.tally.Count(l.stream, p.segment, &query, l.tally.values); err != nil {
		return err
	}
	if err := l.counted("imagesearch_tally", traced); err != nil {
		return err
	}
	a, n := &t.Segments[s], 0
	a.Matches += int64(l.tally.Matches())
	for i, e := range entries {
		if e == nil {
			a.Missing[i] += int64(l.tally.Matches())
			continue
		}
		counts, to := l.tally.Counts(n), a.Counts[i][t.Columns[s*t.NumColumns+i].Least():]
		n++
		a.Missing[i] += int64(counts[0])
		for ord, c := range counts[1:] {
			to[ord] += c
		}
	}
	return nil
}

// TallyTime is imagesearch.TallyTime.
func TallyTime(numDocs int, postings uint64) time.Duration {
	return imagesearch.TallyTime(numDocs, postings)
}
