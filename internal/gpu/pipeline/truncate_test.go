package pipeline

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs"
)

// truncated is a file of a collection's last segment, and queries, some of which need the
// missing part.
type truncated struct {
	c       *collection
	name    string
	content []byte
	queries []*Query
	want    []Result
	damaged []bool // by query
}

// truncatable prepares queries of one list and of two.
func (c *collection) truncatable(t *testing.T, conjunctive bool) *truncated {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("files are not mapped on this system")
	}
	f := &truncated{c: c}
	for word := range numWords {
		f.add(t, c.query(t, conjunctive, word))
		if word > 0 {
			f.add(t, c.query(t, conjunctive, word, word-1))
		}
	}
	return f
}

func (f *truncated) add(t *testing.T, q *Query) {
	t.Helper()
	hits, candidates := f.c.oracle(t, q)
	f.queries, f.want = append(f.queries, q), append(f.want, Result{Hits: hits, Matches: int64(candidates.Len())})
}

// share is rounded down to a page.
func (f *truncated) truncate(t *testing.T, file string, share float64) {
	t.Helper()
	f.name = filepath.Join(f.c.dir, f.c.segments[len(f.c.segments)-1].Key, file)
	var err error
	if f.content, err = os.ReadFile(f.name); err != nil {
		t.Fatal(err)
	}
	pages := int(share * float64(len(f.content)) / float64(os.Getpagesize()))
	if err := os.Truncate(f.name, int64(pages*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	f.damaged = f.damaged[:0]
	for _, q := range f.queries {
		f.damaged = append(f.damaged, f.needs(q))
	}
	if !slices.Contains(f.damaged, true) || share > 0 && !slices.Contains(f.damaged, false) {
		t.Fatalf("%d of %d bytes: queries that need the missing part: %v", pages*os.Getpagesize(), len(f.content), f.damaged)
	}
}

// The mapping stays valid.
func (f *truncated) restore(t *testing.T) {
	t.Helper()
	to, err := os.OpenFile(f.name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(f.content); err != nil {
		t.Error(err)
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
}

// needs reports whether q reads a missing part.
func (f *truncated) needs(q *Query) bool {
	var err error
	func() {
		defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
		sum := uint32(0)
		for s := range f.c.segments {
			for _, length := range f.c.segments[s].Segment.Lengths(0) {
				sum += length
			}
		}
		for i := range q.Legs {
			payload, directory := q.Legs[i].List.Raw()
			for _, b := range payload {
				sum += uint32(b)
			}
			for _, entry := range directory {
				sum += entry.First
			}
		}
		runtime.KeepAlive(sum)
	}()
	return err != nil
}

// check expects that the damaged queries, and only they, have failed.
func (f *truncated) check(t *testing.T, what string, results []Result, damaged []bool) {
	t.Helper()
	for i := range results {
		r, want := &results[i], &f.want[i]
		var fault *vfs.Fault
		switch isFault := errors.As(r.Err, &fault); {
		case damaged[i]:
			if !isFault || fault.Name != f.name || !errors.Is(r.Err, base.ErrCorrupt) {
				t.Errorf("%s: query %d needs the missing part: error %v", what, i, r.Err)
			}
		case r.Err != nil || !slices.Equal(r.Hits, want.Hits) || r.Matches != want.Matches:
			t.Errorf("%s: query %d: error %v, %d matches, hits %v; want %d, %v", what, i, r.Err, r.Matches, r.Hits, want.Matches, want.Hits)
		}
	}
}

// checkIdle expects that no run holds a lane, a list or an upload.
func checkIdle(t *testing.T, e *Engine) {
	t.Helper()
	for i, d := range e.devices {
		d.WaitForPromotions()
		if n := d.lanes.count(); n != d.numLanes {
			t.Fatalf("GPU %d: %d of %d lanes are free", i, n, d.numLanes)
		}
		for range d.numLanes {
			l := d.lanes.take(nil, 1)
			if len(l.entries)+len(l.packed.held) != 0 || l.uploader.Busy() {
				t.Errorf("GPU %d: a lane holds %d images and %d compressed lists; busy: %t", i, len(l.entries), len(l.packed.held), l.uploader.Busy())
			}
			d.lanes.put(l)
		}
		if users, runs := d.Probe().Users(), numHolders(d); users != 0 || runs != 0 {
			t.Errorf("GPU %d: %d pins, %d runs hold lists", i, users, runs)
		}
	}
}

// Only queries that need the file fail. Their lists are not resident, and are loaded once the
// file is readable. Nothing leaks.
func TestTruncatedFile(t *testing.T) {
	batch := func(ctx context.Context, v *View, queries []*Query, results []Result) error {
		return v.Run(ctx, queries, results, nil, nil)
	}
	each := func(ctx context.Context, v *View, queries []*Query, results []Result) error {
		for i := range queries {
			if err := v.Run(ctx, queries[i:i+1], results[i:i+1], nil, nil); err != nil {
				return err
			}
		}
		return nil
	}
	steps := func(ctx context.Context, v *View, queries []*Query, results []Result) error {
		for i, q := range queries {
			s := Step{Legs: q.Legs, NumTerms: q.NumTerms, K: q.K, Count: true}
			if err := v.Intersect(ctx, &s, nil); err != nil {
				return err
			}
			results[i] = s.Result
		}
		return nil
	}
	c := newCollection(t, 8000, 2, "")
	or, and := c.truncatable(t, false), c.truncatable(t, true)
	recursive := newCollection(t, 8000, 1, "pfordelta-rec").truncatable(t, false) // the CPU decodes
	images, packed := []Path{PathImages}, []Path{PathPacked}
	type truncation struct {
		name    string
		file    *truncated
		paths   []Path // of the queries, in turn
		run     func(ctx context.Context, v *View, queries []*Query, results []Result) error
		lengths bool // truncate the document lengths, not the lists
		tight   bool
		options Options
		devices int
	}
	all := []truncation{
		{name: "batch", file: or, paths: images, run: batch},
		{name: "batch, decoded by the CPU", file: recursive, paths: images, run: batch},
		{name: "batch without lengths", file: or, paths: images, run: batch, lengths: true},
		{name: "slices", file: or, paths: images, run: batch, tight: true, options: Options{Memory: Memory{Bytes: 160 << 10}}},
		{name: "two devices", file: or, paths: images, run: batch, devices: 2},
		{name: "mixed batch", file: or, paths: []Path{PathPacked, PathImages}, run: batch},
		{name: "one by one", file: or, paths: images, run: each},
		{name: "packed", file: or, paths: packed, run: each},
		{name: "packed without lengths", file: or, paths: packed, run: each, lengths: true},
		{name: "packed without page-locked memory", file: or, paths: packed, run: each, options: Options{HostMemory: HostMemory{None: true}}},
		{name: "packed batch", file: or, paths: packed, run: batch},
		{name: "steps", file: and, paths: packed, run: steps},
	}
	for _, test := range sampletest.Some(t, 5, all) {
		t.Run(test.name, func(t *testing.T) {
			o, f := test.options, test.file
			o.Memory.Bytes = cmp.Or(o.Memory.Bytes, 8<<20)
			o.Lanes, o.Library, o.Devices = 2, gputest.Library(t).Path(), Selection{Ordinals: []int{0}}
			if test.devices > 0 {
				o.Library, o.Devices = gputest.Configure(t, gputest.Config{Devices: test.devices, MemoryBytes: 256 << 20}).Path(), Selection{All: true}
			}
			e, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			defer closeEngine(t, e)
			v := f.c.attach(t, e)
			for i, q := range f.queries {
				q.Path = test.paths[i%len(test.paths)]
			}
			if test.tight {
				e.devices[0].tight.Store(true)
			}
			file, share := "postings", 0.5
			if test.lengths {
				file, share = "lengths", 0
			}
			f.truncate(t, file, share)
			for range 3 { // more than the number of lanes
				results := make([]Result, len(f.queries))
				err = errors.Join(err, test.run(t.Context(), v, f.queries, results))
				f.check(t, "truncated", results, f.damaged)
				checkIdle(t, e)
			}
			f.restore(t)
			results := make([]Result, len(f.queries))
			if err = errors.Join(err, test.run(t.Context(), v, f.queries, results)); err != nil {
				t.Error(err)
			}
			f.check(t, "restored", results, make([]bool, len(f.queries)))
			checkIdle(t, e)
			v.Release()
			for _, s := range e.Stats().Devices {
				if s.Lists+s.Directories+s.Host.Lists+s.SizeBytes+s.Host.SizeBytes != 0 || s.Errors != 0 || s.Lost != "" {
					t.Errorf("%+v: want no lists and no errors", s)
				}
			}
		})
	}
}
