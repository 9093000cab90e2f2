package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/residency"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
)

// The plan depends on the share of the images that fits. Without room for half of them, lists are
// uploaded in order while the directories of the others fit.
func TestWarmPlan(t *testing.T) {
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	packed, other := newCollection(t, 300, 1, "").attach(t, e), newCollection(t, 200, 1, "ef").attach(t, e)
	defer packed.Release()
	defer other.Release()
	const perList = 512
	lists := make([]warmList, 4)
	for i := range lists {
		lists[i] = warmList{docFreq: 1000, imageBytes: 6000, packedBytes: perList + residency.DirectoryBytes(1000)}
	}
	directories := 4 * residency.DirectoryBytes(1000)
	const (
		image, lock, pack, directory = residency.UploadImage, residency.LockList, residency.LockAndPack, residency.LockAndPackDirectory
	)
	all := func(a residency.Action) []residency.Action { return []residency.Action{a, a, a, a} }
	for _, test := range []struct {
		view  *View
		limit int64
		want  [][]residency.Action // by pass
	}{
		{packed, 24_001, [][]residency.Action{all(image)}},
		{packed, 24_000, [][]residency.Action{all(image)}},
		{packed, 23_999, [][]residency.Action{all(image), all(lock)}},
		{packed, 12_000, [][]residency.Action{all(image), all(lock)}},
		{other, 11_999, [][]residency.Action{all(image), all(lock)}},
		{packed, 11_999, [][]residency.Action{all(pack)}},
		{packed, directories + 4*perList, [][]residency.Action{all(pack)}},
		{packed, directories + 4*perList - 1, [][]residency.Action{{pack, pack, pack, directory}}},
		{packed, directories + perList, [][]residency.Action{{pack, directory, directory, directory}}},
		{packed, directories + perList - 1, [][]residency.Action{all(directory)}},
	} {
		e.devices[0].Probe().SetLimit(test.limit)
		passes := test.view.plan(lists)
		if len(passes) != len(test.want) {
			t.Errorf("limit %d: %d passes, want %d", test.limit, len(passes), len(test.want))
			continue
		}
		for i, pass := range passes {
			pass(lists)
			var got []residency.Action
			for j := range lists {
				got = append(got, lists[j].action)
			}
			if !slices.Equal(got, test.want[i]) {
				t.Errorf("limit %d, pass %d: actions %v, want %v", test.limit, i, got, test.want[i])
			}
		}
	}
}

// wanted has each list once, longest first, with sizes that its forms have on the device.
func TestWanted(t *testing.T) {
	c := newCollection(t, 3000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, HostMemory: HostMemory{None: true}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	wanted, err := v.wanted(t.Context(), WarmOptions{})
	if err != nil || len(wanted) != 2*numWords {
		t.Fatalf("%d lists, error %v", len(wanted), err)
	}
	if !slices.IsSortedFunc(wanted, func(a, b warmList) int { return cmp.Compare(b.docFreq, a.docFreq) }) {
		t.Error("the lists are not in order of length")
	}
	var images, packed int64
	for i := range wanted {
		images += wanted[i].imageBytes
		packed += wanted[i].packedBytes + residency.DirectoryBytes(wanted[i].docFreq)
	}
	d := e.devices[0]
	if _, _, err := v.Warm(t.Context(), WarmOptions{}); err != nil || d.stats().SizeBytes != images {
		t.Errorf("error %v, images of %d bytes, estimated %d", err, d.stats().SizeBytes, images)
	}
	again := c.attachAs(t, e, "again")
	defer again.Release()
	withLane(d, func(l *lane) {
		for i := range wanted {
			wanted[i].action = residency.LockAndPack
			if there, err := again.warm(&wanted[i], []*lane{l}); err != nil || !there {
				t.Fatalf("%q: on the device: %t, error %v", wanted[i].term, there, err)
			}
		}
		absent := warmList{term: []byte("absent")}
		if there, err := again.warm(&absent, []*lane{l}); there || !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("an absent list is on the device: %t, error %v", there, err)
		}
	})
	if size := d.stats().SizeBytes - images; size > packed || packed-size > int64(len(wanted))*512 {
		t.Errorf("compressed lists of %d bytes, estimated %d", size, packed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.wanted(ctx, WarmOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// Even the only term of an index is not read when the context has ended.
func TestWantedStops(t *testing.T) {
	c := newCollectionOf(t, rand.New(rand.NewPCG(1, 1)), 100, 1, "", func(int) string { return "only" })
	v := c.attach(t, open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1}))
	defer v.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if lists, err := v.wanted(ctx, WarmOptions{}); !errors.Is(err, context.Canceled) || len(lists) != 0 {
		t.Errorf("%d lists, error %v", len(lists), err)
	}
}

// manyLists has n lists of one document and one of all.
func manyLists(t *testing.T, n int) *collection {
	t.Helper()
	return newCollectionOf(t, rand.New(rand.NewPCG(1, 2)), n, 1, "", func(doc int) string { return fmt.Sprintf("u%d common", doc) })
}

// Warm reports the number of loaded postings at each 256th list and at the end, and needs no Progress.
func TestWarmProgress(t *testing.T) {
	const n = 600
	c := manyLists(t, n)
	e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, HostMemory: HostMemory{None: true}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	var done []int64
	if lists, total, err := v.Warm(t.Context(), WarmOptions{Progress: func(d, _ int64) { done = append(done, d) }}); lists != n+1 || total != n+1 || err != nil {
		t.Fatalf("%d of %d lists, error %v", lists, total, err)
	}
	if want := []int64{n + 255, n + 511, 2 * n}; !slices.Equal(done, want) {
		t.Errorf("progress %v, want %v", done, want)
	}
	if lists, _, err := v.Warm(t.Context(), WarmOptions{}); lists != n+1 || err != nil {
		t.Errorf("without Progress: %d lists, error %v", lists, err)
	}
}

// Warm stops when its context ends.
func TestWarmStops(t *testing.T) {
	const n = 600
	c := manyLists(t, n)
	e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, HostMemory: HostMemory{None: true}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	lists, total, err := v.Warm(ctx, WarmOptions{Progress: func(int64, int64) { calls++; cancel() }})
	if !errors.Is(err, context.Canceled) || lists != 256 || total != n+1 || calls != 1 {
		t.Errorf("%d of %d lists, %d calls of Progress, error %v", lists, total, calls, err)
	}
	checkIdle(t, e)
}

// While Warm runs, a lane is free.
func TestWarmLeavesLane(t *testing.T) {
	c := manyLists(t, 600)
	e := open(t, Options{Memory: Memory{Bytes: 8 << 20}, HostMemory: HostMemory{None: true}, Lanes: 3})
	v := c.attach(t, e)
	defer v.Release()
	most := 0
	_, _, err := v.Warm(t.Context(), WarmOptions{Progress: func(done, total int64) {
		if done == total {
			return
		}
		for range 1000 { // other goroutines may take their lanes
			runtime.Gosched()
			most = max(most, 3-e.devices[0].lanes.count())
		}
	}})
	if err != nil || most > 2 {
		t.Errorf("%d of 3 lanes are taken, error %v", most, err)
	}
}

// A list that has room resets the number of refusals. After manyRefusals in a row, no list is taken.
func TestWarmRefusals(t *testing.T) {
	w := warming{wanted: make([]warmList, 1000)}
	refuse := func(n int, err error) {
		for range n {
			w.finish(&w.wanted[0], false, err)
		}
	}
	for _, err := range []error{residency.ErrNoRoom, residency.ErrTooLarge, &cuda.Error{Code: cuda.OutOfMemory}} {
		refuse(manyRefusals-1, err)
		if w.take(t.Context()) == nil {
			t.Errorf("%v: no list is taken after %d refusals", err, manyRefusals-1)
		}
		refuse(1, err)
		if w.take(t.Context()) != nil {
			t.Errorf("%v: a list is taken after %d refusals", err, manyRefusals)
		}
		w.finish(&w.wanted[0], true, nil)
	}
	if w.lists != 3 || w.err != nil {
		t.Errorf("%d lists, error %v", w.lists, w.err)
	}
}

// Warm returns the error of an upload that fails at the end.
func TestWarmSynchronizes(t *testing.T) {
	c := newCollection(t, 300, 1, "")
	var faults cuda.Faults
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults})
	v := c.attach(t, e)
	defer v.Release()
	for range 2 {
		if _, _, err := v.Warm(t.Context(), WarmOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	faults.Fail("cuStreamSynchronize", 1, cuda.InvalidValue)
	lists, _, err := v.Warm(t.Context(), WarmOptions{})
	if !IsDeviceError(err) || lists != numWords || e.Stats().Devices[0].Errors != 1 {
		t.Errorf("%d lists, error %v, %d errors", lists, err, e.Stats().Devices[0].Errors)
	}
}

// Warm uploads the lengths of each list's field.
func TestWarmFields(t *testing.T) {
	const numDocs = 500
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		rng := rand.New(rand.NewPCG(9, 9))
		for i := range numDocs {
			w.Add(&corpus.Document{ID: fmt.Sprint(i), Title: collectionText(rng), Text: "text"})
		}
	})
	s := indextest.Snapshot(t, ix)
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	seg := s.Segments[0].Segment
	v, err := e.Attach([]Segment{{Key: "a", NumDocs: numDocs, Segment: seg}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	const title = 1
	if lists, _, err := v.Warm(t.Context(), WarmOptions{}); err != nil || lists != 2*numWords+1 { // titles are also in the default field
		t.Errorf("%d lists, error %v", lists, err)
	}
	q := testQuery(t, s, "text", "text")
	sums, counts := make([]base.Score, numDocs), make([]int, numDocs)
	for i, word := range []string{"r4", "r2"} {
		leg := &q.Legs[i]
		leg.Field = title
		if found, err := seg.Find(title, []byte(word), leg.List); err != nil || !found {
			t.Fatal(found, err)
		}
		addPostings(t, leg, seg.Lengths(title), sums, counts)
	}
	var want []base.Hit
	for doc, n := range counts {
		if n > 0 {
			want = append(want, base.Hit{DocID: base.DocID(doc), Score: sums[doc]})
		}
	}
	if matches := len(want); !v.HasImages(q) || matches < 100 {
		t.Fatalf("images: %t, %d matches", v.HasImages(q), matches)
	}
	got := run(t, v, images(q))[0]
	if want = mergeHits(want[:0:0], sorted(want), q.K); got.Err != nil || !slices.Equal(got.Hits, want) {
		t.Errorf("error %v, hits %v, want %v", got.Err, got.Hits, want)
	}
}

func sorted(hits []base.Hit) []base.Hit {
	slices.SortFunc(hits, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits
}
