//go:build !linux

package load

import "time"

func prepareThread() {}
func restoreThread() {}

func sleepExactly(d time.Duration) { time.Sleep(d) }
