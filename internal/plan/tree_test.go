package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

func newCompiler(t testing.TB, analyzer string, positions bool) *compiler {
	t.Helper()
	return &compiler{analyzers: analyzers{scheme: analysis.NewScheme(nil, analyzer)}, fields: []string{"", "title"}, positions: positions, memory: new(planMemory)}
}

// Trees are in nodeString's notation: terms by their index in the query, + for required, - for
// excluded, 0~1@1 for phrases.
func TestCompile(t *testing.T) {
	tests := []struct{ text, or, and string }{
		{"a0", "0", "0"},
		{"a0 b1", "(0 1)", "(+0 +1)"},
		{"+a0 b1", "(+0 1)", "(+0 +1)"},
		{"a0 -b1", "(+0 -1)", "(+0 -1)"},
		{"a0 OR b1", "(0 1)", "(0 1)"},
		{"a0 AND b1", "(+0 +1)", "(+0 +1)"},
		{"a0 (b1 c2)", "(0 1 2)", "(+0 +1 +2)"},
		{"a0 (b1 AND c2)", "(0 (+1 +2))", "(+0 +1 +2)"},
		{"a0 (b1 OR c2)", "(0 1 2)", "(+0 +(1 2))"},
		{"a0 -(b1 OR c2)", "(+0 -1 -2)", "(+0 -1 -2)"},
		{"a0 -(b1 AND c2)", "(+0 -(+1 +2))", "(+0 -(+1 +2))"},
		{"+(a0 -b1) c2", "(+0 2 -1)", "(+0 +2 -1)"},
		{"(a0 -b1) c2", "((+0 -1) 2)", "(+0 +2 -1)"},
		{"a0 b1^2 a0^3 title:a0", "(0^4 1^2 2)", "(+0^4 +1^2 +2)"},
		{"+a0 a0 b1", "(+0^2 1)", "(+0^2 +1)"},
		{"a0^600 a0^600", "(0^600 0^600)", "(+0^600 +0^600)"},
		{"(a0 b1^3)^2", "(0^2 1^6)", "(+0^2 +1^6)"},
		{`"a0 b1"`, "0~1@1", "0~1@1"},
		{`"a0 a0" a0`, "(0~0@1 0)", "(+0~0@1 +0)"},
		{"a0-b1", "0~1@1", "0~1@1"},
		{"-a0", "()", "()"},
		{"a0 -b1 -b1", "(+0 -1^2)", "(+0 -1^2)"},
		{"(+a0 b1 -c2) -c2", "(+0 1 -2^2)", "(+0 +1 -2^2)"},
		{"((+a0 b1) OR (-c2)) -d3", "(+0 1 -3)", "(+0 +1 -3)"},
		{"a0^600 a0^400", "0^1000", "0^1000"},
		{"a0^600 a0^400.5", "(0^600 0^400.5)", "(+0^600 +0^400.5)"},
		{"a0 (-b1)", "0", "()"},
		{"a0 OR (-b1)", "0", "0"},
		{"... a0", "0", "0"},
		{"+... a0 -...", "0", "0"},
		{"...", "<nil>", "<nil>"},
		{"", "<nil>", "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			for mode, want := range map[Mode]string{ModeOr: test.or, ModeAnd: test.and} {
				root, err := newCompiler(t, "simple", true).compile(plantest.Parse(t, test.text), mode, 1)
				if err != nil {
					t.Errorf("%s: %v", test.text, err)
					continue
				}
				got := "<nil>"
				if root != nil {
					got = nodeString(root)
				}
				if got != want {
					t.Errorf("%s in mode %s: got %s, want %s", test.text, mode, got, want)
				}
			}
		})
	}
}

// A dropped word leaves a gap in a phrase and a note elsewhere.
func TestCompileStopWords(t *testing.T) {
	c := newCompiler(t, "english", true)
	root, err := c.compile(plantest.Parse(t, `"lord of the rings" the`), ModeOr, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := nodeString(root), "0~1@3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(c.notes) != 1 {
		t.Errorf("notes %q, want one about %q", c.notes, "the")
	}
}

func TestCompileWithoutPositions(t *testing.T) {
	c := newCompiler(t, "simple", false)
	root, err := c.compile(plantest.Parse(t, "a0-b1 c2"), ModeOr, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := nodeString(root), "((+0 +1) 2)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(c.notes) != 1 || !strings.Contains(c.notes[0], `"a0-b1" is several terms`) || !strings.Contains(c.notes[0], "--no-positions") {
		t.Errorf("notes %q, want one about a0-b1", c.notes)
	}
	_, err = c.compile(plantest.Parse(t, `"a0 b1"`), ModeOr, 1)
	if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "--no-positions") {
		t.Errorf("phrase: error %v, want ErrBadInput with advice on positions", err)
	}
	if _, err := c.compile(plantest.Parse(t, `"a0"`), ModeOr, 1); err != nil {
		t.Errorf("phrase of one word: %v", err)
	}
}

func TestCompileUnknownField(t *testing.T) {
	c := newCompiler(t, "simple", true)
	if _, err := c.compile(&query.Term{Field: "author", Text: "x", Boost: 1}, ModeOr, 1); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("error %v, want ErrBadInput", err)
	}
}

func TestModeNames(t *testing.T) {
	if got, want := modeNames[:], []string{"or", "and", "and+or", "saat"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	for _, name := range modeNames {
		var m Mode
		if err := m.UnmarshalText([]byte(name)); err != nil || m.String() != name {
			t.Errorf("%q gives %v, %v", name, m, err)
		}
	}
	if _, err := ParseMode("xor"); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("error %v, want ErrBadInput", err)
	}
}

func TestArena(t *testing.T) {
	var a arena[int]
	for round := range 3 {
		var taken [][]int
		for n := range 40 {
			s := a.take(n)
			if len(s) != n || cap(s) != n {
				t.Fatalf("take(%d) has length %d, capacity %d", n, len(s), cap(s))
			}
			for i := range s {
				s[i] = round*1000 + n
			}
			taken = append(taken, s)
		}
		for n, s := range taken {
			for _, v := range s {
				if v != round*1000+n {
					t.Fatalf("slice %d was handed out twice", n)
				}
			}
		}
		a.reset()
	}
}

// appendNode writes terms by their index, +(required) (optional) -(excluded).
func appendNode(b *strings.Builder, n node) {
	switch n := n.(type) {
	case *leaf:
		fmt.Fprintf(b, "%d", n.terms[0])
		for i, t := range n.terms[1:] {
			fmt.Fprintf(b, "~%d@%d", t, n.offsets[i+1])
		}
		if n.boost != 1 {
			fmt.Fprintf(b, "^%g", n.boost)
		}
	case *group:
		b.WriteByte('(')
		first := true
		for _, part := range []struct {
			prefix string
			nodes  []node
		}{{"+", n.required}, {"", n.optional}, {"-", n.excluded}} {
			for _, child := range part.nodes {
				if !first {
					b.WriteByte(' ')
				}
				first = false
				b.WriteString(part.prefix)
				appendNode(b, child)
			}
		}
		b.WriteByte(')')
	}
}

func nodeString(n node) string {
	var b strings.Builder
	appendNode(&b, n)
	return b.String()
}
