package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

func TestThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0832: "0.0832", 0.00012345: "0.000123", 0.328: "0.328", 1: "1.00", 9.87: "9.87", 12.34: "12.3", 132.4: "132", 1234: "1,234", 70500: "70,500",
	} {
		if got := threeDigits(v); got != want {
			t.Errorf("threeDigits(%g) = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.5: "0.5", 100: "100", 118.9207: "118.921", 2.5e6: "2,500,000", 1e7: "10,000,000"} {
		if got := rateOf(v); got != want {
			t.Errorf("rateOf(%g) = %q, want %q", v, got, want)
		}
	}
}

func TestAlignRight(t *testing.T) {
	got := alignRight([][]string{{"µs", "count"}, {"1234", "7"}, {"5", "123,456"}}, 3)
	if want := []string{"  µs   count", "1234       7", "   5 123,456"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The help of --format lists its values.
func TestFormatHelp(t *testing.T) {
	for _, command := range []string{"index", "add", "watch", "mapping"} {
		help := runGriffin(t, command, "--help")
		if want := "format of the input: " + strings.Join(griffin.Formats(), ", "); !strings.Contains(help, want) {
			t.Errorf("griffin %s --help lacks %q:\n%s", command, want, help)
		}
	}
}
