package mapping

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // also where the machine has none

	"github.com/griffin-search/griffin/internal/base"
)

// at is a moment for the tables.
const at = "2006-01-02T15:04:05.999Z07:00"

func date(t testing.TB, format string) *Field {
	t.Helper()
	m, err := New("", []Field{{Name: "d", Type: Date, Format: format}})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := m.Field("d")
	return f
}

func TestDates(t *testing.T) {
	const bad = "bad"
	for _, c := range []struct{ format, value, want string }{
		{"", "2024", "2024-01-01T00:00:00Z"},
		{"", "2024-03", "2024-03-01T00:00:00Z"},
		{"", "2024-03-05", "2024-03-05T00:00:00Z"},
		{"", "2024-03-05T", "2024-03-05T00:00:00Z"},
		{"", "2024-03-05T07", "2024-03-05T07:00:00Z"},
		{"", "2024-03-05T07:08", "2024-03-05T07:08:00Z"},
		{"", "2024-03-05T07:08:09", "2024-03-05T07:08:09Z"},
		{"", "2024-03-05T07:08:09Z", "2024-03-05T07:08:09Z"},
		{"", "2024-03-05T07:08:09.5", "2024-03-05T07:08:09.5Z"},
		{"", "2024-03-05T07:08:09,123456789Z", "2024-03-05T07:08:09.123Z"},
		{"", "2024-03-05T07:08:09+02:00", "2024-03-05T05:08:09Z"},
		{"", "2024-03-05T07:08:09-0230", "2024-03-05T09:38:09Z"},
		{"", "2024-03-05T07+01", "2024-03-05T06:00:00Z"},
		{"", "1700000000123", "2023-11-14T22:13:20.123Z"},
		{"", "-1", "1969-12-31T23:59:59.999Z"},
		{"", "0", "1970-01-01T00:00:00Z"},
		{"", "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"},
		{"", "0001-01-01", "0001-01-01T00:00:00Z"},
		{"", "2024-02-29", "2024-02-29T00:00:00Z"},
		{"", "2023-02-29", bad},
		{"", "2024-13-01", bad},
		{"", "2024-00-01", bad},
		{"", "2024-1-1", bad},
		{"", "2024-03-05 07:08", bad},
		{"", "2024-03-05T24:00", bad},
		{"", "2024-03-05T07:60", bad},
		{"", "2024-03-05T07:08:09+", bad},
		{"", "2024-03-05T07:08:09.", bad},
		{"", "2024-03-05T07:08:09X", bad},
		{"", "99999999999999999999", bad},
		{"ordinal_date", "2024-060", "2024-02-29T00:00:00Z"},
		{"ordinal_date", "2024-366", "2024-12-31T00:00:00Z"},
		{"ordinal_date", "2023-366", bad},
		{"ordinal_date", "2024-000", bad},
		{"basic_ordinal_date_time", "2024060T010203.004+01", "2024-02-29T00:02:03.004Z"},
		{"week_date", "2024-W09-4", "2024-02-29T00:00:00Z"},
		{"week_date", "2020-W53-7", "2021-01-03T00:00:00Z"},
		{"week_date", "2009-W01-1", "2008-12-29T00:00:00Z"},
		{"week_date", "2024-W53-1", bad},
		{"week_date", "2024-W00-1", bad},
		{"week_date", "2024-W09-8", bad},
		{"basic_week_date_time_no_millis", "2024W094T010203Z", "2024-02-29T01:02:03Z"},
		{"weekyear_week", "2024-W09", "2024-02-26T00:00:00Z"},
		{"weekyear", "2026", "2025-12-29T00:00:00Z"},
		{"strict_hour_minute", "07:08", "1970-01-01T07:08:00Z"},
		{"basic_t_time", "T070809.123Z", "1970-01-01T07:08:09.123Z"},
		{"strict_date_optional_time_nanos", "2024-03-05T07:08:09.123456789Z", "2024-03-05T07:08:09.123Z"},
		{"D yyyy", "60 2024", "2024-02-29T00:00:00Z"},
		{"", "", bad},
		{"", "yesterday", bad},
		{"", "now", bad},
		{"date_optional_time", "2024-3-5", "2024-03-05T00:00:00Z"},
		{"epoch_second", "1700000000", "2023-11-14T22:13:20Z"},
		{"epoch_second", "1700000000.25", "2023-11-14T22:13:20.25Z"},
		{"epoch_second", "-0.5", "1969-12-31T23:59:59.5Z"},
		{"epoch_second", "1e9", bad},
		{"epoch_millis", "2024", "1970-01-01T00:00:02.024Z"},
		{"yyyy-MM-dd HH:mm:ss", "2024-03-05 07:08:09", "2024-03-05T07:08:09Z"},
		{"yyyy-MM-dd HH:mm:ss", "2024-03-05T07:08:09", bad},
		{"yyyy-MM-dd HH:mm:ss||yyyy-MM-dd||epoch_millis", "2024-03-05", "2024-03-05T00:00:00Z"},
		{"yyyy-MM-dd HH:mm:ss||yyyy-MM-dd||epoch_millis", "5", "1970-01-01T00:00:00.005Z"},
		{"dd/MM/yyyy", "05/03/2024", "2024-03-05T00:00:00Z"},
		{"d/M/yyyy", "5/3/2024", "2024-03-05T00:00:00Z"},
		{"d/M/yyyy", "15/12/2024", "2024-12-15T00:00:00Z"},
		{"yyyyMMdd", "20240305", "2024-03-05T00:00:00Z"},
		{"yyyyMMddHHmmss", "20240305070809", "2024-03-05T07:08:09Z"},
		{"basic_date", "20240305", "2024-03-05T00:00:00Z"},
		{"basic_date_time", "20240305T070809.123Z", "2024-03-05T07:08:09.123Z"},
		{"strict_date", "2024-03-05", "2024-03-05T00:00:00Z"},
		{"strict_date_time", "2024-03-05T07:08:09.123+01:00", "2024-03-05T06:08:09.123Z"},
		{"strict_year_month", "2024-03", "2024-03-01T00:00:00Z"},
		{"EEE, dd MMM yyyy HH:mm:ss Z", "Tue, 05 Mar 2024 07:08:09 +0100", "2024-03-05T06:08:09Z"},
		{"MMMM d, yyyy h:mm a", "March 5, 2024 1:30 PM", "2024-03-05T13:30:00Z"},
		{"MMMM d, yyyy h:mm a", "March 5, 2024 12:30 am", "2024-03-05T00:30:00Z"},
		{"MMMM d, yyyy h:mm a", "March 5, 2024 13:30 am", bad},
		{"yyyy-MM-dd['T'HH:mm[:ss]]", "2024-03-05", "2024-03-05T00:00:00Z"},
		{"yyyy-MM-dd['T'HH:mm[:ss]]", "2024-03-05T07:08", "2024-03-05T07:08:00Z"},
		{"yyyy-MM-dd['T'HH:mm[:ss]]", "2024-03-05T07:08:09", "2024-03-05T07:08:09Z"},
		{"yyyy-MM-dd HH:mm z", "2024-07-05 07:08 Europe/Berlin", "2024-07-05T05:08:00Z"},
		{"yy", "24", "2024-01-01T00:00:00Z"},
		{"yyyy 'o''clock' H", "2024 o'clock 7", "2024-01-01T07:00:00Z"},
		{"HH:mm", "07:08", "1970-01-01T07:08:00Z"},
		{"yyyy-MM-dd", "+12024-03-05", "12024-03-05T00:00:00Z"},
	} {
		f := date(t, c.format)
		v, err := f.Number(c.value)
		got := bad
		if err == nil {
			got = time.UnixMilli(v).UTC().Format(at)
		} else if !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%q: %v", c.value, err)
		}
		if got != c.want {
			t.Errorf("format %q: %q is %s, %v; want %s", c.format, c.value, got, err, c.want)
		}
	}
}

func TestDatesArePrinted(t *testing.T) {
	berlin, err := ParseZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		format string
		millis int64
		zone   *time.Location
		want   string
	}{
		{"", 1_700_000_000_123, time.UTC, "2023-11-14T22:13:20.123Z"},
		{"", 1_700_000_000_123, berlin, "2023-11-14T23:13:20.123+01:00"},
		{"", -1, time.UTC, "1969-12-31T23:59:59.999Z"},
		{"", 400_000_000_000_000, time.UTC, "+14645-06-30T15:06:40.000Z"},
		{"epoch_millis", -5, time.UTC, "-5"},
		{"epoch_second", 1500, time.UTC, "1.5"},
		{"epoch_second", -1500, time.UTC, "-1.5"},
		{"epoch_second", -500, time.UTC, "-0.5"},
		{"epoch_second", -1000, time.UTC, "-1"},
		{"yyyy-MM", 1_700_000_000_123, time.UTC, "2023-11"},
		{"dd.MM.yyyy HH:mm||epoch_millis", 1_700_000_000_123, time.UTC, "14.11.2023 22:13"},
		{"EEE, d MMM yy h a", 1_700_000_000_123, time.UTC, "Tue, 14 Nov 23 10 PM"},
		{"EEEE MMMM k XXX X xx Z", 1_700_000_000_123, berlin, "Tuesday November 23 +01:00 +01 +0100 +0100"},
	} {
		if got := string(date(t, c.format).AppendDate(nil, c.millis, c.zone)); got != c.want {
			t.Errorf("%d in format %q: %s, want %s", c.millis, c.format, got, c.want)
		}
	}
}

// A printed date is read as the same moment.
func TestDatesAreReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, format := range []string{
		"", "date_optional_time", "epoch_millis", "epoch_second", "basic_date_time", "strict_date_time", "yyyy-MM-dd HH:mm:ss.SSS",
		"yyyyMMddHHmmssSSS", "EEEE d MMMM yyyy h:m:s.SSS a", "yyyy-MM-dd'T'HH:mm:ss.SSS[XXX]", "d/M/yyyy k:mm:ss,SSSSSS Z",
		"ordinal_date_time", "basic_ordinal_date_time", "week_date_time", "basic_week_date_time", "e w Y HH:mm:ss.SSS",
	} {
		f := date(t, format)
		for range 2_000 {
			v := rng.Int64N(4_000_000_000_000) - 1_500_000_000_000
			text := string(f.AppendNumber(nil, v))
			if got, err := f.Number(text); err != nil || got != v {
				t.Fatalf("format %q: %d is printed as %s and read as %d, %v", format, v, text, got, err)
			}
		}
	}
}

// The error of a value names the format of the field.
func TestErrorsNameFormats(t *testing.T) {
	f := date(t, "dd/MM/yyyy||epoch_millis")
	_, stored := f.Number("soon")
	_, asked := f.Date("soon", Clock{})
	for _, err := range []error{stored, asked} {
		if err == nil || !strings.HasSuffix(err.Error(), "not a date of the format dd/MM/yyyy||epoch_millis") || !errors.Is(err, errDate) {
			t.Errorf("error %v", err)
		}
	}
}

// Every day of many years, by year and week.
func TestWeeksAndDaysOfYears(t *testing.T) {
	week, year := date(t, "week_date"), date(t, "ordinal_date")
	for d := time.Date(1899, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2105; d = d.AddDate(0, 0, 1) {
		y, w := d.ISOWeek()
		for f, text := range map[*Field]string{week: fmt.Sprintf("%04d-W%02d-%d", y, w, (d.Weekday()+6)%7+1), year: fmt.Sprintf("%04d-%03d", d.Year(), d.YearDay())} {
			if v, err := f.Number(text); err != nil || v != d.UnixMilli() {
				t.Fatalf("%s is %d, %v, want %v", text, v, err, d)
			}
		}
	}
	for format, want := range map[string]string{"weekyear_week": "2024-03-03T23:59:59.999Z", "weekyear": "2024-12-29T23:59:59.999Z", "ordinal_date": "2024-02-29T23:59:59.999Z"} {
		text := map[string]string{"weekyear_week": "2024-W09", "weekyear": "2024", "ordinal_date": "2024-060"}[format]
		v, err := date(t, format).Date(text, Clock{RoundUp: true})
		if got := time.UnixMilli(v).UTC().Format(at); got != want || err != nil {
			t.Errorf("the end of %s is %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestBadFormats(t *testing.T) {
	for _, format := range []string{"yyyy||", "||", "yyyy-ww", "QQQ", "'open", "[yyyy", "yyyy]", "yyyyyyyyyy", "MMMMM", "-", "{yyyy}", "nonsense", "\xff", strings.Repeat("yyyy ", 60), strings.Repeat("[", 20)} {
		_, err := New("", []Field{{Name: "d", Type: Date, Format: format}})
		if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "[d]") {
			t.Errorf("format %q: %v", format, err)
		}
	}
}

func TestDateMaths(t *testing.T) {
	now := time.Date(2024, 3, 31, 14, 30, 15, 500e6, time.UTC)
	for _, c := range []struct {
		text     string
		up, down string
	}{
		{"now", "2024-03-31T14:30:15.5Z", ""},
		{"now+1h", "2024-03-31T15:30:15.5Z", ""},
		{"now-1d", "2024-03-30T14:30:15.5Z", ""},
		{"now-1M", "2024-02-29T14:30:15.5Z", ""},
		{"now+1y", "2025-03-31T14:30:15.5Z", ""},
		{"now-1y-1M", "2023-02-28T14:30:15.5Z", ""},
		{"now+d", "2024-04-01T14:30:15.5Z", ""},
		{"now-2w", "2024-03-17T14:30:15.5Z", ""},
		{"now+90m", "2024-03-31T16:00:15.5Z", ""},
		{"now-15s", "2024-03-31T14:30:00.5Z", ""},
		{"now/d", "2024-03-31T23:59:59.999Z", "2024-03-31T00:00:00Z"},
		{"now/H", "2024-03-31T14:59:59.999Z", "2024-03-31T14:00:00Z"},
		{"now/m", "2024-03-31T14:30:59.999Z", "2024-03-31T14:30:00Z"},
		{"now/s", "2024-03-31T14:30:15.999Z", "2024-03-31T14:30:15Z"},
		{"now/w", "2024-03-31T23:59:59.999Z", "2024-03-25T00:00:00Z"},
		{"now-1M/M", "2024-02-29T23:59:59.999Z", "2024-02-01T00:00:00Z"},
		{"now/y", "2024-12-31T23:59:59.999Z", "2024-01-01T00:00:00Z"},
		{"2024-02-01||+1M/d", "2024-03-01T23:59:59.999Z", "2024-03-01T00:00:00Z"},
		{"2024||/M", "2024-01-31T23:59:59.999Z", "2024-01-01T00:00:00Z"},
		{"2024-02-01||", "2024-02-01T00:00:00Z", ""},
		{"2024", "2024-12-31T23:59:59.999Z", "2024-01-01T00:00:00Z"},
		{"2024-02", "2024-02-29T23:59:59.999Z", "2024-02-01T00:00:00Z"},
		{"2024-02-10", "2024-02-10T23:59:59.999Z", "2024-02-10T00:00:00Z"},
		{"2024-02-10T10:00", "2024-02-10T10:00:59.999Z", "2024-02-10T10:00:00Z"},
		{"1700000000123", "2023-11-14T22:13:20.123Z", ""},
	} {
		if c.down == "" {
			c.down = c.up
		}
		for _, up := range []bool{true, false} {
			want := c.down
			if up {
				want = c.up
			}
			v, err := date(t, "").Date(c.text, Clock{Now: now, RoundUp: up})
			if got := time.UnixMilli(v).UTC().Format(at); err != nil || got != want {
				t.Errorf("%s, up %t: %s, %v; want %s", c.text, up, got, err, want)
			}
		}
	}
	for _, text := range []string{"now+", "now-1", "now*2d", "now/2d", "now+1x", "now+99999999999d", "now+2147483648y", "nowd", "2024||d", "||+1d", "later"} {
		if v, err := date(t, "").Date(text, Clock{Now: now}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%s: %d, %v", text, v, err)
		}
	}
	v, err := date(t, "").Date("2024-03-10||/d", Clock{Now: now, Zone: time.FixedZone("", 3600), RoundUp: false})
	if got := time.UnixMilli(v).UTC().Format(at); err != nil || got != "2024-03-09T23:00:00Z" {
		t.Errorf("in a zone: %s, %v", got, err)
	}
	other, err := date(t, "").WithFormat("dd.MM.yyyy")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := other.Date("05.03.2024", Clock{}); err != nil || v != 1_709_596_800_000 {
		t.Error(v, err)
	}
	if _, err := other.WithFormat("QQ"); err == nil {
		t.Error("a format that is not supported")
	}
}

// zones with skipped and repeated hours, also at midnight, and with half hours.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Cairo", "+05:45"}

// Units tile time: each moment is in [Floor, Next), whose ends are beginnings of the unit in the calendar.
func TestUnitsTileTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, name := range zones {
		zone, err := ParseZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for u := range numUnits {
			for range 400 {
				v := rng.Int64N(2_000_000_000_000) - 200_000_000_000
				from, to := u.Floor(v, zone), u.Next(v, zone)
				if from > v || u > Hour && to <= v {
					t.Fatalf("%s in %s: %d is not in %d to %d", u, name, v, from, to)
				}
				if u <= Hour {
					continue
				}
				if u.Floor(from, zone) != from || u.Floor(to-1, zone) != from || u.Floor(to, zone) != to {
					t.Fatalf("%s in %s: %d to %d is not one unit: %d, %d, %d", u, name, from, to, u.Floor(from, zone), u.Floor(to-1, zone), u.Floor(to, zone))
				}
				b := time.UnixMilli(from).In(zone)
				if u == Week && b.Weekday() != time.Monday || u >= Month && b.Day() != 1 || u == Year && b.Month() != 1 || u == Quarter && b.Month()%3 != 1 {
					t.Fatalf("%s in %s begins at %s", u, name, b)
				}
			}
		}
	}
}

func TestUnits(t *testing.T) {
	for u := range numUnits {
		for _, name := range unitNames[u] {
			if got, err := ParseUnit(name); err != nil || got != u {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		}
		if u.String() != unitNames[u][0] {
			t.Error(u)
		}
	}
	for _, name := range []string{"", "2d", "days", "1D", "1y "} {
		if _, err := ParseUnit(name); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, offset := range map[string]int{"Z": 0, "+02:00": 7200, "-0330": -12600, "+01": 3600} {
		zone, err := ParseZone(name)
		if _, got := time.Now().In(zone).Zone(); err != nil || got != offset {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "Local", "Mars/Olympus", "+25:00", "+1", "../etc/passwd"} {
		if _, err := ParseZone(name); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzDate(f *testing.F) {
	for _, format := range []string{"", "yyyy-MM-dd[ HH:mm:ss]", "EEE, d MMM yyyy h:mm a Z", "epoch_second"} {
		f.Add(format, "2024-03-05T07:08:09.5+01:00||-1M/d", int64(1_700_000_000_123))
	}
	f.Fuzz(func(t *testing.T, format, text string, millis int64) {
		m, err := New("", []Field{{Name: "d", Type: Date, Format: format}})
		if err != nil {
			if !errors.Is(err, base.ErrBadInput) {
				t.Fatal(err)
			}
			return
		}
		d, _ := m.Field("d")
		now := time.UnixMilli(millis % 1e14)
		v, err := d.Number(text)
		if err == nil && len(d.AppendNumber(nil, v)) == 0 {
			t.Fatalf("%q is %d, which is printed as nothing", text, v)
		}
		for _, up := range []bool{false, true} {
			_, err := d.Date(text, Clock{Now: now, RoundUp: up})
			if err != nil && !errors.Is(err, base.ErrBadInput) {
				t.Fatal(err)
			}
		}
		if _, err := parseFormats(fmt.Sprint(format, "||", text)); err != nil && !errors.Is(err, base.ErrBadInput) {
			t.Fatal(err)
		}
	})
}

// Where the clocks change, a day is all its moments, a time that is there twice is the first, and one that is skipped is later.
func TestDateWhereClocksChange(t *testing.T) {
	for _, c := range []struct {
		zone, text string
		roundUp    bool
		want       string
	}{
		{"Europe/Berlin", "2024-10-27T02:30", false, "2024-10-27T00:30:00Z"},
		{"Europe/Berlin", "2024-10-27T03:00", false, "2024-10-27T02:00:00Z"},
		{"Europe/Berlin", "2024-03-31T02:30", false, "2024-03-31T01:30:00Z"},
		{"America/New_York", "2024-03-10T02:30", false, "2024-03-10T07:30:00Z"},
		{"America/New_York", "2024-11-03T01:30", false, "2024-11-03T05:30:00Z"},
		{"Australia/Lord_Howe", "2024-04-07T01:45", false, "2024-04-06T14:45:00Z"},
		{"America/Havana", "2024-03-10", false, "2024-03-10T05:00:00Z"},
		{"America/Havana", "2024-03-09", true, "2024-03-10T04:59:59.999Z"},
		{"America/Havana", "2024-11-03", false, "2024-11-03T04:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04", false, "2018-11-04T03:00:00Z"},
		{"Africa/Cairo", "2024-10-31", true, "2024-10-31T21:59:59.999Z"},
		{"Africa/Cairo", "2024-10", true, "2024-10-31T21:59:59.999Z"},
		{"Africa/Cairo", "2024", false, "2023-12-31T22:00:00Z"},
		{"America/New_York", "2024-03-09T02:30||+1d", false, "2024-03-10T07:30:00Z"},
		{"America/New_York", "2024-02-10T02:30||+1M", false, "2024-03-10T07:30:00Z"},
		{"America/New_York", "2024-10-27T01:30||+1w", false, "2024-11-03T05:30:00Z"},
		{"Africa/Cairo", "2024-10-31T22:30||/d", true, "2024-10-31T21:59:59.999Z"},
	} {
		zone, err := ParseZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		f := date(t, "")
		got, err := f.Date(c.text, Clock{Zone: zone, RoundUp: c.roundUp})
		if want, bad := time.Parse(time.RFC3339Nano, c.want); bad != nil || err != nil || got != want.UnixMilli() {
			t.Errorf("%s in %s, rounded up %t: %s, %v; want %s", c.text, c.zone, c.roundUp, time.UnixMilli(got).UTC().Format(time.RFC3339Nano), err, c.want)
		}
	}
}

// Intervals of one length follow one another, also where the clocks change.
func TestFloorLength(t *testing.T) {
	for _, c := range []struct {
		zone, at string
		minutes  int64
		want     string
	}{
		{"America/New_York", "2024-11-03T01:45:00-04:00", 90, "2024-11-03T01:30:00-04:00"},
		{"America/New_York", "2024-11-03T01:15:00-05:00", 90, "2024-11-03T01:30:00-04:00"},
		{"America/New_York", "2024-11-03T01:45:00-05:00", 90, "2024-11-03T01:30:00-05:00"},
		{"Europe/Berlin", "2024-03-31T03:05:00+02:00", 50, "2024-03-31T03:00:00+02:00"},
		{"Europe/Berlin", "2024-03-31T12:00:00+02:00", 24 * 60, "2024-03-31T00:00:00+01:00"},
		{"Australia/Lord_Howe", "2024-10-06T02:45:00+11:00", 60, "2024-10-06T02:30:00+11:00"},
	} {
		zone, err := ParseZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, badAt := time.Parse(time.RFC3339, c.at)
		want, badWant := time.Parse(time.RFC3339, c.want)
		if got := FloorLength(at.UnixMilli(), c.minutes*60_000, zone); badAt != nil || badWant != nil || got != want.UnixMilli() {
			t.Errorf("%s, %d minutes: %s, want %s", c.at, c.minutes, time.UnixMilli(got).In(zone).Format(time.RFC3339), c.want)
		}
	}
	for _, name := range []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Asia/Kolkata", "UTC"} {
		zone, err := ParseZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, minutes := range []int64{5, 45, 50, 60, 90, 105, 360, 1440, 2880} {
			length, start := minutes*60_000, int64(0)
			for _, month := range []time.Month{time.March, time.April, time.October, time.November} {
				at := time.Date(2024, month, 1, 0, 0, 0, 0, zone).UnixMilli()
				start = FloorLength(at, length, zone)
				for end := at + 31*86_400_000; at < end; at += 5 * 60_000 {
					floor, next := FloorLength(at, length, zone), NextLength(at, length, zone)
					if floor != start && floor != at || floor > at || next <= at || FloorLength(next-1, length, zone) != floor || FloorLength(next, length, zone) != next {
						t.Fatalf("%s, %d minutes: %d is in %d to %d, the one before began at %d", name, minutes, at, floor, next, start)
					}
					start = floor
				}
			}
		}
	}
}
