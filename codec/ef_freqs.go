package codec

import (
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/eliasfano"
)

// Frequencies have four forms, of which the encoder takes the smallest; among equal ones, the
// first:
//
//	0        every frequency is 1: no bytes
//	33..64   packed: frequencies minus one in width-32 bits each (bitpack)
//	1..32    sums: their running sums, P[i] = f[0] + … + f[i], strictly increase and
//	         are encoded as DocIDs are, in width-1 low bits; f[i] is P[i] - P[i-1]
//	129..255 excess: the n frequencies minus one add up to width-128 = S < n units.
//	         For each unit the number i of the frequency that has it: S values that
//	         never decrease, below n, as an Elias-Fano code with floor(log2(n/S)) low bits
//
// Running sums (Vigna, WSDM 2013, §8) cost at least one bit per frequency, even if nearly all
// are 1, as is common; the excess form describes the same sequence by its zero bits. The packed
// form serves sums beyond 2^32 and is faster. FreqAt needs at most two selects (ding09, §8.2,
// asks for random access).
//
// On the wiki passages (docs/benchmarks/compression.md) this takes 1.10 bits per posting, sums
// alone 1.45, packed alone 2.37.
const (
	freqsOnes   = 0
	freqsSums   = 1   // plus low bits
	freqsPacked = 32  // plus bits
	freqsExcess = 128 // plus units
)

// freqsForm returns the width byte of the smallest form.
func freqsForm(freqs []uint32) (form uint8) {
	n := len(freqs)
	var units uint64
	var all uint32
	lastExcess := 0
	for i, f := range freqs {
		units += uint64(f - 1)
		all |= f - 1
		if f > 1 {
			lastExcess = i
		}
	}
	if units == 0 {
		return freqsOnes
	}
	width := uint8(bits.Len32(all))
	form = freqsPacked + width
	size := bitpack.PackedSize(n, width)
	if units+uint64(n) < 1<<32 {
		low := lowWidth(units+1, n)
		if s := (efBits(n, uint32(units), low) + 7) / 8; s < size {
			form, size = freqsSums+low, s
		}
	}
	if units < uint64(n) {
		low := lowWidth(uint64(n), int(units))
		if s := (efBits(int(units), uint32(lastExcess), low) + 7) / 8; s < size {
			form = freqsExcess + uint8(units)
		}
	}
	return form
}

// AppendFreqs implements Codec.
func (EF) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	var values [BlockLen]uint32
	n := 0
	form := freqsForm(freqs)
	switch {
	case form == freqsOnes:
		return dst, form
	case form > freqsExcess:
		for i, f := range freqs {
			for range f - 1 {
				values[n] = uint32(i)
				n++
			}
		}
		return appendEF(dst, values[:n], excessWidth(len(freqs), form)), form
	case form > freqsPacked:
		lessOne(values[:], freqs)
		return bitpack.Append(dst, values[:len(freqs)], form-freqsPacked), form
	}
	units := uint32(0)
	for i, f := range freqs {
		units += f - 1
		values[i] = units
	}
	return appendEF(dst, values[:len(freqs)], form-freqsSums), form
}

func excessWidth(n int, form uint8) uint8 { return lowWidth(uint64(n), int(form-freqsExcess)) }

// DecodeFreqs implements Codec.
func (EF) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	low := width - freqsSums
	if n == BlockLen && low <= eliasfano.MaxWidth && len(src) >= eliasfano.Space(low) {
		_, err := sizeOf("ef", src, n, low, eliasfano.Freqs(dst, src, low))
		return err
	}
	switch {
	case uint(n-1) >= BlockLen:
		return checkBlock("ef", len(src), 0, n, 0, 0)
	case width == freqsOnes:
		*dst = allOnes
		return nil
	case width > freqsExcess:
		return decodeExcess(dst, src, n, width)
	case width > freqsPacked:
		return SIMDBP{}.DecodeFreqs(dst, src, n, width-freqsPacked)
	}
	return decodeSums(dst, src, n, low)
}

func decodeExcess(dst *[BlockLen]uint32, src []byte, n int, form uint8) error {
	units, low := int(form-freqsExcess), excessWidth(n, form)
	if units >= n {
		return fmt.Errorf("ef: %d frequencies with %d excess units: %w", n, units, ErrCorrupt)
	}
	if err := checkSlots("ef", src, units, low, low); err != nil {
		return err
	}
	*dst = allOnes
	u := unaryOf(src, units*int(low), units, 0)
	at, from := u.bit/8, -(u.bit % 8)
	word := u.word(at) >> -from << -from
	for unit := 0; ; word = u.word(at) {
		for ; word != 0; word &= word - 1 {
			bit := from + bits.TrailingZeros64(word)
			i := (bit-unit)<<low | int(bitpack.At(src, unit, low))
			if bit >= u.most || i >= n {
				return fmt.Errorf("ef: frequency %d of %d: %w", i, n, ErrCorrupt)
			}
			dst[i]++
			if unit++; unit == units {
				return nil
			}
		}
		at, from = at+8, from+64
		if from >= u.most {
			_, err := sizeOf("ef", src, units, low, 0)
			return err
		}
	}
}

var allOnes = func() (ones [BlockLen]uint32) {
	for i := range ones {
		ones[i] = 1
	}
	return ones
}()

// decodeSums decodes short blocks and blocks near the end of src, which the kernel
// cannot decode.
func decodeSums(dst *[BlockLen]uint32, src []byte, n int, low uint8) error {
	if err := checkSlots("ef", src, n, low, maxEFWidth(n)-1); err != nil {
		return err
	}
	u := unaryOf(src, n*int(low), n, 0)
	if _, err := sizeOf("ef", src, n, low, u.find(dst, n)); err != nil {
		return err
	}
	sum := uint64(0)
	for i, high := range dst[:n] {
		s := uint64(i) + 1 + (uint64(high)<<low | uint64(bitpack.At(src, i, low)))
		if s <= sum || s > 1<<32-1 {
			return fmt.Errorf("ef: frequency %d is not above 0, or the sum exceeds 2^32: %w", i, ErrCorrupt)
		}
		dst[i] = uint32(s - sum)
		sum = s
	}
	return nil
}

// FreqAt implements Codec.
func (EF) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	if uint(n-1) >= BlockLen || uint(i) >= uint(n) {
		return 0, fmt.Errorf("ef: frequency %d of %d: %w", i, n, ErrCorrupt)
	}
	switch {
	case width == freqsOnes:
		return 1, nil
	case width > freqsExcess:
		return excessAt(src, i, n, width)
	case width > freqsPacked:
		return SIMDBP{}.FreqAt(src, i, n, width-freqsPacked)
	}
	return sumsAt(src, i, n, width-freqsSums)
}

// excessAt returns 1 plus the number of frequency i's units. The units with the high
// bits of i are the one bits between two zero bits.
func excessAt(src []byte, i, n int, form uint8) (uint32, error) {
	units, low := int(form-freqsExcess), excessWidth(n, form)
	if units >= n {
		return 0, fmt.Errorf("ef: %d frequencies with %d excess units: %w", n, units, ErrCorrupt)
	}
	if err := checkSlots("ef", src, units, low, low); err != nil {
		return 0, err
	}
	u := unaryOf(src, units*int(low), units, 0)
	high, bit := i>>low, 0
	if high > 0 {
		bit = u.zero(high-1) + 1
	}
	unit := bit - high
	if high > 0 && bit == 0 { // all units come before
		unit, bit = units, u.end(units-1)
	}
	f := uint32(1)
	for ; unit < units && bit < u.most && (u.word((u.bit+bit)/8)>>((u.bit+bit)%8))&1 == 1; unit++ {
		if bitpack.At(src, unit, low) == uint32(i)&(1<<low-1) {
			f++
		}
		bit++
	}
	if unit < units && bit == u.most || bit < 0 {
		_, err := sizeOf("ef", src, units, low, 0)
		return 0, err
	}
	return f, nil
}

func sumsAt(src []byte, i, n int, low uint8) (uint32, error) {
	if err := checkSlots("ef", src, n, low, maxEFWidth(n)-1); err != nil {
		return 0, err
	}
	u := unaryOf(src, n*int(low), n, 0)
	before, end := u.ends(i)
	if end < 0 {
		_, err := sizeOf("ef", src, n, low, 0)
		return 0, err
	}
	sum := func(j, bit int) uint64 {
		return uint64(j) + 1 + (uint64(bit-j)<<low | uint64(bitpack.At(src, j, low)))
	}
	last, now := uint64(0), sum(i, end)
	if i > 0 {
		last = sum(i-1, before)
	}
	if now <= last || now > 1<<32-1 {
		return 0, fmt.Errorf("ef: frequency %d is not above 0, or the sum exceeds 2^32: %w", i, ErrCorrupt)
	}
	return uint32(now - last), nil
}
