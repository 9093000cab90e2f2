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
	left    int // wishes that have not ended
	none    sync.Cond
	wishes  chan wish
	ended   chan struct{}
	// onBug, if set, is told of a panic, for tests.
	onBug func(*invariant.Caught)
}

// wish is a list to be promoted. It has the list pinned, and the View that has its part.
type wish struct {
	view    *View
	host    *entry
	docFreq uint32
	uses    uint32 // since it was wished for last
}

// maxWishes is how many wait. Others are not remembered: they will come again.
const maxWishes = 64

func newPromoter(d *device) (*promoter, error) {
	u, err := newUploader(d, len(d.uploaders))
	if err != nil {
		return nil, err
	}
	d.uploaders = append(d.uploaders, u)
	p := &promoter{d: d, u: u, wishes: make(chan wish, maxWishes), ended: make(chan struct{})}
	p.none.L = &p.mu
	go p.run()
	return p, nil
}

// wish asks for a list, which the caller has pinned, unless too many wait.
func (p *promoter) wish(v *View, host *entry, docFreq, uses uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || len(p.wishes) == cap(p.wishes) {
		return
	}
	host.refs.Add(1)
	p.left++
	p.wishes <- wish{v.Retain(), host, docFreq, uses}
}

// stop ends the promoter, which lets go of what it has. It may be called again.
func (p *promoter) stop() {
	p.mu.Lock()
	if !p.stopped {
		p.stopped = true
		close(p.wishes)
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
	for w := range p.wishes {
		if !broken && !p.stops() && p.d.lost() == nil {
			if bug := p.fulfil(&w); bug != nil {
				broken = true
				p.report(bug)
			}
		}
		w.host.unpin()
		w.view.Release()
		p.mu.Lock()
		if p.left--; p.left == 0 {
			p.none.Broadcast()
		}
		p.mu.Unlock()
	}
}

// wait waits until no wishes are left.
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
func (p *promoter) fulfil(w *wish) (bug *invariant.Caught) {
	defer func() {
		if value := recover(); value != nil {
			bug = invariant.Catch(value)
			_ = p.d.note(p.u.abandon(p.u.making))
			p.u.making = nil
		}
	}()
	e, err := p.u.promote(w.host, w.docFreq, kindPacked, w.uses, ifBetter)
	if e == nil && err == nil && !p.hasDirectory(w) {
		e, err = p.u.promote(w.host, w.docFreq, kindDirectory, w.uses, ifBetter)
	}
	if e != nil && err == nil {
		if err = p.u.stream.Synchronize(); err == nil {
			e.loaded.Store(true) // nobody has to wait for it any more
		}
	}
	if err != nil {
		_ = p.d.note(err)
	}
	return nil
}

// hasDirectory reports whether the list's directory is on the device.
func (p *promoter) hasDirectory(w *wish) bool {
	return p.d.records.find(w.host.key.name()).there(kindDirectory)
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
