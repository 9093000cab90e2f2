package devicetest

import (
	"math"
	"math/bits"
)

// The expected results of devicetest_integers and devicetest_floats, in order;
// 64 bits are two words, the low one first.

func integers(a, b uint32) []uint32 {
	wide := uint64(a)<<32 | uint64(b)
	pair := uint64(b)<<32 | uint64(a)
	mulHigh, _ := bits.Mul64(wide, ^wide)
	clamped := b & 63
	return []uint32{
		uint32(bits.OnesCount32(a)),
		uint32(bits.OnesCount64(wide)),
		uint32(bits.LeadingZeros32(a)),
		uint32(bits.LeadingZeros64(wide)),
		firstSet(uint64(a)),
		firstSet(wide),
		bits.Reverse32(a),
		uint32(bits.Reverse64(wide)), uint32(bits.Reverse64(wide) >> 32),
		uint32(uint64(a) * uint64(b) >> 32),
		uint32(mulHigh), uint32(mulHigh >> 32),
		permuted(pair, b&0x7777),
		uint32(pair << (b & 31) >> 32),
		uint32(pair << min(clamped, 32) >> 32),
		uint32(pair >> (b & 31)),
		uint32(pair >> min(clamped, 32)),
		a << clamped,
		a >> clamped,
		each(a, b, 8, func(x, y uint32) uint32 { return max(x, y) }),
		each(a, b, 8, func(x, y uint32) uint32 { return min(x, y) }),
		each(a, b, 16, func(x, y uint32) uint32 { return max(x, y) }),
		each(a, b, 16, func(x, y uint32) uint32 { return min(x, y) }),
		each(a, b, 8, func(x, y uint32) uint32 { return (x + y) & 0xff }),
		each(a, b, 16, func(x, y uint32) uint32 { return (x + y) & 0xffff }),
		each(a, b, 8, func(x, y uint32) uint32 { return min(x+y, 0xff) }),
		each(a, b, 16, func(x, y uint32) uint32 { return min(x+y, 0xffff) }),
		each(a, b, 8, func(x, y uint32) uint32 { return (x - y) & 0xff }),
		each(a, b, 8, func(x, y uint32) uint32 { return mask(x >= y, 0xff) }),
		each(a, b, 8, func(x, y uint32) uint32 { return mask(x > y, 0xff) }),
		each(a, b, 8, func(x, y uint32) uint32 { return mask(x == y, 0xff) }),
		each(a, b, 16, func(x, y uint32) uint32 { return mask(x >= y, 0xffff) }),
		each(a, b, 16, func(x, y uint32) uint32 { return mask(x > y, 0xffff) }),
		dotProduct(a, b) + 7,
		min(a, b),
		max(a, b),
		uint32(uint64(1)<<(b%33) - 1),
		uint32(bits.Len32(a)),
		selected(a, b),
	}
}

func firstSet(x uint64) uint32 {
	if x == 0 {
		return 0
	}
	return uint32(bits.TrailingZeros64(x)) + 1
}

func permuted(pair uint64, selector uint32) uint32 {
	var out uint32
	for i := range 4 {
		out |= uint32(pair>>(8*(selector>>(4*i)&7))) & 0xff << (8 * i)
	}
	return out
}

// each applies f to the fields of width bits of two words.
func each(a, b uint32, width int, f func(x, y uint32) uint32) uint32 {
	var out uint32
	all := uint32(1)<<width - 1
	for i := 0; i < 32; i += width {
		out |= f(a>>i&all, b>>i&all) << i
	}
	return out
}

func mask(set bool, all uint32) uint32 {
	if set {
		return all
	}
	return 0
}

func dotProduct(a, b uint32) uint32 {
	var sum uint32
	for i := 0; i < 32; i += 8 {
		sum += (a >> i & 0xff) * (b >> i & 0xff)
	}
	return sum
}

// The expected select_bit of a, with rank b modulo the number of set bits.
func selected(a, b uint32) uint32 {
	if a == 0 {
		return 32
	}
	for rank := b % uint32(bits.OnesCount32(a)); rank > 0; rank-- {
		a &= a - 1
	}
	return uint32(bits.TrailingZeros32(a))
}

func floats(aBits, bBits uint32) []uint32 {
	a, b := math.Float32frombits(aBits), math.Float32frombits(bBits)
	absolute := a
	if a < 0 {
		absolute = -a
	}
	product := a * b
	return []uint32{
		math.Float32bits(a + b),
		math.Float32bits(a - b),
		math.Float32bits(a * b),
		math.Float32bits(a / b),
		math.Float32bits(float32(math.Sqrt(float64(absolute)))),
		math.Float32bits(float32(product) + a), // rounded twice: not fused
		uint32(saturated(math.Trunc(float64(a)), 0, math.MaxUint32)),
		uint32(saturated(math.RoundToEven(float64(a)), 0, math.MaxUint32)),
		uint32(saturated(math.Trunc(float64(a)), math.MinInt32, math.MaxInt32)),
		uint32(saturated(math.RoundToEven(float64(a)), math.MinInt32, math.MaxInt32)),
		math.Float32bits(float32(aBits)),
		math.Float32bits(float32(int32(aBits))),
	}
}

// As PTX: saturating, NaN to 0.
func saturated(x float64, least, greatest int64) int64 {
	switch {
	case math.IsNaN(x):
		return 0
	case x <= float64(least):
		return least
	case x >= float64(greatest):
		return greatest
	}
	return int64(x)
}

func words64(v uint64) []uint32 { return []uint32{uint32(v), uint32(v >> 32)} }

// The results of devicetest_warps for lane l.
func warp(a, b []uint32, l int) []uint32 {
	wide := make([]uint64, 32)
	for i := range wide {
		wide[i] = uint64(a[i])<<32 | uint64(b[i])
	}
	from := func(inside bool, i int) uint32 {
		if !inside {
			i = l
		}
		return a[i]
	}
	out := []uint32{
		a[5],
		a[l&^7|int(b[l]&7)],
		from(l >= 3, l-3),
		from(l%16 >= 3, l-3),
		from(l < 28, l+4),
		from(l%8 < 4, l+4),
		a[l^9],
	}
	out = append(out, words64(wide[max(l-1, 0)])...)
	out = append(out, a[l^1],
		votes(a, func(_ int, v uint32) bool { return v&1 != 0 }),
		mask(votes(a, func(_ int, v uint32) bool { return v&0xff == 0 }) != 0, 1),
		mask(votes(a, func(_ int, v uint32) bool { return v&3 != 0 }) == math.MaxUint32, 1),
		votes(a, func(_ int, v uint32) bool { return v%5 == a[l]%5 }),
		votes(a, func(_ int, v uint32) bool { return v%7 == a[l]%7 }),
	)
	sum, least, greatest := uint32(0), a[0], a[0]
	leastSigned, greatestSigned := int32(a[0]), int32(a[0])
	anyBits, allBits, parity := uint32(0), uint32(math.MaxUint32), uint32(0)
	before, greatestBefore, halfSum := uint32(0), uint32(0), uint32(0)
	var wideSum, wideBefore uint64
	wideLeast, wideGreatest := wide[0], wide[0]
	for i, v := range a {
		sum += v
		least, greatest = min(least, v), max(greatest, v)
		leastSigned, greatestSigned = min(leastSigned, int32(v)), max(greatestSigned, int32(v))
		anyBits, allBits, parity = anyBits|v&b[i], allBits&(v|b[i]), parity^v
		wideSum += wide[i]
		wideLeast, wideGreatest = min(wideLeast, wide[i]), max(wideGreatest, wide[i])
		if i%2 == l%2 {
			halfSum += v
		}
		if i <= l {
			before += v
			greatestBefore = max(greatestBefore, v)
			wideBefore += wide[i]
		}
	}
	out = append(out, sum, least, greatest, uint32(leastSigned), uint32(greatestSigned), anyBits, allBits, parity,
		halfSum,
		votes(a, func(i int, v uint32) bool { return i%2 == l%2 && v&2 != 0 }),
		a[l^2],
		before, before-a[l], sum, greatestBefore)
	for _, v := range []uint64{wideBefore, wideSum, wideLeast, wideGreatest} {
		out = append(out, words64(v)...)
	}
	return append(out, uint32(1)<<l-1)
}

func votes(a []uint32, f func(i int, v uint32) bool) uint32 {
	var out uint32
	for i, v := range a {
		out |= mask(f(i, v), 1) << i
	}
	return out
}

// The results of devicetest_blocks for thread t.
func block(a, b []uint32, t int) []uint32 {
	var odd, sumA, sumB, beforeA, beforeB, greatest uint32
	least := uint32(math.MaxUint32)
	anyZero, all := uint32(0), uint32(1)
	var wideSum, wideGreatest uint64
	for i, v := range a {
		if i == t {
			beforeA, beforeB = sumA, sumB
		}
		odd += v & 1
		anyZero |= mask(v&0xfff == 0, 1)
		all &= mask(v&0xff != 0, 1)
		sumA, sumB = sumA+v, sumB+b[i]
		least, greatest = min(least, v), max(greatest, v)
		wide := uint64(v)<<32 | uint64(b[i])
		wideSum += wide
		wideGreatest = max(wideGreatest, wide)
	}
	out := []uint32{odd, anyZero, all, beforeA, sumA + 3, beforeB, sumA + 3 + sumB, sumA, greatest, least}
	out = append(out, words64(wideSum)...)
	return append(out, words64(wideGreatest)...)
}
