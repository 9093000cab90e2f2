package mapping

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestWholeNumbers(t *testing.T) {
	const bad = "bad"
	for _, c := range []struct {
		kind        Type
		value, want string
	}{
		{Long, "0", "0"},
		{Long, "-0", "0"},
		{Long, "+7", "7"},
		{Long, "9223372036854775807", "9223372036854775807"},
		{Long, "-9223372036854775808", "-9223372036854775808"},
		{Long, "9223372036854775808", bad},
		{Long, "9223372036854775807.9", "9223372036854775807"},
		{Long, "9.223372036854775807e18", "9223372036854775807"},
		{Long, "1e19", bad},
		{Long, "1e999999999999", bad},
		{Long, "1e-999999999999", "0"},
		{Long, "-1.99", "-1"},
		{Long, "0.0000000000000000000000000000012e30", "1"},
		{Long, "12e3", "12000"},
		{Long, " 5 ", "5"},
		{Long, "5.", "5"},
		{Long, ".5", "0"},
		{Long, ".", bad},
		{Long, "", bad},
		{Long, "1e", bad},
		{Long, "1e+-1", bad},
		{Long, "0x10", bad},
		{Long, "1_000", bad},
		{Long, "NaN", bad},
		{Long, "five", bad},
		{Long, "true", bad},
		{Integer, "2147483647", "2147483647"},
		{Integer, "2147483648", bad},
		{Integer, "-2147483648", "-2147483648"},
		{Integer, "-2147483649", bad},
		{Short, "32767", "32767"},
		{Short, "32768", bad},
		{Byte, "127", "127"},
		{Byte, "128", bad},
		{Byte, "-128", "-128"},
		{Byte, "-129", bad},
		{Byte, "127.9", "127"},
	} {
		f := Field{Name: "n", Type: c.kind}
		v, err := f.Number(c.value)
		got := strconv.FormatInt(v, 10)
		if err != nil {
			got = bad
			var e *ValueError
			if !errors.As(err, &e) || !errors.Is(err, base.ErrBadInput) || e.Field != "n" || e.Value != c.value || e.Type != c.kind {
				t.Errorf("%s %q: error %v", c.kind, c.value, err)
			}
		} else if text := string(f.AppendNumber(nil, v)); text != c.want {
			t.Errorf("%s %q: printed %q, want %q", c.kind, c.value, text, c.want)
		}
		if got != c.want {
			t.Errorf("%s %q: %s, %v; want %s", c.kind, c.value, got, err, c.want)
		}
	}
}

// Fractions are cut off as exact arithmetic does.
func TestCutFraction(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	digitsOf := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte('0' + byte(rng.IntN(10)))
		}
		return b.String()
	}
	for range 20_000 {
		text := digitsOf(1 + rng.IntN(22))
		if rng.IntN(2) == 0 {
			text += "." + digitsOf(rng.IntN(22))
		}
		if rng.IntN(2) == 0 {
			text += "e" + strconv.Itoa(rng.IntN(50)-25)
		}
		if rng.IntN(2) == 0 {
			text = "-" + text
		}
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		whole := new(big.Int).Quo(r.Num(), r.Denom())
		v, fits, err := cutFraction(text)
		if err != nil || fits != whole.IsInt64() || fits && v != whole.Int64() {
			t.Fatalf("%s: %d, %t, %v; want %s", text, v, fits, err, whole)
		}
	}
}

func TestRealNumbers(t *testing.T) {
	double, float := Field{Type: Double}, Field{Type: Float}
	for _, c := range []struct{ value, double, float string }{
		{"0", "0.0", "0.0"},
		{"-0.0", "0.0", "0.0"},
		{"1", "1.0", "1.0"},
		{"0.1", "0.1", "0.1"},
		{"-2.5e3", "-2500.0", "-2500.0"},
		{"1e300", "1e+300", ""},
		{"1e-5", "1e-05", "1e-05"},
		{"16777217", "1.6777217e+07", "1.6777216e+07"},
		{"1e309", "", ""},
		{"Infinity", "", ""},
		{"NaN", "", ""},
		{"0x1p4", "", ""},
		{"1d", "", ""},
		{"", "", ""},
	} {
		for f, want := range map[*Field]string{&double: c.double, &float: c.float} {
			v, err := f.Number(c.value)
			if (err != nil) != (want == "") {
				t.Errorf("%s %q: %v", f.Type, c.value, err)
				continue
			}
			if err == nil && string(f.AppendNumber(nil, v)) != want {
				t.Errorf("%s %q: %s, want %s", f.Type, c.value, f.AppendNumber(nil, v), want)
			}
		}
	}
}

func TestRealsKeepTheirOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	random := func() float64 {
		for {
			if v := math.Float64frombits(rng.Uint64()); !math.IsNaN(v) {
				return v
			}
		}
	}
	for range 100_000 {
		a, b := random(), random()
		if a < b != (EncodeDouble(a) < EncodeDouble(b)) || DecodeDouble(EncodeDouble(a)) != a {
			t.Fatal(a, b)
		}
		x, y := float32(a), float32(b)
		if x < y != (EncodeFloat(x) < EncodeFloat(y)) || DecodeFloat(EncodeFloat(x)) != x {
			t.Fatal(x, y)
		}
		if c := EncodeFloat(x); c < math.MinInt32 || c > math.MaxInt32 {
			t.Fatalf("the code of %g is %d", x, c)
		}
		if Double.Float64(EncodeDouble(a)) != a || Float.Float64(EncodeFloat(x)) != float64(x) || Long.Float64(5) != 5 {
			t.Fatal(a, x)
		}
	}
	if EncodeDouble(math.Copysign(0, -1)) != 0 || EncodeFloat(float32(math.Copysign(0, -1))) != 0 {
		t.Fatal("-0 is not 0")
	}
}

func TestBooleans(t *testing.T) {
	f := Field{Type: Boolean}
	for value, want := range map[string]int64{"true": 1, "false": 0} {
		if v, err := f.Number(value); err != nil || v != want || string(f.AppendNumber(nil, v)) != value {
			t.Errorf("%s: %d, %v", value, v, err)
		}
	}
	for _, value := range []string{"", "True", "1", "yes"} {
		if _, err := f.Number(value); err == nil {
			t.Errorf("%q is a boolean", value)
		}
	}
}

func TestAddresses(t *testing.T) {
	f := Field{Type: IP}
	for value, want := range map[string]string{
		"10.0.0.1": "10.0.0.1", "::ffff:10.0.0.1": "10.0.0.1", "2001:DB8::1": "2001:db8::1", "::": "::",
	} {
		b, ok, err := f.Bytes(value)
		if err != nil || !ok || len(b) != 16 || string(f.AppendBytes(nil, b)) != want {
			t.Errorf("%s: %x, %t, %v", value, b, ok, err)
		}
	}
	for _, value := range []string{"", "10.0.0", "10.0.0.256", "fe80::1%eth0", "10.0.0.0/8", "host"} {
		if _, _, err := f.Bytes(value); err == nil {
			t.Errorf("%q is an address", value)
		}
	}
}

// The first and last address of a network are those that it contains.
func TestAddressRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5_000 {
		var p netip.Prefix
		if rng.IntN(2) == 0 {
			p = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}), rng.IntN(33))
		} else {
			var b [16]byte
			b[0] = 0x20
			for i := 1; i < 16; i++ {
				b[i] = byte(rng.Uint32())
			}
			p = netip.PrefixFrom(netip.AddrFrom16(b), rng.IntN(129))
		}
		first, last, err := AddressRange(p.String())
		if err != nil {
			t.Fatal(err)
		}
		contains := func(a netip.Addr) bool {
			if p.Addr().Is4() {
				return a.Is4In6() && p.Contains(a.Unmap())
			}
			return p.Contains(a)
		}
		lo, hi := netip.AddrFrom16(first), netip.AddrFrom16(last)
		if !contains(lo) || !contains(hi) || contains(lo.Prev()) && lo.Prev().IsValid() || contains(hi.Next()) && hi.Next().IsValid() {
			t.Fatalf("%s: %s to %s", p, lo, hi)
		}
	}
	for _, network := range []string{"", "10.0.0.0", "10.0.0.0/33", "x/8"} {
		if _, _, err := AddressRange(network); err == nil {
			t.Errorf("%q is a network", network)
		}
	}
}

func TestPoints(t *testing.T) {
	f := Field{Type: GeoPoint}
	rng := rand.New(rand.NewPCG(7, 8))
	previous, previousLat := int64(math.MinInt64), -90.0
	for i := range 10_000 {
		lat := -90 + 180*float64(i)/9_999
		lon := -180 + 360*rng.Float64()
		v, err := f.Number(strconv.FormatFloat(lat, 'g', -1, 64) + ", " + strconv.FormatFloat(lon, 'g', -1, 64))
		if err != nil {
			t.Fatal(err)
		}
		gotLat, gotLon := DecodePoint(v)
		if d := lat - gotLat; d < -1e-9 || d > 1.01/latScale {
			t.Fatalf("latitude %v is %v", lat, gotLat)
		}
		if d := lon - gotLon; d < -1e-9 || d > 1.01/lonScale {
			t.Fatalf("longitude %v is %v", lon, gotLon)
		}
		if lat > previousLat+1e-6 && v <= previous {
			t.Fatalf("latitude %v is not above %v", lat, previousLat)
		}
		previous, previousLat = v, lat
		if EncodePoint(gotLat, gotLon) != v {
			t.Fatalf("%v,%v is coded as %d and then as %d", lat, lon, v, EncodePoint(gotLat, gotLon))
		}
	}
	for _, c := range []struct {
		lat, lon float64
		want     int64
	}{
		{-90, -180, math.MinInt64},
		{90, 180, math.MaxInt64},
		{0, 0, 1 << 31},
	} {
		if got := EncodePoint(c.lat, c.lon); got != c.want {
			t.Errorf("%v,%v is %#x, want %#x", c.lat, c.lon, got, c.want)
		}
	}
	for _, value := range []string{"", "1", "91,0", "-90.1,0", "0,180.5", "0,-181", "a,b", "1,2,3", "NaN,0", "POINT (1 91)", "POINT 1 2", "POINT (1 2", "POINT (1 2 3)", "12345", "u33ia", "u33dbfcyegk20"} {
		if _, err := f.Number(value); err == nil {
			t.Errorf("%q is a point", value)
		}
	}
	for value, want := range map[string]Cell{
		"POINT (13.4 52.5)": {52.5, 13.4, 0, 0}, " point(1 -2)": {-2, 1, 0, 0},
		"s": {0, 0, 45, 45}, "u4pruydqqvj": {57.649110, 10.407439, 57.649111, 10.407440}, "7zzzzz": {-0.0055, -0.011, 0, 0},
	} {
		lat, lon, err := ParsePoint(value)
		if err != nil || math.Abs(lat-want.Bottom) > 1e-4 || math.Abs(lon-want.Left) > 1e-4 {
			t.Errorf("%s is %v,%v, %v; want %v,%v", value, lat, lon, err, want.Bottom, want.Left)
		}
		if c, ok := ParseGeohash(value); ok && (math.Abs(c.Top-want.Top) > 1e-4 || math.Abs(c.Right-want.Right) > 1e-4) {
			t.Errorf("%s ends at %v,%v, want %v,%v", value, c.Top, c.Right, want.Top, want.Right)
		}
	}
	if v, err := f.Number("42.57952,1.65362"); err != nil || string(f.AppendNumber(nil, v)) != "42.57952,1.65362" {
		t.Errorf("a point is printed as %s, %v", f.AppendNumber(nil, v), err)
	}
}

func TestPointsOfJSON(t *testing.T) {
	for raw, want := range map[string]string{
		`"1,2"`:                                  "1,2",
		` {"lat": 1.5, "lon": -2}`:               "1.5,-2",
		`{"lon":"2","lat":"1"}`:                  "1,2",
		`[2, 1.25]`:                              "1.25,2",
		`[[2,1],[4,3]]`:                          "1,2 3,4",
		`["1,2",{"lat":3,"lon":4},[6,5]]`:        "1,2 3,4 5,6",
		`null`:                                   "",
		`[]`:                                     "",
		`[null,"1,2"]`:                           "1,2",
		`[1,2,3]`:                                "error",
		`[1]`:                                    "error",
		`[1,"2"]`:                                "error",
		`{"lat":1}`:                              "error",
		`{"lat":1,"lon":2,"z":3}`:                "error",
		`{"type":"Point","coordinates":[2,1.5]}`: "1.5,2",
		`[{"coordinates":[4,3],"type":"point"},"drm3btev"]`: "3,4 drm3btev",
		`{"type":"Point","coordinates":[2,1,0]}`:            "error",
		`{"type":"Line","coordinates":[2,1]}`:               "error",
		`{"type":"Point","lat":1,"lon":2}`:                  "error",
		`true`:                                              "error",
		`5`:                                                 "error",
	} {
		got, err := Points([]byte(raw))
		text := strings.Join(got, " ")
		if err != nil {
			text = "error"
		}
		if text != want {
			t.Errorf("%s: %q, %v; want %q", raw, text, err, want)
		}
	}
}

// null_value takes the place of null, also within lists.
func TestPointsOfNull(t *testing.T) {
	at := "5,6"
	for raw, want := range map[string]string{`null`: "5,6", `[null]`: "5,6", `[]`: "", `["1,2",null,[2,1]]`: "1,2 5,6 1,2"} {
		got, err := (&Field{Type: GeoPoint, NullValue: &at}).Points([]byte(raw))
		if text := strings.Join(got, " "); text != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", raw, text, err, want)
		}
	}
}

func TestKeywords(t *testing.T) {
	f := Field{Name: "k", Type: Keyword, IgnoreAbove: 3}
	for value, want := range map[string]bool{"": true, "abc": true, "abcd": false, "äöü": true, "a𝄞": true, "ab𝄞": false} {
		if b, ok, err := f.Bytes(value); err != nil || ok != want || ok && string(b) != value {
			t.Errorf("%q: %q, %t, %v", value, b, ok, err)
		}
	}
	f.IgnoreAbove = 0
	if _, ok, err := f.Bytes(strings.Repeat("x", MaxKeywordBytes)); !ok || err != nil {
		t.Error(ok, err)
	}
	_, _, err := f.Bytes(strings.Repeat("é", MaxKeywordBytes))
	var e *ValueError
	if !errors.As(err, &e) || len(e.Error()) > 400 || f.Check(e.Value) == nil {
		t.Errorf("a long keyword: %v", err)
	}
}
