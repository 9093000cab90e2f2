package query

import "testing"

func TestLucene(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a && b || !c", "a AND b OR NOT c"},
		{"(a&&b) \t!(c d)", "(a&&b) \tNOT (c d)"},
		{`"a && !b" && /x|!y/ wow! R&D !!x`, `"a && !b" AND /x|!y/ wow! R&D !!x`},
		{`\!a \&& ! b`, `\!a \&& NOT  b`},
		{`title:/a b|c/ !title:x`, `title:/a b|c/ NOT title:x`},
		{"plain words", "plain words"},
	} {
		if got := Lucene(c.text, []string{"title"}); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
