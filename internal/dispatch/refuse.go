package dispatch

import (
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/saat"
)

// Refusal is whether a query may be refused before it is planned. By default it may not.
type Refusal struct {
	Allowed  bool
	Deadline time.Time // of the query's context; zero: none
}

// Refuse returns *sched.Overload for a query that is refused before it is planned, because the GPU is overloaded
// (sched.Pool.Refuse): at twice the sustained rate half of all queries are rejected, and to plan them takes processors from
// the others. It returns nil if the GPU cannot run queries with such options.
func (d *Dispatcher) Refuse(opts *Options) error {
	if !opts.Refusal.Allowed || d == nil || d.pool == nil || d.gpu == nil || !opts.mayUseGPU() {
		return nil
	}
	return d.pool.Refuse(opts.Refusal.Deadline)
}

// mayUseGPU reports whether the Dispatcher's policy may send a query with such options to a GPU.
func (o *Options) mayUseGPU() bool {
	return !o.CPU && o.Traversal == "" && o.Accumulators == "" && o.Budget == (saat.Budget{}) && o.Policy == "" && o.Placement == nil &&
		o.K <= pipeline.MaxK && (o.K > 0 || o.Count)
}
