package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Local() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-local", Paper: "ao11", Shows: "§4.3, local safe ranges", Title: "Local and global safe search ranges",
		Did: "A list is divided into g segments with a safe search range each. The ranges are narrower, but the additional operations on floating-point numbers " +
			"make them not superior.",
		Ours: ao11Ours + " The GPU: batches of a million elements. " + paraOurs + " GPU time: the device time of the search kernel with its scan, of one launch per batch in another pass, in which the L2 cache is overwritten before each launch. " +
			"The CPU: one thread, 60 of the queries, each method in turns with binary search, the minimum of 5 rounds after a warm-up; all find the same number of DocIDs.",
		Differs: paraDiffers + "The paper has neither numbers nor g, and leaves open how a segment is found; here by a binary search over the segments' first DocIDs. " +
			"It costs more accesses than the narrower ranges save on GOV and GOVR, and about as many on GOVPR (ao11-accesses), but the first DocIDs stay in caches, of the CPU and of the GPU, " +
			"so that local ranges can win.",
		Findings: ao11LocalFindings, Verdicts: ao11LocalVerdicts,
		Budget: 15 * time.Minute,
		Run:    runAo11Local,
	}
}

// The numbers of segments of paraLocal.
var ao11Parts = map[string]int{"LR, g = 4": 4, "LR, g = 16": 16, "LR, g = 64": 64, "LR, g = 256": 256}

// localSearcher is ao11's local safe search range.
type localSearcher struct {
	seq    []uint32
	heads  []uint32
	ranges []contraction.SafeRange
	size   int
}

func newLocalSearcher(docIDs []uint32, parts int) *localSearcher {
	s := &localSearcher{seq: docIDs, size: (len(docIDs) + parts - 1) / parts}
	for part := range slices.Chunk(docIDs, s.size) {
		s.heads = append(s.heads, part[0])
		s.ranges = append(s.ranges, contraction.NewSafeRange(part))
	}
	return s
}

func (*localSearcher) reset() {}

func (s *localSearcher) has(x uint32) bool {
	i := contraction.Binary(s.heads, 0, len(s.heads), x)
	if i == len(s.heads) || s.heads[i] != x {
		if i--; i < 0 {
			return false
		}
	}
	lo, hi := s.ranges[i].Range(x)
	at := contraction.Binary(s.seq, i*s.size+lo, i*s.size+hi, x)
	return at < len(s.seq) && s.seq[at] == x
}

// localWay returns a method of paraLocal on the CPU.
func localWay(name string) ao11Way {
	if parts, ok := ao11Parts[name]; ok {
		return ao11Way{name, "", func(l *ao11List, _ codec.Codec) (searcher, error) { return newLocalSearcher(l.docIDs, parts), nil }}
	}
	return ao11Ways[slices.IndexFunc(ao11Ways, func(w ao11Way) bool { return w.name == name })]
}

func runAo11Local(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	rows := paraLocal.ways
	names := []string{"GOV", "GOVPR", "GOVR"}
	onCPU := lab.NewTable("On one thread of a CPU: time a search, ns", "search", rows, names)
	var columns []string
	for _, name := range names {
		columns = append(columns, name+", µs", name+", queries/s")
	}
	onGPU := lab.NewTable("On the GPU: device time of a batch, µs, and queries a second", "search", rows, columns)
	for i, of := range ao11Collections[:ao11GOVs] {
		env.Progress(of.name, i, ao11GOVs)
		c, queries, err := of.open(ctx, env)
		if err != nil {
			return nil, err
		}
		if err := timeLocal(ctx, env, c, queries, onCPU, i); err != nil {
			return nil, err
		}
		if d == nil {
			onGPU.LeaveColumn(2*i, noDevice)
			onGPU.LeaveColumn(2*i+1, noDevice)
			continue
		}
		runs, err := measurePara(ctx, env, d, &paraLocal, of.name, c, queries)
		if err != nil {
			return nil, err
		}
		for row, name := range rows {
			r := runs.at(name, ao11Million(env))
			onGPU.Set(row, 2*i, r.searchMicros())
			onGPU.Set(row, 2*i+1, r.throughput())
		}
	}
	return &lab.Result{Tables: []*lab.Table{onGPU, onCPU}}, nil
}

// timeLocal sets a column to the times of a search on the CPU, scaled to the first measurement of binary search.
func timeLocal(ctx context.Context, env *lab.Env, c *lab.Collection, queries []lab.Query, t *lab.Table, column int) error {
	asked, err := askedOf(c, queries, lab.Pick(env, 60, 8))
	if err != nil {
		return err
	}
	q, err := newParaQueries(ctx, asked, c.NumDocs())
	if err != nil {
		return err
	}
	check := func(name string, r *intersections) lab.Variant {
		return lab.Variant{Name: name, Do: func() error {
			if found := r.run(); found != q.found() {
				return fmt.Errorf("%s finds %d DocIDs, not %d", name, found, q.found())
			}
			return nil
		}}
	}
	var first time.Duration
	for row, name := range t.Rows {
		base, way := localWay("BS"), localWay(name)
		binary, err := base.prepare(asked, c.NumDocs())
		if err != nil {
			return err
		}
		run, err := way.prepare(asked, c.NumDocs())
		if err != nil {
			return err
		}
		times, err := lab.Compare(ctx, lab.Pick(env, 5, 1), check("BS", binary), check(name, run))
		if err != nil {
			return err
		}
		if row == 0 {
			first = times[0].Min
		}
		scaled := float64(times[1].Min) * float64(first) / float64(times[0].Min)
		t.Set(row, column, scaled/float64(max(run.searches, 1)))
	}
	return nil
}
