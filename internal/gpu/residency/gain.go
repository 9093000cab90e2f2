package residency

import (
	"math"

	"github.com/griffin-search/griffin/codec"
)

// Entry.gain is the nanoseconds that a use of an entry saves compared with a query without it.
// The constants match the order of magnitude of measurements on an H200 with PCIe 5
// (docs/benchmarks); only their ratios matter.

// imageGain is the cost of an upload: copies, launches, transfer over the bus, and the kernel
// that builds images. If packed, kernels can instead read the compressed list over the bus, so
// the larger image saves little.
func imageGain(sizeBytes int64, packed bool) float64 {
	const (
		fixed = 20_000
		speed = 20 // bytes of the image per nanosecond
		// share of the gain if kernels can read the compressed list
		share = 1. / 9
	)
	gain := fixed + float64(sizeBytes)/speed
	if packed {
		return gain * share
	}
	return gain
}

// Costs of reading compressed lists over the bus.
const (
	busLatency = 1500 // latency of the first byte, in nanoseconds
	busSpeed   = 50   // bytes per nanosecond
)

// packedGain is the gain of a compressed list and directory on the device instead of in
// page-locked memory. Kernels read the directory, then a share of the blocks.
func packedGain(payloadBytes, directoryBytes int64, share float64) float64 {
	return busLatency + share*float64(payloadBytes)/busSpeed + directoryGain(directoryBytes)
}

// directoryGain is the gain of a directory on the device; kernels read all of it first.
func directoryGain(sizeBytes int64) float64 { return busLatency + float64(sizeBytes)/busSpeed }

// hostGain is the time in which the CPU would copy the list to page-locked memory.
func hostGain(sizeBytes int64) float64 {
	const (
		fixed = 2000
		speed = 8 // bytes per nanosecond
	)
	return fixed + float64(sizeBytes)/speed
}

// filterGain is the time in which the CPU would copy a bitmap of a filter to the device.
func filterGain(sizeBytes int64) float64 { return hostGain(sizeBytes) }

// Shares estimates, list by list, the share of the blocks that a query reads in a segment.
type Shares struct {
	conjunctive bool
	numDocs     float64
	left        float64 // remaining candidates; -1: no list yet
}

// NewShares returns the estimator for queries of one kind.
func NewShares(conjunctive bool, numDocs int) Shares {
	return Shares{conjunctive, float64(numDocs), -1}
}

// From sets the number of candidates before the first list.
func (s *Shares) From(candidates int) { s.left = float64(candidates) }

// usualShare is the share for an OR, which skips blocks, and for unknown queries.
const usualShare = 0.5

// coOccurrence corrects for correlated terms: a document with the previous terms contains the
// next one with about twice the probability under independence. The cost model starts with
// e^0.75 = 2.1 for the second term (package dispatch, selectivity.go) and less for later ones.
const coOccurrence = 2

// Next returns the share for the next list. A conjunction reads its first list whole, then the
// blocks with candidates, assumed to be spread evenly.
func (s *Shares) Next(postings int64) float64 {
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
	s.left *= min(coOccurrence*n/max(s.numDocs, 1), 1)
	return share
}
