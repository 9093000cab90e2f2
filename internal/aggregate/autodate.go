package aggregate

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
)

// autoSteps are the intervals of auto_date_histogram: multiples of units.
var autoSteps = []struct {
	unit      mapping.Unit
	suffix    string
	multiples []int64
}{
	{mapping.Second, "s", []int64{1, 5, 10, 30}},
	{mapping.Minute, "m", []int64{1, 5, 10, 30}},
	{mapping.Hour, "h", []int64{1, 3, 12}},
	{mapping.Day, "d", []int64{1, 7}},
	{mapping.Month, "M", []int64{1, 3}},
	{mapping.Year, "y", []int64{1, 5, 10, 20, 50, 100}},
}

// autoDate is auto_date_histogram: the least interval with which there are not too many buckets, counted
// from the first document's unit on. It keeps its documents until the interval is known.
type autoDate struct {
	*Request
	*numbers
	target   int64
	least    int // index of autoSteps
	zone     *time.Location
	recorder recorder
	spans    []span // by bucket of the parent
	table    table
	counts   []int64
	within   within
}

// span are the moments of a bucket of the parent, and its intervals.
type span struct {
	any      bool
	lo, hi   int64
	step     int // index of autoSteps
	multiple int64
	interval string
	first    int64 // number of the first unit
}

func parseAutoDate(r *Request, p *params) (func(e *env) (collector, error), error) {
	n := p.numbers()
	const defaultTarget = 10
	target := p.integer("buckets", defaultTarget, 1, DefaultMaxBuckets)
	zone := p.zone()
	least := 0
	if p.has("minimum_interval") {
		name := p.choice("minimum_interval", "second", "second", "minute", "hour", "day", "month", "year")
		for i := range autoSteps {
			if autoSteps[i].unit.String() == name {
				least = i
			}
		}
	}
	return func(e *env) (collector, error) {
		of, err := e.dates(r, &n)
		if err != nil {
			return nil, err
		}
		a := &autoDate{Request: r, numbers: of, target: int64(target), least: least, zone: zone}
		a.within, err = e.within(r)
		return a, err
	}, p.err
}

func (a *autoDate) request() *Request { return a.Request }

func (a *autoDate) begin(segment int) error {
	a.recorder.begin(segment)
	return a.numbers.begin(segment)
}

func (a *autoDate) collect(docs []base.DocID, buckets []uint32) error {
	if err := a.e.budget.take(a.Request, recordBytes*len(docs)); err != nil {
		return err
	}
	a.recorder.add(docs, buckets)
	for i, doc := range docs {
		values, err := a.of(doc)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			continue
		}
		if a.spans, err = grown(a.e, a.Request, a.spans, buckets[i]); err != nil {
			return err
		}
		s := &a.spans[buckets[i]]
		lo, hi := values[0], values[len(values)-1]
		if s.any {
			lo, hi = min(lo, s.lo), max(hi, s.hi)
		}
		s.any, s.lo, s.hi = true, lo, hi
	}
	return nil
}

func (a *autoDate) end() error { return nil }

func (a *autoDate) finish() error {
	for i := range a.spans {
		if s := &a.spans[i]; s.any {
			a.choose(s)
		}
	}
	begin := func(segment int) error {
		if err := a.numbers.begin(segment); err != nil {
			return err
		}
		return a.within.begin(segment)
	}
	if err := a.recorder.replay(begin, a.place, a.within.end); err != nil {
		return err
	}
	a.table.group()
	return a.within.finish()
}

// choose sets the interval of a span.
func (a *autoDate) choose(s *span) {
	for s.step = a.least; s.step < len(autoSteps); s.step++ {
		step := &autoSteps[s.step]
		s.first = a.unitOf(s.step, s.lo)
		units := a.unitOf(s.step, s.hi) - s.first + 1
		for _, s.multiple = range step.multiples {
			s.interval = fmt.Sprintf("%d%s", s.multiple, step.suffix)
			last := s.step == len(autoSteps)-1 && s.multiple == step.multiples[len(step.multiples)-1]
			if (units+s.multiple-1)/s.multiple <= a.target || last {
				return
			}
		}
	}
}

// unitOf numbers the units of a step.
func (a *autoDate) unitOf(step int, millis int64) int64 {
	unit := autoSteps[step].unit
	if unit <= mapping.Hour {
		return floorTo(unit.Floor(millis, a.zone), int64(unitWidth[unit])) / int64(unitWidth[unit])
	}
	year, month, day := time.UnixMilli(millis).In(a.zone).Date()
	switch unit {
	case mapping.Day:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / secondsADay
	case mapping.Month:
		return int64(year)*12 + int64(month) - 1
	}
	return int64(year)
}

const secondsADay = 86_400

// startOf is the inverse of unitOf: the beginning of a unit. Of hours and less, it is exact for time zones
// whose difference to UTC is whole hours.
func (a *autoDate) startOf(step int, n int64) int64 {
	unit := autoSteps[step].unit
	switch unit {
	case mapping.Day:
		t := time.Unix(n*secondsADay, 0).UTC()
		return unit.Floor(time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, a.zone).UnixMilli(), a.zone)
	case mapping.Month:
		year, month := n/12, n%12
		if month < 0 {
			year, month = year-1, month+12
		}
		return unit.Floor(time.Date(int(year), time.Month(month+1), 15, 0, 0, 0, 0, a.zone).UnixMilli(), a.zone)
	case mapping.Year:
		return unit.Floor(time.Date(int(n), 6, 15, 0, 0, 0, 0, a.zone).UnixMilli(), a.zone)
	}
	width := int64(unitWidth[unit])
	return unit.Floor(n*width+width-1, a.zone)
}

// place counts a document in its intervals, whose keys number them from 0.
func (a *autoDate) place(doc base.DocID, bucket uint32) error {
	values, err := a.of(doc)
	if err != nil || len(values) == 0 {
		return err
	}
	s := &a.spans[bucket]
	last := int64(math.MinInt64)
	for _, v := range values {
		key := (a.unitOf(s.step, v) - s.first) / s.multiple
		if key == last {
			continue
		}
		last = key
		n, isNew := a.table.number(bucket, key)
		if isNew {
			a.counts = append(a.counts, 0)
			if err := a.e.budget.take(a.Request, tableBytes); err != nil {
				return err
			}
		}
		a.counts[n]++
		if err := a.within.add(doc, n); err != nil {
			return err
		}
	}
	return nil
}

func (a *autoDate) build(bucket uint32) (*Result, error) {
	out := newResult(a.Request)
	out.Buckets = []Bucket{}
	out.Interval = "1" + autoSteps[a.least].suffix
	if int(bucket) >= len(a.spans) || !a.spans[bucket].any {
		return out, nil
	}
	s := &a.spans[bucket]
	out.Interval = s.interval
	numbers := slices.Clone(a.table.of(bucket))
	slices.SortFunc(numbers, func(x, y uint32) int { return int(min(max(a.table.keys[x]-a.table.keys[y], -1), 1)) })
	last := a.table.keys[numbers[len(numbers)-1]]
	if err := a.e.budget.answer(a.Request, int(min(last+1, math.MaxInt32))); err != nil {
		return nil, err
	}
	for key := int64(0); key <= last; key++ {
		var b Bucket
		writeDate(&b, a.startOf(s.step, s.first+key*s.multiple), a.layout, a.zone)
		n := noBucket
		if a.table.keys[numbers[0]] == key {
			n, numbers = numbers[0], numbers[1:]
			b.DocCount = a.counts[n]
		}
		var err error
		if b.Aggs, err = a.within.build(n); err != nil {
			return nil, err
		}
		out.Buckets = append(out.Buckets, b)
	}
	return out, nil
}
