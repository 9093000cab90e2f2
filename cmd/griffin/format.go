package main

import (
	"fmt"
	"strings"
	"time"
)

// joinWrapped joins names with spaces and breaks lines at 70 columns, further
// lines indented by indent.
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

// described lists names with what each is, one a line.
func described(names []string, describe func(name string) string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "  %-16s %s\n", name, describe(name))
	}
	return b.String()
}

// count formats n with thousands separators: 1,234,567.
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

// sizeOf formats a number of bytes with a binary unit and three digits.
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

// percentOf formats a part of one as per cent.
func percentOf(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }
