package residency

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/invariant"
)

// lockedRig is a device with the page-locked lists w0 to w3 of a segment, unpinned.
type lockedRig struct {
	*Device
	t      *testing.T
	faults *cuda.Faults
	s      *Segment
	shard  *Shard
	legs   [4]*Leg
}

func newLockedRig(t *testing.T) *lockedRig {
	t.Helper()
	r := &lockedRig{t: t, faults: new(cuda.Faults)}
	r.Device, r.s = openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: r.faults})
	r.shard = r.Device.Shard(r.s, 0, r.s.NumDocs)
	for i, word := range []string{"w0", "w1", "w2", "w3"} {
		leg := findLeg(t, r.s, word)
		payload, directory := leg.List.Raw()
		host := r.lockList(leg.key(r.shard.id).of(kindHost), term{}, payload, directory, ifFree)
		if host == nil {
			t.Fatalf("no room for %s", word)
		}
		host.Unpin()
		r.legs[i] = leg
	}
	return r
}

func (r *lockedRig) key(i int, k kind) listKey { return r.legs[i].key(r.shard.id).of(k) }

func (r *lockedRig) ask(i int, uses uint32) bool {
	return r.promoter.ask(r.shard, r.key(i, kindHost), r.legs[i].DocFreq(), uses)
}

func (r *lockedRig) sizes(i int) (packed, directory int64) {
	payload, entries := r.legs[i].List.Raw()
	shape := shapeOf(len(payload), len(entries))
	return shape.sizeBytes(), int64(shape.words-shape.payload) * 4
}

// check compares the forms on the device: "packed", "directory" or "" by list. Nothing may be
// pinned or hold lists.
func (r *lockedRig) check(what string, want ...string) {
	r.t.Helper()
	r.WaitForPromotions()
	for i, leg := range r.legs {
		form, known := "", r.records.ofLeg(leg, r.shard.id)
		if known.there(kindDirectory) {
			form = "directory"
		}
		if known.there(kindPacked) {
			form += "packed"
		}
		if expected := append(want, "", "", "", "")[i]; form != expected {
			r.t.Errorf("%s: w%d on the device: %q, want %q", what, i, form, expected)
		}
	}
	users, views := r.Probe().Users(), r.shard.views
	if n, _ := r.Probe().Holders(); users != 0 || n != 0 || views != 1 || r.promoter.left != 0 || r.promoter.u.Busy() || len(r.cache.claims) != 0 {
		r.t.Errorf("%s: %d pins, %d holders, %d views, %d promotions left, %d claims", what, users, n, views, r.promoter.left, len(r.cache.claims))
	}
}

// A promoted list is loaded, its uses are counted, and a later request changes nothing. A list
// that was dropped meanwhile is ignored.
func TestPromoter(t *testing.T) {
	r := newLockedRig(t)
	defer r.shard.Release()
	ended := r.BeginRun()
	r.EndRun()
	for i, uses := range []uint32{3, 5} {
		if !r.ask(i, uses) {
			t.Fatal("the promoter refuses a request")
		}
	}
	r.check("two lists", "packed", "packed")
	for i, uses := range []uint32{3, 5} {
		size, _ := r.sizes(i)
		e := r.cache.find(r.key(i, kindPacked))
		if !e.loaded.Load() || e.frequency != float64(uses) || e.extent.size != roundUp(size) || e.lane != 1 {
			t.Errorf("w%d: loaded %t, frequency %g, extent %+v, lane %d", i, e.loaded.Load(), e.frequency, e.extent, e.lane)
		}
		e.Unpin()
		if n := r.Probe().Uses(r.shard, r.legs[i]); n != uses {
			t.Errorf("w%d: %d uses, want %d", i, n, uses)
		}
	}
	before := r.Stats()
	size0, _ := r.sizes(0)
	size1, _ := r.sizes(1)
	if before.BytesUploaded != size0+size1 || before.Cache.SizeBytes != roundUp(size0)+roundUp(size1) || before.Cache.Compressed != 2 {
		t.Errorf("%+v: want two lists of %d and %d bytes", before, size0, size1)
	}
	again := r.ask(0, 7)
	r.check("again", "packed", "packed")
	unknown := r.promoter.ask(r.shard, key(99).of(kindHost), 10, 1)
	r.check("unknown list", "packed", "packed")
	if after := r.Stats(); !again || !unknown || after != before || r.Probe().Uses(r.shard, r.legs[0]) != 3 {
		t.Errorf("after two requests without effect: %+v, want %+v", after, before)
	}
	// A run and four requests ended.
	if n := r.BeginRun(); n != ended+5 {
		t.Errorf("%d runs ended, want %d", n, ended+5)
	}
	r.EndRun()
}

// A list that exceeds the limit gets its directory, once.
func TestPromoterCopiesDirectory(t *testing.T) {
	r := newLockedRig(t)
	defer r.shard.Release()
	r.cache.abandon(r.cache.acquire(key(99), term{}, 1, 1, 1, ifFree)) // allocates all memory
	packed, directory := r.sizes(3)
	for _, c := range []struct {
		limit, sent int64
		want        string
	}{{directory - 1, 0, ""}, {directory, directory, "directory"}, {packed - 1, 0, "directory"}, {packed, packed, "directorypacked"}} {
		r.Probe().SetLimit(c.limit)
		before := r.Stats().BytesUploaded
		r.ask(3, 1)
		r.check(fmt.Sprintf("limit of %d bytes", c.limit), "", "", "", c.want)
		if n := r.Stats().BytesUploaded - before; n != c.sent {
			t.Errorf("limit of %d bytes: %d bytes sent, want %d", c.limit, n, c.sent)
		}
	}
	e := r.cache.find(r.key(3, kindDirectory))
	if !e.loaded.Load() {
		t.Error("the directory is not loaded")
	}
	e.Unpin()
}

// An error counts, and ends the request: the directory is not tried.
func TestPromoterErrors(t *testing.T) {
	for call, want := range map[string]string{"cuMemcpyHtoDAsync_v2": "", "cuEventRecord": "", "cuStreamSynchronize": "packed"} {
		t.Run(call, func(t *testing.T) {
			r := newLockedRig(t)
			defer r.shard.Release()
			r.faults.Fail(call, 1, cuda.InvalidValue)
			r.ask(0, 1)
			r.check("error", want)
			if m := r.Stats(); m.Errors != 1 || m.Lost != "" {
				t.Errorf("%d errors, lost %q; want one error", m.Errors, m.Lost)
			}
			if e := r.cache.find(r.key(0, kindPacked)); e != nil {
				if e.loaded.Load() {
					t.Error("the list counts as loaded after an error")
				}
				e.Unpin()
			}
			r.ask(1, 1)
			r.check("after the error", want, "packed")
			if m := r.Stats(); m.Errors != 1 {
				t.Errorf("%d errors, want one", m.Errors)
			}
		})
	}
}

// After the device is lost nothing is promoted.
func TestPromoterOfLostDevice(t *testing.T) {
	r := newLockedRig(t)
	defer r.shard.Release()
	r.faults.Fail("cuMemcpyHtoDAsync_v2", 1, cuda.LaunchFailed)
	r.ask(0, 1)
	r.check("the device is lost")
	lost, errs := r.Lost(), r.Stats().Errors
	if lost == nil || errs == 0 {
		t.Fatalf("lost: %v, %d errors", lost, errs)
	}
	if !r.ask(1, 1) {
		t.Error("the promoter refuses a request")
	}
	r.check("after the loss")
	if n := r.Stats().Errors; n != errs {
		t.Errorf("%d errors, want %d", n, errs)
	}
}

// A panic is reported once, leaves nothing behind, and ends promotion.
func TestPromoterReportsPanic(t *testing.T) {
	r := newLockedRig(t)
	defer r.shard.Release()
	var bugs []*invariant.Caught
	r.Probe().OnBug(func(bug *invariant.Caught) { bugs = append(bugs, bug) })
	r.promoter.ask(r.shard, r.key(0, kindHost), 1<<20 /* the directory would exceed the list */, 1)
	r.check("panic")
	r.ask(1, 1)
	r.check("after the panic")
	if m := r.Stats(); len(bugs) != 1 || m.Lost != "" || m.Errors != 0 || m.Cache.SizeBytes != 0 {
		t.Errorf("%d bugs, %+v: want one bug and an empty cache", len(bugs), m)
	}
}

// Without a handler, builds that check invariants panic again, and others log.
func TestPromoterReport(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	bug := invariant.Catch("broken")
	defer func() {
		value := recover()
		if invariant.Enabled && value != bug || !invariant.Enabled && (value != nil || !strings.Contains(log.String(), "broken")) {
			t.Errorf("panic %v, log %q", value, log.String())
		}
	}()
	new(promoter).report(bug)
}

// The queue accepts MaxPromotions requests. A request that is refused leaves no reference, and
// a stopped promoter drops those that wait.
func TestPromoterQueue(t *testing.T) {
	r := newLockedRig(t)
	defer r.shard.Release()
	stopped := make(chan struct{})
	r.Probe().Hold(func() { // the first request waits for the cache
		r.ask(0, 1)
		for n, _ := r.Probe().Holders(); n == 0; n, _ = r.Probe().Holders() {
			runtime.Gosched()
		}
		for n := range MaxPromotions {
			if !r.ask(1, 1) {
				t.Errorf("request %d is refused", n)
			}
		}
		if r.ask(1, 1) {
			t.Errorf("the queue holds more than %d requests", MaxPromotions)
		}
		if r.shard.views != MaxPromotions+2 || r.promoter.left != MaxPromotions+1 {
			t.Errorf("%d views, %d promotions left", r.shard.views, r.promoter.left)
		}
		go func() {
			r.StopPromoting()
			r.StopPromoting()
			close(stopped)
		}()
		for !r.Probe().PromoterStops() {
			runtime.Gosched()
		}
	})
	<-stopped
	r.check("stopped", "packed")
	if r.ask(2, 1) {
		t.Error("a stopped promoter accepts a request")
	}
}

// WaitForPromotions returns only after the request has ended.
func TestWaitForPromotions(t *testing.T) {
	r := newLockedRig(t)
	defer r.shard.Release()
	r.WaitForPromotions()
	waited := make(chan struct{})
	r.Probe().Hold(func() {
		r.ask(0, 1)
		go func() {
			r.WaitForPromotions()
			close(waited)
		}()
		for range 1000 {
			runtime.Gosched()
		}
		select {
		case <-waited:
			t.Error("WaitForPromotions returns although a promotion waits for the cache")
		default:
		}
	})
	<-waited
	r.check("after the wait", "packed")
}

// The first attempts to promote a list follow each doubling of its reads, later ones each 32nd
// read. No use is lost if the promoter refuses a request.
func TestReadInPlace(t *testing.T) {
	r := newLockedRig(t)
	defer r.shard.Release()
	free := r.Probe().Fill(r.Limit()) // no list has room
	e := r.cache.find(listKey{shard: 1 << 30, list: 1})
	e.pin()
	defer func() {
		e.Unpin()
		e.Unpin()
		free()
		r.cache.drop(1 << 30)
	}()
	host := r.host.cache.find(r.key(0, kindHost))
	defer host.Unpin()
	l := PackedList{host: host}
	docFreq := r.legs[0].DocFreq()
	if got := host.share(); got != usualShare {
		t.Errorf("share %g before the first read, want %g", got, usualShare)
	}
	r.ReadInPlace(r.shard, &PackedList{packed: e}, docFreq, 1)
	tried, sum := uint32(0), 0.0
	for n := uint32(1); n <= 200; n++ {
		share := 1 / float64(1+n%4)
		sum += share
		r.ReadInPlace(r.shard, &l, docFreq, share)
		r.WaitForPromotions()
		if n == 1 || n == 2 || n == 4 || n == 8 || n == 16 || n%32 == 0 {
			tried = n
		}
		if got := r.Probe().Uses(r.shard, r.legs[0]); got != tried || host.tried.Load() != tried || host.reads.Load() != n {
			t.Fatalf("after %d reads: %d uses counted, %d reads at the last attempt; want %d", n, got, host.tried.Load(), tried)
		}
		if got, want := host.share(), sum/float64(n); got < want-1e-5 || got > want+1e-5 {
			t.Fatalf("after %d reads: share %g, want %g", n, got, want)
		}
	}
	r.StopPromoting()
	for range 100 {
		r.ReadInPlace(r.shard, &l, docFreq, 1)
	}
	if host.tried.Load() != tried || host.reads.Load() != 300 {
		t.Errorf("a refused request: %d reads at the last attempt, want %d; %d reads", host.tried.Load(), tried, host.reads.Load())
	}
	host.shares.Store(301 * wholeShare) // rounding errors
	if got := host.share(); got != 1 {
		t.Errorf("share %g, want 1", got)
	}
}
