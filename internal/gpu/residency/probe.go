package residency

import "github.com/griffin-search/griffin/internal/invariant"

// Probe gives tests of other packages, and only tests, access to a Device.
type Probe struct{ d *Device }

// Probe returns the tests' access to the device.
func (d *Device) Probe() Probe { return Probe{d} }

// SetLimit sets the limit for lists in bytes and returns the old one.
func (p Probe) SetLimit(n int64) int64 { return p.d.limit[0].Swap(n) }

// Hold runs f with the device cache locked: no list is uploaded or dropped.
func (p Probe) Hold(f func()) {
	p.d.cache.mu.Lock()
	defer p.d.cache.mu.Unlock()
	f()
}

// Fill takes size bytes of device memory for a pinned list of great benefit; free unpins it and
// sets its benefit to 0.
func (p Probe) Fill(size int64) (free func()) {
	e := p.d.cache.acquire(listKey{shard: 1 << 30, list: 1}, term{}, size, 1, 1e9, always)
	if e == nil {
		return nil
	}
	p.d.cache.publish(e)
	return func() {
		e.Unpin()
		e.gain, e.density = 0, 0
	}
}

// host returns an unpinned entry, or nil.
func (p Probe) host(s *Shard, leg *Leg) *Entry {
	e := p.d.host.cache.find(leg.key(s.id).of(kindHost))
	if e != nil {
		e.Unpin()
	}
	return e
}

// Locked reports whether a list is page-locked, and the number of pins.
func (p Probe) Locked(s *Shard, leg *Leg) (users int, ok bool) {
	e := p.host(s, leg)
	if e == nil {
		return 0, false
	}
	return int(e.refs.Load()), true
}

// Share is the mean share that runs read of a page-locked list.
func (p Probe) Share(s *Shard, leg *Leg) float64 { return p.host(s, leg).share() }

// Uses is the number of uses counted for the promotion of a list.
func (p Probe) Uses(s *Shard, leg *Leg) uint32 {
	return p.d.cache.frequencies.counts[leg.key(s.id).of(kindPacked)]
}

// AskToPromote requests the promotion of a page-locked list with a claimed length of docFreq
// postings, and reports whether the promoter accepts.
func (p Probe) AskToPromote(s *Shard, leg *Leg, docFreq uint32) bool {
	return p.d.promoter.ask(s, leg.key(s.id).of(kindHost), docFreq, 1)
}

// Promote copies a page-locked list to the device if there is free room.
func (p Probe) Promote(s *Shard, leg *Leg) error {
	return p.d.uploaders[0].promoteFree(p.host(s, leg), leg.DocFreq(), kindPacked)
}

// PromoterStops reports whether the promoter has been told to stop.
func (p Probe) PromoterStops() bool { return p.d.promoter.stops() }

// OnBug handles panics of the promoter, which are then not raised again.
func (p Probe) OnBug(f func(*invariant.Caught)) { p.d.promoter.onBug = f }

// Users is the total number of pins.
func (p Probe) Users() (n int) {
	for _, known := range p.d.records.m {
		for k := range known.held {
			if e := known.held[k].Load(); e != nil {
				n += int(e.refs.Load())
			}
		}
	}
	return n
}

// Lists is the number of lists that are resident in any form.
func (p Probe) Lists() int { return len(p.d.records.m) }

// Loaded reports whether a list's image is resident (ok) and marked as loaded.
func (p Probe) Loaded(s *Shard, leg *Leg) (loaded, ok bool) {
	e := p.d.cache.find(leg.key(s.id))
	if e == nil {
		return false, false
	}
	defer e.Unpin()
	return e.loaded.Load(), true
}

// SetLoaded marks an entry as loaded.
func (Probe) SetLoaded(e *Entry) { e.loaded.Store(true) }

// Forget clears the record cached in a leg.
func (p Probe) Forget(leg *Leg) { leg.record.Store(nil) }

// Shards returns the number of shards.
func (p Probe) Shards() int { return len(p.d.shards) }

// Holders returns the number of runs that hold lists, and whether a run waits for one.
func (p Probe) Holders() (n int, waited bool) {
	h := &p.d.holders
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n, h.ended != nil
}

// Fail marks the device as lost.
func (p Probe) Fail(err error) { p.d.fail(err) }

// WithoutKernels runs f without image kernels; building an image then panics.
func (p Probe) WithoutKernels(f func()) {
	kernels := p.d.fast
	defer func() { p.d.fast = kernels }()
	p.d.fast = nil
	f()
}
