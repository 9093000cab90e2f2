package server

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
)

// maxRanges is the number of ranges of a facet of numbers.
const maxRanges = 7

// niceBounds returns bounds of ranges of which the first begins at or below lo: multiples of a round step, and
// 1, 2 and 5 times powers of ten. There are more than a page shows: joinRanges joins neighbours by their counts.
func niceBounds(lo, hi float64, whole bool) []float64 {
	if !(hi-lo > resolution*max(math.Abs(lo), math.Abs(hi))) || math.IsInf(hi-lo, 0) {
		return []float64{lo}
	}
	const steps = 30
	step := roundStep((hi - lo) / steps)
	if whole {
		step = max(step, 1)
	}
	var all []float64
	first := math.Floor(lo / step)
	for i := range steps + 2 {
		if v := clean((first + float64(i)) * step); v <= hi {
			all = append(all, v)
		}
	}
	if lo >= 0 && hi >= 100*max(lo, step/100) {
		for power := math.Floor(math.Log10(step)) - 9; power <= math.Log10(hi); power++ {
			for _, digit := range []float64{1, 2, 5} {
				v := clean(digit * math.Pow(10, power))
				if v > lo && v <= hi && (!whole || v >= 1) && v >= hi/1e9 {
					all = append(all, v)
				}
			}
		}
	}
	slices.Sort(all)
	if len(all) == 0 || all[0] > lo {
		all = append([]float64{lo}, all...)
	}
	return slices.Compact(all)
}

// resolution: numbers that differ by a smaller part of themselves have no ranges between them.
const resolution = 1e-9

// roundStep is the least of 1, 2 and 5 times a power of ten that is not below v.
func roundStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= v {
			return clean(digit * power)
		}
	}
	return clean(10 * power)
}

// clean removes the error of the last digits.
func clean(v float64) float64 {
	c, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return v
	}
	return c
}

// counted is a range of numbers with the documents in it.
type counted struct {
	from, to float64 // to is excluded
	count    int64
}

// joinRanges joins neighbours until there are at most maxRanges, each time the pair with the fewest documents.
// Empty ranges at the ends are left out.
func joinRanges(all []counted) []counted {
	for len(all) > 0 && all[0].count == 0 {
		all = all[1:]
	}
	for len(all) > 0 && all[len(all)-1].count == 0 {
		all = all[:len(all)-1]
	}
	for len(all) > maxRanges {
		best := 0
		for i := 1; i+1 < len(all); i++ {
			if all[i].count+all[i+1].count < all[best].count+all[best+1].count {
				best = i
			}
		}
		all[best].to, all[best].count = all[best+1].to, all[best].count+all[best+1].count
		all = slices.Delete(all, best+1, best+2)
	}
	return slices.DeleteFunc(all, func(c counted) bool { return c.count == 0 })
}

// numbers are ranges to choose.
func (p *facetPlan) numbers(req searchRequest, f *plannedFacet, buckets []griffin.Bucket) []facetValue {
	ranges := make([]counted, len(buckets))
	for i := range buckets {
		ranges[i] = counted{from: f.bounds[i], to: math.Inf(1), count: buckets[i].DocCount}
		if i+1 < len(f.bounds) {
			ranges[i].to = f.bounds[i+1]
		}
	}
	ranges = joinRanges(ranges)
	if len(ranges) < 2 { // nothing to narrow
		return nil
	}
	whole, within := isWhole(f.column.Type), p.rangeOf(f.Field) != nil
	if last := &ranges[len(ranges)-1]; whole && last.from == number(f.column.Max, last.from) {
		last.to = last.from + 1
	}
	grouped := len(plain(ranges[len(ranges)-1].from)) > len("9999")
	out := make([]facetValue, len(ranges))
	for i, r := range ranges {
		from, to := plain(r.from), plain(r.to)
		if i == 0 && !within {
			from = ""
		}
		if i == len(ranges)-1 && !within {
			to = ""
		}
		out[i] = facetValue{
			Text: numbersLabel(from, to, r, whole, grouped), Count: r.count,
			Address: req.with(withRange(p.selections, f.Field, rangeText(f.Field, from, to, true /* open */))).page(),
		}
	}
	return out
}

// plain is a number as a query has it.
func plain(v float64) string {
	if math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// numbersLabel is a range for people. grouped: digits are in groups of three.
func numbersLabel(from, to string, r counted, whole, grouped bool) string {
	last := plain(r.to - 1)
	if grouped {
		from, to, last = groupDigits(from), groupDigits(to), groupDigits(last)
	}
	switch {
	case whole && r.to-r.from == 1:
		return last
	case from == "":
		return "below " + to
	case to == "":
		return "from " + from
	case whole:
		return from + " to " + last
	default:
		return from + " to below " + to
	}
}

// formatNumber groups the digits of numbers from 10,000 on: a year has no comma.
func formatNumber(text string) string {
	if whole, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), "."); len(whole) < len("10000") {
		return text
	}
	return groupDigits(text)
}

// groupDigits groups the digits before the point by three.
func groupDigits(text string) string {
	whole, fraction, hasFraction := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if strings.ContainsFunc(whole, func(r rune) bool { return r < '0' || r > '9' }) {
		return text
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if hasFraction {
		whole += "." + fraction
	}
	return sign + whole
}

// dates are spans to choose. Their filters have the dates in the format of the field.
func (p *facetPlan) dates(req searchRequest, f *plannedFacet, buckets []griffin.Bucket) []facetValue {
	moments := make([]time.Time, len(buckets))
	for i := range buckets {
		millis, err := strconv.ParseInt(string(buckets[i].KeyJSON), 10, 64)
		if err != nil {
			return nil
		}
		moments[i] = time.UnixMilli(millis).UTC()
	}
	if len(buckets) < 2 {
		return nil
	}
	layout := dateLayout(moments)
	var out []facetValue
	within := p.rangeOf(f.Field)
	for i := len(buckets) - 1; i >= 0; i-- { // the newest first
		b := &buckets[i]
		if b.DocCount == 0 {
			continue
		}
		text, to := moments[i].Format(layout), ""
		if i+1 < len(buckets) {
			to = buckets[i+1].Key
			if last := moments[i+1].Add(-1).Format(layout); last != text {
				text += " to " + last
			}
		} else if last := after(moments[i-1], moments[i], layout).Format(layout); last != text {
			text += " on"
		}
		filter := rangeText(f.Field, b.Key, to, true /* open */)
		if to == "" && within != nil && within.To != "" {
			filter = rangeText(f.Field, b.Key, within.To, within.ExcludeTo)
		}
		out = append(out, facetValue{Text: text, Count: b.DocCount, Address: req.with(withRange(p.selections, f.Field, filter)).page()})
	}
	return out
}

// after is the last moment of the interval that begins at to. It has the length of the interval before it,
// which begins at from.
func after(from, to time.Time, layout string) time.Time {
	months := 12*(to.Year()-from.Year()) + int(to.Month()) - int(from.Month())
	if layout == "2006" || layout == "2006-01" {
		return to.AddDate(0, months, 0).Add(-1)
	}
	return to.Add(to.Sub(from) - 1)
}

// dateLayout is the shortest one that tells all moments.
func dateLayout(moments []time.Time) string {
	layout := "2006"
	for _, t := range moments {
		switch {
		case t.Second() != 0:
			return "2006-01-02 15:04:05"
		case t.Hour() != 0 || t.Minute() != 0:
			layout = "2006-01-02 15:04"
		case len(layout) <= len("2006-01-02") && t.Day() != 1:
			layout = "2006-01-02"
		case layout == "2006" && t.Month() != time.January:
			layout = "2006-01"
		}
	}
	return layout
}
