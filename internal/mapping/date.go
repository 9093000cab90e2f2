package mapping

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// DefaultFormat is the format of dates without one.
const DefaultFormat = "strict_date_optional_time||epoch_millis"

// dateFormats are the alternatives of a format, in the order in which they are tried.
type dateFormats []dateFormat

// dateFormat is one way to write a date.
type dateFormat struct {
	epoch  int64      // milliseconds of a unit; 0: not a number since 1970
	iso    bool       // strict_date_optional_time, date_optional_time
	strict bool       // of iso: all digits are there
	parts  []datePart // of a pattern
}

var defaultFormats = must(parseFormats(DefaultFormat))

func must(f dateFormats, err error) dateFormats {
	if err != nil {
		panic(err)
	}
	return f
}

// namedFormats are OpenSearch's; a name with "strict_" before it means the same here, since a pattern
// takes one digit for each of its letters.
var namedFormats = map[string]string{
	"basic_date":                        "yyyyMMdd",
	"basic_date_time":                   "yyyyMMdd'T'HHmmss.SSSX",
	"basic_date_time_no_millis":         "yyyyMMdd'T'HHmmssX",
	"basic_ordinal_date":                "yyyyDDD",
	"basic_ordinal_date_time":           "yyyyDDD'T'HHmmss.SSSX",
	"basic_ordinal_date_time_no_millis": "yyyyDDD'T'HHmmssX",
	"basic_t_time":                      "'T'HHmmss.SSSX",
	"basic_t_time_no_millis":            "'T'HHmmssX",
	"basic_time":                        "HHmmss.SSSX",
	"basic_time_no_millis":              "HHmmssX",
	"basic_week_date":                   "YYYY'W'wwe",
	"basic_week_date_time":              "YYYY'W'wwe'T'HHmmss.SSSX",
	"basic_week_date_time_no_millis":    "YYYY'W'wwe'T'HHmmssX",
	"date":                              "yyyy-MM-dd",
	"date_hour":                         "yyyy-MM-dd'T'HH",
	"date_hour_minute":                  "yyyy-MM-dd'T'HH:mm",
	"date_hour_minute_second":           "yyyy-MM-dd'T'HH:mm:ss",
	"date_hour_minute_second_fraction":  "yyyy-MM-dd'T'HH:mm:ss.SSS",
	"date_hour_minute_second_millis":    "yyyy-MM-dd'T'HH:mm:ss.SSS",
	"date_time":                         "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
	"date_time_no_millis":               "yyyy-MM-dd'T'HH:mm:ssXXX",
	"hour":                              "HH",
	"hour_minute":                       "HH:mm",
	"hour_minute_second":                "HH:mm:ss",
	"hour_minute_second_fraction":       "HH:mm:ss.SSS",
	"hour_minute_second_millis":         "HH:mm:ss.SSS",
	"ordinal_date":                      "yyyy-DDD",
	"ordinal_date_time":                 "yyyy-DDD'T'HH:mm:ss.SSSXXX",
	"ordinal_date_time_no_millis":       "yyyy-DDD'T'HH:mm:ssXXX",
	"t_time":                            "'T'HH:mm:ss.SSSXXX",
	"t_time_no_millis":                  "'T'HH:mm:ssXXX",
	"time":                              "HH:mm:ss.SSSXXX",
	"time_no_millis":                    "HH:mm:ssXXX",
	"week_date":                         "YYYY-'W'ww-e",
	"week_date_time":                    "YYYY-'W'ww-e'T'HH:mm:ss.SSSXXX",
	"week_date_time_no_millis":          "YYYY-'W'ww-e'T'HH:mm:ssXXX",
	"week_year":                         "YYYY",
	"weekyear":                          "YYYY",
	"weekyear_week":                     "YYYY-'W'ww",
	"weekyear_week_day":                 "YYYY-'W'ww-e",
	"year":                              "yyyy",
	"year_month":                        "yyyy-MM",
	"year_month_day":                    "yyyy-MM-dd",
}

// parseFormats parses a format: names and patterns with || between them.
func parseFormats(format string) (dateFormats, error) {
	var all dateFormats
	for name := range strings.SplitSeq(format, "||") {
		f, err := parseFormat(name)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

func parseFormat(name string) (dateFormat, error) {
	switch name {
	case "epoch_millis":
		return dateFormat{epoch: 1}, nil
	case "epoch_second":
		return dateFormat{epoch: 1000}, nil
	case "strict_date_optional_time", "strict_date_optional_time_nanos", "iso8601":
		return dateFormat{iso: true, strict: true}, nil
	case "date_optional_time":
		return dateFormat{iso: true}, nil
	}
	pattern, known := namedFormats[strings.TrimPrefix(name, "strict_")]
	if !known {
		pattern = name
	}
	parts, err := parsePattern(pattern)
	return dateFormat{parts: parts}, err
}

var (
	errDate      = errors.New("not a date")
	errDateRange = errors.New("the date is too far away")
)

// parse returns milliseconds since 1970. zone is for texts without one. With roundUp, parts that a text
// leaves out take their last values: "2024" is the end of that year.
func (fs dateFormats) parse(text string, zone *time.Location, roundUp bool) (int64, error) {
	if fs == nil {
		fs = defaultFormats
	}
	err := errDate
	for i := range fs {
		v, ok, rangeErr := fs[i].parse(text, zone, roundUp)
		switch {
		case rangeErr != nil:
			err = rangeErr
		case ok:
			return v, nil
		}
	}
	return 0, err
}

func (f *dateFormat) parse(text string, zone *time.Location, roundUp bool) (v int64, ok bool, err error) {
	if f.epoch != 0 {
		return parseEpoch(text, f.epoch)
	}
	t := newMoment()
	if f.iso {
		ok = t.readISO(text, f.strict)
	} else {
		ok = t.readParts(text, f.parts)
	}
	if !ok {
		return 0, false, nil
	}
	return t.millis(zone, roundUp)
}

// parseEpoch reads a whole number of units, or one with a fraction.
func parseEpoch(text string, unit int64) (v int64, ok bool, err error) {
	d, isNumber := parseDecimal(text)
	if !isNumber || strings.ContainsAny(text, "eE+ ") {
		return 0, false, nil
	}
	d.digits = d.digits[:min(len(d.digits), d.point+3)]
	whole, parseErr := strconv.ParseInt("0"+d.digits[:d.point], 10, 64)
	if parseErr != nil || whole > math.MaxInt64/1000 {
		return 0, false, errDateRange
	}
	fraction, _ := strconv.ParseInt((d.digits[d.point:] + "000")[:3], 10, 64)
	v = whole * unit
	if unit == 1000 {
		v += fraction
	}
	if d.negative {
		v = -v
	}
	return v, true, nil
}

// append writes milliseconds since 1970 in the first of the formats.
func (fs dateFormats) append(dst []byte, millis int64, zone *time.Location) []byte {
	f := &dateFormat{iso: true}
	if len(fs) > 0 {
		f = &fs[0]
	}
	switch {
	case f.epoch == 1:
		return strconv.AppendInt(dst, millis, 10)
	case f.epoch != 0:
		seconds, rest := floorDiv(millis, f.epoch)
		if millis < 0 && rest > 0 {
			seconds, rest = seconds+1, f.epoch-rest // -1.5 s is -1500 ms
		}
		if seconds == 0 && millis < 0 {
			dst = append(dst, '-')
		}
		dst = strconv.AppendInt(dst, seconds, 10)
		if rest > 0 {
			dst = append(dst, '.')
			dst = append(dst, strings.TrimRight(fmt.Sprintf("%03d", rest), "0")...)
		}
		return dst
	}
	t := time.UnixMilli(millis).In(zone)
	if f.iso {
		return appendParts(dst, t, isoParts)
	}
	return appendParts(dst, t, f.parts)
}

var isoParts = mustParts("yyyy-MM-dd'T'HH:mm:ss.SSSXXX")

func mustParts(pattern string) []datePart {
	parts, err := parsePattern(pattern)
	if err != nil {
		panic(err)
	}
	return parts
}

// floorDiv divides with a rest that is not negative.
func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

// moment is a date while it is read; parts that the text does not have are -1.
type moment struct {
	year                                    int
	month, day, hour, minute, second, milli int
	halfHour                                int // 1 to 12, with pm
	half                                    int // 0 am, 1 pm
	yearDay                                 int // 1 to 366
	weekYear, week, weekDay                 int // of ISO 8601; the first day is Monday
	offset                                  int // seconds east of UTC
	hasOffset                               bool
	zone                                    *time.Location
}

func newMoment() moment {
	return moment{year: math.MinInt, yearDay: -1, weekYear: math.MinInt, week: -1, weekDay: -1, month: -1, day: -1, hour: -1, minute: -1, second: -1, milli: -1, halfHour: -1, half: -1}
}

// Years of dates.
const (
	minYear = -999_999
	maxYear = 999_999
)

// millis resolves a moment strictly: there is no February 30.
func (t *moment) millis(zone *time.Location, roundUp bool) (v int64, ok bool, err error) {
	if t.halfHour >= 0 {
		t.hour = t.halfHour%12 + 12*max(t.half, 0)
	}
	year := t.year
	if year == math.MinInt {
		year = 1970
	}
	pick := func(have, least, most int) int {
		switch {
		case have >= 0:
			return have
		case roundUp:
			return most
		}
		return least
	}
	if year < minYear || year > maxYear || t.weekYear != math.MinInt && (t.weekYear < minYear || t.weekYear > maxYear) {
		return 0, false, errDateRange
	}
	switch {
	case t.weekYear != math.MinInt:
		last := time.Date(t.weekYear, 12, 28, 0, 0, 0, 0, time.UTC) // in the last week
		_, weeks := last.ISOWeek()
		week, weekDay := pick(t.week, 1, weeks), pick(t.weekDay, 1, 7)
		if week < 1 || week > weeks || weekDay < 1 || weekDay > 7 {
			return 0, false, nil
		}
		d := last.AddDate(0, 0, (week-weeks)*7+weekDay-1-(int(last.Weekday())+6)%7)
		year, t.month, t.day = d.Year(), int(d.Month()), d.Day()
	case t.yearDay >= 0:
		d := time.Date(year, 1, t.yearDay, 0, 0, 0, 0, time.UTC)
		if t.yearDay == 0 || d.Year() != year {
			return 0, false, nil
		}
		t.month, t.day = int(d.Month()), d.Day()
	}
	month := pick(t.month, 1, 12)
	if month < 1 || month > 12 {
		return 0, false, nil
	}
	days := daysIn(year, month)
	day := pick(t.day, 1, days)
	isDay := t.hour < 0 && t.minute < 0 && t.second < 0 && t.milli < 0
	hour, minute, second, millis := pick(t.hour, 0, 23), pick(t.minute, 0, 59), pick(t.second, 0, 59), pick(t.milli, 0, 999)
	if day < 1 || day > days || hour > 23 || minute > 59 || second > 59 {
		return 0, false, nil
	}
	switch {
	case t.hasOffset:
		zone = time.FixedZone("", t.offset)
	case t.zone != nil:
		zone = t.zone
	}
	switch {
	case !isDay || zone == time.UTC:
		return localTime(year, time.Month(month), day, hour, minute, second, millis*int(time.Millisecond), zone).UnixMilli(), true, nil
	case roundUp:
		return startOfDay(year, time.Month(month), day+1, zone) - 1, true, nil
	}
	return startOfDay(year, time.Month(month), day, zone), true, nil
}

// localTime is time.Date with Java's rules for clock changes: of a local time that occurs twice, it returns the first;
// a local time that is skipped moves forward by the length of the gap. time.Date guarantees neither.
func localTime(year int, month time.Month, day, hour, minute, second, nanos int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, hour, minute, second, nanos, zone)
	if zone == time.UTC {
		return t
	}
	_, offset := t.Zone()
	wall := time.Date(year, month, day, hour, minute, second, nanos, time.UTC)
	if skipped := wall.Unix() - t.Unix() - int64(offset); skipped != 0 {
		return t.Add(time.Duration(max(skipped, 0)) * time.Second)
	}
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t
	}
	_, before := start.Add(-1).Zone()
	if earlier := t.Add(time.Duration(offset-before) * time.Second); before > offset && earlier.Before(start) {
		return earlier
	}
	return t
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// readISO reads yyyy[-MM[-dd]][T[HH[:mm[:ss[.fraction]]]][zone]].
func (t *moment) readISO(text string, strict bool) bool {
	r := dateReader{text: text}
	least := func(n int) int {
		if strict {
			return n
		}
		return 1
	}
	ok := r.signedYear(&t.year, least(4))
	if ok && r.skip('-') {
		ok = r.number(&t.month, least(2), 2)
		if ok && r.skip('-') {
			ok = r.number(&t.day, least(2), 2)
		}
	}
	if !ok || !r.skip('T') {
		return ok && r.done()
	}
	if !r.number(&t.hour, least(2), 2) {
		return r.done()
	}
	if r.skip(':') {
		ok = r.number(&t.minute, least(2), 2)
		if ok && r.skip(':') {
			ok = r.number(&t.second, least(2), 2)
			if ok && (r.skip('.') || r.skip(',')) {
				ok = r.fraction(&t.milli, 1, 9)
			}
		}
	}
	return ok && (r.done() || r.zone(t) && r.done())
}

// dateReader reads the parts of a date. Its methods report whether the part is there.
type dateReader struct {
	text string
	at   int
}

func (r *dateReader) done() bool { return r.at == len(r.text) }

func (r *dateReader) skip(c byte) bool {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

// number reads a number of least to most digits.
func (r *dateReader) number(to *int, least, most int) bool {
	n, v := 0, 0
	for n < most && r.at+n < len(r.text) {
		c := r.text[r.at+n]
		if c < '0' || c > '9' {
			break
		}
		v = 10*v + int(c-'0')
		n++
	}
	if n < least {
		return false
	}
	r.at += n
	*to = v
	return true
}

// signedYear reads four digits, or up to nine with a sign.
func (r *dateReader) signedYear(to *int, least int) bool {
	start := r.at
	negative := r.skip('-')
	most := 9
	if !negative && !r.skip('+') {
		most = 4
	}
	if !r.number(to, least, most) {
		r.at = start
		return false
	}
	if negative {
		*to = -*to
	}
	return true
}

// fraction reads digits of a fraction of a second.
func (r *dateReader) fraction(millis *int, least, most int) bool {
	start := r.at
	var ignored int
	if !r.number(&ignored, least, most) {
		return false
	}
	v := 0
	for _, c := range []byte((r.text[start:r.at] + "00")[:3]) {
		v = 10*v + int(c-'0')
	}
	*millis = v
	return true
}

// zone reads Z, or an offset such as +02:00, +0200 or +02.
func (r *dateReader) zone(t *moment) bool {
	if r.skip('Z') {
		t.hasOffset, t.offset = true, 0
		return true
	}
	sign := 1
	switch {
	case r.skip('+'):
	case r.skip('-'):
		sign = -1
	default:
		return false
	}
	var hours, minutes int
	if !r.number(&hours, 2, 2) {
		return false
	}
	if r.skip(':') {
		if !r.number(&minutes, 2, 2) {
			return false
		}
	} else {
		_ = r.number(&minutes, 2, 2) // +02
	}
	if hours > 18 || minutes > 59 {
		return false
	}
	t.hasOffset, t.offset = true, sign*(hours*3600+minutes*60)
	return true
}

// ParseZone returns the time zone of a name such as "Europe/Berlin", "UTC" or "+02:00". The error wraps
// base.ErrBadInput.
func ParseZone(name string) (*time.Location, error) {
	var t moment
	r := dateReader{text: name}
	if r.zone(&t) && r.done() {
		return time.FixedZone(name, t.offset), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, fmt.Errorf("unknown time zone %.80q: %w", name, base.ErrBadInput)
	}
	return zone, nil
}
