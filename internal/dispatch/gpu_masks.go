package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs"
)

// gpuMasks are the filters and exclusions of a query as bitmaps, which its runs on a GPU share. The CPU
// computes them, or the index has kept them from another query, and the GPU keeps a copy. The GPU computes
// ranges of columns itself, unless the segment is small or the index has kept them.
type gpuMasks struct {
	needed bool          // a stage has filters or exclusions
	words  bool          // excluded words are in the masks, too: the GPU counts values
	took   time.Duration // predicted, until they are made

	mu      sync.Mutex
	made    bool
	filters [2][]pipeline.Filter // by stage, if made
}

func (m *gpuMasks) reset() {
	m.needed, m.words, m.took, m.made, m.filters = false, false, 0, false, [2][]pipeline.Filter{}
}

func (m *gpuMasks) prepare(q *Query, sc *plan.Scratch) {
	if q.Impacts() != nil {
		return
	}
	for i := range q.NumStages() {
		if o := m.options(q); q.Stage(i).NeedsMask(o) {
			m.needed = true
			m.took = max(m.took, plan.MaskTime(&q.Plan, sc, i, o)) // the stages differ in words, not in filters
		}
	}
}

// time predicts how long make will take.
func (m *gpuMasks) time() time.Duration {
	if !m.needed {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made {
		return 0
	}
	return m.took
}

// make adds the filters to the queries of the stages. It precedes every run on a GPU. The error is
// the context's, wraps base.ErrCorrupt, or is a fault of a mapped file; then sc must not be used again.
func (m *gpuMasks) make(ctx context.Context, q *Query, sc *plan.Scratch) (err error) {
	if !m.needed {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made {
		return nil
	}
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	for i := range q.NumStages() {
		o := m.options(q)
		if !q.Stage(i).NeedsMask(o) {
			continue
		}
		masks, err := plan.StageMasks(ctx, &q.Plan, sc, i, o)
		if err != nil {
			return err
		}
		filters := make([]pipeline.Filter, len(masks))
		for j, one := range masks {
			if one != nil {
				filters[j] = filterOf(q, one, i, j)
			}
		}
		if m.filters[i] = filters; !m.words {
			q.gpu.stages[i].Filters = filters
		}
	}
	m.made = true
	return nil
}

// rangeDocs is the least number of documents of a segment in which a GPU computes ranges of columns: for
// fewer, the CPU takes less time than a launch.
const rangeDocs = 1 << 17

func (m *gpuMasks) options(q *Query) plan.MaskOptions {
	return plan.MaskOptions{LeaveOut: q.gpu.small, RangeDocs: q.searcher.dispatcher.gpu.rangeDocs, Words: m.words, Runs: pipeline.MaxRuns}
}

// filterOf returns the mask of a stage in a segment. A GPU that has no room for a column has the words
// computed.
func filterOf(q *Query, m *plan.Mask, stage, segment int) pipeline.Filter {
	f := pipeline.Filter{ID: m.ID, Words: m.Words, NumDocs: m.Count}
	if len(m.Ranges) == 0 {
		return f
	}
	for _, r := range m.Ranges {
		f.Ranges = append(f.Ranges, pipeline.ColumnRange(r))
	}
	f.Compute = func() ([]uint64, error) {
		sc := idleScratches.Get().(*plan.Scratch)
		words, err := plan.MaskWords(context.Background(), &q.Plan, sc, stage, segment)
		idleScratches.Put(sc) // not deferred: after a panic it must not serve another query
		return words, err
	}
	return f
}
