package regret

import (
	"errors"
	"slices"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/sched/simulation"
)

// Costs returns each query's time on either processor for a simulation. Policies cpu and gpu
// must be measured.
func (m *Measured) Costs() ([]simulation.Query, error) {
	cpu, gpu := slices.Index(m.Names, string(dispatch.PolicyCPU)), slices.Index(m.Names, string(dispatch.PolicyGPU))
	if cpu < 0 || gpu < 0 {
		return nil, errors.New("costs need policies cpu and gpu among those that were measured")
	}
	queries := make([]simulation.Query, len(m.Queries))
	for i := range m.Queries {
		t := &m.Queries[i]
		queries[i] = simulation.Query{ID: t.ID, CPU: median(t.Took[cpu]), GPU: median(t.Took[gpu]), Batched: t.Share}
		if len(t.DocFreqs) > 0 {
			queries[i].Work = int64(t.DocFreqs[0])
		}
	}
	return queries, nil
}
