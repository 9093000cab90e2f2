package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// passes are the runs by bands of a device (imagesearch.Pass), one at a time. A run that comes while another one is under way
// waits, and the next pass answers the queries of all waiting runs: lists are brought once for all of them.
type passes struct {
	turn chan struct{} // held by the run that leads a pass
	// Guarded by turn. pass is nil until the first pass. took is the time of the last pass. expected is the number of
	// queries for which the next leader waits: the clients of the last pass are expected to ask again, and other
	// queries arrived meanwhile.
	pass     *imagesearch.Pass
	took     time.Duration
	expected int

	arrived chan struct{} // a request may have arrived
	crowds  crowds

	mu      sync.Mutex
	waiting []*passRequest
	counts  PassStats
}

// PassStats count passes; griffin.GPUPassStats documents them.
type PassStats struct {
	Passes    int64         `json:"passes"`
	Bands     int64         `json:"bands"`
	Queries   int64         `json:"queries"`
	Lists     int64         `json:"lists"`
	Blocks    int64         `json:"blocks"`
	ListBytes int64         `json:"list_bytes"`
	Gathering time.Duration `json:"gathering_ns"`
	Planning  time.Duration `json:"planning_ns"`
	Filling   time.Duration `json:"filling_ns"`
	Searching time.Duration `json:"searching_ns"`
	Waiting   time.Duration `json:"waiting_ns"`
	Took      time.Duration `json:"took_ns"`
}

func (s PassStats) plus(o *PassStats, sign int64) PassStats {
	times := func(d time.Duration) time.Duration { return time.Duration(sign * int64(d)) }
	return PassStats{
		s.Passes + sign*o.Passes, s.Bands + sign*o.Bands, s.Queries + sign*o.Queries, s.Lists + sign*o.Lists, s.Blocks + sign*o.Blocks,
		s.ListBytes + sign*o.ListBytes, s.Gathering + times(o.Gathering), s.Planning + times(o.Planning), s.Filling + times(o.Filling),
		s.Searching + times(o.Searching), s.Waiting + times(o.Waiting), s.Took + times(o.Took),
	}
}

func (s PassStats) since(before *PassStats) PassStats { return s.plus(before, -1) }

func (p *passes) stats() PassStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

func (p *passes) add(s *PassStats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = p.counts.plus(s, 1)
}

// passRequest is a run that waits for a pass.
type passRequest struct {
	ctx     context.Context //nolint:containedctx // of the run, which waits for its request
	view    *View
	queries []*Query
	results []Result
	trace   *Trace
	rest    []bool        // by query: it needs another path
	numbers []int         // of the queries in the pass, -1 for none
	done    chan struct{} // closed when the request is answered
}

// passQueries bounds the queries of a pass, and so its memory: about 600 bytes a query, and 8 for each hit.
const passQueries = 1 << 13

// answer waits until a pass, which it may lead, has answered a request. The error is the context's.
func (p *passes) answer(r *passRequest, device int) error {
	p.mu.Lock()
	p.waiting = append(p.waiting, r)
	p.mu.Unlock()
	select {
	case p.arrived <- struct{}{}:
	default:
	}
	select {
	case <-r.done:
		return r.ctx.Err()
	case p.turn <- struct{}{}:
	case <-r.ctx.Done():
		if p.withdraw(r) {
			return r.ctx.Err()
		}
		<-r.done // its results are being written
		return r.ctx.Err()
	}
	defer func() { <-p.turn }()
	if n := p.await(r); n == 0 {
		return r.ctx.Err() // the pass before has answered it
	}
	requests := p.take(r)
	ended, began := false, time.Now()
	defer func() {
		for _, o := range requests {
			if !ended { // panic
				fail(o.results, errPass)
			}
			close(o.done)
		}
	}()
	r.view.pass(device, requests)
	ended, p.took = true, time.Since(began)
	p.expect(requests)
	return r.ctx.Err()
}

// expect sets expected after a pass for requests. Without those that wait, passes for three of four programs and for one
// would take turns for ever.
func (p *passes) expect(requests []*passRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, o := range requests {
		n += len(o.queries)
	}
	for _, o := range p.waiting {
		if o.view == requests[0].view {
			n += len(o.queries)
		}
	}
	p.expected = min(n, passQueries-len(requests[0].queries)) // such a request would not fit in addition
}

// A pass takes almost the same time for few and for many queries, and programs send their next batches soon after it. So a
// leader waits up to this share of a pass for the number of queries of the last one.
const (
	awaitShare  = 8
	longestWait = 10 * time.Millisecond
)

// await waits for requests beside r, and returns the number of queries of all, 0 if r is not waiting any more.
func (p *passes) await(r *passRequest) (n int) {
	timer := time.NewTimer(min(p.took/awaitShare, longestWait))
	defer timer.Stop()
	for {
		if n = p.queries(r); n == 0 || n >= p.expected {
			return n
		}
		select {
		case <-p.arrived:
		case <-timer.C:
			return p.queries(r)
		case <-r.ctx.Done():
			return n
		}
	}
}

// queries counts the waiting queries that can share a pass with a request, 0 if it does not wait.
func (p *passes) queries(r *passRequest) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waits := false
	for _, o := range p.waiting {
		if o.view == r.view {
			n += len(o.queries)
		}
		waits = waits || o == r
	}
	if !waits {
		return 0
	}
	return n
}

var errPass = errors.New("the run of another batch in the same pass panicked")

// withdraw reports whether no pass has taken a request, which then none takes.
func (p *passes) withdraw(r *passRequest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, o := range p.waiting {
		if o == r {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// take returns a request and others for the same view, none if the request has been taken.
func (p *passes) take(r *passRequest) (taken []*passRequest) {
	if !p.withdraw(r) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	taken = append(taken, r)
	n := len(r.queries)
	left := p.waiting[:0]
	for _, o := range p.waiting {
		if o.view == r.view && n+len(o.queries) <= passQueries {
			taken = append(taken, o)
			n += len(o.queries)
		} else {
			left = append(left, o)
		}
	}
	clear(p.waiting[len(left):])
	p.waiting = left
	return taken
}
