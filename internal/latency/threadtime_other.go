//go:build !linux

package latency

import "time"

// ThreadTime returns the processor time that the calling thread has used. ok is false: only
// Linux reports it.
func ThreadTime() (d time.Duration, ok bool) { return 0, false }
