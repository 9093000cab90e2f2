package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// joinWrapped makes lines of 70 columns; indent precedes all but the first.
func joinWrapped(names []string, indent string) string {
	var b strings.Builder
	column := 0
	for i, name := range names {
		switch {
		case i == 0:
		case column+1+len(name) > 70:
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(name)
		column += len(name)
	}
	return b.String()
}

func described(names []string, describe func(name string) string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "  %-16s %s\n", name, describe(name))
	}
	return b.String()
}

// count formats n like 1,234,567.
func count[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural formats a number of things: 1 hit, 1,200 hits, 2 queries.
func plural[T ~int | ~int64](n T, thing string) string {
	if n == 1 {
		return count(n) + " " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return count(n) + " " + stem + "ies"
	}
	return count(n) + " " + thing + "s"
}

// sizeOf uses a binary unit and three digits.
func sizeOf[T ~int | ~int64 | ~uint64](n T) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v, u := float64(n), 0
	for v >= 1000 && u < len(units)-1 {
		v /= 1024
		u++
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", v, units[u])
}

// took formats a duration for people: 830 µs, 12.3 ms, 4.2 s, 2m05s.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// rateOf formats a rate for people: 100, 118.921, 2,500,000.
func rateOf(perSecond float64) string {
	if perSecond >= 1e5 {
		return count(int64(math.Round(perSecond)))
	}
	return strconv.FormatFloat(perSecond, 'g', 6, 64)
}

// threeDigits keeps at least three digits of a non-negative number: 0, 0.0832, 12.3, 1,234.
func threeDigits(v float64) string {
	digits := 2
	for w := v; w >= 10 && digits > 0; w /= 10 {
		digits--
	}
	if v < 1 && v > 0 {
		digits = 2 - int(math.Floor(math.Log10(v)))
	}
	if s := strconv.FormatFloat(v, 'f', min(digits, 6), 64); v > 0 && v < 1000 {
		return s
	}
	return count(int64(math.Round(v)))
}

// alignRight pads each column to its widest cell, or at least the given width.
func alignRight(rows [][]string, least int) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, least)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)) + cell)
		}
		lines[i] = b.String()
	}
	return lines
}

func percentOf(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }
