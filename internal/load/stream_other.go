//go:build !linux || nolab

package load

import "time"

// streams has none here, and in the small build: each request has a goroutine.
type streams struct{}

func (h *HTTP) senders(*run, int, time.Duration) []sender { return nil }

func (*streams) close() {}
