package automaton

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

func sorted(list []runeRange) []runeRange {
	base.Sort(list, func(x, y runeRange) int { return cmp.Compare(x.from, y.from) })
	return list
}

// maxDigits bounds the numbers of an interval.
const maxDigits = 18

// interval parses n-m> after "<". As in Lucene, bounds of the same length stand for numbers of that length;
// otherwise numbers may have zeros before them.
func (p *regexpParser) interval() expr {
	end := strings.IndexByte(p.text[p.pos:], '>')
	if end < 0 {
		p.fail("an interval is not closed")
		return nothing
	}
	from, to, ok := strings.Cut(p.text[p.pos:p.pos+end], "-")
	least, err1 := strconv.ParseUint(from, 10, 63)
	most, err2 := strconv.ParseUint(to, 10, 63)
	if !ok || err1 != nil || err2 != nil || max(len(from), len(to)) > maxDigits {
		p.fail("no interval <n-m> of numbers up to %d digits", maxDigits)
		return nothing
	}
	p.pos += end + 1
	if least > most {
		least, most = most, least
	}
	if len(from) == len(to) {
		width := len(from)
		return p.b.between(pad(least, width), pad(most, width))
	}
	zeros := p.b.repeat(p.b.byteRange('0', '0'))
	width := len(strconv.FormatUint(most, 10))
	// A number of fewer digits has zeros before it, which the repetition covers.
	var all []expr
	for digits := len(strconv.FormatUint(least, 10)); digits <= width; digits++ {
		low, high := least, most
		if digits > len(strconv.FormatUint(least, 10)) {
			low = power(digits - 1)
		}
		if digits < width {
			high = power(digits) - 1
		}
		all = append(all, p.b.concat(zeros, p.b.between(pad(low, digits), pad(high, digits))))
	}
	return p.b.or(all)
}

func power(digits int) uint64 {
	n := uint64(1)
	for range digits {
		n *= 10
	}
	return n
}

func pad(n uint64, width int) string {
	s := strconv.FormatUint(n, 10)
	return strings.Repeat("0", max(width-len(s), 0)) + s
}

// between matches the texts of digits of the same length, from low to high in byte order.
func (b *builder) between(low, high string) expr {
	if low == "" {
		return empty
	}
	digits := b.byteRange('0', '9')
	rest := empty
	for range len(low) - 1 {
		rest = b.concat(digits, rest)
	}
	if low[0] == high[0] {
		return b.concat(b.byteRange(low[0], low[0]), b.between(low[1:], high[1:]))
	}
	nines, zeros := strings.Repeat("9", len(low)-1), strings.Repeat("0", len(low)-1)
	all := []expr{
		b.concat(b.byteRange(low[0], low[0]), b.between(low[1:], nines)),
		b.concat(b.byteRange(high[0], high[0]), b.between(zeros, high[1:])),
	}
	if low[0]+1 < high[0] {
		all = append(all, b.concat(b.byteRange(low[0]+1, high[0]-1), rest))
	}
	return b.or(all)
}
