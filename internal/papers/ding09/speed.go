package ding09

import "time"

const (
	// smallTransfer is the number of bytes up to which the fixed time dominates.
	smallTransfer = 64 << 10
	// speedWeight is the weight of a transfer in the moving means.
	speedWeight = 1.0 / 16
)

// Before the first transfers.
const (
	priorTransfer = 10 * time.Microsecond
	priorBytePart = 10 // bytes that the bus moves in a nanosecond
)

// speed predicts transfers: a fixed time, learned from small transfers, and a time of each byte, learned
// from large ones in proportion to their size.
type speed struct {
	fixed       float64 // nanoseconds
	took, bytes float64 // decayed sums over large transfers, without the fixed time
}

func newSpeed() speed {
	return speed{fixed: float64(priorTransfer), took: smallTransfer / float64(priorBytePart), bytes: smallTransfer}
}

func (s *speed) observe(t transfer) {
	if t.bytes <= smallTransfer {
		s.fixed += speedWeight * (float64(t.took) - s.fixed)
		return
	}
	s.took += max(float64(t.took)-s.fixed, 0) - speedWeight*s.took
	s.bytes += float64(t.bytes) - speedWeight*s.bytes
}

func (s *speed) predict(items int, bytes int64) time.Duration {
	return time.Duration(s.fixed*float64(items) + s.took/s.bytes*float64(bytes))
}
