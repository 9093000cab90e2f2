package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Warm uploads images if all fit, also page-locked lists if half fit, else compressed lists and
// directories.
func TestWarm(t *testing.T) {
	c := newCollection(t, 4000, 1, "")
	images, packed := int64(0), int64(0)
	{
		e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, Lanes: 2})
		v := c.attach(t, e)
		if lists, total, err := v.Warm(t.Context(), WarmOptions{}); lists != numWords || total != numWords || err != nil {
			t.Fatalf("%d of %d lists, error %v", lists, total, err)
		}
		s := e.Stats().Devices[0]
		if s.Lists != numWords || s.Compressed != 0 || s.Host.Lists != 0 {
			t.Errorf("all images fit: %+v, want images only", s)
		}
		images = s.SizeBytes
		v.Release()
	}
	for name, share := range map[string]int64{"most images": 70, "few images": 30, "few lists": 2} {
		t.Run(name, func(t *testing.T) {
			var progress, total int64
			e := open(t, Options{Memory: Memory{Bytes: images * share / 100}, Lanes: 2})
			v := c.attach(t, e)
			defer v.Release()
			lists, _, err := v.Warm(t.Context(), WarmOptions{Progress: func(d, n int64) { progress, total = d, n }})
			if err != nil || progress != total || total == 0 {
				t.Fatalf("error %v, progress %d of %d", err, progress, total)
			}
			s := e.Stats().Devices[0]
			packed = s.Host.SizeBytes
			if s.Host.Lists != numWords || s.Lists != lists || s.Errors != 0 || s.SizeBytes > s.LimitBytes {
				t.Errorf("%d lists, %+v: want all lists page-locked", lists, s)
			}
			switch name {
			case "most images":
				if s.Compressed != 0 || s.Directories != 0 || lists == 0 || lists == numWords {
					t.Errorf("%+v: want images", s)
				}
			case "few images":
				if s.Compressed != s.Lists || lists == 0 || lists+s.Directories < numWords {
					t.Errorf("%+v, %d bytes in all: want compressed lists", s, packed)
				}
			case "few lists":
				if s.Compressed != s.Lists || s.Directories == 0 || lists == numWords {
					t.Errorf("%+v: want directories", s)
				}
			}
			if again, _, err := v.Warm(t.Context(), WarmOptions{}); again != lists || err != nil {
				t.Errorf("second Warm: %d lists, first %d, error %v", again, lists, err)
			}
			for _, q := range c.queries(t) {
				q.Path = PathPacked
				c.check(t, v, q, nil)
			}
			if after := e.Stats().Devices[0]; after.Asked.File != 0 {
				t.Errorf("%+v: lists were read from the file", after.Asked)
			}
		})
	}
}

func TestWarmMinDocFreq(t *testing.T) {
	c := newCollection(t, 2000, 1, "")
	q := c.query(t, false, 5)
	n := q.Legs[0].DocFreq()
	for least, want := range map[uint32]int64{0: numWords, n: 6, n + 1: 5, 3000: 0} {
		e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, Lanes: 1})
		v := c.attach(t, e)
		lists, total, err := v.Warm(t.Context(), WarmOptions{MinDocFreq: least})
		if lists != want || total != want || err != nil {
			t.Errorf("from %d postings: %d of %d lists, error %v; want %d", least, lists, total, err, want)
		}
		if v.HasImages(q) != (least <= n) {
			t.Errorf("from %d postings: r5 has an image: %t", least, v.HasImages(q))
		}
		v.Release()
	}
}

// Warm gives up after many consecutive lists without room; Progress reaches the total.
func TestWarmFull(t *testing.T) {
	const numDocs = 3 * manyRefusals
	c := newCollectionOf(t, rand.New(rand.NewPCG(1, 2)), numDocs, 1, "", func(doc int) string { return fmt.Sprintf("u%d common", doc) })
	var images int64
	for _, full := range []bool{false, true} {
		o := Options{Memory: Memory{Bytes: 8 << 20}, HostMemory: HostMemory{None: true}, Lanes: 1}
		if full {
			o.Memory.Bytes = images * 11 / 20 * 8 / 7
		}
		e := open(t, o)
		v := c.attach(t, e)
		var done, all []int64
		lists, total, err := v.Warm(t.Context(), WarmOptions{Progress: func(d, n int64) { done, all = append(done, d), append(all, n) }})
		postings := int64(2 * numDocs)
		if full {
			postings *= 2 // in two passes
		}
		if err != nil || total != numDocs+1 || full && (lists < numDocs/3 || lists+manyRefusals >= total) || !full && lists != total {
			t.Errorf("full %t: %d of %d lists, error %v", full, lists, total, err)
		}
		if !slices.IsSorted(done) || done[len(done)-1] != postings || all[0] != postings || len(done) < 3 {
			t.Errorf("full %t: progress %v of %v, want %d", full, done, all, postings)
		}
		images = e.Stats().Devices[0].SizeBytes
		v.Release()
	}
}

// Warm returns errors of its context, of files and of the device, and leaves nothing pinned.
func TestWarmErrors(t *testing.T) {
	c := newCollection(t, 8000, 1, "")
	var faults cuda.Faults
	e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, Lanes: 2, Faults: &faults})
	v := c.attach(t, e)
	defer v.Release()
	warm := func(ctx context.Context) (lists int64, err error) {
		defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
		lists, _, err = v.Warm(ctx, WarmOptions{})
		return lists, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := warm(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	faults.Fail("cuMemcpyHtoDAsync_v2", 1, cuda.InvalidValue)
	if _, err := warm(t.Context()); !IsDeviceError(err) || !strings.Contains(err.Error(), "term \"r") || e.Stats().Devices[0].Errors != 1 {
		t.Errorf("failing copy: error %v", err)
	}
	f := c.truncatable(t, false)
	for _, file := range []string{"terms", "records", "postings", "lengths"} {
		name := filepath.Join(c.dir, c.segments[0].Key, file)
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f.name, f.content = name, content
		if err := os.Truncate(name, 0); err != nil {
			t.Fatal(err)
		}
		again := c.attachAs(t, e, file)
		_, _, err = func() (n, m int64, err error) {
			defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
			return again.Warm(t.Context(), WarmOptions{})
		}()
		var fault *vfs.Fault
		if !errors.As(err, &fault) || fault.Name != name || !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("without %s: error %v", file, err)
		}
		checkIdle(t, e)
		f.restore(t)
		if lists, _, err := again.Warm(t.Context(), WarmOptions{}); err != nil || lists != numWords {
			t.Errorf("%s restored: %d lists, error %v", file, lists, err)
		}
		again.Release()
	}
	if lists, err := warm(t.Context()); err != nil || lists != numWords {
		t.Errorf("%d lists, error %v", lists, err)
	}
}

// The keys are new, so no list is shared with other views.
func (c *collection) attachAs(t *testing.T, e *Engine, key string) *View {
	t.Helper()
	segments := slices.Clone(c.segments)
	for i := range segments {
		segments[i].Key += key
	}
	v, err := e.Attach(segments)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Impact-ordered lists are loaded and searched as images, on one device or two.
func TestImpacts(t *testing.T) {
	const numDocs = 700
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		rng := rand.New(rand.NewPCG(8, 8))
		for i := range numDocs {
			w.AddText(i, collectionText(rng))
		}
	})
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	x, err := indextest.Snapshot(t, ix).Impacts()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]*impact.List{}
	for it := x.Lists(); it.Next(); {
		l := *it.List()
		lists[string(it.Term())] = &l
	}
	q := &Query{K: 10, Count: true, NumTerms: 2, Legs: make([]Leg, 2)}
	sums := make([]base.Score, numDocs)
	for i, term := range []string{"r9", "r2"} {
		leg := &q.Legs[i]
		leg.Impacts, leg.Term = lists[term], score.Term{Weight: float32(i + 1), Linear: true}
		leg.Scale = score.NewScale(leg.Term, 0, 0)
		segments, err := leg.Impacts.AppendSegments(nil)
		if err != nil {
			t.Fatal(err)
		}
		for j := range segments {
			docs, err := x.AppendDocIDs(nil, &segments[j])
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range docs {
				sums[doc] += leg.Term.Score(uint32(segments[j].Impact), 0)
			}
		}
	}
	var want []base.Hit
	for doc, sum := range sums {
		if sum > 0 {
			want = append(want, base.Hit{DocID: base.DocID(doc), Score: sum})
		}
	}
	matches := int64(len(want))
	slices.SortFunc(want, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	for devices := 1; devices <= 2; devices++ {
		library := gputest.Configure(t, gputest.Config{Devices: devices, MemoryBytes: 256 << 20})
		e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
		if err != nil {
			t.Fatal(err)
		}
		v, err := e.Attach([]Segment{{Key: "impacts", NumDocs: numDocs, Impacts: x}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := v.wanted(t.Context(), WarmOptions{})
		if err != nil || len(all) != len(lists) {
			t.Fatalf("%d of %d lists, error %v", len(all), len(lists), err)
		}
		images := int64(0)
		for i := range all {
			images += all[i].imageBytes
		}
		least, wanted := lists["r2"].DocFreq, int64(0)
		for _, l := range lists {
			if l.DocFreq >= least {
				wanted++
			}
		}
		if n, total, err := v.Warm(t.Context(), WarmOptions{MinDocFreq: least}); err != nil || n != wanted || total != wanted || wanted == int64(len(lists)) || v.HasImages(q) {
			t.Errorf("%d devices: %d of %d lists of %d postings or more, error %v, images %t", devices, n, total, least, err, v.HasImages(q))
		}
		r := make([]Result, 1)
		if err := v.Run(t.Context(), []*Query{q}, r, nil, nil); err != nil || r[0].Err != nil || r[0].Matches != matches || !slices.Equal(r[0].Hits, want[:10]) {
			t.Errorf("%d devices: error %v, %v, %d matches, hits %v; want %d, %v", devices, err, r[0].Err, r[0].Matches, r[0].Hits, matches, want[:10])
		}
		if n, _, err := v.Warm(t.Context(), WarmOptions{}); err != nil || n != int64(len(lists)) {
			t.Errorf("%d devices: %d of %d lists, error %v", devices, n, len(lists), err)
		}
		if size := e.Stats().Devices[0].SizeBytes; devices == 1 && size != images {
			t.Errorf("images of %d bytes, estimated %d", size, images)
		}
		v.Release()
		closeEngine(t, e)
	}
}
