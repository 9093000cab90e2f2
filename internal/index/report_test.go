package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

type countingReader struct{ memoryReader }

func (r *countingReader) Progress() (read, total int64) { return 30, 120 }
func (r *countingReader) Skipped() int64                { return 7 }

func TestMeter(t *testing.T) {
	m := startMeter(&countingReader{}, nil)
	m.counts.Docs.Store(1)
	m.counts.Bytes.Store(2)
	m.counts.BadRecords.Store(3)
	want := Progress{Phase: PhaseReading, Docs: 1, Bytes: 2, BadRecords: 3, InputRead: 30, InputTotal: 120, Fraction: 0.25}
	if got := m.progress(); got != want {
		t.Errorf("reading: %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		phase       Phase
		done, total int64
		want        float64
	}{{PhaseMerging, 0, 0, 0}, {PhaseMerging, 1, 8, 0.125}, {PhaseWriting, 8, 8, 1}, {PhaseWriting, 9, 8, 1}, {PhaseImpacts, 3, 0, 0}} {
		m.enter(c.phase, c.done, c.total)
		want.Phase, want.Fraction = c.phase, c.want
		if got := m.progress(); got != want {
			t.Errorf("%d of %d: %+v, want %+v", c.done, c.total, got, want)
		}
	}
	m.end()
	m = startMeter(nil, nil)
	if got := m.progress(); got != (Progress{Phase: PhaseReading}) {
		t.Errorf("without a reader: %+v", got)
	}
	m.end()
}

// Progress is reported before the end, and once more by the end.
func TestMeterReports(t *testing.T) {
	t.Parallel()
	reports := make(chan Progress, 100)
	m := startMeter(nil, func(p Progress) { reports <- p })
	m.enter(PhaseMerging, 1, 4)
	select {
	case p := <-reports:
		if p.Phase != PhaseMerging || p.Fraction != 0.25 {
			t.Errorf("%+v", p)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("no report within a minute")
	}
	m.end()
	for range 50 {
		reports := 0
		m := startMeter(nil, func(Progress) { reports++ })
		m.end()
		if reports != 1 {
			t.Fatalf("%d reports at the end, want 1", reports)
		}
	}
}

// The phases of a build, and its report.
func TestBuildReport(t *testing.T) {
	docs := randomDocs(96, 20, false)
	ix := create(t, vfstest.NewMem(), Options{})
	check(t, commitChange(t.Context(), ix, nil, docs[:5]))
	reader := &countingReader{memoryReader{docs: slices.Concat(docs, docs[:3]), batch: 4, bad: map[int]error{9: errors.New("syntax")}}}
	size := int64(0)
	for _, d := range reader.docs {
		size += int64(len(d.Title) + len(d.Text) + 50)
	}
	report, err := ix.Build(t.Context(), reader, BuildOptions{Threads: 1, MaxErrors: 1, OnBadRecord: func(*corpus.RecordError) {}})
	check(t, err)
	if report.ReadTime <= 0 || report.MergeTime <= 0 {
		t.Errorf("times %v and %v", report.ReadTime, report.MergeTime)
	}
	report.ReadTime, report.MergeTime = 0, 0
	want := Report{Docs: 19, Bytes: size, BadRecords: 1, Duplicates: 3, Replaced: 5, Skipped: 7, Partials: 1, Segment: "seg-000002"}
	if report != want {
		t.Errorf("report %+v, want %+v", report, want)
	}
}

// Duplicates are looked for in the phase of merging; the commit goes through all phases.
func TestBuildPhases(t *testing.T) {
	docs := randomDocs(97, 20, false)
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	var phases []Phase
	var now func() Phase
	enter := func() {
		if p := now(); len(phases) == 0 || phases[len(phases)-1] != p {
			phases = append(phases, p)
		}
	}
	var m *meter
	now = func() Phase { return m.progress().Phase }
	m = startMeter(nil, nil)
	defer m.end()
	s, err := ix.begin()
	check(t, err)
	partials := invertDocs(t, s, slices.Concat(docs, docs[:1]))
	o, err := BuildOptions{Threads: 1, Reorder: ReorderBP, OnDuplicate: func(string, corpus.Location, corpus.Location) { enter() }}.withDefaults()
	check(t, err)
	var report Report
	check(t, s.commitPartials(t.Context(), partials, o, m, &report))
	enter()
	check(t, errors.Join(partials.Close(), s.end(), ix.Close()))
	if want := []Phase{PhaseMerging, PhaseWriting}; !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
}

func TestImportReport(t *testing.T) {
	docs := randomDocs(98, 12, false)
	from := create(t, vfstest.NewMem(), Options{NoStored: true})
	check(t, commitChange(t.Context(), from, nil, docs))
	s, err := from.Snapshot()
	check(t, err)
	defer s.Release()
	drop := segment.NewBitmap(12)
	drop.Set(0)
	src, err := s.Segments[0].Source(drop)
	check(t, err)
	ix := create(t, vfstest.NewMem(), Options{NoStored: true})
	check(t, commitChange(t.Context(), ix, nil, docs[1:4]))
	var last Progress
	report, err := ix.Import(t.Context(), renamedSource{src, map[int]string{5: docs[6].ID, 7: docs[8].ID}},
		ImportOptions{Threads: 1, Reorder: ReorderBP, Progress: func(p Progress) { last = p }})
	check(t, err)
	if want := (Report{Docs: 9, Duplicates: 2, Replaced: 3, Segment: "seg-000003"}); report != want {
		t.Errorf("report %+v, want %+v", report, want)
	}
	if last.Phase != PhaseWriting || last.Fraction != 1 {
		t.Errorf("last progress %+v", last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err := ix.Import(ctx, src, ImportOptions{}); !errors.Is(err, context.Canceled) || report != (Report{}) {
		t.Errorf("cancelled: report %+v, error %v", report, err)
	}
	if _, err := ix.Import(t.Context(), src, ImportOptions{Reorder: "best"}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("unknown reordering: error %v", err)
	}
	if _, err := ix.Import(t.Context(), renamedSource{src, map[int]string{5: ""}}, ImportOptions{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("empty id: error %v", err)
	}
	held := newWriter(t, ix)
	if _, err := ix.Import(t.Context(), src, ImportOptions{}); !errors.Is(err, base.ErrLocked) {
		t.Errorf("beside a writer: error %v", err)
	}
	check(t, held.Close())
}

// sizesOnDisk sums the files of an index's segments, without their metadata.
func sizesOnDisk(mem *vfstest.Mem, dir string) (size int64) {
	for _, name := range mem.Names() {
		if strings.HasPrefix(name, filepath.Join(dir, "seg-")) && !strings.Contains(name, ".live-") && filepath.Base(name) != "meta" {
			size += int64(len(mem.Get(name)))
		}
	}
	return size
}

// The report of a merge and of its plan; progress of the parts adds up.
func TestMergeReport(t *testing.T) {
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	docs := randomDocs(99, 24, false)
	check(t, commitChange(t.Context(), ix, nil, docs[:8]))
	check(t, commitChange(t.Context(), ix, docs[:2], docs[8:12]))
	check(t, commitChange(t.Context(), ix, nil, docs[12:]))
	size := sizesOnDisk(mem, "ix")
	before := MergeSize{Segments: 3, Docs: 24, Deleted: 2, SizeBytes: size}
	s, err := ix.Snapshot()
	check(t, err)
	estimate := int64(float64(s.Segments[0].Meta().SizeBytes())*0.75) + s.Segments[1].Meta().SizeBytes() + s.Segments[2].Meta().SizeBytes()
	s.Release()
	plan, err := ix.Merge(t.Context(), MergeOptions{MaxSegments: 2, DryRun: true})
	check(t, err)
	if want := (MergeReport{Before: before, After: MergeSize{Segments: 2, Docs: 22, SizeBytes: estimate}, Changed: true}); plan != want {
		t.Errorf("plan %+v, want %+v", plan, want)
	}
	names := mem.Names()
	for _, o := range []MergeOptions{{MaxSegments: -1}, {Reorder: "best"}, {MaxSegments: -1, DryRun: true}} {
		if _, err := ix.Merge(t.Context(), o); !errors.Is(err, base.ErrBadInput) || !slices.Equal(mem.Names(), names) {
			t.Errorf("%+v: error %v, want ErrBadInput", o, err)
		}
	}
	type step struct {
		phase       Phase
		done, total int64
	}
	var steps []step
	snapshot, err := ix.Snapshot()
	check(t, err)
	defer snapshot.Release()
	ss, err := ix.begin()
	check(t, err)
	result, err := ss.apply(t.Context(), change{
		failed: func() error { return nil }, threads: 1, memoryBytes: DefaultMemoryBytes, reorder: true,
		merge:    snapshot.mergeGroups(&MergeOptions{MaxSegments: 2, Reorder: ReorderBP}),
		progress: func(p Phase, done, total int64) { steps = append(steps, step{p, done, total}) },
	})
	check(t, errors.Join(err, ss.end()))
	if !result.changed || result.deleted != 0 || result.segment != "" || result.impacts != ImpactsNone {
		t.Errorf("result %+v", result)
	}
	ends := map[Phase][]string{}
	for _, st := range steps {
		if st.done < 0 || st.done > st.total || st.total%22 != 0 {
			t.Errorf("%+v", st)
		}
		if fraction := fmt.Sprintf("%.4f", float64(st.done)/float64(st.total)); fraction == fmt.Sprintf("%.4f", 10.0/22) || fraction == "1.0000" {
			ends[st.phase] = append(ends[st.phase], fraction)
		}
	}
	for _, p := range []Phase{PhaseMerging, PhaseWriting} {
		if got := slices.Compact(ends[p]); !slices.Equal(got, []string{"0.4545", "1.0000"}) {
			t.Errorf("%s: parts end at %q", p, got)
		}
	}
	check(t, ix.Close())
}

// The numbers in the report of a merge equal the sizes and counts of the files.
func TestMergeReportAfter(t *testing.T) {
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	docs := randomDocs(99, 24, false)
	check(t, commitChange(t.Context(), ix, nil, docs[:8]))
	check(t, commitChange(t.Context(), ix, docs[:2], docs[8:12]))
	check(t, commitChange(t.Context(), ix, nil, docs[12:]))
	size := sizesOnDisk(mem, "ix")
	var last Progress
	report, err := ix.Merge(t.Context(), MergeOptions{MaxSegments: 2, Progress: func(p Progress) { last = p }})
	check(t, err)
	want := MergeReport{
		Before: MergeSize{Segments: 3, Docs: 24, Deleted: 2, SizeBytes: size},
		After:  MergeSize{Segments: 2, Docs: 22, SizeBytes: sizesOnDisk(mem, "ix")}, Changed: true,
	}
	if report != want {
		t.Errorf("report %+v, want %+v", report, want)
	}
	if last.Phase != PhaseMerging || last.Fraction != 1 {
		t.Errorf("last progress %+v", last)
	}
	// A kept segment is not written again.
	if m := ix.currentManifest(); m.Segments[0].Name != "seg-000004" || m.Segments[1].Name != "seg-000003" {
		t.Errorf("segments %+v", m.Segments)
	}
	if report, err = ix.Merge(t.Context(), MergeOptions{MaxSegments: 2}); err != nil || report.Changed || report.After.Segments != 2 || ix.currentManifest().Generation != 4 {
		t.Errorf("again: %+v, %v", report, err)
	}
	check(t, ix.Close())
}

// Lists of another program are dropped, others rebuilt.
func TestMergeImpactsReport(t *testing.T) {
	for name, c := range map[string]struct {
		external, empty bool
		want            MergedImpacts // of the dry run and of the merge
	}{
		"external":     {external: true, want: ImpactsDropped},
		"rebuilt":      {want: ImpactsRebuilt},
		"no documents": {empty: true, want: ImpactsDropped},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfstest.NewMem()
			ix, err := Create(mem, "ix", Options{})
			check(t, err)
			docs := randomDocs(100, 6, false)
			check(t, commitChange(t.Context(), ix, nil, docs))
			if c.empty {
				killAll(t, mem)
				_, err := ix.Refresh()
				check(t, err)
			} else {
				check(t, commitChange(t.Context(), ix, docs[:1], nil))
			}
			s, err := ix.Snapshot()
			check(t, err)
			defer s.Release()
			if c.external {
				o := impact.Options{IndexID: s.indexID, Generation: s.Generation, NumDocs: s.NumDocs}
				o.Ranking.Name = impact.RankingExternal
				w, err := impact.Create(mem, ix.path(impactsName(s.Generation)), o)
				check(t, err)
				check(t, w.Close())
			} else {
				_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
				check(t, err)
			}
			plan, err := ix.Merge(t.Context(), MergeOptions{DryRun: true})
			check(t, err)
			if !plan.Changed || plan.Impacts != c.want {
				t.Errorf("plan %+v, want impacts %d", plan, c.want)
			}
			report, err := ix.Merge(t.Context(), MergeOptions{})
			check(t, err)
			if !report.Changed || report.Impacts != c.want || c.empty && report.After != (MergeSize{}) {
				t.Errorf("report %+v, want impacts %d", report, c.want)
			}
			after, err := ix.Snapshot()
			check(t, err)
			defer after.Release()
			if _, err := after.StoredImpacts(); errors.Is(err, ErrNoImpacts) != (c.want == ImpactsDropped) {
				t.Errorf("impacts after the merge: %v", err)
			}
		})
	}
}

// killAll marks all documents of the only segment as deleted; commits leave no such segment.
func killAll(t *testing.T, mem *vfstest.Mem) {
	t.Helper()
	m, err := loadManifest(mem, "ix")
	check(t, err)
	m = m.clone()
	m.Generation++
	ms := &m.Segments[0]
	ms.Live, ms.NumLive = liveName(ms.Name, m.Generation), 0
	ms.LiveSum = saveVersion1(t, mem, ms.Live, segment.NewBitmap(ms.NumDocs))
	_, err = m.save(mem, "ix")
	check(t, err)
}

func TestAdvanceOfImpacts(t *testing.T) {
	b := &impactBuild{snapshot: &Snapshot{Fields: []FieldStats{{NumPostings: 1 << 20}}}}
	b.advance(5) // without progress
	var told []int64
	b.progress = func(done, total int64) {
		if total != 2<<20 {
			t.Errorf("total %d", total)
		}
		told = append(told, done)
	}
	for _, n := range []int64{5, 1<<20 - 11, 1, 1, 1<<20 - 1} {
		b.advance(n)
	}
	if want := []int64{1 << 20, 2 << 20}; !slices.Equal(told, want) {
		t.Errorf("told of %d, want %d", told, want)
	}
}

// Either pass over the lists ends.
func TestBuildImpactsCancelled(t *testing.T) {
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, randomDocs(101, 20, false)))
	check(t, ix.Close())
	for _, at := range []string{"readdir ix", "create ix/" + impactsTemp} {
		ctx, cancel := context.WithCancel(t.Context())
		var faulty *vfstest.Faulty
		seen := 0
		faulty = vfstest.NewFaulty(mem, vfstest.Plan{Before: func() {
			if ops := faulty.Operations(); len(ops) > 0 && ops[len(ops)-1] == at {
				seen++
				cancel()
			}
		}})
		ix, err := Open(faulty, "ix")
		check(t, err)
		_, err = ix.BuildImpacts(ctx, ImpactOptions{})
		if !errors.Is(err, context.Canceled) || len(leftBehind(t, mem)) > 0 || seen == 0 {
			t.Errorf("cancelled after %s: error %v, left %q", at, err, leftBehind(t, mem))
		}
		cancel()
		check(t, ix.Close())
		if open := faulty.StillOpen(); len(open) > 0 {
			t.Errorf("cancelled after %s: %q are still open", at, open)
		}
	}
}

func invertDocs(t *testing.T, s *session, docs []corpus.Document) *inverter.Partials {
	t.Helper()
	dir, err := s.temp()
	check(t, err)
	options := s.ix.Options()
	partials, err := inverter.Invert(t.Context(), &memoryReader{docs: docs, batch: 10}, inverter.Options{
		Schema: options.Schema(), FS: s.ix.fs, Dir: dir, MemoryBytes: minMemoryBytes, Threads: 1,
	})
	check(t, err)
	return partials
}
