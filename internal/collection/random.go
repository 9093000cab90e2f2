package collection

import (
	"math"
	"math/bits"
)

// stream is a sequence of random numbers that depends on a seed and a number, so
// that what belongs to a document can be drawn without drawing what belongs to
// those before it: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom
// Number Generators, OOPSLA 2014).
type stream struct{ state uint64 }

const goldenGamma = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// newStream returns the stream of what (a kind of thing), number n.
func newStream(seed, what, n uint64) stream {
	return stream{mix(mix(seed+what*goldenGamma) + n*goldenGamma)}
}

// Kinds of things that streams are for.
const (
	streamDocument = 1 + iota // what a document is composed of
	streamPlace               // where a document of a site comes from
	streamSite
	streamRank
	streamLength
	streamDensity
	streamShuffle
	streamQueries
	streamPieces  // what a word becomes
	streamVectors // how a query is expanded
)

func (s *stream) next() uint64 {
	s.state += goldenGamma
	return mix(s.state)
}

// below returns a number in [0, n), n > 0.
func (s *stream) below(n int) int {
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

// float returns a number in [0, 1).
func (s *stream) float() float64 { return float64(s.next()>>11) / (1 << 53) }

// normal returns a number of the standard normal distribution (Box and Muller).
func (s *stream) normal() float64 {
	return math.Sqrt(-2*math.Log(1-s.float())) * math.Cos(2*math.Pi*s.float())
}

// threshold returns the number below which the low 32 bits of a random number lie
// with probability p; 2^32 for 1.
func threshold(p float64) uint64 { return uint64(math.Round(min(1, max(0, p)) * (1 << 32))) }
