package mapping

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// bits of whole numbers, without the sign.
var wholeBits = [numTypes]uint{Long: 63, Integer: 31, Short: 15, Byte: 7}

var errNumber = errors.New("not a number")

// Bounds returns the least and the greatest value of a type of whole numbers.
func (t Type) Bounds() (lo, hi int64) {
	hi = int64(1)<<wholeBits[t] - 1
	return -hi - 1, hi
}

// whole cuts off the fraction, as OpenSearch does.
func (f *Field) whole(value string) (int64, error) {
	lo, hi := f.Type.Bounds()
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		var ok bool
		if v, ok, err = cutFraction(value); err != nil {
			return 0, f.fail(value, "%w", err)
		} else if !ok {
			return 0, f.fail(value, "out of range: want %d to %d", lo, hi)
		}
	}
	if v < lo || v > hi {
		return 0, f.fail(value, "out of range: want %d to %d", lo, hi)
	}
	return v, nil
}

// decimal is a number in the form -digits * 10^exp.
type decimal struct {
	negative bool
	digits   string // whole and fraction
	point    int    // how many of digits are before the point
}

// parseDecimal accepts JSON's numbers, a sign +, and numbers that begin or end with a point.
func parseDecimal(text string) (d decimal, ok bool) {
	rest := strings.TrimSpace(text)
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		d.negative = rest[0] == '-'
		rest = rest[1:]
	}
	n := digits(rest)
	d.digits, d.point = rest[:n], n
	if rest = rest[n:]; rest != "" && rest[0] == '.' {
		n = digits(rest[1:])
		d.digits += rest[1 : 1+n]
		rest = rest[1+n:]
	}
	if d.digits == "" {
		return d, false
	}
	if rest == "" {
		return d, true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return d, false
	}
	exp := rest[1:]
	digitsOfExp := strings.TrimLeft(exp, "+-")
	if len(exp)-len(digitsOfExp) > 1 || digitsOfExp == "" || digits(digitsOfExp) != len(digitsOfExp) {
		return d, false
	}
	const far = 1 << 30
	e, err := strconv.Atoi(digitsOfExp)
	if err != nil || e > far {
		e = far
	}
	if exp[0] == '-' {
		e = -e
	}
	d.point += e
	return d, true
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// cutFraction is exact for numbers that a float64 cannot hold; ok is false outside the range of int64.
func cutFraction(text string) (v int64, ok bool, err error) {
	d, isNumber := parseDecimal(text)
	if !isNumber {
		return 0, false, errNumber
	}
	trimmed := strings.TrimLeft(d.digits, "0")
	point := d.point - (len(d.digits) - len(trimmed))
	const most = 19 // digits of an int64
	switch {
	case trimmed == "" || point <= 0:
		return 0, true, nil
	case point > most:
		return 0, false, nil
	case point > len(trimmed):
		trimmed += strings.Repeat("0", point-len(trimmed))
	}
	whole := trimmed[:point]
	if d.negative {
		whole = "-" + whole
	}
	v, parseErr := strconv.ParseInt(whole, 10, 64)
	return v, parseErr == nil, nil
}

func (f *Field) real(value string) (int64, error) {
	if _, ok := parseDecimal(value); !ok {
		return 0, f.fail(value, "%w", errNumber)
	}
	bits := 64
	if f.Type == Float {
		bits = 32
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(value), bits)
	if err != nil {
		return 0, f.fail(value, "out of range")
	}
	if f.Type == Float {
		return EncodeFloat(float32(v)), nil
	}
	return EncodeDouble(v), nil
}

// EncodeDouble returns a number with the order of floats: EncodeDouble(a) < EncodeDouble(b) if a < b.
// -0 becomes 0. It is for finite numbers and infinities.
func EncodeDouble(v float64) int64 {
	bits := int64(math.Float64bits(float64(v) + 0)) // -0 + 0 = 0
	return bits ^ bits>>63&math.MaxInt64
}

// DecodeDouble is the inverse of EncodeDouble.
func DecodeDouble(v int64) float64 { return math.Float64frombits(uint64(v ^ v>>63&math.MaxInt64)) }

// EncodeFloat is EncodeDouble for 32 bits: columns of floats take half of the space.
func EncodeFloat(v float32) int64 {
	bits := int32(math.Float32bits(v + 0))
	return int64(bits ^ bits>>31&math.MaxInt32)
}

// DecodeFloat is the inverse of EncodeFloat.
func DecodeFloat(v int64) float32 {
	bits := int32(v)
	return math.Float32frombits(uint32(bits ^ bits>>31&math.MaxInt32))
}

// Float64 returns a number of a column as a float64, for sums: of a double or float its value, of others v.
func (t Type) Float64(v int64) float64 {
	switch t {
	case Double:
		return DecodeDouble(v)
	case Float:
		return float64(DecodeFloat(v))
	}
	return float64(v)
}

func (t Type) appendNumber(dst []byte, v int64) []byte {
	switch t {
	case Double:
		return appendReal(dst, DecodeDouble(v), 64)
	case Float:
		return appendReal(dst, float64(DecodeFloat(v)), 32)
	case Boolean:
		return strconv.AppendBool(dst, v != 0)
	case GeoPoint:
		lat, lon := DecodePoint(v)
		dst = appendDegrees(dst, lat)
		return appendDegrees(append(dst, ','), lon)
	}
	return strconv.AppendInt(dst, v, 10)
}

// appendReal writes whole numbers with ".0", as OpenSearch does.
func appendReal(dst []byte, v float64, bits int) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-3 || abs >= 1e7) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, format, -1, bits)
	if format == 'f' && !strings.Contains(string(dst[start:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// parseAddress returns the 16 bytes of an address; one of version 4 is mapped to version 6.
func parseAddress(text string) (b [16]byte, err error) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return b, errors.New("not an IP address")
	}
	return a.As16(), nil
}

func appendAddress(dst, b []byte) []byte {
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return dst
	}
	return a.Unmap().AppendTo(dst)
}

// AddressRange returns the first and the last address of a network such as "10.0.0.0/8".
func AddressRange(network string) (first, last [16]byte, err error) {
	p, err := netip.ParsePrefix(network)
	if err != nil {
		return first, last, errors.New("not a network such as 10.0.0.0/8")
	}
	bits := p.Bits()
	if p.Addr().Is4() {
		bits += 96
	}
	first = p.Masked().Addr().As16()
	hi, lo := binary.BigEndian.Uint64(first[:8]), binary.BigEndian.Uint64(first[8:])
	switch {
	case bits < 64:
		hi, lo = hi|math.MaxUint64>>bits, math.MaxUint64
	default:
		lo |= math.MaxUint64 >> (bits - 64)
	}
	binary.BigEndian.PutUint64(last[:8], hi)
	binary.BigEndian.PutUint64(last[8:], lo)
	return first, last, nil
}
