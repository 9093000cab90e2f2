package load

import (
	"context"
	"runtime"
	"time"
)

// pacer waits for points in time. Timers of the Go runtime are up to a
// millisecond late, longer than many queries, so the last part of a wait is a
// sleep of the operating system, on a thread locked to the pacer until it ends.
type pacer struct {
	sleep func(time.Duration)
	exact bool          // sleep is the operating system's
	least time.Duration // the shortest sleep
}

// chunk is the shortest sleep at rates with shorter intervals: queries that arrive meanwhile are sent together, up to
// this time late. A sleep takes 3 µs of a processor, the time of planning a query. Lag and latencies include the delay.
const chunk = 50 * time.Microsecond

// Before a deadline, when runtime timers are too late.
const nearly = 2 * time.Millisecond

// newPacer: a nil sleep is the system's most precise one. interval is the mean interval between the events that it
// waits for. The pacer belongs to one goroutine, which must call end.
func newPacer(sleep func(time.Duration), interval time.Duration) *pacer {
	if sleep != nil {
		return &pacer{sleep: sleep}
	}
	runtime.LockOSThread()
	prepareThread()
	p := &pacer{sleep: sleepExactly, exact: true}
	if interval < chunk {
		p.least = chunk
	}
	return p
}

func (p *pacer) end() {
	if p.exact {
		restoreThread()
		runtime.UnlockOSThread()
	}
}

// until is false if ctx ended before t.
func (p *pacer) until(ctx context.Context, t time.Time) bool {
	for {
		left := time.Until(t)
		switch {
		case ctx.Err() != nil:
			return false
		case left <= 0:
			return true
		case !p.exact:
			p.sleep(min(left, lookAround))
		case left > nearly:
			timer := time.NewTimer(min(left-nearly, lookAround))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
			}
		default:
			p.sleep(max(left, p.least))
		}
	}
}
