package living

import (
	"sync/atomic"
	"time"
)

// The parts of publishing, each of which one goroutine repeats when it fails.
const (
	indexing   = iota // the pump opens a batch
	publishing        // the publisher makes a batch visible
	numParts
)

// failures has the failure of each part of publishing until a repetition succeeds. Only the goroutine of a part records
// its attempts; the other methods are safe for concurrent use.
type failures [numParts]atomic.Pointer[failure]

type failure struct {
	err   error
	since time.Time
	last  int64 // the number of the last attempt
}

// record records the outcome of an attempt of a part, which background.attempts numbered.
func (all *failures) record(part int, attempt int64, err error) {
	if err == nil {
		all[part].Store(nil)
		return
	}
	f := &failure{err: err, since: time.Now(), last: attempt}
	if before := all[part].Load(); before != nil {
		f.since = before.since
	}
	all[part].Store(f)
}

// latest returns the failure with the last attempt; nil if nothing fails.
func (all *failures) latest() (latest *failure) {
	for part := range all {
		if f := all[part].Load(); f != nil && (latest == nil || f.last > latest.last) {
			latest = f
		}
	}
	return latest
}

// hopelessAfter reports whether a later attempt than a numbered one failed, and the disk takes no writes, or attempts have
// failed for some time.
func (all *failures) hopelessAfter(attempt int64) bool {
	for part := range all {
		if f := all[part].Load(); f != nil && f.last > attempt && (refused(explain("", f.err)) || f.lasts()) {
			return true
		}
	}
	return false
}

// stuck reports whether publishing has failed for some time, so that waiting is of no use.
func (all *failures) stuck() bool {
	for part := range all {
		if f := all[part].Load(); f != nil && f.lasts() {
			return true
		}
	}
	return false
}

func (f *failure) lasts() bool { return time.Since(f.since) > maxPublishWait }
