package query

import (
	"strings"
	"testing"
)

func TestLucene(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a && b || !c", "a AND b OR NOT c"},
		{"(a&&b) \t!(c d)", "(a&&b) \tNOT (c d)"},
		{`"a && !b" && /x|!y/ wow! R&D !!x`, `"a && !b" AND /x|!y/ wow! R&D !!x`},
		{`\!a \&& ! b`, `\!a \&& NOT  b`},
		{`title:/a b|c/ !title:x`, `title:/a b|c/ NOT title:x`},
		{"a &&!b ||!(c) &&!", "a AND NOT b OR NOT (c) AND NOT "},
		{"a &&& b ||| c &&b ||&& &&!!b", "a &&& b ||| c &&b ||&& &&!!b"},
		{"plain words", "plain words"},
	} {
		if got := Lucene(c.text, []string{"title"}); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestLuceneOffset(t *testing.T) {
	const text = "!é && [b &&!c"
	out := Lucene(text, nil)
	if out != "NOT é AND [b AND NOT c" {
		t.Fatal(out)
	}
	for sought, want := range map[string]string{"NOT é": "!é", "OT é": "!é", "é AND": "é &&", "AND [": "&& [", "[b": "[b", "AND NOT": "&&!", "NOT c": "!c", "c": "c", "": ""} {
		i := len(out)
		if sought != "" {
			i = strings.Index(out, sought)
		}
		if got := text[LuceneOffset(text, nil, i):]; !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", sought, got, want)
		}
	}
}
