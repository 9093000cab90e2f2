package jsonout

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

func encoded(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func checkString(t *testing.T, text string) {
	t.Helper()
	if got, want := string(AppendString([]byte("x"), text)), "x"+encoded(t, text); got != want {
		t.Fatalf("%q: %s, want %s", text, got, want)
	}
}

func TestStrings(t *testing.T) {
	for r := range rune(0x3000) {
		checkString(t, string(r))
	}
	for c := range 256 {
		checkString(t, "a"+string([]byte{byte(c)})+"b")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "plain text ", `"`, `\`, "\n", "\x00", "\x7f", "é", "\u2028", "\u2029", "\ufffd", "😀", "\xff", "\xed\xa0\x80", "\xe2\x80", "<&>"}
	for range 20_000 {
		text := ""
		for range rng.IntN(8) {
			text += pieces[rng.IntN(len(pieces))]
		}
		checkString(t, text)
	}
}

func TestFloats(t *testing.T) {
	check := func(v float64) {
		t.Helper()
		if got, want := string(AppendFloat([]byte("x"), v)), "x"+encoded(t, v); got != want {
			t.Fatalf("%g: %s, want %s", v, got, want)
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1e-6, 9.9e-7, 1e-9, -1e-10, 1e21, 9.99e20, math.MaxFloat64, math.SmallestNonzeroFloat64, 4.4681549072265625} {
		check(v)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		if v := math.Float64frombits(rng.Uint64()); !math.IsNaN(v) && !math.IsInf(v, 0) {
			check(v)
		}
		check(float64(rng.Uint32()) / (1 << 16)) // a score
	}
}

func TestAllocations(t *testing.T) {
	dst := make([]byte, 0, 200)
	if n := testing.AllocsPerRun(100, func() {
		dst = AppendFloat(AppendString(dst[:0], "with “quotes”\n and \"these\"\xff"), 4.4681549072265625)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if !utf8.Valid(dst) {
		t.Errorf("not valid UTF-8: %q", dst)
	}
}
