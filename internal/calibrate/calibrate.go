package calibrate

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/query"
)

const (
	// calibrationTime excludes fitting.
	calibrationTime    = 7 * time.Second
	calibrationQueries = 4000
	// With shorter posting lists calibration does not pay: every query takes about
	// the time of a launch.
	leastListBytes = 1 << 20
)

// Options configure Run. The zero value has the defaults.
type Options struct {
	// Maximum time, except the last query and fitting; 0: 7 s.
	Limit time.Duration
	// Maximum number of queries; 0: 4000.
	Queries int
	// Number of further goroutines, which together measure the same number of
	// queries on the CPU only, because large indexes need more. 0: one for each
	// four processors, at most four; negative: none.
	Helpers int
	// Progress, if set, is called after each query that is not a helper's. At the
	// time limit done is smaller than total.
	Progress func(done, total int64)
}

func (o *Options) helpers() int {
	if o.Helpers != 0 {
		return max(o.Helpers, 0)
	}
	return min(runtime.GOMAXPROCS(0)/4, 4)
}

// Pays reports whether a calibration can change a decision: there is a GPU, the
// policy predicts, and the index has long lists.
func Pays(d *dispatch.Dispatcher, snapshot *index.Snapshot) bool {
	return d.GPU() != nil && dispatch.Predicts(d.Policy()) && dispatch.ListBytes(snapshot) >= leastListBytes
}

// Run measures query times on the CPU and, if there is one, the GPU, and fits
// the predictions of d to them. It draws terms of the index into queries of all
// sizes and loads their lists to the GPU. Concurrent queries distort the
// measurement. Run ignores failures of a GPU. If the context ends, it changes
// nothing.
func Run(ctx context.Context, d *dispatch.Dispatcher, snapshot *index.Snapshot, o Options) error {
	began := time.Now()
	if o.Limit <= 0 {
		o.Limit = calibrationTime
	}
	if o.Queries <= 0 {
		o.Queries = calibrationQueries
	}
	rng := rand.New(rand.NewPCG(uint64(snapshot.NumDocs), snapshot.Generation)) // equal queries for equal indexes
	terms, err := sampleTerms(ctx, snapshot, rng, samplingTime)
	if err != nil || len(terms.full) == 0 {
		return err
	}
	_, err = snapshot.Impacts()
	all := make([]calibrating, 1+o.helpers())
	for i := range all {
		c := &all[i]
		c.terms, c.impacts = *terms, err == nil
		g := d.GPU()
		if i > 0 {
			g = nil
			c.terms.rng = rand.New(rand.NewPCG(uint64(snapshot.NumDocs)+uint64(i)<<32, snapshot.Generation))
		}
		if c.m, c.err = newMeasurer(g, snapshot); c.err != nil {
			return c.err
		}
	}
	var group invariant.Group
	helping, stop := context.WithCancel(ctx)
	ended := func() { // also after a panic: the caller then releases the snapshot
		stop()
		group.Wait()
	}
	defer ended()
	for i := range all[1:] {
		group.Go(func() {
			c := &all[1+i]
			for range o.Queries / len(all[1:]) {
				if c.err != nil || helping.Err() != nil || time.Since(began) > o.Limit {
					break
				}
				c.err = c.query(helping)
			}
			if errors.Is(c.err, context.Canceled) || errors.Is(c.err, context.DeadlineExceeded) {
				c.err = nil // first reports it
			}
			if c.err != nil {
				stop()
			}
		})
	}
	first := &all[0]
	for i := range o.Queries {
		if time.Since(began) > o.Limit || helping.Err() != nil {
			first.err = ctx.Err()
			break
		}
		if first.err = first.query(ctx); first.err != nil {
			break
		}
		if o.Progress != nil {
			o.Progress(int64(i+1), int64(o.Queries))
		}
	}
	ended()
	var samples []cost.Measured
	for i := range all {
		if all[i].err != nil {
			return all[i].err
		}
		samples = append(samples, all[i].m.samples...)
	}
	d.Costs().Calibrate(samples)
	return nil
}

type calibrating struct {
	m       *measurer
	terms   termSample
	impacts bool // the snapshot has impacts
	err     error
}

func (c *calibrating) query(ctx context.Context) error {
	q, options, err := c.terms.random(c.impacts)
	if err != nil {
		return err
	}
	p, err := c.m.Prepare(q, options)
	if err == nil {
		_, err = c.m.measure(ctx, p)
	}
	return err
}

// Most are ORs, whose times are the hardest to predict because of pruning.
func (s *termSample) random(impacts bool) (q query.Node, o dispatch.Options, err error) {
	numTerms := [...]int{1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6}
	ks := [...]int{10, 10, 10, 100, 1000}
	n := numTerms[s.rng.IntN(len(numTerms))]
	o = dispatch.Options{Mode: plan.ModeOr, K: ks[s.rng.IntN(len(ks))]}
	switch s.rng.IntN(10) {
	case 0, 1, 2, 3:
		o.Mode, n = plan.ModeAnd, max(n, 2)
	case 4:
		if impacts {
			o.Mode = plan.ModeSaat
		}
	}
	q, err = s.query(n)
	return q, o, err
}
