package main

import (
	"sync"
	"sync/atomic"
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

// queryParts sums the parts of every nth query. The zero value traces none.
type queryParts struct {
	every int64
	asked atomic.Int64
	from  atomic.Int64 // traces that begin before are not counted: Unix time in ns

	mu    sync.Mutex
	names []string
	parts map[string]*latency.Histogram
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
	p.from.Store(time.Now().Add(warmup).UnixNano())
}

// picks reports whether the next query is traced.
func (p *queryParts) picks() bool { return p.every > 0 && p.asked.Add(1)%p.every == 0 }

// add adds a query that began at a time and took as long.
func (p *queryParts) add(t *griffin.Trace, began time.Time, took time.Duration) {
	if t == nil || began.UnixNano() < p.from.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := took
	for i := range t.Steps {
		s := &t.Steps[i]
		rest -= s.Took
		name := s.Name
		if name == griffin.StepWait {
			name += " for the " + s.Place
		}
		if s.Batch > 0 {
			name += ", in a batch"
		}
		p.record(name, s.Took)
		if d := s.Device; d != nil {
			p.recordDevice(d, s.Took)
		}
	}
	p.record(partRest, rest)
	p.record(partWhole, took)
}

func (p *queryParts) recordDevice(d *griffin.TraceDevice, took time.Duration) {
	p.record("gpu: kernels", d.Took)
	h := &d.TraceHostTimes
	if *h == (griffin.TraceHostTimes{}) {
		return
	}
	p.record("gpu: prepare", h.Preparing)
	p.record("gpu: launch", h.Launching)
	p.record("gpu: wait", h.Waiting)
	p.record("gpu: take hits", h.Taking)
	p.record("gpu: lane and others", took-h.Preparing-h.Launching-h.Waiting-h.Taking)
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
	total := float64(sum.Mean) * float64(sum.Count)
	var parts []loadPart
	for _, name := range p.names {
		s := p.parts[name].Summary()
		parts = append(parts, loadPart{Name: name, Queries: s.Count, Share: float64(s.Mean) * float64(s.Count) / total, Latency: s})
	}
	return parts
}
