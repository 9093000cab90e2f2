package living

import (
	"sync/atomic"
	"time"
)

// interval is Options.RefreshInterval, which can change.
type interval struct {
	now     atomic.Int64
	changed chan struct{}
}

func (v *interval) get() time.Duration { return time.Duration(v.now.Load()) }

// set changes it; 0: a second.
func (v *interval) set(d time.Duration) {
	setDefault(&d, time.Second)
	v.now.Store(int64(d))
	signal(v.changed)
}

// each calls f in intervals until quit is closed; never while the interval is negative.
func (v *interval) each(quit <-chan struct{}, f func()) {
	for v.eachOf(v.get(), quit, f) {
	}
}

// eachOf returns when the interval has changed, or with false when quit is closed.
func (v *interval) eachOf(d time.Duration, quit <-chan struct{}, f func()) bool {
	var tick <-chan time.Time
	if d > 0 {
		ticker := time.NewTicker(d)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-quit:
			return false
		case <-v.changed:
			return true
		case <-tick:
			f()
		}
	}
}
