package dispatch

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
)

// living is an index that takes writes and makes a GPU ready for them.
type living struct {
	t    *testing.T
	rng  *rand.Rand
	ix   *index.Index
	live *index.Live
	dir  string
	seq  uint64
	id   int
}

func newLiving(t *testing.T, g *GPU, seed uint64, sizes ...int) *living {
	t.Helper()
	l := &living{t: t, rng: rand.New(rand.NewPCG(61, seed)), ix: indextest.Create(t, index.Options{Analyzer: "whitespace"})}
	w, err := l.ix.Writer(index.WriterOptions{Threads: 1})
	l.must(err)
	l.must(w.Commit(t.Context()))
	l.must(w.Close())
	l.ix.SetReady(g.Ready)
	g.readyFor = [2]time.Duration{time.Minute, time.Minute}
	l.live, err = l.ix.Live()
	l.must(err)
	t.Cleanup(func() { l.must(l.live.Close()) })
	l.dir, err = l.live.TempDir()
	l.must(err)
	for _, n := range sizes {
		l.publish(n)
	}
	return l
}

func (l *living) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// publish adds documents and deletes others.
func (l *living) publish(n int, deletes ...int) {
	l.t.Helper()
	a, err := analysis.New("whitespace")
	l.must(err)
	b := inverter.NewBatch(inverter.Options{Schema: l.live.Schema(), FS: vfs.OS, Dir: l.dir, MemoryBytes: 32 << 20}, a)
	defer b.Close()
	for range n {
		l.seq++
		d := corpus.Document{ID: fmt.Sprint(l.id), Text: plantest.RandomWords(l.rng, 1+l.rng.IntN(8))}
		l.must(b.AddVersion(&d, segment.Version{Seq: l.seq, Number: 1}))
		l.id++
	}
	for _, id := range deletes {
		l.seq++
		b.Delete(fmt.Sprint(id))
	}
	partials, err := b.Partials()
	l.must(err)
	_, err = l.live.Publish(l.t.Context(), partials.Sources(), partials.Err, b.Deletes(), nil, 0, l.seq)
	l.must(err)
}

func (l *living) merge(from, to int) {
	l.t.Helper()
	merged, err := l.live.Merge(l.t.Context(), nil, func([]index.SegmentSize) (int, int) { return from, to })
	if l.must(err); !merged {
		l.t.Fatal("nothing was merged")
	}
}

// check compares the processors on the current snapshot.
func (l *living) check(g *GPU, queries ...string) {
	l.t.Helper()
	s, err := l.ix.Snapshot()
	l.must(err)
	defer s.Release()
	p := newGPUPair(l.t, s, g)
	for i, text := range queries {
		p.check(l.t, plantest.Parse(l.t, text), Options{Mode: plan.Mode(i % 2), K: 10, Count: i%2 == 0})
	}
}

var readyQueries = []string{"w1 w2", "w3 w1", "w4", "w2 w5 w6"}

func device(g *GPU) DeviceStats {
	g.views.wait()
	return g.Stats().Devices[0]
}

// A commit that only deletes documents uploads the bitmap of each changed segment, and the first query
// after it uploads nothing.
func TestReadyUploadsDeletions(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	l := newLiving(t, g, 1, 400, 300, 50)
	l.check(g, readyQueries...)
	before := device(g)
	l.publish(0, 7, 9)
	after := device(g)
	if n := after.BytesUploaded - before.BytesUploaded; n != (400+31)/32*4 {
		t.Errorf("%d bytes uploaded for deletions in a segment of 400 documents, want its bitmap", n)
	}
	l.check(g, readyQueries...)
	if s := device(g); s.BytesUploaded != after.BytesUploaded || s.Misses != before.Misses {
		t.Errorf("queries uploaded %d bytes, %d lists", s.BytesUploaded-after.BytesUploaded, s.Misses-before.Misses)
	}
	for id := range 20 { // the memory of former bitmaps is used again
		l.publish(0, 20+id)
		l.check(g, "w1")
	}
	if s := device(g); s.UsedBytes > after.UsedBytes+512 {
		t.Errorf("%d bytes used, %d before 20 commits with deletions", s.UsedBytes, after.UsedBytes)
	}
	l.publish(3) // no new bitmap, and a small segment
	if s := device(g); s.BytesUploaded-after.BytesUploaded != 20*((400+31)/32*4) {
		t.Errorf("%d bytes uploaded in 21 commits", s.BytesUploaded-after.BytesUploaded)
	}
}

// A merge uploads the lists that queries used, and the memory of the replaced segments is free
// when their last query ends.
func TestReadyForMerges(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	l := newLiving(t, g, 2, 400, 300)
	l.check(g, readyQueries...)
	held, err := l.ix.Snapshot()
	l.must(err)
	before := device(g)
	l.merge(0, 2)
	made := device(g)
	if n := made.Lists - before.Lists; n != 6 || made.BytesUploaded == before.BytesUploaded {
		t.Errorf("the merge uploaded %d lists, want those of 6 words", n)
	}
	l.check(g, readyQueries...)
	if s := device(g); s.Misses != made.Misses || s.BytesUploaded != made.BytesUploaded {
		t.Errorf("queries after the merge: %d misses", s.Misses-made.Misses)
	}
	old := newGPUPair(t, held, g)
	old.check(t, plantest.Parse(t, "w1 w2"), Options{K: 10})
	if s := device(g); s.SizeBytes <= made.SizeBytes-before.SizeBytes {
		t.Errorf("%d bytes while the former snapshot is held", s.SizeBytes)
	}
	held.Release()
	after := device(g)
	freed := after.UsedBytes < made.UsedBytes || gputest.OnGPU() && after.UsedBytes == made.UsedBytes // a driver may keep memory
	if after.Lists != 6 || after.SizeBytes != made.SizeBytes-before.SizeBytes || !freed {
		t.Errorf("%d lists, %d bytes, want 6 and %d; %d bytes used, %d before", after.Lists, after.SizeBytes, made.SizeBytes-before.SizeBytes, after.UsedBytes, made.UsedBytes)
	}
	if g.Stats().OnCPU != 0 {
		t.Errorf("%d queries on the CPU", g.Stats().OnCPU)
	}
}

// A segment of a commit that is not small gets its lists, too.
func TestReadyForLargeCommits(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	l := newLiving(t, g, 3, 400)
	l.check(g, readyQueries...)
	before := device(g)
	l.publish(200, 3)
	if s := device(g); s.Lists != 2*before.Lists {
		t.Errorf("%d lists, want %d of each segment", s.Lists, before.Lists)
	}
	misses := device(g).Misses
	l.check(g, readyQueries...)
	if s := device(g); s.Misses != misses {
		t.Errorf("%d misses", s.Misses-misses)
	}
}

// Compressed lists are prepared in the form that they have.
func TestReadyCompressed(t *testing.T) {
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 4 << 10}})
	g.smallDocs = 100
	l := newLiving(t, g, 4, 2000, 1500)
	for range 3 {
		l.check(g, readyQueries...)
	}
	before := device(g)
	l.merge(0, 2)
	s := device(g)
	if s.Host.Lists == 0 || before.Host.Lists == 0 || s.Errors != 0 || s.Evictions != before.Evictions {
		t.Errorf("before %+v, after %+v: want page-locked lists of the merged segment, and no evictions", before, s)
	}
	l.check(g, readyQueries...)
}

// An index that does not use the GPU has nothing there.
func TestReadyUnused(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	l := newLiving(t, g, 5, 100, 100)
	l.publish(3, 1)
	l.merge(0, 2)
	if s := device(g); s.BytesUploaded != 0 || len(g.views.snapshots) != 0 {
		t.Errorf("%d bytes uploaded, views of %d snapshots", s.BytesUploaded, len(g.views.snapshots))
	}
	(*GPU)(nil).Ready(t.Context(), nil, nil, false)
}

// Work that has not ended delays a commit for a limited time, and later commits not at all. Queries do
// not wait for it.
func TestReadyIsBounded(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	g.smallDocs = 100
	l := newLiving(t, g, 6, 400)
	g.readyFor = readyLimits
	l.check(g, readyQueries...)
	g.readying[0] <- struct{}{} // the former commit's
	l.publish(0, 3)
	<-g.readying[0]
	s, err := l.ix.Snapshot()
	l.must(err)
	if g.views.wait(); g.views.snapshots[s] != nil || len(g.views.last) != 1 {
		t.Errorf("%d last views; a view was made while another one is: %v", len(g.views.last), g.views.snapshots[s] != nil)
	}
	s.Release()
	misses := device(g).Misses
	l.check(g, readyQueries...)
	if s := device(g); s.Misses != misses || len(g.views.last) != 0 {
		t.Errorf("%d misses: the lists should stay", s.Misses-misses)
	}

	s, err = l.ix.Snapshot()
	l.must(err)
	g.readyFor[0] = 10 * time.Millisecond
	m := &g.views.of(s, 1).postings[0]
	m.mu.Lock()     // the next commit waits for the former view
	l.publish(0, 4) // would wait without end
	next, err := l.ix.Snapshot()
	l.must(err)
	m.mu.Unlock()
	for len(g.readying[0]) > 0 {
		time.Sleep(time.Millisecond)
	}
	// A query beside it runs on the CPU.
	onCPU := g.Stats().OnCPU
	g.views.of(next, 1).postings[0].readying.Store(true)
	l.check(g, "w1")
	if n := g.Stats().OnCPU - onCPU; n != 1 {
		t.Errorf("%d queries on the CPU, want 1", n)
	}
	g.views.of(next, 1).postings[0].readying.Store(false)
	l.check(g, "w1")
	if n := g.Stats().OnCPU - onCPU; n != 1 {
		t.Errorf("%d queries on the CPU afterwards", n-1)
	}
	s.Release()
	next.Release()
}

// A device that fails, or is lost, fails no commit and no query.
func TestReadyFails(t *testing.T) {
	for _, code := range []cuda.Code{cuda.OutOfMemory, cuda.IllegalAddress} {
		for nth := range sampletest.UnderRace(6, 2) {
			var faults cuda.Faults
			e, err := pipeline.Open(pipeline.Options{
				Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults,
			})
			if err != nil {
				t.Fatal(err)
			}
			g := NewGPU(e)
			g.smallDocs = 100
			l := newLiving(t, g, 7, 300, 200)
			l.check(g, readyQueries...)
			faults.Fail([]string{"cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel"}[nth%3], 1+nth/3, code)
			l.publish(0, 3, 250)
			l.merge(0, 2)
			l.publish(150)
			l.check(g, readyQueries...)
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Queries run while commits and merges follow each other, on snapshots that some of them hold. The
// answers are the CPU's, and at the end the device has the lists of one snapshot.
func TestReadyConcurrent(t *testing.T) {
	g := testGPU(t, pipeline.Options{Lanes: 2})
	g.smallDocs = 60
	l := newLiving(t, g, 8, 300, 200)
	l.check(g, readyQueries...)
	var ended atomic.Bool
	var searches sync.WaitGroup
	for i := range 3 {
		searches.Go(func() {
			rng := rand.New(rand.NewPCG(62, uint64(i)))
			for !ended.Load() {
				s, err := l.ix.Snapshot()
				if err != nil {
					t.Error(err)
					return
				}
				p := newGPUPair(t, s, g)
				for range 1 + rng.IntN(3) {
					p.check(t, plantest.Words(rng, 1+rng.IntN(3)), Options{Mode: plan.Mode(rng.IntN(3)), K: 10})
				}
				p.checkBatch(t, []query.Node{plantest.Words(rng, 2), plantest.Words(rng, 3)}, Options{K: 5})
				s.Release()
			}
		})
	}
	for range sampletest.UnderRace(20, 8) {
		l.publish(l.rng.IntN(80), l.rng.IntN(l.id), l.rng.IntN(l.id))
		s, err := l.ix.Snapshot()
		l.must(err)
		n := len(s.Segments)
		s.Release()
		if from := l.rng.IntN(n); l.rng.IntN(3) == 0 && from+1 < n {
			l.merge(from, from+2)
		}
	}
	ended.Store(true)
	searches.Wait()
	g.views.wait()
	if n := len(g.views.snapshots); n != 1 {
		t.Errorf("views of %d snapshots", n)
	}
	g.Forget(l.ix)
	if s := device(g); s.SizeBytes != 0 || s.Lists != 0 || s.Errors != 0 {
		t.Errorf("after Forget: %+v", s)
	}
}
