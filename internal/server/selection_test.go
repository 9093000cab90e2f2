package server

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/query"
)

var selectionFields = []string{"kind", "price", "day"}

func parsed(t *testing.T, text string) query.Node {
	t.Helper()
	node, err := query.Parse(text, selectionFields)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return node
}

// Any values can be chosen: their filter is read as the same values.
func TestSelectionsOfAnyValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune(`ab "\:()[]{}*?~^+-/<>=|&!` + "\t\n" + `é京OR`)
	for range 2000 {
		values := make([]string, 1+r.IntN(4))
		for i := range values {
			text := make([]rune, 1+r.IntN(8))
			for j := range text {
				text[j] = letters[r.IntN(len(letters))]
			}
			values[i] = string(text)
		}
		text := filterText("kind", values)
		s := newSelection(text, parsed(t, text))
		if s.Field != "kind" || !slices.Equal(s.Values, values) {
			t.Fatalf("%q of %q is read as %q of field %q", text, values, s.Values, s.Field)
		}
	}
}

func TestSelectionsOfOthers(t *testing.T) {
	for text, field := range map[string]string{
		`price:[1 TO 2}`: "price", `kind:a`: "kind", `kind:(a OR "b c")`: "kind", `kind:a OR price:1`: "", `kind:a*`: "", `+kind:a +kind:b`: "",
		`red`: "", `kind:"a b"~2`: "", `kind:a^2`: "", `-kind:a`: "",
	} {
		if s := newSelection(text, parsed(t, text)); s.Field != field {
			t.Errorf("%s is about field %q, want %q", text, s.Field, field)
		}
	}
}

func TestToggled(t *testing.T) {
	var all []selection
	for _, text := range []string{`red`, `kind:"a" OR kind:"b"`, `price:[1 TO 2}`} {
		all = append(all, newSelection(text, parsed(t, text)))
	}
	for value, want := range map[string][]string{
		"a": {`red`, `kind:"b"`, `price:[1 TO 2}`}, "c": {`red`, `kind:"a" OR kind:"b" OR kind:"c"`, `price:[1 TO 2}`},
	} {
		if got := toggled(all, "kind", value); !slices.Equal(got, want) {
			t.Errorf("with %s toggled: %q, want %q", value, got, want)
		}
	}
	if got, want := toggled(all, "day", "x"), []string{`red`, `kind:"a" OR kind:"b"`, `price:[1 TO 2}`, `day:"x"`}; !slices.Equal(got, want) {
		t.Errorf("another field: %q, want %q", got, want)
	}
	if got, want := withRange(all, "price", "price:[3 TO *]"), []string{`red`, `kind:"a" OR kind:"b"`, `price:[3 TO *]`}; !slices.Equal(got, want) {
		t.Errorf("another range: %q, want %q", got, want)
	}
}

func TestRangeLabels(t *testing.T) {
	for text, want := range map[string]string{
		`price:[10000 TO 20000}`: "10,000 to below 20,000", `price:[* TO 5}`: "below 5", `price:[5 TO *]`: "from 5", `price:{5 TO *]`: "above 5",
		`price:[* TO 5]`: "up to 5", `price:[1990 TO 2000]`: "1990 to 2000", `price:[* TO *]`: "any",
		`day:[2024-01-01T00:00:00.000Z TO 2025-01-01T00:00:00.000Z}`: "2024-01-01 to 2024-12-31", `day:[2024-01-01 TO 2024-02-01]`: "2024-01-01 to 2024-02-01",
	} {
		node, ok := parsed(t, text).(*query.Range)
		kind := "long"
		if ok && node.Field == "day" {
			kind = "date"
		}
		if !ok || rangeLabel(kind, node) != want {
			t.Errorf("%s: %q, want %q", text, rangeLabel(kind, node), want)
		}
	}
}
