package load

import (
	"context"
	"runtime"
	"time"
)

// pacer waits for points in time. The timers of the Go runtime come up to a
// millisecond late where nothing else runs, which is more than many a query takes; so
// the last bit is slept by the operating system, on a thread that the pacer has for
// itself until it ends.
type pacer struct {
	sleep func(time.Duration)
	exact bool // sleep is the operating system's
}

// nearly is how long before a point in time the runtime's timers are left alone.
const nearly = 2 * time.Millisecond

// newPacer returns a pacer that sleeps with sleep, or if it is nil as precisely as the
// system can. It is of one goroutine, which must call end.
func newPacer(sleep func(time.Duration)) *pacer {
	if sleep != nil {
		return &pacer{sleep: sleep}
	}
	runtime.LockOSThread()
	prepareThread()
	return &pacer{sleep: sleepExactly, exact: true}
}

func (p *pacer) end() {
	if p.exact {
		restoreThread()
		runtime.UnlockOSThread()
	}
}

// until waits until t; false: ctx ended before.
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
			p.sleep(left)
		}
	}
}
