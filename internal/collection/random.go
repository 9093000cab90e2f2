package collection

import (
	"math"
	"math/bits"
)

// stream is a sequence of random numbers of a seed and a number, so that a document does not
// depend on earlier ones: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, OOPSLA 2014).
type stream struct{ state uint64 }

const goldenGamma = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func newStream(seed, what, n uint64) stream {
	return stream{mix(mix(seed+what*goldenGamma) + n*goldenGamma)}
}

const (
	streamDocument = 1 + iota // composition of a document
	streamPlace               // origin of a document of a site
	streamSite
	streamRank
	streamLength
	streamDensity
	streamShuffle
	streamQueries
	streamPieces  // terms of a word
	streamVectors // expansion of a query
	streamDay
	streamKind
	streamNumber
)

func (s *stream) next() uint64 {
	s.state += goldenGamma
	return mix(s.state)
}

func (s *stream) below(n int) int {
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

func (s *stream) float() float64 { return float64(s.next()>>11) / (1 << 53) }

// Box and Muller.
func (s *stream) normal() float64 {
	return math.Sqrt(-2*math.Log(1-s.float())) * math.Cos(2*math.Pi*s.float())
}

// The low 32 bits of a random number are below it with probability p; 2^32 for 1.
func threshold(p float64) uint64 { return uint64(math.Round(min(1, max(0, p)) * (1 << 32))) }
