//go:build !linux

package turns

import "time"

func setSlices(time.Duration) {}
