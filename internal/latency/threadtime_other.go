//go:build !linux

package latency

import "time"

// ThreadTime returns the processor time that the calling thread has used, and
// whether the system tells, which is so on Linux only.
func ThreadTime() (d time.Duration, ok bool) { return 0, false }
