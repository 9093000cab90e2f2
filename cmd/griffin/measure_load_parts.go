package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/latency"
)

// loadPart is the time of traced queries in one part of their way.
type loadPart struct {
	// Name is a step of a trace; "gpu: …" are parts of a step on a GPU, "rest" is the time outside of all steps.
	Name string `json:"name"`
	// Queries had this part. Latency is of these, and Share of the time of all traced queries.
	Queries int             `json:"queries"`
	Share   float64         `json:"share"`
	Latency latency.Summary `json:"latency_us"`
}

// queryParts sums the parts of one in every queries, picked at random. The zero value traces none.
type queryParts struct {
	every int64

	mu    sync.Mutex
	from  time.Time // queries that begin before are not counted
	names []string
	parts map[string]*latency.Histogram // nil before the load
}

const (
	partWhole = "all"
	partRest  = "rest"
)

// restart counts the queries that begin after the warm-up.
func (p *queryParts) restart(warmup time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names, p.parts = p.names[:0], make(map[string]*latency.Histogram)
	p.from = time.Now().Add(warmup)
}

// picks reports whether the next query is traced: not every nth, because the queries of a file come again and again.
func (p *queryParts) picks() bool {
	return p.every > 0 && rand.Int64N(p.every) == 0
}

// add adds a query that began at a time and took as long.
func (p *queryParts) add(t *griffin.Trace, began time.Time, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parts == nil || began.Before(p.from) {
		return
	}
	var own []ownPart
	for i := range t.Steps {
		s := &t.Steps[i]
		name := s.Name
		if name == griffin.StepWait {
			name += " for the " + s.Place
		}
		if s.Batch > 0 {
			name += ", in a batch"
		}
		own = addPart(own, name, s.Took)
		if d := s.Device; d != nil {
			own = addPart(own, "gpu: kernels", d.Took)
			if h := &d.TraceHostTimes; *h != (griffin.TraceHostTimes{}) {
				own = addPart(own, "gpu: prepare", h.Preparing)
				own = addPart(own, "gpu: launch", h.Launching)
				own = addPart(own, "gpu: wait", h.Waiting)
				own = addPart(own, "gpu: take hits", h.Taking)
				own = addPart(own, "gpu: lane and others", s.Took-h.Preparing-h.Launching-h.Waiting-h.Taking)
			}
		}
	}
	for _, o := range own {
		p.record(o.name, o.took)
	}
	p.record(partRest, took-covered(t.Steps))
	p.record(partWhole, took)
}

// ownPart is a part of one query.
type ownPart struct {
	name string
	took time.Duration
}

func addPart(parts []ownPart, name string, took time.Duration) []ownPart {
	for i := range parts {
		if parts[i].name == name {
			parts[i].took += took
			return parts
		}
	}
	return append(parts, ownPart{name, took})
}

// covered is the time in which at least one of the steps ran: those of segments and of devices can run at the same time.
func covered(steps []griffin.TraceStep) (sum time.Duration) {
	var until time.Duration
	for _, s := range slices.SortedFunc(slices.Values(steps), func(a, b griffin.TraceStep) int { return cmp.Compare(a.Start, b.Start) }) {
		end := s.Start + s.Took
		sum += max(end-max(s.Start, until), 0)
		until = max(until, end)
	}
	return sum
}

func (p *queryParts) record(name string, took time.Duration) {
	h := p.parts[name]
	if h == nil {
		h = new(latency.Histogram)
		p.names, p.parts[name] = append(p.names, name), h
	}
	h.Record(took)
}

// take returns the parts since restart, nil without queries.
func (p *queryParts) take() []loadPart {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole := p.parts[partWhole]
	if whole == nil {
		return nil
	}
	sum := whole.Summary()
	total := max(float64(sum.Mean)*float64(sum.Count), 1)
	var parts []loadPart
	for _, name := range p.names {
		s := p.parts[name].Summary()
		parts = append(parts, loadPart{Name: name, Queries: s.Count, Share: float64(s.Mean) * float64(s.Count) / total, Latency: s})
	}
	return parts
}
