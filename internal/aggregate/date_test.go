package aggregate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/mapping"
)

// dated returns an index of one document per date.
func dated(tb testing.TB, dates ...string) (*Index, [][]uint64) {
	tb.Helper()
	var docs []testDoc
	for i, d := range dates {
		docs = append(docs, testDoc{number: i, live: true, values: map[string][]string{"made": {d}, "size": {fmt.Sprint(i)}}})
	}
	segments := [][]testDoc{docs[:len(docs)/2], docs[len(docs)/2:]}
	return testIndex(tb, newTestMapping(tb), segments), bitmaps(segments, func(*testDoc) bool { return true })
}

func expect(t *testing.T, ix *Index, matches [][]uint64, request, want string) {
	t.Helper()
	got, err := answer(t, ix, request, matches)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	if got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", request, got, want)
	}
}

func TestDateHistogram(t *testing.T) {
	ix, matches := dated(t, "2024-03-31T00:30:00Z", "2024-03-31T01:30:00Z", "2024-04-02T00:00:00Z")
	expect(t, ix, matches, `{"d": {"date_histogram": {"field": "made", "calendar_interval": "day", "time_zone": "Europe/Berlin", "format": "yyyy-MM-dd XXX"}}}`,
		`{"d":{"buckets":[{"key_as_string":"2024-03-31 +01:00","key":1711839600000,"doc_count":2},{"key_as_string":"2024-04-01 +02:00","key":1711922400000,"doc_count":0},{"key_as_string":"2024-04-02 +02:00","key":1712008800000,"doc_count":1}]}}`)
	expect(t, ix, matches, `{"d": {"date_histogram": {"field": "made", "fixed_interval": "1d", "offset": "6h", "min_doc_count": 1, "keyed": true, "format": "yyyy-MM-dd"}}}`,
		`{"d":{"buckets":{"2024-03-30":{"key_as_string":"2024-03-30","key":1711778400000,"doc_count":2},"2024-04-01":{"key_as_string":"2024-04-01","key":1711951200000,"doc_count":1}}}}`)
	expect(t, ix, matches, `{"d": {"date_histogram": {"field": "made", "calendar_interval": "1M", "format": "yyyy-MM", "extended_bounds": {"min": "2024-02", "max": "2024-05"}, "hard_bounds": {"max": "2024-04"}}}}`,
		`{"d":{"buckets":[{"key_as_string":"2024-02","key":1706745600000,"doc_count":0},{"key_as_string":"2024-03","key":1709251200000,"doc_count":2},{"key_as_string":"2024-04","key":1711929600000,"doc_count":0},{"key_as_string":"2024-05","key":1714521600000,"doc_count":0}]}}`)
}

func TestDateRange(t *testing.T) {
	ix, matches := dated(t, "2023-11-14T00:00:00Z", "2023-11-01T00:00:00Z", "2020-01-01T00:00:00Z")
	expect(t, ix, matches, `{"d": {"date_range": {"field": "made", "format": "yyyy-MM", "ranges": [{"from": "now-1M/M", "key": "new"}, {"to": "2023-11"}]}}}`,
		`{"d":{"buckets":[{"key":"*-2023-11","to":1698796800000.0,"to_as_string":"2023-11","doc_count":1},{"key":"new","from":1696118400000.0,"from_as_string":"2023-10","doc_count":2}]}}`)
	expect(t, ix, matches, `{"d": {"date_range": {"field": "made", "keyed": true, "time_zone": "+01:00", "ranges": [{"from": "2023-11-01", "to": "2023-11-02"}]}}}`,
		`{"d":{"buckets":{"2023-11-01T00:00:00.000+01:00-2023-11-02T00:00:00.000+01:00":{"from":1698793200000.0,"from_as_string":"2023-11-01T00:00:00.000+01:00","to":1698879600000.0,"to_as_string":"2023-11-02T00:00:00.000+01:00","doc_count":1}}}}`)
}

func TestAutoDateHistogram(t *testing.T) {
	ix, matches := dated(t, "2020-01-15T00:00:00Z", "2020-03-20T00:00:00Z", "2020-11-01T00:00:00Z")
	expect(t, ix, matches, `{"d": {"auto_date_histogram": {"field": "made", "buckets": 4, "format": "yyyy-MM"}, "aggs": {"n": {"sum": {"field": "size"}}}}}`,
		`{"d":{"buckets":[{"key_as_string":"2020-01","key":1577836800000,"doc_count":2,"n":{"value":1.0}},{"key_as_string":"2020-04","key":1585699200000,"doc_count":0,"n":{"value":0.0}},{"key_as_string":"2020-07","key":1593561600000,"doc_count":0,"n":{"value":0.0}},{"key_as_string":"2020-10","key":1601510400000,"doc_count":1,"n":{"value":2.0}}],"interval":"3M"}}`)
	expect(t, ix, [][]uint64{{0}, {0}}, `{"d": {"auto_date_histogram": {"field": "made", "minimum_interval": "day"}}}`, `{"d":{"buckets":[],"interval":"1d"}}`)
}

// TestAutoDateHistogramAtRandom: all documents are in the bucket that holds their date, and the interval before
// the chosen one would have too many buckets.
func TestAutoDateHistogramAtRandom(t *testing.T) {
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 31))
		spread := int64(1) << (8 + r.IntN(34))
		var dates []string
		for range 1 + r.IntN(20) {
			dates = append(dates, fmt.Sprint(1_600_000_000_000+r.Int64N(spread)))
		}
		ix, matches := dated(t, dates...)
		target := 1 + r.IntN(40)
		zone := pick(r, "UTC", "Europe/Berlin", "America/New_York")
		text, err := answer(t, ix, fmt.Sprintf(`{"d": {"auto_date_histogram": {"field": "made", "buckets": %d, "time_zone": %q}}}`, target, zone), matches)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			D struct {
				Interval string
				Buckets  []struct {
					Key   int64   `json:"key"`
					Count float64 `json:"doc_count"`
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.D.Buckets) > target && got.D.Interval != "100y" {
			t.Errorf("seed %d: %d buckets of %s, want at most %d", seed, len(got.D.Buckets), got.D.Interval, target)
		}
		total := 0.0
		for i, b := range got.D.Buckets {
			n := 0.0
			for _, d := range dates {
				var at int64
				_, _ = fmt.Sscan(d, &at)
				if at >= b.Key && (i+1 == len(got.D.Buckets) || at < got.D.Buckets[i+1].Key) {
					n++
				}
			}
			if n != b.Count {
				t.Errorf("seed %d: bucket %d from %d has %g documents, want %g", seed, i, b.Key, b.Count, n)
			}
			total += b.Count
		}
		if total != float64(len(dates)) {
			t.Errorf("seed %d: %g documents of %d", seed, total, len(dates))
		}
	}
}

// TestRounding compares the rounding of all moments of a year with the definition: the greatest start at or
// before a moment.
func TestRounding(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "+05:45"} {
		z, err := mapping.ParseZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		to := from + 366*86_400_000
		for _, r := range []rounding{
			&calendarRounding{unit: mapping.Day, zone: z}, &calendarRounding{unit: mapping.Week, zone: z}, &calendarRounding{unit: mapping.Month, zone: z},
			&fixedRounding{interval: 3_600_000, zone: z}, &fixedRounding{interval: 12 * 3_600_000, zone: z}, &fixedRounding{interval: 7 * 86_400_000, zone: z},
		} {
			if c, ok := r.(*calendarRounding); ok {
				c.prepare(from, from+100*86_400_000) // the rest is rounded one by one
			}
			last := r.floor(from)
			for at := from; at < to; at += 1_234_567 {
				start := r.floor(at)
				if start > at || start < last {
					t.Fatalf("%s, %T of %g ms: %d is rounded to %d after %d", zone, r, r.width(), at, start, last)
				}
				if again := r.floor(start); again != start {
					t.Fatalf("%s, %T of %g ms: %d is rounded to %d, and this to %d", zone, r, r.width(), at, start, again)
				}
				for last < start {
					next := r.next(last)
					if next <= last || next > start {
						t.Fatalf("%s, %T of %g ms: %d follows %d, before %d", zone, r, r.width(), next, last, start)
					}
					last = next
				}
			}
		}
	}
}
