//go:build !linux

package latency

import "time"

// ThreadTime is not ok: only Linux reports it.
func ThreadTime() (d time.Duration, ok bool) { return 0, false }
