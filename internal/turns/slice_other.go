//go:build !linux

package turns

import "time"

func setSlices(time.Duration) {}

func withSlice(_ time.Duration, f func()) { f() }
