package living

import (
	"math"
	"time"
)

// minRoom of documents may always wait, so that small batches do not make the rate low.
const minRoom = 8 << 20

// pace is how fast writes become visible. Clients that write as fast as they can fill any queue: its length
// is the time until a write is visible.
type pace struct {
	bytesPerSecond float64 // 0: unknown
	last           time.Time
}

// published records that a batch of some bytes, which began at a time, is visible.
func (p *pace) published(began, now time.Time, size int64) {
	if size == 0 { // the batch before had its documents
		return
	}
	if p.last.After(began) {
		began = p.last
	}
	p.last = now
	rate := float64(size) / max(now.Sub(began).Seconds(), 1e-3)
	if p.bytesPerSecond == 0 {
		p.bytesPerSecond = rate
	}
	p.bytesPerSecond = (p.bytesPerSecond + rate) / 2
}

// room returns how many bytes may wait so that they are visible within most of an interval; any number if it is
// not above 0, or if the pace is unknown.
func (p *pace) room(interval time.Duration) int64 {
	if interval <= 0 || p.bytesPerSecond == 0 {
		return math.MaxInt64
	}
	return max(minRoom, int64(min(0.6*interval.Seconds()*p.bytesPerSecond, math.MaxInt64/2)))
}
