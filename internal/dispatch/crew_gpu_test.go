package dispatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/query"
)

// long are the words of most documents in the small segments of sharedIndex.
const long = "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11"

// sharedIndex has a segment of several ranges of documents and small segments with longer lists: a crew shares the
// ranges, and the small segments.
func sharedIndex(t *testing.T, rng *rand.Rand) *index.Index {
	t.Helper()
	return indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true, NoStored: true}, func(w *indextest.Writer) {
		id := 0
		for i, n := range []int{2*traverse.RangeDocs + 500, 2800, 2600} {
			for range n {
				text := plantest.RandomWords(rng, 1+rng.IntN(4))
				if i > 0 {
					text += " " + longText(rng)
				}
				w.Add(&corpus.Document{ID: fmt.Sprint(id), Text: text})
				id++
			}
			for range n / 20 {
				w.Delete(rng.IntN(id))
			}
			w.Commit()
		}
	})
}

func longText(rng *rand.Rand) string {
	words := strings.Fields(long)
	rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	return strings.Join(words[rng.IntN(4):], " ")
}

// soleAnswer is an answer of one worker on the CPU.
type soleAnswer struct {
	node    query.Node
	options Options
	plan.Answer
}

// numShared answers are the first of soleAnswers, and of queries that a crew shares.
const numShared = 7

// soleAnswers are of long lists, of phrases, of which a GPU answers only the required ones, and of random words.
func soleAnswers(t *testing.T, rng *rand.Rand, snapshot *index.Snapshot) (all []soleAnswer) {
	t.Helper()
	s, sc := NewSearcher(snapshot, nil), testScratch(t, snapshot.Options.Analyzer)
	for i := range 24 {
		o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[i%3], K: []int{1, 10, 100}[rng.IntN(3)], Count: rng.IntN(2) == 0}
		node := plantest.Words(rng, 1+rng.IntN(4))
		switch {
		case i < 3:
			node = plantest.Parse(t, long)
		case i < numShared:
			node = plantest.Parse(t, fmt.Sprintf(`w%d "w0 w1"`, 10+i))
		}
		all = append(all, soleAnswer{node, o, answer(t, s, sc, node, o)})
	}
	return all
}

// crewClient compares answers with those of one worker on the CPU.
type crewClient struct {
	all     []soleAnswer
	s       *Searcher
	workers int // that a query may have
	rng     *rand.Rand
	sc      *Scratch
	memory  BatchScratch
	asked   int // queries; at first, where it begins in ways
}

// ways are policies and placements of queries. The last two split conjunctions.
var ways = []Options{
	{Policy: PolicyCPU},
	{},
	{Policy: PolicyRatio},
	{Placement: &Placement{First: sched.CPU, Lists: 1, Or: sched.GPU}},
	{Placement: &Placement{First: sched.GPU, Lists: 2, Path: pipeline.PathPacked}},
}

// prepare returns a random answer, with the next of the ways in its options, and its query.
func (c *crewClient) prepare() (soleAnswer, *Query, error) {
	way := &ways[c.asked%len(ways)]
	c.asked++
	from := c.all[1:] // an emulated GPU is slow with the longest
	if way.Policy == PolicyCPU {
		from = c.all[:numShared]
	}
	a := from[c.rng.IntN(len(from))]
	a.options.Policy, a.options.Placement = way.Policy, way.Placement
	q, err := c.s.Prepare(c.sc, a.node, a.options)
	return a, q, err
}

func (c *crewClient) compare(want soleAnswer, got *plan.Answer) error {
	if !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode || got.Matches != want.Matches || got.Workers > c.workers {
		return fmt.Errorf("%s, %+v: mode %s, %d matches, %d workers, hits %v; one worker on the CPU has mode %s, %d, %v",
			want.node, want.options, got.Mode, got.Matches, got.Workers, head(got.Hits), want.Mode, want.Matches, head(want.Hits))
	}
	return nil
}

func (c *crewClient) askSingle(ctx context.Context) error {
	want, q, err := c.prepare()
	if err != nil {
		return err
	}
	got, err := q.Run(ctx, c.sc, nil)
	if err != nil {
		return err
	}
	return c.compare(want, &got)
}

func (c *crewClient) askBatch(ctx context.Context) error {
	const size = 4
	want, queries, got := make([]soleAnswer, size), make([]*Query, size), make([]plan.Answer, size)
	for i := range want {
		var err error
		if want[i], queries[i], err = c.prepare(); err != nil {
			return err
		}
	}
	if err := c.s.Dispatcher().SearchPrepared(ctx, queries, &c.memory, got); err != nil {
		return err
	}
	for i := range want {
		if err := c.compare(want[i], &got[i]); err != nil {
			return err
		}
	}
	return nil
}

// Single queries and batches run with 1, 2 and 4 workers per query, beside no GPU, one with little memory, and two.
func TestCrewBesideGPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 1))
	snapshot := indextest.Snapshot(t, sharedIndex(t, rng))
	all := soleAnswers(t, rng, snapshot)
	for gpus, memory := range []int64{0, 48 << 10, testMemory} {
		t.Run(fmt.Sprintf("gpus=%d", gpus), func(t *testing.T) {
			var g *GPU
			if gpus > 0 {
				library := gputest.Configure(t, gputest.Config{Devices: gpus, MemoryBytes: 256 << 20})
				g = openTestGPU(t, pipeline.Options{Library: library.Path(), Devices: pipeline.Selection{All: true}, Memory: pipeline.Memory{Bytes: memory}}, LayoutReplicas)
			}
			for _, workers := range []int{1, 2, 4} {
				t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) { shareLoad(t, snapshot, all, g, workers) })
			}
			for _, d := range g.Stats().Devices {
				if d.Queries == 0 || d.Errors != 0 || (d.Evictions > 0) != (memory < testMemory) || d.SizeBytes > d.LimitBytes {
					t.Errorf("%+v: want queries, evictions only with little memory, and no errors", d)
				}
			}
		})
	}
}

// shareLoad asks single queries and batches at the same time.
func shareLoad(t *testing.T, snapshot *index.Snapshot, all []soleAnswer, g *GPU, workers int) {
	p, d := dispatched(t, snapshot, g, Config{CPUs: 8, WorkersPerQuery: workers})
	began := time.Now()
	used := func() bool {
		s := d.Stats()
		return s.CPUSteps > 0 && (s.Helpers > 0 || workers == 1) && (s.GPUSteps > 0 && s.Migrations > 0 || g == nil)
	}
	var wg sync.WaitGroup
	for i := range 3 {
		c := crewClient{all: all, s: p.gpu, workers: workers, rng: rand.New(rand.NewPCG(76, uint64(10*workers+i))), sc: testScratch(t, "whitespace"), asked: 2 * i}
		ask, n := c.askSingle, 2
		if i == 0 {
			ask, n = c.askBatch, 1
		}
		wg.Go(func() {
			for j := 0; j < n || !used() && time.Since(began) < longWait; j++ {
				if err := ask(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if s := d.Stats(); !used() || workers == 1 && s.Helpers > 0 || g == nil && s.GPUSteps > 0 {
		t.Errorf("%+v: want helpers of several workers, and queries on each processor that move", s)
	}
}
