package griffin

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	_ "github.com/griffin-search/griffin/engines"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

var (
	allModes     = []Mode{ModeOr, ModeAnd, ModeAndOr, ModeSaat}
	rankSettings = []Settings{{}, {NoStored: true}, {Codec: "ef"}, {NoStored: true, NoPositions: true, Codec: "pfordelta"}, {TitleWeight: 3, NameField: rankPath}}
)

// Whatever happened to an index, hits, scores, order and counts equal a new index of its
// live documents: also after crashes and losses of power at random operations of the disk, in a recovery too, and merges of any
// neighbours. GRIFFIN_HISTORIES sets the number of random histories, GRIFFIN_FIRST_HISTORY the seed of the first.
func TestRankDependsOnLiveDocumentsOnly(t *testing.T) {
	t.Parallel()
	runHistories(t, 80, everySeed, Options{}, allModes, rankSettings...)
}

// The same holds for learned sparse vectors.
func TestRankOfVectors(t *testing.T) {
	t.Parallel()
	runHistories(t, 20, everySeed, Options{}, allModes, Settings{WeightScale: 100}, Settings{WeightScale: 4, NoStored: true, Codec: "ef"})
}

// The same holds on a GPU.
func TestRankOnGPU(t *testing.T) {
	t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
	runtime, err := NewRuntime(RuntimeOptions{GPU: GPUOptions{Device: "0"}, Policy: PolicyGPU, CostDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	runHistories(t, 6, everySeed, Options{Runtime: runtime}, allModes, rankSettings...)
	if s, _ := runtime.GPUStats(); s.OnGPU == 0 {
		t.Errorf("no query ran on the GPU: %+v", s)
	}
}

// The same holds for the engines of the papers, against the default engine. A history has one of them.
func TestRankOfEngines(t *testing.T) {
	t.Parallel()
	engines := []struct {
		name  string
		modes []Mode
	}{
		{"griffin18:on=cpu", []Mode{ModeAnd}},
		{"ding09:on=cpu", []Mode{ModeOr, ModeAnd, ModeAndOr}},
		{"ao11:on=cpu", []Mode{ModeAnd}},
		{"saat", []Mode{ModeSaat}},
	}
	for i, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			runtime, err := NewRuntime(RuntimeOptions{Engine: engine.name})
			if err != nil {
				t.Fatal(err)
			}
			defer runtime.Close()
			of := func(seed uint64) bool { return seed%uint64(len(engines)) == uint64(i) }
			runHistories(t, 8*len(engines), of, Options{Runtime: runtime}, engine.modes, rankSettings...)
		})
	}
}

// rankCounts count what histories did.
type rankCounts struct {
	histories, merges, crashes, again, syncs, kept, checks, reordered, computed, queries, documents, versions atomic.Int64
}

func (c *rankCounts) String() string {
	return fmt.Sprintf("%d histories, %d merges, %d crashes, %d crashes in a recovery, %d failed syncs, %d interrupted calls kept, %d comparisons with a new index, %d comparisons of reordered segments, %d of computed impacts, %d queries, %d documents compared, %d of them with versions",
		c.histories.Load(), c.merges.Load(), c.crashes.Load(), c.again.Load(), c.syncs.Load(), c.kept.Load(), c.checks.Load(), c.reordered.Load(), c.computed.Load(), c.queries.Load(), c.documents.Load(), c.versions.Load())
}

func everySeed(uint64) bool { return true }

// runHistories runs the histories of the seeds that of returns true for.
func runHistories(t *testing.T, n int, of func(seed uint64) bool, options Options, modes []Mode, settings ...Settings) {
	t.Helper()
	var counts rankCounts
	for seed, end := sampletest.Histories(t, n); seed < end; seed++ {
		if !of(seed) {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			newHistory(t, seed, settings[seed%uint64(len(settings))], options, modes, &counts).run(t)
			counts.histories.Add(1)
		})
	}
	t.Logf("summary: %s", &counts)
	if n := counts.histories.Load(); n >= 60 && (counts.crashes.Load() == 0 || counts.reordered.Load() == 0 || counts.versions.Load() == 0) {
		t.Errorf("no crash, no reordered segment, or no version in %d histories", n)
	}
	if n := counts.histories.Load(); n >= 60 && slices.Contains(modes, ModeSaat) && counts.computed.Load() == 0 {
		t.Errorf("no impact-ordered lists were computed in %d histories", n)
	}
}
