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

func (o Options) withDefaults(processors int) Options {
	if o.Limit <= 0 {
		o.Limit = calibrationTime
	}
	if o.Queries <= 0 {
		o.Queries = calibrationQueries
	}
	if o.Helpers == 0 {
		o.Helpers = min(processors/4, 4)
	}
	o.Helpers = max(o.Helpers, 0)
	return o
}

// Pays reports whether a calibration can change a decision: there is a GPU, the
// policy predicts, and the index has long lists.
func Pays(d *dispatch.Dispatcher, snapshot *index.Snapshot) bool {
	return pays(d, dispatch.ListBytes(snapshot))
}

func pays(d *dispatch.Dispatcher, listBytes int64) bool {
	return d.GPU() != nil && dispatch.Predicts(d.Policy()) && listBytes >= leastListBytes
}

// Run measures query times on the CPU and, if there is one, the GPU, and fits
// the predictions of d to them. It draws terms of the index into queries of all
// sizes and loads their lists to the GPU. Concurrent queries distort the
// measurement. Run ignores failures of a GPU. If the context ends, it changes
// nothing.
func Run(ctx context.Context, d *dispatch.Dispatcher, snapshot *index.Snapshot, o Options) error {
	c := &calibration{began: time.Now(), options: o.withDefaults(runtime.GOMAXPROCS(0))}
	if err := c.prepare(ctx, d.GPU(), snapshot, samplingTime); err != nil || len(c.all) == 0 {
		return err
	}
	samples, err := c.measure(ctx)
	if err != nil {
		return err
	}
	d.Costs().Calibrate(samples)
	return nil
}

// calibration is a Run.
type calibration struct {
	began   time.Time
	options Options
	all     []calibrating // the helpers are behind the first
}

type calibrating struct {
	m       *measurer
	terms   termSample
	impacts bool // the snapshot has impacts
	err     error
}

// prepare samples terms for up to the limit. It leaves all empty if the index
// has no terms.
func (c *calibration) prepare(ctx context.Context, g *dispatch.GPU, snapshot *index.Snapshot, limit time.Duration) error {
	rng := rand.New(rand.NewPCG(uint64(snapshot.NumDocs), snapshot.Generation)) // equal queries for equal indexes
	terms, err := sampleTerms(ctx, snapshot, rng, limit)
	if err != nil || len(terms.full) == 0 {
		return err
	}
	_, noImpacts := snapshot.StoredImpacts()
	c.all = make([]calibrating, 1+c.options.Helpers)
	for i := range c.all {
		one := &c.all[i]
		one.terms, one.impacts = *terms, noImpacts == nil
		if i > 0 {
			g = nil
			one.terms.rng = rand.New(rand.NewPCG(uint64(snapshot.NumDocs)+uint64(i)<<32, snapshot.Generation))
		}
		if one.m, err = newMeasurer(g, snapshot); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the samples of all.
func (c *calibration) measure(ctx context.Context) ([]cost.Measured, error) {
	var group invariant.Group
	helping, stop := context.WithCancel(ctx)
	ended := func() { // also after a panic: the caller then releases the snapshot
		stop()
		group.Wait()
	}
	defer ended()
	helpers := c.all[1:]
	for i := range helpers {
		group.Go(func() {
			helpers[i].help(helping, c, c.options.Queries/len(helpers))
			if helpers[i].err != nil {
				stop()
			}
		})
	}
	first := &c.all[0]
	for i := range c.options.Queries {
		if c.isOver() || helping.Err() != nil {
			first.err = ctx.Err()
			break
		}
		if first.err = first.query(ctx); first.err != nil {
			break
		}
		if c.options.Progress != nil {
			c.options.Progress(int64(i+1), int64(c.options.Queries))
		}
	}
	ended()
	var samples []cost.Measured
	for i := range c.all {
		if err := c.all[i].err; err != nil {
			return nil, err
		}
		samples = append(samples, c.all[i].m.samples...)
	}
	return samples, nil
}

func (c *calibration) isOver() bool { return time.Since(c.began) > c.options.Limit }

// help measures up to n queries. It leaves it to the first to report that the
// context has ended.
func (c *calibrating) help(ctx context.Context, of *calibration, n int) {
	for range n {
		if ctx.Err() != nil || of.isOver() {
			return
		}
		if err := c.query(ctx); err != nil {
			if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				c.err = err
			}
			return
		}
	}
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
