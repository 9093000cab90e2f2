package residency

import (
	"log/slog"
	"sync"

	"github.com/griffin-search/griffin/internal/invariant"
)

// promoter copies page-locked lists that queries read to the device if their benefit justifies
// it: in the background, since the search for evictions takes the time of a query, and one list
// at a time, so that it uses no more bus bandwidth than a lane.
type promoter struct {
	d *Device
	u *Uploader // its own

	mu      sync.Mutex // guards stopped and left, and sends on queue against close
	stopped bool
	left    int // unfinished promotions
	none    sync.Cond
	queue   chan promotion
	ended   chan struct{}
	onBug   func(*invariant.Caught)
}

// promotion requests a list, which may have been dropped since. It holds a reference to the
// shard.
type promotion struct {
	shard   *Shard
	host    listKey // kindHost
	docFreq uint32
	uses    uint32 // since the last request
}

// MaxPromotions limits the waiting promotions; dropped requests recur with later uses.
const MaxPromotions = 64

func newPromoter(d *Device) (*promoter, error) {
	u, err := newUploader(d, len(d.uploaders), false /* slots */)
	if err != nil {
		return nil, err
	}
	d.uploaders = append(d.uploaders, u)
	p := &promoter{d: d, u: u, queue: make(chan promotion, MaxPromotions), ended: make(chan struct{})}
	p.none.L = &p.mu
	go p.run()
	return p, nil
}

// ask returns false if the queue is full or the promoter is stopped.
func (p *promoter) ask(s *Shard, host listKey, docFreq, uses uint32) bool {
	if len(p.queue) == cap(p.queue) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || len(p.queue) == cap(p.queue) {
		return false
	}
	p.left++
	p.queue <- promotion{s.Retain(), host, docFreq, uses}
	return true
}

// stop waits for the promoter and is idempotent.
func (p *promoter) stop() {
	p.mu.Lock()
	if !p.stopped {
		p.stopped = true
		close(p.queue)
	}
	p.mu.Unlock()
	<-p.ended
}

func (p *promoter) run() {
	defer close(p.ended)
	broken := false
	for ask := range p.queue {
		if !broken && !p.stops() && p.d.Lost() == nil {
			if bug := p.fulfil(&ask); bug != nil {
				broken = true
				p.report(bug)
			}
		}
		ask.shard.Release()
		p.mu.Lock()
		if p.left--; p.left == 0 {
			p.none.Broadcast()
		}
		p.mu.Unlock()
	}
}

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

// fulfil promotes a list, or else its directory. Errors count as device errors and affect no
// query. After a panic, which it returns, promotion ends.
func (p *promoter) fulfil(ask *promotion) (bug *invariant.Caught) {
	p.d.holders.begin()
	defer p.d.holders.end()
	host := p.d.host.cache.find(ask.host)
	if host == nil {
		return nil
	}
	defer host.Unpin()
	defer func() {
		if value := recover(); value != nil {
			bug = invariant.Catch(value)
			_ = p.d.Note(p.u.AbandonAll())
		}
	}()
	for _, what := range []kind{kindPacked, kindDirectory} {
		if p.d.records.find(ask.host.name()).there(what) {
			return nil // promoted by an earlier request
		}
		e, err := p.u.promote(host, ask.docFreq, what, ask.uses, ifBetter)
		if e != nil {
			if err = p.u.stream.Synchronize(); err == nil {
				e.loaded.Store(true) // later runs need not wait for the event
			}
			e.Unpin()
		}
		if err != nil {
			_ = p.d.Note(err)
		}
		if e != nil || err != nil {
			return nil
		}
	}
	return nil
}

// In builds that check invariants report panics again.
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
