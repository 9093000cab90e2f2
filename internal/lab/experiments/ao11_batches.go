package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// Batches of PARA measured for several experiments of ao11: Figs. 5, 6 and 9 (b), Tables 3 and 7,
// §4.3 and §5.3. Each group of methods is measured once for all experiments of a run.

const paraOurs = "6,000 queries of the 2006 log with 2 or more terms, evenly spaced. All their lists are in device memory. " +
	"The time is of the host's clock: gathering queries on the CPU, copying the batch to the device, the two kernels of `internal/papers/para` " +
	"(search with scan; compaction), which write the DocIDs to host memory, one step after the other. It excludes waiting for queries. " +
	"The methods take turns in 5 rounds over all queries after a warm-up; the numbers are of the round with the median time. " +
	"In the warm-up, all DocIDs of all queries are compared with intersections on the CPU."

// paraGroup is a set of methods that are measured in turns.
type paraGroup struct {
	name  string
	ways  []string
	sweep bool // all thresholds on GOV; otherwise 1M
	// Also the device time of the kernels alone.
	kernels bool
}

var (
	paraUncompressed = paraGroup{name: "uncompressed", sweep: true, ways: []string{"IS", "BS", "LR", "HS256", "HS128", "HS64", "HS32", "HS16", bitmapsName}}
	paraCompressed   = paraGroup{name: "compressed", ways: []string{
		"ParaPFD (0.2)", "ParaPFD (0.0)", "NewPFD (0.2)", "NewPFD (0.0)", "LRC", "LRCSeg", "SegLRC", "HS256_LRC", "HS128_LRC",
	}}
	paraShares = paraGroup{name: "shares", sweep: true, kernels: true, ways: []string{"HS16", "HS256_LRC"}}
	paraListH  = paraGroup{name: "list H", kernels: true, ways: []string{
		"LRC", "LRC" + withoutHName, "LRCSeg", "LRCSeg" + withoutHName, "SegLRC", "SegLRC" + withoutHName,
	}}
	paraLocal = paraGroup{name: "local ranges", kernels: true, ways: []string{"BS", "LR", "LR, g = 4", "LR, g = 16", "LR, g = 64", "LR, g = 256", "HS16"}}
)

// In elements of shortest lists per batch.
func ao11Thresholds(env *lab.Env) []int {
	return lab.Pick(env, []int{8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20}, []int{1 << 10, 16 << 10})
}

// The threshold of the paper's tables.
func ao11Million(env *lab.Env) int { return lab.Pick(env, 1<<20, 1<<10) }

// paraRun is a round over all queries.
type paraRun struct {
	queries, batches int
	took, gathered   time.Duration // all; of these, collecting queries

	// Device times, with the group's kernels: search and scan, and the same with the compaction to
	// host memory.
	searched, launched time.Duration
}

// Queries per second, milliseconds per batch, and queries per batch.
func (r *paraRun) throughput() float64 { return float64(r.queries) / max(r.took.Seconds(), 1e-9) }
func (r *paraRun) response() float64   { return r.took.Seconds() * 1000 / float64(r.batches) }
func (r *paraRun) size() float64       { return float64(r.queries) / float64(r.batches) }

// paraRuns are the runs of a group on a collection.
type paraRuns struct {
	thresholds []int
	byWay      map[string][]paraRun // by threshold
}

// at returns the run of a method at a threshold.
func (r *paraRuns) at(way string, threshold int) *paraRun {
	return &r.byWay[way][slices.Index(r.thresholds, threshold)]
}

// ao11Asked returns the queries of paraOurs on a collection.
func ao11Asked(ctx context.Context, env *lab.Env, name string, c *lab.Collection, queries []lab.Query) (*paraQueries, error) {
	return lab.Shared(env, "ao11 queries on "+name, func() (*paraQueries, error) {
		asked, err := askedOf(c, queries, lab.Pick(env, 6000, 20))
		if err != nil {
			return nil, err
		}
		return newParaQueries(ctx, asked, c.NumDocs())
	})
}

// measurePara measures a group, or returns the earlier measurement.
func measurePara(ctx context.Context, env *lab.Env, d *lab.Device, g *paraGroup, name string, c *lab.Collection, queries []lab.Query) (*paraRuns, error) {
	return lab.Shared(env, "ao11 "+g.name+" on "+name, func() (*paraRuns, error) {
		q, err := ao11Asked(ctx, env, name, c, queries)
		if err != nil {
			return nil, err
		}
		thresholds := []int{ao11Million(env)}
		if g.sweep && name == "GOV" {
			thresholds = ao11Thresholds(env)
		}
		return runGroup(ctx, env, d, g, q, thresholds)
	})
}

func runGroup(ctx context.Context, env *lab.Env, d *lab.Device, g *paraGroup, q *paraQueries, thresholds []int) (runs *paraRuns, err error) {
	m, err := newParaBench(d, q)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.free()) }()
	for i, name := range g.ways {
		env.Progress("copy lists for "+name, i, len(g.ways))
		l, err := newParaLists(ctx, d, paraWayOf(name), q)
		if err != nil {
			return nil, err
		}
		m.frees = append(m.frees, l.free)
		m.ways = append(m.ways, l)
	}
	runs = &paraRuns{thresholds: thresholds, byWay: map[string][]paraRun{}}
	for i, threshold := range thresholds {
		env.Progress("batches of "+g.name+" lists", i, len(thresholds))
		byWay, err := m.measure(ctx, env, threshold)
		if err != nil {
			return nil, fmt.Errorf("threshold %d: %w", threshold, err)
		}
		for w, l := range m.ways {
			if g.kernels {
				if err := m.timeKernels(env, l, threshold, &byWay[w]); err != nil {
					return nil, fmt.Errorf("threshold %d: %s: %w", threshold, l.way.name, err)
				}
			}
			runs.byWay[l.way.name] = append(runs.byWay[l.way.name], byWay[w])
		}
	}
	return runs, nil
}

// paraBench measures methods on the same queries.
type paraBench struct {
	deviceMemory
	kernels  *para.Kernels
	queries  *paraQueries
	ways     []*paraLists
	flush    cuda.Buffer[uint32] // larger than the L2 cache, when it is needed
	from, to *cuda.Event
}

func newParaBench(d *lab.Device, q *paraQueries) (*paraBench, error) {
	m := &paraBench{deviceMemory: deviceMemory{device: d}, queries: q}
	var err error
	if m.kernels, err = para.Load(d.Device); err != nil {
		return nil, err
	}
	m.frees = append(m.frees, m.kernels.Close)
	for _, e := range []**cuda.Event{&m.from, &m.to} {
		if *e, err = d.NewEvent(true /* timing */); err != nil {
			return nil, errors.Join(err, m.free())
		}
		m.frees = append(m.frees, (*e).Close)
	}
	return m, nil
}

// measure returns the median run of each method.
func (m *paraBench) measure(ctx context.Context, env *lab.Env, threshold int) (medians []paraRun, err error) {
	rounds := make([][]paraRun, len(m.ways))
	batches := make([]*para.Batch, len(m.ways))
	for i, l := range m.ways {
		if batches[i], err = m.kernels.NewBatch(l.way.options(threshold, false)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, batches[i].Close()) }()
		if _, err := m.round(l, batches[i], func(first int) error { return m.check(batches[i], first) }); err != nil {
			return nil, fmt.Errorf("%s: %w", l.way.name, err)
		}
	}
	for range lab.Pick(env, 5, 1) {
		for i, l := range m.ways {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r, err := m.round(l, batches[i], nil)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.way.name, err)
			}
			rounds[i] = append(rounds[i], r)
		}
	}
	for _, r := range rounds {
		slices.SortFunc(r, func(a, b paraRun) int { return cmp.Compare(a.took, b.took) })
		medians = append(medians, r[len(r)/2])
	}
	return medians, nil
}

// round answers all queries in batches. done, if not nil, is called after each one, with the number of its first
// query.
func (m *paraBench) round(l *paraLists, b *para.Batch, done func(first int) error) (paraRun, error) {
	queries := m.queries.queries
	r := paraRun{queries: len(queries)}
	start := time.Now()
	first, from := 0, start
	for i, query := range queries {
		if err := l.add(b, query); err != nil {
			return r, err
		}
		if !b.Full() && i < len(queries)-1 {
			continue
		}
		r.gathered += time.Since(from)
		if err := l.run(b); err != nil {
			return r, err
		}
		r.batches++
		if done != nil {
			if err := done(first); err != nil {
				return r, err
			}
		}
		b.Reset()
		first, from = i+1, time.Now()
	}
	r.took = time.Since(start)
	return r, nil
}

// check compares the results of a batch with the CPU's.
func (m *paraBench) check(b *para.Batch, first int) error {
	for i := range b.Len() {
		if got, want := b.DocIDs(i), m.queries.answers[first+i]; !slices.Equal(got, want) {
			return fmt.Errorf("query %d: %d DocIDs on the GPU, %d on the CPU, or others", first+i, len(got), len(want))
		}
	}
	return nil
}

// timeKernels sets the device times of r. Before each launch the L2 cache is overwritten, since the batch has just
// read the same lists.
func (m *paraBench) timeKernels(env *lab.Env, l *paraLists, threshold int, r *paraRun) error {
	if m.flush.IsZero() {
		var err error
		if m.flush, err = room[uint32](&m.deviceMemory, lab.Pick(env, max(m.device.Info().L2Bytes/2, 1<<20), 1<<10)); err != nil {
			return err
		}
	}
	for _, countOnly := range []bool{true, false} {
		took, err := m.launchTimes(l, threshold, countOnly)
		if err != nil {
			return err
		}
		if countOnly {
			r.searched = took
		} else {
			r.launched = took
		}
	}
	return nil
}

func (m *paraBench) launchTimes(l *paraLists, threshold int, countOnly bool) (sum time.Duration, err error) {
	b, err := m.kernels.NewBatch(l.way.options(threshold, countOnly))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	_, err = m.round(l, b, func(int) error {
		took, err := m.launchTime(b)
		sum += took
		return err
	})
	return sum, err
}

// launchTime returns the device time of the kernels of a batch that has run.
func (m *paraBench) launchTime(b *para.Batch) (time.Duration, error) {
	s := m.device.Stream
	err := cuda.Fill(s, m.flush, 0)
	for _, do := range []func() error{
		func() error { return s.Record(m.from) },
		func() error { return b.Launch(s) },
		func() error { return s.Record(m.to) },
		m.to.Synchronize,
	} {
		if err == nil {
			err = do()
		}
	}
	if err != nil {
		return 0, err
	}
	return m.to.Elapsed(m.from)
}
