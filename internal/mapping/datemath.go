package mapping

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Unit is a unit of the calendar, for date maths and histograms.
type Unit uint8

// The units. Weeks begin on Monday.
const (
	Second Unit = iota
	Minute
	Hour
	Day
	Week
	Month
	Quarter
	Year
	numUnits
)

var unitNames = [numUnits][]string{
	{"second", "1s"}, {"minute", "1m"}, {"hour", "1h"}, {"day", "1d"}, {"week", "1w"}, {"month", "1M"}, {"quarter", "1q"}, {"year", "1y"},
}

// ParseUnit returns the unit of a calendar interval such as "month" or "1M". The error wraps
// base.ErrBadInput.
func ParseUnit(name string) (Unit, error) {
	for u, names := range unitNames {
		if name == names[0] || name == names[1] {
			return Unit(u), nil
		}
	}
	return 0, fmt.Errorf("calendar interval %.40q: want second, minute, hour, day, week, month, quarter or year: %w", name, base.ErrBadInput)
}

// String returns the name.
func (u Unit) String() string {
	if u >= numUnits {
		return fmt.Sprintf("unit %d", uint8(u))
	}
	return unitNames[u][0]
}

var clockUnits = [...]int64{Second: 1000, Minute: 60_000, Hour: 3_600_000}

// Floor returns the beginning of the unit that a moment is in, in milliseconds since 1970.
func (u Unit) Floor(millis int64, zone *time.Location) int64 {
	if u <= Hour {
		return FloorLength(millis, clockUnits[u], zone)
	}
	year, month, day := time.UnixMilli(millis).In(zone).Date()
	switch u {
	case Week:
		weekday := time.UnixMilli(millis).In(zone).Weekday()
		day -= (int(weekday) + 6) % 7
	case Month:
		day = 1
	case Quarter:
		month, day = month-(month-1)%3, 1
	case Year:
		month, day = 1, 1
	}
	return startOfDay(year, month, day, zone)
}

// Next returns the beginning of the unit after the one that a moment is in.
func (u Unit) Next(millis int64, zone *time.Location) int64 {
	if u <= Hour {
		return NextLength(millis, clockUnits[u], zone)
	}
	// Noon is on the same day, whatever the clocks do.
	year, month, day := time.UnixMilli(u.Floor(millis, zone)).In(zone).Date()
	switch u {
	case Day:
		day++
	case Week:
		day += 7
	case Month:
		month++
	case Quarter:
		month += 3
	case Year:
		year++
	}
	return startOfDay(year, month, day, zone)
}

// FloorLength returns the beginning of the interval that contains a moment. Intervals have the given length and follow
// one another from midnight of 1970-01-01, in local time of the zone. If the clocks skip a beginning, the interval
// begins at the end of the gap. If a beginning occurs twice, the first counts, unless the interval is not longer than
// the repeated time.
func FloorLength(millis, length int64, zone *time.Location) int64 {
	offset := offsetAt(millis, zone)
	whole, _ := floorDiv(millis+offset, length)
	at := whole*length - offset
	before := offsetAt(at, zone)
	if before == offset {
		return at
	}
	changed, _ := time.UnixMilli(millis).In(zone).ZoneBounds()
	if whole*length-before >= changed.UnixMilli() { // skipped
		return changed.UnixMilli()
	}
	return FloorLength(changed.UnixMilli()-1, length, zone)
}

// NextLength returns the beginning of the interval after the one that a moment is in.
func NextLength(millis, length int64, zone *time.Location) int64 {
	const step, longestShift = 15 * 60_000, 24 * 3_600_000 // of clocks
	at := FloorLength(millis+length, length, zone)
	for shift := int64(step); at <= millis && shift <= longestShift; shift += step {
		at = FloorLength(millis+length+shift, length, zone)
	}
	for {
		before := FloorLength(at-1, length, zone)
		if before <= millis {
			return at
		}
		at = before
	}
}

// offsetAt is in milliseconds.
func offsetAt(millis int64, zone *time.Location) int64 {
	if zone == time.UTC {
		return 0
	}
	_, seconds := time.UnixMilli(millis).In(zone).Zone()
	return int64(seconds) * 1000
}

// startOfDay is midnight; the first moment of the day if the clocks skip it, and the earlier if there
// are two.
func startOfDay(year int, month time.Month, day int, zone *time.Location) int64 {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	want := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	start, end := t.ZoneBounds()
	if hour, minute, second := t.Clock(); hour+minute+second != 0 { // skipped
		if t.Day() == want.Day() {
			return start.UnixMilli()
		}
		return end.UnixMilli()
	}
	return localTime(year, month, day, 0, 0, 0, 0, zone).UnixMilli()
}

// Clock has the parameters on which a date of a query depends.
type Clock struct {
	Now  time.Time
	Zone *time.Location // of dates without one, and of units; nil: UTC
	// RoundUp takes the last moment of a rounded or omitted part, as for upper bounds that are included
	// and lower bounds that are not.
	RoundUp bool
}

// Date returns a date of a query in milliseconds since 1970: one in the format of the field, or date maths
// such as "now-1d/d" and "2024-02-01||+1M". The error is a *ValueError.
func (f *Field) Date(text string, c Clock) (int64, error) {
	zone := c.Zone
	if zone == nil {
		zone = time.UTC
	}
	maths, isNow := strings.CutPrefix(text, "now")
	anchor := c.Now.UnixMilli()
	if !isNow {
		date, rest, isMaths := strings.Cut(text, "||")
		v, err := f.formats.parse(date, zone, c.RoundUp && !isMaths)
		if err != nil || !isMaths {
			return v, f.badDate(text, err)
		}
		anchor, maths = v, rest
	}
	v, err := calculate(anchor, maths, zone, c.RoundUp)
	if err != nil {
		return 0, f.fail(text, "%w", err)
	}
	return v, nil
}

var mathsUnits = map[byte]Unit{'s': Second, 'm': Minute, 'h': Hour, 'H': Hour, 'd': Day, 'w': Week, 'M': Month, 'y': Year}

// calculate applies steps such as +1d, -2M and /d.
func calculate(millis int64, maths string, zone *time.Location, roundUp bool) (int64, error) {
	for maths != "" {
		op := maths[0]
		if op != '+' && op != '-' && op != '/' {
			return 0, fmt.Errorf("date maths at %.20q: want +, - or /", maths)
		}
		n := 1
		rest := maths[1:]
		if count := digits(rest); count > 0 {
			var err error
			if n, err = strconv.Atoi(rest[:count]); err != nil || n > 1<<31 || op == '/' {
				return 0, fmt.Errorf("date maths at %.20q: not a number of units", maths)
			}
			rest = rest[count:]
		}
		if rest == "" {
			return 0, errors.New("date maths: a unit is missing")
		}
		unit, ok := mathsUnits[rest[0]]
		if !ok {
			return 0, fmt.Errorf("date maths: unit %q: want y, M, w, d, h, m or s", rest[:1])
		}
		maths = rest[1:]
		switch op {
		case '/':
			if roundUp {
				millis = unit.Next(millis, zone) - 1
			} else {
				millis = unit.Floor(millis, zone)
			}
			continue
		case '-':
			n = -n
		}
		t := unit.add(time.UnixMilli(millis).In(zone), n)
		if y := t.Year(); y < minYear || y > maxYear {
			return 0, errDateRange
		}
		millis = t.UnixMilli()
	}
	return millis, nil
}

// add keeps the day of the month if the month has it, and the time of the day but for shorter units.
func (u Unit) add(t time.Time, n int) time.Time {
	switch u {
	case Second, Minute, Hour:
		return time.UnixMilli(t.UnixMilli() + int64(n)*clockUnits[u]).In(t.Location())
	case Day, Week:
		if u == Week {
			n *= 7
		}
		return localTime(t.Year(), t.Month(), t.Day()+n, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	case Year:
		n *= 12
	case Quarter:
		n *= 3
	}
	first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, n, 0)
	day := min(t.Day(), daysIn(first.Year(), int(first.Month())))
	return localTime(first.Year(), first.Month(), day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}

// AppendDate appends a date of the field in a time zone.
func (f *Field) AppendDate(dst []byte, millis int64, zone *time.Location) []byte {
	return f.formats.append(dst, millis, zone)
}

// WithFormat returns the field with another format, as queries and aggregations name. The error wraps
// base.ErrBadInput.
func (f *Field) WithFormat(format string) (*Field, error) {
	formats, err := parseFormats(format)
	if err != nil {
		return nil, err
	}
	changed := *f
	changed.Format, changed.formats = format, formats
	return &changed, nil
}
