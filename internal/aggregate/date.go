package aggregate

import (
	"math"
	"sort"
	"strconv"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// rounding divides time into intervals.
type rounding interface {
	floor(millis int64) int64
	// next returns the beginning of the interval after the one that begins at millis.
	next(millis int64) int64
	// width is an interval's, approximately, in milliseconds.
	width() float64
}

// calendarRounding has units of the calendar in a time zone.
type calendarRounding struct {
	unit mapping.Unit
	zone *time.Location
	// starts are the beginnings of units over the values of the field; floor is called for each of
	// them. Without starts, the last unit is kept.
	starts    []int64
	from, end int64
}

var unitWidth = [...]float64{
	mapping.Second: 1000, mapping.Minute: 60_000, mapping.Hour: 3_600_000, mapping.Day: 86_400_000, mapping.Week: 7 * 86_400_000,
	mapping.Month: 30.44 * 86_400_000, mapping.Quarter: 91.3 * 86_400_000, mapping.Year: 365.24 * 86_400_000,
}

func (c *calendarRounding) width() float64 { return unitWidth[c.unit] }

func (c *calendarRounding) next(millis int64) int64 { return c.unit.Next(millis, c.zone) }

// maxStarts bounds the memory of starts.
const maxStarts = 1 << 16

func (c *calendarRounding) prepare(lo, hi int64) {
	if n := len(c.starts); n > 1 && lo >= c.starts[0] && hi < c.starts[n-1] {
		return
	}
	if len(c.starts) > 1 {
		lo, hi = min(lo, c.starts[0]), max(hi, c.starts[len(c.starts)-1])
	}
	c.starts = c.starts[:0]
	if (float64(hi)-float64(lo))/c.width() > maxStarts {
		return
	}
	for at := c.unit.Floor(lo, c.zone); at <= hi; at = c.unit.Next(at, c.zone) {
		c.starts = append(c.starts, at)
	}
	c.starts = append(c.starts, c.unit.Next(hi, c.zone))
}

func (c *calendarRounding) floor(millis int64) int64 {
	if millis >= c.from && millis < c.end {
		return c.from
	}
	if n := len(c.starts); n > 1 && millis >= c.starts[0] && millis < c.starts[n-1] {
		i := c.search(millis)
		c.from, c.end = c.starts[i], c.starts[i+1]
		return c.from
	}
	c.from, c.end = c.unit.Floor(millis, c.zone), c.unit.Next(millis, c.zone)
	return c.from
}

// search finds the start at or before a moment, near where it would be if all units were equal.
func (c *calendarRounding) search(millis int64) int {
	n := len(c.starts)
	first, last := c.starts[0], c.starts[n-1]
	guess := int(float64(millis-first) / float64(last-first) * float64(n-1))
	at := min(max(guess, 0), n-2)
	const near = 8
	for range near {
		switch {
		case c.starts[at] > millis:
			at--
		case c.starts[at+1] <= millis:
			at++
		default:
			return at
		}
	}
	return sort.Search(n, func(i int) bool { return c.starts[i] > millis }) - 1
}

// fixedRounding has intervals of one length, from midnight of 1970-01-01 in a time zone.
type fixedRounding struct {
	interval int64
	zone     *time.Location
}

func (f *fixedRounding) width() float64 { return float64(f.interval) }

func (f *fixedRounding) floor(millis int64) int64 {
	return mapping.FloorLength(millis, f.interval, f.zone)
}

func (f *fixedRounding) next(millis int64) int64 {
	return mapping.NextLength(millis, f.interval, f.zone)
}

func floorTo(v, interval int64) int64 {
	rest := v % interval
	if rest < 0 {
		rest += interval
	}
	return v - rest
}

// dateAxis has the beginnings of intervals as keys.
type dateAxis struct {
	rounding            rounding
	offset              int64
	hardLeast, hardMost int64 // the latter is exclusive
	layout              *mapping.Field
	zone                *time.Location
}

func (a *dateAxis) key(v int64) (int64, bool) {
	key := a.rounding.floor(v-a.offset) + a.offset
	return key, key >= a.hardLeast && key < a.hardMost
}

func (a *dateAxis) next(key int64) int64 { return a.rounding.next(key-a.offset) + a.offset }

func (a *dateAxis) between(from, to int64) float64 {
	return (float64(to)-float64(from))/a.rounding.width() + 1
}

func (a *dateAxis) prepare(lo, hi int64) {
	if c, ok := a.rounding.(*calendarRounding); ok {
		c.prepare(lo-a.offset, hi-a.offset)
	}
}

func (a *dateAxis) write(b *Bucket, key int64) { writeDate(b, key, a.layout, a.zone) }

func writeDate(b *Bucket, key int64, layout *mapping.Field, zone *time.Location) {
	b.key = strconv.AppendInt(nil, key, 10)
	b.Text, b.hasText = string(layout.AppendDate(nil, key, zone)), true
}

func parseDateHistogram(r *Request, p *params) (func(e *env) (collector, error), error) {
	h := p.histogram()
	zone := p.zone()
	newRounding := p.interval(zone)
	offset := p.timeOffset()
	extended, hard := p.bounds("extended_bounds"), p.bounds("hard_bounds")
	return func(e *env) (collector, error) {
		n, err := e.dates(r, &h.numberParams)
		if err != nil {
			return nil, err
		}
		a := &dateAxis{rounding: newRounding(), offset: offset, hardLeast: math.MinInt64, hardMost: math.MaxInt64, layout: n.layout, zone: zone}
		c, err := e.histogram(r, &h, n, a)
		if err != nil {
			return nil, err
		}
		least, most, err := hard.dates(e, n.layout, zone, r)
		if err != nil {
			return nil, err
		}
		if hard.least != nil {
			a.hardLeast = least
		}
		if hard.most != nil {
			a.hardMost = most
		}
		if least, most, err = extended.dates(e, n.layout, zone, r); err != nil {
			return nil, err
		}
		if extended.given() {
			c.bounds = []int64{math.MaxInt64, math.MinInt64}
			if extended.least != nil {
				c.bounds[0], _ = a.key(least)
			}
			if extended.most != nil {
				c.bounds[1], _ = a.key(most)
			}
		}
		return c, nil
	}, p.err
}

// dates reads the values of a field of dates.
func (e *env) dates(r *Request, p *numberParams) (*numbers, error) {
	n, err := e.numbersOf(r, p)
	if err == nil && n.field.Type != mapping.Date {
		err = r.errorf("field [%s] of type %s is not a date", p.field, n.field.Type)
	}
	return n, err
}

func (b *boundsParam) dates(e *env, layout *mapping.Field, zone *time.Location, r *Request) (least, most int64, err error) {
	read := func(text *string) int64 {
		if text == nil || err != nil {
			return 0
		}
		var v int64
		if v, err = e.number(layout, *text, zone); err != nil {
			err = r.errorf("parameter [%s]: %s", b.key, base.Message(err))
		}
		return v
	}
	least, most = read(b.least), read(b.most)
	if err == nil && b.least != nil && b.most != nil && least > most {
		err = r.errorf("parameter [%s]: min is after max", b.key)
	}
	return least, most, err
}

func (p *params) zone() *time.Location {
	name := p.text("time_zone", "")
	if name == "" {
		return time.UTC
	}
	zone, err := mapping.ParseZone(name)
	if err != nil {
		p.fail("time_zone", "%s", base.Message(err))
		return time.UTC
	}
	return zone
}

// interval reads calendar_interval or fixed_interval.
func (p *params) interval(zone *time.Location) func() rounding {
	calendar, fixed := p.text("calendar_interval", ""), p.text("fixed_interval", "")
	switch {
	case p.has("interval"):
		p.fail("interval", "use [calendar_interval] or [fixed_interval]")
	case (calendar == "") == (fixed == ""):
		p.fail("calendar_interval", "one of [calendar_interval] and [fixed_interval] is required")
	case calendar != "":
		unit, err := mapping.ParseUnit(calendar)
		if err != nil {
			p.fail("calendar_interval", "%s", base.Message(err))
		}
		return func() rounding { return &calendarRounding{unit: unit, zone: zone} }
	}
	millis, err := mapping.ParseDuration(fixed)
	if fixed != "" && (err != nil || millis <= 0) {
		p.fail("fixed_interval", "%q is not a positive number of milliseconds (ms), seconds (s), minutes (m), hours (h) or days (d)", fixed)
	}
	return func() rounding { return &fixedRounding{interval: millis, zone: zone} }
}

func (p *params) timeOffset() int64 {
	text := p.text("offset", "")
	if text == "" {
		return 0
	}
	millis, err := mapping.ParseDuration(text)
	if err != nil {
		p.fail("offset", "%v", err)
	}
	return millis
}
