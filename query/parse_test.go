package query

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

var testFields = []string{"title", "body"}

// As doc.go's rules say.
func TestParse(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{" \t\u00a0\u3000", ""},
		{"a", "a"},
		{" a  b ", "a b"},
		{"+a", "a"},
		{"-a", "-a"},
		{"+a -b c", "+a -b c"},
		{`"a b"^2.5 c^3`, `"a b"^2.5 c^3`},
		{`"say \"hi\" \\ C:\new"`, `"say \"hi\" \\ C:\\new"`},
		{`""`, `""`},
		{"a AND b", "+a +b"},
		{"a AND b AND NOT c", "+a +b -c"},
		{"a OR b", "a OR b"},
		{"a b OR c AND d", "a (b OR (+c +d))"},
		{"a OR b c", "(a OR b) c"},
		{"a OR -b", "a OR (-b)"},
		{"NOT (a b)", "-(a b)"},
		{"NOTE ORB ANDY and or not", "NOTE ORB ANDY and or not"},
		{`\AND \OR^2 \NOT`, `\AND \OR^2 \NOT`},
		{"title:x title:\"y z\"^2 body:(u title:v w)", `title:x title:"y z"^2 (body:u title:v body:w)`},
		{"title: x", `title\: x`},
		{"title:title:x", `title:title\:x`},
		{"title:AND title:-x", `title:\AND title:\-x`},
		{"foo:bar foo:(a) foo:\"b\"", `foo\:bar foo\: a foo\: "b"`},
		{"std::vector<int> http://a.b/c?d=e#f", `std\:\:vector<int> http\://a.b/c?d=e#f`},
		{`C:\temp\new`, `C\:\\temp\\new`},
		{"C++ wi-fi e-mail+", "C++ wi-fi e-mail+"},
		{"--all +-x", `-\-all +\-x`},
		{"((a))", "a"},
		{"(a b)", "a b"},
		{"(a)^2", "a^2"},
		{"((a^2))^3", "(a^2)^3"},
		{"(a b)^2 c", "(a b)^2 c"},
		{"() a (()) +() a", "a a"},
		{"main()", "main"},
		{"a OR ()", "a"},
		{"f(x)", "f x"},
		{`5\" a\ b`, `5\" a\ b`},
		{`a\`, `a\\`},
		{"a\\\u00a0b\\\u3000", "a\\\u00a0b\\\u3000"},
		{"{a} b{", `\{a} b{`},
		{"a^1", "a"},
		{"caf\u00e9 日本 \xff", "caf\u00e9 日本 \xff"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			node, err := Parse(test.text, testFields)
			if err != nil {
				t.Fatal(err)
			}
			if got := node.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestParseTree(t *testing.T) {
	got, err := Parse(`+title:a^2 -"b c" (d OR e)`, testFields)
	if err != nil {
		t.Fatal(err)
	}
	want := &Boolean{Boost: 1, Clauses: []Clause{
		{Must, &Term{Field: "title", Text: "a", Boost: 2}},
		{MustNot, &Phrase{Text: "b c", Boost: 1}},
		{Plain, &Boolean{Boost: 1, Clauses: []Clause{
			{Should, &Term{Text: "d", Boost: 1}},
			{Should, &Term{Text: "e", Boost: 1}},
		}}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

// Each fault is reported at its first byte, and has a lenient reading.
func TestFaults(t *testing.T) {
	tests := []struct {
		text    string
		kind    error
		offset  int
		lenient string
	}{
		{`"a b`, ErrSyntax, 0, "a b"},
		{`5" disk`, ErrSyntax, 1, "5 disk"},
		{"(a b", ErrSyntax, 0, "a b"},
		{"a (b (c", ErrSyntax, 5, "a (b c)"},
		{"a) b", ErrSyntax, 1, "a b"},
		{"rock - paper", ErrSyntax, 5, `rock \- paper`},
		{"a +", ErrSyntax, 2, `a \+`},
		{"(a -)", ErrSyntax, 3, `a \-`},
		{"AND a", ErrSyntax, 0, `\AND a`},
		{"a OR", ErrSyntax, 2, "a"},
		{"a AND OR b", ErrSyntax, 2, "a OR b"},
		{"(a OR) b", ErrSyntax, 3, "a b"},
		{"NOT", ErrSyntax, 0, `\NOT`},
		{"a^", ErrSyntax, 1, `a\^`},
		{"a^b", ErrSyntax, 1, `a\^b`},
		{"^2", ErrSyntax, 0, `\^2`},
		{"a ^2", ErrSyntax, 2, `a \^2`},
		{"a^2^3", ErrSyntax, 1, `a\^2^3`},
		{"(a b)^", ErrSyntax, 5, "a b"},
		{"a^0", ErrSyntax, 1, "a"},
		{"a^0.0001", ErrSyntax, 1, "a"},
		{"a^1000.5", ErrSyntax, 1, "a"},
		{"a^" + strings.Repeat("9", 400), ErrSyntax, 1, "a"},
		{"(a^40 b)^40", ErrSyntax, 8, "a^40 b"},
		{strings.Repeat("(", 40) + "a" + strings.Repeat(")", 40), ErrTooDeep, 32, ""},
		{strings.Repeat("a ", MaxClauses+1), ErrTooManyClauses, 2 * MaxClauses, strings.TrimSpace(strings.Repeat("a ", MaxClauses))},
		{strings.Repeat("\x80", MaxBytes+9), ErrTooLong, MaxBytes, strings.Repeat("\x80", MaxBytes)}, // no rune begins
		{strings.Repeat("é", MaxBytes), ErrTooLong, MaxBytes, strings.Repeat("é", MaxBytes/2)},
	}
	for _, test := range tests {
		t.Run(test.text[:min(len(test.text), 12)], func(t *testing.T) {
			_, err := Parse(test.text, testFields)
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, base.ErrBadInput) || !errors.Is(err, test.kind) || e.Offset != test.offset {
				t.Errorf("error %v, want %v at byte %d", err, test.kind, test.offset)
			}
			node, _ := ParseLenient(test.text, testFields)
			if got := node.String(); got != test.lenient {
				t.Errorf("lenient: got %.60q, want %.60q", got, test.lenient)
			}
		})
	}
}

// An exceeded limit is reported in addition.
func TestMaxRemarks(t *testing.T) {
	_, remarks := ParseLenient(strings.Repeat("^", 1000)+strings.Repeat("(", MaxDepth+1), nil)
	if len(remarks) != MaxRemarks+1 || !errors.Is(remarks[MaxRemarks], ErrTooDeep) {
		t.Errorf("%d remarks, the last of kind %v", len(remarks), remarks[len(remarks)-1].Kind)
	}
}

func TestCaret(t *testing.T) {
	text := "caf\u00e9\t(b"
	_, err := Parse(text, nil)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if got, want := e.Caret(), "caf\u00e9 (b\n     ^"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The canonical text of Words is the same, whether it is the text itself or is put together.
func TestWordsString(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "cat": "cat", "cat dog 42": "cat dog 42", " cat": "cat", "cat ": "cat", "cat  dog": "cat dog", "cat\tdog": "cat dog",
		"cat AND dog": `cat \AND dog`, "OR": `\OR`, "cat NOT": `cat \NOT`, "ANDY": "ANDY", "a:b": `a\:b`, "+a -b": `\+a \-b`, "a-b": "a-b",
		"caf\u00e9": "caf\u00e9", "a\u00a0b": "a b", `a"b`: `a\"b`, "(a)": `\(a\)`, "a^2": `a\^2`, "{a": `\{a`, `a\b`: `a\\b`,
	} {
		if got := (&Words{Text: text, Boost: 1}).String(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got, want := (&Words{Field: "title", Text: "cat dog", Boost: 1}).String(), "title:cat title:dog"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	w := &Words{Text: "cat dog", Boost: 1}
	if n := testing.AllocsPerRun(10, func() { _ = w.String() }); n != 0 {
		t.Errorf("%g allocations for a text that is canonical", n)
	}
}

// Parsing ends, faults lie within the text, trees are valid and keep ast.go's invariants,
// canonical text parses to the same tree, and Quote makes a phrase.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`+a -b "c d"^2 title:(e OR f) AND \(g`, `((a^2)^3 NOT b)^.5`, `a OR +b OR -c AND d`, "\\AND^2 body:\\-x\xff\u3000y",
		`--a ^b c^ "`, `title:"a\"" () a\`, `wor* w?r\*d^2 title:/a\/ b/ word~1 "a b"~3 "a b"*`, `title:[a TO "b c"} title:>=5 (a b)~2^=0 _exists_:title *:* _id:7`,
		`title:{"a": 1.5, "\u00e9<": 2e-1}^2 body:{"b":1 title:{} {"c": 1}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		node, remarks := ParseLenient(text, testFields)
		for _, r := range remarks {
			if r.Offset < 0 || r.Offset > len(text) {
				t.Fatalf("offset %d outside of %q", r.Offset, text)
			}
		}
		checkTree(t, node)
		if err := Validate(node); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if phrase, err := Parse(Quote(text), nil); len(text) < MaxBytes/2-1 && (err != nil || !reflect.DeepEqual(phrase, Node(&Phrase{Text: text, Boost: 1}))) {
			t.Fatalf("Quote(%q) parses to %v: %v", text, phrase, err)
		}
		canonical := node.String()
		again, err := Parse(canonical, testFields)
		switch {
		case errors.Is(err, ErrTooLong) || errors.Is(err, ErrTooDeep):
		case err != nil:
			t.Fatalf("%q: canonical text %q: %v", text, canonical, err)
		case !reflect.DeepEqual(node, again):
			t.Fatalf("%q: canonical text %q parses to %q", text, canonical, again)
		}
	})
}

func checkTree(t *testing.T, node Node) {
	switch n := node.(type) {
	case *Term:
		if n.Text == "" || !(n.Boost >= MinBoost && n.Boost <= MaxBoost) {
			t.Fatalf("term %+v", n)
		}
	case *Phrase:
		if !(n.Boost >= MinBoost && n.Boost <= MaxBoost) {
			t.Fatalf("phrase %+v", n)
		}
	case *Boolean:
		should := 0
		for _, c := range n.Clauses {
			if c.Occur == Should {
				should++
			}
			checkTree(t, c.Node)
		}
		if should != 0 && (should != len(n.Clauses) || should == 1) {
			t.Fatalf("group %v has %d Should clauses", n, should)
		}
	case *Constant:
		if !(n.Score == 0 || n.Score >= MinBoost && n.Score <= MaxBoost) {
			t.Fatalf("constant %+v", n)
		}
		checkTree(t, n.Node)
	case *MatchAll, *Exists, *IDs, *Prefix, *Wildcard, *Regexp, *Fuzzy, *Range, *Weights:
		if boost := *n.boost(); !(boost >= MinBoost && boost <= MaxBoost) {
			t.Fatalf("%T %+v", n, n)
		}
	default:
		t.Fatalf("node of type %T", node)
	}
}

// Words of small letters, which have a way of their own through the parser, give the tree of other words.
func TestPlainWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	fields := []string{"", "title"}
	parts := []string{"X", "Xy", "X9", " ", " ", "(", ")", "+", "-", `"`, "^2", "~1", "*", "title:", "_id:", " OR ", " AND ", " NOT ", "\\", "é"}
	for range 20_000 {
		var b strings.Builder
		for range 1 + rng.IntN(9) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		text := b.String()
		plain := strings.NewReplacer("Xy", "xy", "X", "x").Replace(text)
		want, faults := ParseLenient(text, fields)
		got, plainFaults := ParseLenient(plain, fields)
		if lower := strings.NewReplacer("Xy", "xy", "X", "x").Replace(want.String()); got.String() != lower || len(plainFaults) != len(faults) {
			t.Fatalf("%q is %s, want %s; faults %v, want %v", plain, got, lower, plainFaults, faults)
		}
	}
}
