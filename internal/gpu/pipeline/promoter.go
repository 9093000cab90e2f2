package pipeline

import (
	"log/slog"
	"sync"

	"github.com/griffin-search/griffin/internal/invariant"
)

// promoter copies lists that queries have read in page-locked memory to the device, if they
// are worth it by now: beside the queries, since to find what has to go for a list takes as
// long as an answer. It copies one after another, so that it has no more of the bus than a
// lane.
type promoter struct {
	d *device
	u *uploader // its own, the last of the device's

	mu      sync.Mutex // guards stopped and left, and sending against closing
	stopped bool
	left    int // promotions that have not ended
	none    sync.Cond
	queue   chan promotion
	ended   chan struct{}
	// onBug, if set, is told of a panic, for tests.
	onBug func(*invariant.Caught)
}

// promotion is a list to be promoted, which need not be there any more. It has the View that
// has its part.
type promotion struct {
	view    *View
	host    listKey // of kindHost
	docFreq uint32
	uses    uint32 // since it was asked for last
}

// maxPromotions is how many wait. Others are not remembered: they will come again.
const maxPromotions = 64

func newPromoter(d *device) (*promoter, error) {
	u, err := newUploader(d, len(d.uploaders), false /* slots */)
	if err != nil {
		return nil, err
	}
	d.uploaders = append(d.uploaders, u)
	p := &promoter{d: d, u: u, queue: make(chan promotion, maxPromotions), ended: make(chan struct{})}
	p.none.L = &p.mu
	go p.run()
	return p, nil
}

// ask asks for a list of a View; false: too many wait.
func (p *promoter) ask(v *View, host listKey, docFreq, uses uint32) bool {
	if len(p.queue) == cap(p.queue) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || len(p.queue) == cap(p.queue) {
		return false
	}
	p.left++
	p.queue <- promotion{v.Retain(), host, docFreq, uses}
	return true
}

// stop ends the promoter, which lets go of what it has. It may be called again.
func (p *promoter) stop() {
	p.mu.Lock()
	if !p.stopped {
		p.stopped = true
		close(p.queue)
	}
	p.mu.Unlock()
	<-p.ended
}

// close stops it and frees what it has.
func (p *promoter) close() error {
	p.stop()
	return p.u.close()
}

func (p *promoter) run() {
	defer close(p.ended)
	broken := false
	for ask := range p.queue {
		if !broken && !p.stops() && p.d.lost() == nil {
			if bug := p.fulfil(&ask); bug != nil {
				broken = true
				p.report(bug)
			}
		}
		ask.view.Release()
		p.mu.Lock()
		if p.left--; p.left == 0 {
			p.none.Broadcast()
		}
		p.mu.Unlock()
	}
}

// wait waits until no promotion is left.
func (p *promoter) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.left > 0 {
		p.none.Wait()
	}
}

func (p *promoter) stops() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// fulfil promotes a list, or else its directory. Errors are noted of the device: they are no
// query's. It returns a panic, after which nothing is promoted any more.
func (p *promoter) fulfil(ask *promotion) (bug *invariant.Caught) {
	p.d.holders.begin()
	defer p.d.holders.end()
	host := p.d.host.cache.find(ask.host)
	if host == nil {
		return nil
	}
	defer host.unpin()
	defer func() {
		if value := recover(); value != nil {
			bug = invariant.Catch(value)
			_ = p.d.note(p.u.abandon(p.u.making))
		}
	}()
	for _, what := range []kind{kindPacked, kindDirectory} {
		if p.d.records.find(ask.host.name()).there(what) {
			return nil // an earlier one has brought it
		}
		e, err := p.u.promote(host, ask.docFreq, what, ask.uses, ifBetter)
		if e != nil {
			if err = p.u.stream.Synchronize(); err == nil {
				e.loaded.Store(true) // nobody has to wait for it any more
			}
			e.unpin()
		}
		if err != nil {
			_ = p.d.note(err)
		}
		if e != nil || err != nil {
			return nil
		}
	}
	return nil
}

// report tells of a panic: in builds that check invariants it goes on, and ends the process.
func (p *promoter) report(bug *invariant.Caught) {
	switch {
	case p.onBug != nil:
		p.onBug(bug)
	case invariant.Enabled:
		panic(bug)
	default:
		slog.Error("griffin: a bug while copying a list to a GPU; no more are copied for later queries", "panic", bug.Value, "stack", string(bug.Stack))
	}
}
