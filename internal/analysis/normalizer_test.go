package analysis

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNormalizers(t *testing.T) {
	s, err := ParseSettings([]byte(`{"char_filter": {"dash": {"type": "pattern_replace", "pattern": "-+", "replacement": "_"}},
		"normalizer": {"plain": {"type": "custom", "char_filter": "dash", "filter": ["trim", "lowercase", "asciifolding"]}, "none": {}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"plain", " Ä--B C ", "a_b c"},
		{"plain", "", ""},
		{"plain", "a\xffB", "a b"},
		{"none", " Ä ", " Ä "},
		{"lowercase", "ÄB", "äb"},
	} {
		n, err := s.Normalizer(c.name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // memory is used again
			if got := string(n.Normalize([]byte(c.value))); got != c.want {
				t.Errorf("%s of %q: %q, want %q", c.name, c.value, got, c.want)
			}
		}
		a, err := s.New(NormalizerPrefix+c.name, Queries)
		if err != nil {
			t.Fatal(err)
		}
		if tokens := a.Tokens(nil, []byte(c.value)); len(tokens) > 1 || len(tokens) == 1 && string(tokens[0].Term) != c.want || len(tokens) == 0 && c.want != "" {
			t.Errorf("%s of %q: tokens %v", c.name, c.value, tokens)
		}
	}
	if n, err := (*Settings)(nil).Normalizer("lowercase"); err != nil || string(n.Normalize([]byte("A"))) != "a" {
		t.Error(err)
	}
	var again Settings
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil || !again.Equal(s) || !again.Has(NormalizerPrefix+"plain") {
		t.Errorf("%s: %v", text, err)
	}
	for _, c := range []struct{ settings, want string }{
		{`{"normalizer": {"n": {"filter": ["stop"]}}}`, "normalizer [n]: it may not use filter [stop], but [asciifolding, "},
		{`{"normalizer": {"n": {"char_filter": ["html_strip"]}}}`, "may not use char_filter [html_strip]"},
		{`{"normalizer": {"n": {"tokenizer": "standard"}}}`, "unknown parameter [tokenizer]"},
		{`{"filter": {"f": {"type": "asciifolding", "preserve_original": true}}, "normalizer": {"n": {"filter": "f"}}}`, `it may not use filter "f", which makes several words`},
		{`{"normalizer": {"n": {"type": "lowercase"}}}`, "parameter [type]"},
	} {
		if _, err := ParseSettings([]byte(c.settings), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.settings, err, c.want)
		}
	}
	if _, err := s.Normalizer("nothing"); err == nil || !strings.Contains(err.Error(), "there are: lowercase, none, plain") {
		t.Error(err)
	}
	if _, err := s.New(NormalizerPrefix+"nothing", Documents); err == nil {
		t.Error("an analyzer of no normalizer")
	}
}

// A normalizer does not hide an analyzer, whatever its name is.
func TestNormalizerNames(t *testing.T) {
	name, err := json.Marshal(NormalizerPrefix + "lowercase")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{string(name), `"normalizer lowercase"`} {
		s, err := ParseSettings([]byte(`{"analyzer": {`+name+`: {"type": "custom", "tokenizer": "whitespace"}}}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		for defined := range s.analyzers {
			if got := mustNew(t, s, defined, Documents).Tokens(nil, []byte("A B")); len(got) != 2 || string(got[0].Term) != "A" {
				t.Errorf("%q: tokens %v", defined, got)
			}
		}
	}
	if (*Settings)(nil).Has("normalizer lowercase") {
		t.Error("the prefix is a name")
	}
}

// No filter, or two after another, makes more than maxGrowth bytes of a byte.
func TestNormalGrowth(t *testing.T) {
	greatest := 0
	for _, first := range normalizing["filter"] {
		var grown []rune
		for r := rune(1); r < 0x30000; r++ {
			if r >= 0xd800 && r < 0xe000 {
				continue
			}
			grown = append(grown, r)
		}
		for _, second := range append([]string{""}, normalizing["filter"]...) {
			filters, _ := json.Marshal(strings.Fields(first + " " + second))
			s, err := ParseSettings([]byte(`{"normalizer": {"n": {"filter": `+string(filters)+`}}}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			n, err := s.Normalizer("n")
			if err != nil {
				t.Fatal(err)
			}
			var next []rune
			for _, r := range grown {
				text := string(r)
				length := len(n.Normalize([]byte(text)))
				if length > len(text) {
					next = append(next, r)
				}
				greatest = max(greatest, length/len(text))
			}
			if second == "" {
				grown = next
			}
		}
	}
	if greatest != 11 || greatest > maxGrowth { // U+FDFA
		t.Errorf("a byte grows to %d bytes, at most %d", greatest, maxGrowth)
	}
}
