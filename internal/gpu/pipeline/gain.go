package pipeline

import (
	"math"

	"github.com/griffin-search/griffin/codec"
)

// What a use of something in memory saves, in nanoseconds, is what it would cost to do
// without: entry.gain, of which the cache makes benefits per byte. The constants are of
// one order with what an H200 on PCIe 5 measures (docs/benchmarks); what counts are
// their ratios.

// imageGain is that of an image of so many bytes. Without it the list is brought:
// copies and launches, bytes over the bus and the kernel that makes images. If the
// compressed list serves as well (direct), it is read over the bus, and images are
// several times as large.
func imageGain(sizeBytes int64, direct bool) float64 {
	const (
		fixed = 20_000
		speed = 20 // bytes of the image a nanosecond
		// share of it that is saved where there is the other way.
		share = 1. / 9
	)
	gain := fixed + float64(sizeBytes)/speed
	if direct {
		return gain * share
	}
	return gain
}

// Reading compressed lists over the bus.
const (
	trip     = 1500 // of a first byte
	busSpeed = 50   // bytes a nanosecond
)

// packedGain is that of a compressed list on the device, its directory with it, in the place
// of page-locked memory: a share of its blocks is read, after the directory says which.
func packedGain(payloadBytes, directoryBytes int64, share float64) float64 {
	return trip + share*float64(payloadBytes)/busSpeed + directoryGain(directoryBytes)
}

// directoryGain is that of a directory on the device: all of it is read, and before
// anything else.
func directoryGain(sizeBytes int64) float64 { return trip + float64(sizeBytes)/busSpeed }

// hostGain is that of a compressed list in page-locked memory, into which the CPU
// copies it otherwise.
func hostGain(sizeBytes int64) float64 {
	const (
		fixed = 2000
		speed = 8 // bytes a nanosecond
	)
	return fixed + float64(sizeBytes)/speed
}

// shares tells, of the lists of a query in a segment one after another, which share of the
// blocks is read of each.
type shares struct {
	conjunctive bool
	numDocs     float64
	left        float64 // candidates after the lists so far; -1: the first is to come
}

func newShares(conjunctive bool, numDocs int) shares {
	return shares{conjunctive, float64(numDocs), -1}
}

// usualShare is of an OR, which skips blocks, and of what is not known.
const usualShare = 0.5

// together is about how many times as often as by chance a document with the terms so far has
// the next one, too: e^0.75 and less, by the logs that package exec begins with.
const together = 2

// next returns the share of the next list, which has so many postings. Of a conjunction the
// first is read all, and then the blocks that its candidates fall in, evenly.
func (s *shares) next(postings int64) float64 {
	if !s.conjunctive {
		return usualShare
	}
	n := float64(postings)
	if s.left < 0 {
		s.left = n
		return 1
	}
	blocks := math.Ceil(n / codec.BlockLen)
	share := -math.Expm1(-s.left / max(blocks, 1))
	s.left *= min(together*n/max(s.numDocs, 1), 1)
	return share
}
