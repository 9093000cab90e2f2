package regret

import (
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
)

// Measured holds the times of a log.
type Measured struct {
	Mode    plan.Mode
	K       int
	Rounds  int
	Queries []Measurement
	// Names of the variants: the policies, then the others.
	Names []string
	// GPUBatch is the number of queries in a batch; 0: not measured.
	GPUBatch int

	oracle   bool
	policies int // of Names
}

func (m *Measured) first(rounds int) *Measured {
	m.Rounds = rounds
	for i := range m.Queries {
		q := &m.Queries[i]
		for _, times := range [][][]time.Duration{q.Took, q.placed, q.beside} {
			for j := range times {
				times[j] = times[j][:min(rounds, len(times[j]))]
			}
		}
		for j := range q.Ran {
			q.Ran[j] = q.Ran[j][:rounds]
		}
	}
	return m
}

// Measurement holds the times of one query.
type Measurement struct {
	ID string
	// DocFreqs of its terms, rising.
	DocFreqs []uint64
	// Hits is the number of hits, at most K.
	Hits int
	// Took holds times by variant, then round.
	Took [][]time.Duration
	// Share is the time that the query adds to a batch on the GPU.
	Share time.Duration
	// Ran holds the processors that were used, by variant, then round.
	Ran [][]Places

	placements []dispatch.Placement
	placed     [][]time.Duration // by placement, then round
	// beside holds times with the oracle's Searcher, by policy, then round; nil without another
	// Searcher.
	beside [][]time.Duration
	hits   []base.Hit
}

// Places are the processors that a query used.
type Places struct {
	CPU, GPU   bool
	Migrations int
}
