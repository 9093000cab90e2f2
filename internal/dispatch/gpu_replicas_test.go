package dispatch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

func twoReplicas(t *testing.T) *GPU {
	t.Helper()
	library := twoGPUs(t)
	return openTestGPU(t, pipeline.Options{
		Library: library.Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}, Memory: pipeline.Memory{Bytes: 16 << 20},
	}, LayoutReplicas)
}

// Each GPU answers whole queries, single ones and parts of a batch, with the CPU's hits.
func TestReplicas(t *testing.T) {
	g := twoReplicas(t)
	rng := rand.New(rand.NewPCG(71, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 2, true))
	var reports []int64
	lists, total, err := g.Warm(t.Context(), snapshot, WarmOptions{Progress: func(done, total int64) { reports = append(reports, done, total) }})
	if err != nil || lists != total || total == 0 {
		t.Fatalf("Warm: %d of %d lists, %v", lists, total, err)
	}
	if n := len(reports); n == 0 || reports[n-2] != reports[n-1] {
		t.Errorf("progress %v", reports)
	}
	p := newGPUPair(t, snapshot, g)
	var nodes []query.Node
	for range 2*leastPartQueries + 10 {
		nodes = append(nodes, plantest.Words(rng, 1+rng.IntN(3)))
	}
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAndOr} {
		p.checkBatch(t, nodes, Options{Mode: mode, K: 10})
		for _, n := range nodes[:10] {
			p.check(t, n, Options{Mode: mode, K: 10, Count: true})
		}
	}
	s := g.Stats()
	for _, d := range s.Devices {
		if d.Queries < leastPartQueries || d.Misses != d.Lists { // only Warm loaded any
			t.Errorf("%s: %+v", d.Name, d)
		}
	}
	if s.Devices[0].Lists != s.Devices[1].Lists {
		t.Errorf("%d lists on one GPU, %d on the other", s.Devices[0].Lists, s.Devices[1].Lists)
	}
}

// A run goes to the replica with the fewest runs, and none to one that is lost.
func TestReplicaChoice(t *testing.T) {
	g := twoReplicas(t)
	snapshot := indextest.Snapshot(t, segmentedIndex(t, 10, 1))
	var views []*pipeline.View
	for range 4 {
		v, err := g.begin(snapshot, false)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	count := func() (n [2]int) {
		for _, v := range views {
			n[g.of(v)]++
		}
		return n
	}
	if n := count(); n != [2]int{2, 2} {
		t.Errorf("runs by replica: %v", n)
	}
	if i := slices.IndexFunc(views, func(v *pipeline.View) bool { return g.of(v) == 1 }); i >= 0 {
		g.end(views[i])
		views = slices.Delete(views, i, i+1)
	}
	if at := g.choose(); at != 1 {
		t.Errorf("the next run goes to replica %d, which has %d of 3 runs", at, count()[at])
	}
	for _, v := range views {
		if g.isStranded(v) {
			t.Error("a view of a usable GPU is stranded")
		}
		g.end(v)
	}
}

// A view of a lost replica is replaced by one of the other.
func TestReplicaLost(t *testing.T) {
	if gputest.OnGPU() {
		t.Skip("TestGPULostUnderLoad loses a real GPU")
	}
	g := twoReplicas(t)
	rng := rand.New(rand.NewPCG(72, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 1, false))
	p := newGPUPair(t, snapshot, g)
	nodes := []query.Node{plantest.Words(rng, 2), plantest.Words(rng, 3)}
	gputest.Lose(t, 1, cuda.LaunchFailed)
	p.checkBatch(t, nodes, Options{Mode: plan.ModeOr, K: 10})
	s := g.Stats()
	if lost := slices.IndexFunc(s.Devices, func(d DeviceStats) bool { return d.Lost != "" }); lost < 0 || g.Lost() {
		t.Fatalf("%+v, lost %v; want one lost GPU", s.Devices, g.Lost())
	}
	if s.OnGPU != int64(len(nodes)) {
		t.Errorf("%d of %d queries of the batch were answered by the other GPU", s.OnGPU, len(nodes))
	}
	for range 4 {
		if a := p.check(t, nodes[0], Options{Mode: plan.ModeOr, K: 10}); a.Traversal != TraversalGPU {
			t.Errorf("answered by %s", a.Traversal)
		}
	}
}

func TestNeedsRanges(t *testing.T) {
	library := twoGPUs(t)
	engines, err := pipeline.OpenEach(pipeline.Options{
		Library: library.Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}, Memory: pipeline.Memory{Bytes: 10 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := pipeline.Join(engines).Close(); err != nil {
			t.Error(err)
		}
	}()
	limit := engines[0].Stats().Devices[0].LimitBytes
	for _, c := range []struct {
		layout string
		bytes  int64
		want   bool
	}{
		{"", 0, false},
		{"", limit / imageBytes, false},
		{"", limit/imageBytes + 1, true},
		{"", 2 * limit / imageBytes, true},
		{"", 3 * limit / imageBytes, false},
		{LayoutRanges, 0, true},
		{LayoutReplicas, limit, false},
	} {
		if got := needsRanges(c.layout, engines, c.bytes); got != c.want {
			t.Errorf("layout %q, lists of %d bytes with room for %d on each GPU: ranges %v", c.layout, c.bytes, limit, got)
		}
	}
	if needsRanges("", engines[:1], limit) {
		t.Error("one GPU has ranges")
	}
}
