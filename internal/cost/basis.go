package cost

import "math"

const maxBasis = 7

// basis fills x with the quantities of a kind, all >= 0, and returns their
// number. The predicted time is their sum, weighted by the coefficients in
// nanoseconds.
func basis(k Kind, f *Features, x *[maxBasis]float64) int {
	switch k {
	case CPUTerm:
		// The best postings are in few blocks, but the bounds of all blocks are
		// read.
		k := min(int64(f.K), f.Sum)
		x[0], x[1], x[2], x[3] = 1, float64(f.Sum), float64(k), touched(k, f.Sum)
		return 4
	case CPUOr, CPUTree, CPUImpacts:
		essential, tight := f.essential()
		x[0], x[1], x[2], x[3], x[4] = 1, float64(f.Lists), essential, tight, float64(f.Sum)
		x[5], x[6] = float64(f.Sum-f.Longest), float64(min(int64(f.K), f.Sum))
		return 7
	case CPUAnd:
		x[0], x[1], x[2] = 1, float64(f.Lists), float64(f.Shortest)
		x[3] = probes(f.Shortest, f.Second)
		x[4] = probes(f.Shortest, f.Longest) * float64(max(f.Lists-2, 0))
		x[5] = touched(f.Shortest, f.Second)
		x[6] = touched(f.Shortest, f.Longest) * float64(max(f.Lists-2, 0))
		return 7
	case CPUBegin:
		x[0], x[1] = 1, float64(f.Shortest)
		return 2
	case CPUIntersect:
		x[0], x[1], x[2], x[3] = 1, float64(f.Candidates), probes(f.Candidates, f.Longest), touched(f.Candidates, f.Longest)
		return 4
	case CPUSelect:
		x[0], x[1], x[2] = 1, float64(f.Candidates), float64(min(int64(f.K), f.Candidates))
		return 3
	case GPUImagesOr, GPUImpacts:
		x[0], x[1], x[2], x[3], x[4] = 1, float64(f.Lists), float64(f.Sum), float64(f.K), float64(max(f.Batch, 1))
		return 5
	case GPUImagesAnd:
		x[0], x[1], x[2], x[3], x[4] = 1, float64(f.Lists), float64(f.Shortest), probes(f.Shortest, f.Longest), float64(max(f.Batch, 1))
		return 5
	case GPUPackedOr, GPUPackedAnd:
		x[0], x[1], x[2], x[3], x[4], x[5] = 1, float64(f.Lists), float64(f.Sum), float64(f.Blocks), float64(f.BytesBus), float64(f.K)
		return 6
	case GPUIntersect:
		begin := max(f.Candidates, f.Shortest)
		x[0], x[1], x[2], x[3], x[4] = 1, float64(f.Lists), float64(begin), float64(f.Blocks), float64(f.BytesBus)
		return 5
	case BringImages, BringHost, BringDevice:
		x[0], x[1], x[2], x[3], x[4] = 1, float64(f.Lists), float64(f.BytesBus), float64(f.BytesFile), float64(f.Sum)
		return 5
	}
	return 0
}

// essential returns Essential and Tight, with substitutes if they are unknown.
func (f *Features) essential() (essential, tight float64) {
	e := f.Essential
	if e == 0 {
		e = f.Sum
	}
	t := f.Tight
	if t == 0 {
		t = e
	}
	return float64(e), float64(t)
}

// vector fills in the features of a kind's tree; for whole queries TreeFeatures
// come first.
func vector(k Kind, f *Features, v *Vector) {
	switch k {
	case CPUTerm, CPUOr, CPUTree, CPUImpacts:
		essential, tight := f.essential()
		*v = Vector{float64(f.Shortest), float64(f.Second), float64(f.Sum), float64(f.Lists), float64(f.Longest), essential, tight, float64(f.K)}
	case CPUAnd, GPUImagesOr, GPUImagesAnd, GPUImpacts, GPUPackedOr, GPUPackedAnd:
		*v = Vector{float64(f.Shortest), float64(f.Second), float64(f.Sum), float64(f.Lists), float64(f.Longest), float64(f.Blocks), float64(f.BytesBus), float64(f.K)}
	default:
		*v = Vector{float64(f.Candidates), float64(f.Shortest), float64(f.Longest), float64(f.Lists), float64(f.Blocks), float64(f.BytesBus), float64(f.BytesFile), float64(f.Sum)}
	}
}

// probes returns the steps of a galloping search for n elements in a list of m:
// n*log2(1 + m/n).
func probes(n, m int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(n) * log2(1+float64(m)/float64(n))
}

const blockSize = 128

// touched returns how many of the b blocks of a list of m elements contain any
// of n uniformly distributed elements: b*(1 - exp(-n/b)).
func touched(n, m int64) float64 {
	b := float64((m + blockSize - 1) / blockSize)
	if b == 0 {
		return 0
	}
	return b * (1 - exp2(-math.Log2E*float64(n)/b))
}

// log2 approximates the binary logarithm of x >= 1 within 0.001, from the
// exponent and a polynomial of the fraction f in [0, 1). It is continuous,
// increasing, exact for powers of two, and ten times as fast as math.Log2.
func log2(x float64) float64 {
	bits := math.Float64bits(x)
	exponent := float64(int(bits>>52) - 1023)
	f := math.Float64frombits(bits&(1<<52-1)|1023<<52) - 1
	return exponent + f + (0.422-0.157*f)*f*(1-f)
}

// exp2 approximates 2 to the power of x within 0.02 %; x is clamped to [-1022,
// 1022]. It is continuous, increasing, and ten times as fast as math.Exp2.
func exp2(x float64) float64 {
	x = min(max(x, -1022), 1022)
	floor := math.Floor(x)
	f := x - floor
	return math.Float64frombits(uint64(int64(floor)+1023)<<52) * (1 + f - (0.3045+0.078*f)*f*(1-f))
}
