package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/vfs"
)

const (
	// calibrationTime bounds the measurements of a calibration; fitting comes after it.
	calibrationTime = 7 * time.Second
	// calibrationQueries is how many queries are enough.
	calibrationQueries = 4000
	// leastListBytes is the size of posting lists below which an index is not worth to be
	// measured: every query is answered in the time of a launch.
	leastListBytes = 1 << 20
)

// LoadCosts sets Costs to the model of this machine with g that is saved in the folder of
// an index, and reports whether it was measured. If there is none that can be read, or
// nothing to decide, it is one of built-in times. g may be nil.
func (o *DispatchOptions) LoadCosts(fsys vfs.FS, dir string, g *GPU) (measured bool) {
	machine := g.machine()
	o.CostsErr = nil
	if g != nil || o.limited() {
		m, err := cost.Load(fsys, filepath.Join(dir, cost.FileName), machine)
		if err == nil {
			o.Costs = m
			return m.Calibrated()
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, cost.ErrForeign) {
			o.CostsErr = err
		}
	}
	o.Costs = cost.New(machine)
	return false
}

// machine describes the processors. g may be nil.
func (g *GPU) machine() cost.Machine {
	if g == nil {
		return cost.Here(nil)
	}
	var gpus []string
	for _, d := range g.Stats().Devices {
		gpus = append(gpus, fmt.Sprintf("%s, CUDA %s", d.GPU, d.Driver))
	}
	return cost.Here(gpus)
}

// CalibrateOptions say how a calibration is done. The zero value is right.
type CalibrateOptions struct {
	// Limit bounds the time, but for that of the last query and of fitting; 0: 7 s.
	Limit time.Duration
	// Queries bounds how many there are; 0: 4000.
	Queries int
	// Helpers is how many more goroutines measure queries, on the CPU alone, as many again
	// in all: on large indexes there would be too few of them. 0: one for each four
	// processors, four at most; negative: none.
	Helpers int
	// Progress, if set, is called after each query, but for those of helpers, with those done
	// and in all. If the time ends first, those done are fewer.
	Progress func(done, total int64)
}

// helpers is how many there are to be.
func (o *CalibrateOptions) helpers() int {
	if o.Helpers != 0 {
		return max(o.Helpers, 0)
	}
	return min(runtime.GOMAXPROCS(0)/4, 4)
}

// Calibrates reports whether the times of queries of a snapshot are worth to be
// measured: there is a GPU, the policy predicts, and the index has lists that are not
// short.
func (d *Dispatcher) Calibrates(snapshot *index.Snapshot) bool {
	predicts := d.policy == PolicyCost || d.policy == PolicyQuery
	return d.gpu != nil && predicts && ListBytes(snapshot) >= leastListBytes
}

// Calibrate measures what queries take on the CPU and, if there is one, on the GPU, and
// fits the Dispatcher's predictions to that. The queries are of terms of the index,
// of all sizes; lists that they need are brought to the GPU. Others may run meanwhile,
// but are measured with them. Whatever a GPU fails at is left out. If the context ends
// before, nothing is changed.
func (d *Dispatcher) Calibrate(ctx context.Context, snapshot *index.Snapshot, o CalibrateOptions) error {
	began := time.Now()
	if o.Limit <= 0 {
		o.Limit = calibrationTime
	}
	if o.Queries <= 0 {
		o.Queries = calibrationQueries
	}
	rng := rand.New(rand.NewPCG(uint64(snapshot.NumDocs), snapshot.Generation)) // the same index, the same queries
	terms, err := sampleTerms(ctx, snapshot, rng, samplingTime)
	if err != nil || len(terms.full) == 0 {
		return err
	}
	_, err = snapshot.Impacts()
	all := make([]calibrating, 1+o.helpers())
	for i := range all {
		c := &all[i]
		c.terms, c.impacts = *terms, err == nil
		g := d.gpu
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
	ended := func() { // also if the first panics: who called gives the snapshot back
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
				c.err = nil // the first says why
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
	d.costs.Calibrate(samples)
	return nil
}

// calibrating is one goroutine's part of a calibration.
type calibrating struct {
	m       *measurer
	terms   termSample
	impacts bool // there are some
	err     error
}

// query measures one.
func (c *calibrating) query(ctx context.Context) error {
	q, options, err := c.terms.random(c.impacts)
	if err != nil {
		return err
	}
	p, err := c.m.searcher.Prepare(c.m.sc, q, options)
	if err == nil {
		_, err = c.m.measure(ctx, p)
	}
	return err
}

// random returns a query and how it is to be asked. Most are ORs, whose times are the
// hardest to tell, since they are pruned.
func (s *termSample) random(impacts bool) (q query.Node, o Options, err error) {
	numTerms := [...]int{1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6}
	ks := [...]int{10, 10, 10, 100, 1000}
	n := numTerms[s.rng.IntN(len(numTerms))]
	o = Options{Mode: ModeOr, K: ks[s.rng.IntN(len(ks))]}
	switch s.rng.IntN(10) {
	case 0, 1, 2, 3:
		o.Mode, n = ModeAnd, max(n, 2)
	case 4:
		if impacts {
			o.Mode = ModeSaat
		}
	}
	q, err = s.query(n)
	return q, o, err
}

// SaveCosts saves the predictions to the folder of an index, with what was learnt since
// they were loaded. The error is of the file system; the folder may be one that cannot
// be written to.
func (d *Dispatcher) SaveCosts(fsys vfs.FS, dir string) error {
	return d.costs.Save(fsys, filepath.Join(dir, cost.FileName))
}

// worthSaving is how many observations are.
const worthSaving = 1000

// CostsChanged reports whether so much was learnt since the predictions were loaded or
// saved that it is worth to be saved.
func (d *Dispatcher) CostsChanged() bool {
	return d != nil && d.gpu != nil && d.costs.Calibrated() && d.costs.Unsaved() >= worthSaving
}
