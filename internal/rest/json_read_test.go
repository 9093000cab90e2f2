package rest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// randomJSON is mostly a valid value.
func randomJSON(rng *rand.Rand, depth int) string {
	space := strings.Repeat(" ", rng.IntN(8)/7)
	scalars := []string{
		`null`, `true`, `false`, `0`, `12`, `-3`, `1.5e3`, `01`, `123456789`, `1234567890`, `99999999999999999999`, `""`, `"word"`, `"with \"quotes\" \u00e9 \ud83d\ude00 \ud800"`,
		`"é“”"`, "\"\xff\"", `"tab	"`, `tru`, `"open`, `"query"`, `"null"`,
	}
	switch kind := rng.IntN(6); {
	case kind < 2 && depth < 4:
		keys := []string{`"query"`, `"size"`, `"a b"`, `"\u0061"`, `"a"`, `""`, "\"\xfe\"", `"é"`}
		var members []string
		for range rng.IntN(5) {
			members = append(members, space+keys[rng.IntN(len(keys))]+space+":"+randomJSON(rng, depth+1))
		}
		return space + "{" + strings.Join(members, ",") + space + "}" + space
	case kind == 2 && depth < 4:
		var items []string
		for range rng.IntN(4) {
			items = append(items, randomJSON(rng, depth+1))
		}
		return space + "[" + strings.Join(items, ",") + "]" + space
	}
	return space + scalars[rng.IntN(len(scalars))] + space
}

func sameErrors(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// Values are read as encoding/json reads them.
func TestReadJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	objects := 0
	for range 50_000 {
		raw := []byte(randomJSON(rng, 0))
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal(raw, &want)
		if got, err := decodeObject(raw); !reflect.DeepEqual(got, want) || !sameErrors(err, wantErr) {
			t.Fatalf("%s: %q, %v, want %q, %v", raw, got, err, want, wantErr)
		}
		objects += min(len(want), 1)
		text, wantText := "before", "before"
		if err, wantErr := decodeString(raw, &text), json.Unmarshal(raw, &wantText); text != wantText || !sameErrors(err, wantErr) {
			t.Fatalf("%s: %q, %v, want %q, %v", raw, text, err, wantText, wantErr)
		}
		number, wantNumber := 7, 7
		if err, wantErr := decodeInt(raw, &number), json.Unmarshal(raw, &wantNumber); number != wantNumber || !sameErrors(err, wantErr) {
			t.Fatalf("%s: %d, %v, want %d, %v", raw, number, err, wantNumber, wantErr)
		}
		yes, wantYes := true, true
		if err, wantErr := decodeBool(raw, &yes), json.Unmarshal(raw, &wantYes); yes != wantYes || !sameErrors(err, wantErr) {
			t.Fatalf("%s: %t, %v, want %t, %v", raw, yes, err, wantYes, wantErr)
		}
		scalar, ok := scalarText(raw)
		if wantScalar, wantOK := slowScalarText(raw); scalar != wantScalar || ok != wantOK {
			t.Fatalf("%s: %q, %t, want %q, %t", raw, scalar, ok, wantScalar, wantOK)
		}
	}
	if objects < 5000 {
		t.Errorf("only %d objects", objects)
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, `,"k%d":%d`, i, i)
	}
	raw := []byte("{" + many.String()[1:] + "}")
	if got, err := decodeObject(raw); err != nil || len(got) != 1000 || string(got["k999"]) != "999" {
		t.Errorf("%d members, %v", len(got), err)
	}
}

// slowScalarText is the definition of scalarText.
func slowScalarText(raw json.RawMessage) (string, bool) {
	var text string
	trimmed := strings.TrimSpace(string(raw))
	if json.Unmarshal(raw, &text) == nil && trimmed != "null" {
		return text, true
	}
	return trimmed, trimmed != "" && trimmed[0] != '{' && trimmed[0] != '[' && trimmed != "null"
}

// A value of an object ends where it ends, so that appending to it leaves the next one.
func TestDecodedValuesEnd(t *testing.T) {
	raw := []byte(`{"a": 1, "b": 2}`)
	o, err := decodeObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(o["a"], "xxxxxxxx"...)
	if string(raw) != `{"a": 1, "b": 2}` {
		t.Errorf("the body has become %s", raw)
	}
}

func TestSearchHeader(t *testing.T) {
	for line, want := range map[string]string{
		"": "default", "  ": "default", "{}": "default", "{ }": "default", `{"index":"a"}`: "a", ` {"index": "b" } `: "b", `{"index":["c"]}`: "c",
		`{"index":"d","preference":"x"}`: "d", `{"preference":"x"}`: "default", `{"index":"\u0065"}`: "e",
	} {
		h := searchHeader{Index: "default"}
		if err := h.parse([]byte(line)); err != nil || h.Index != indexName(want) {
			t.Errorf("%q: %q, %v, want %q", line, h.Index, err, want)
		}
	}
	for _, line := range []string{`{`, `[]`, `{"other":1}`, `{"index":3}`, `{"index":"a"`, `{"index":"a}`, `{"index":"a","index":"f"}`} {
		if err := new(searchHeader).parse([]byte(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
