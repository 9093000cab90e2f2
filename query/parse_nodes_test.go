package query

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

func TestParseNodes(t *testing.T) {
	auto := Similarity{Edits: "AUTO"}
	for _, test := range []struct {
		text string
		want Node
	}{
		{"wor*", &Prefix{Text: "wor", Boost: 1}},
		{"title:wor*^2", &Prefix{Field: "title", Text: "wor", Boost: 2}},
		{`a\*b*`, &Prefix{Text: "a*b", Boost: 1}},
		{"wr?ld", &Wildcard{Pattern: "wr?ld", Boost: 1}},
		{"*ld", &Wildcard{Pattern: "*ld", Boost: 1}},
		{`w\?r*d\:`, &Wildcard{Pattern: `w\?r*d:`, Boost: 1}},
		{"wor*d?", &Wildcard{Pattern: "wor*d?", Boost: 1}},
		{"/reg.x/", &Regexp{Pattern: "reg.x", Boost: 1}},
		{`title:/a b\/"(c|d)/^3`, &Regexp{Field: "title", Pattern: `a b/"(c|d)`, Boost: 3}},
		{"word~", &Fuzzy{Text: "word", Boost: 1, Similarity: auto}},
		{"word~1", &Fuzzy{Text: "word", Boost: 1, Similarity: Similarity{Edits: "1"}}},
		{"word~0.5", &Fuzzy{Text: "word", Boost: 1, Similarity: Similarity{Edits: "2"}}},
		{"word~0.8", &Fuzzy{Text: "word", Boost: 1, Similarity: Similarity{Edits: "0"}}},
		{"title:word~2^.5", &Fuzzy{Field: "title", Text: "word", Boost: 0.5, Similarity: Similarity{Edits: "2"}}},
		{`"a b"~3`, &Phrase{Text: "a b", Boost: 1, Slop: 3}},
		{`title:"a b"~3^2`, &Phrase{Field: "title", Text: "a b", Boost: 2, Slop: 3}},
		{`"a b"*`, &Phrase{Text: "a b", Boost: 1, Prefix: true}},
		{"_exists_:title", &Exists{Field: "title", Boost: 1}},
		{"title:*", &Exists{Field: "title", Boost: 1}},
		{"*:*", &MatchAll{Boost: 1}},
		{" * ", &MatchAll{Boost: 1}},
		{"_id:a", &IDs{IDs: []string{"a"}, Boost: 1}},
		{`_id:"a b*"`, &IDs{IDs: []string{"a b*"}, Boost: 1}},
		{"title:[a TO b]", &Range{Field: "title", From: "a", To: "b", Boost: 1}},
		{"title:{10 TO 20}", &Range{Field: "title", From: "10", To: "20", ExcludeFrom: true, ExcludeTo: true, Boost: 1}},
		{"title:[10 TO 20}^2", &Range{Field: "title", From: "10", To: "20", ExcludeTo: true, Boost: 2}},
		{"title:[* TO *]", &Range{Field: "title", Boost: 1}},
		{`[ "a b" TO c\]d ]`, &Range{From: "a b", To: "c]d", Boost: 1}},
		{"title:>2024-01-01", &Range{Field: "title", From: "2024-01-01", ExcludeFrom: true, Boost: 1}},
		{"title:>=5", &Range{Field: "title", From: "5", Boost: 1}},
		{"title:<5", &Range{Field: "title", To: "5", ExcludeTo: true, Boost: 1}},
		{`title:<="a b"^2`, &Range{Field: "title", To: "a b", Boost: 2}},
		{"title:(>5)", &Range{Field: "title", From: "5", ExcludeFrom: true, Boost: 1}},
		{`title:{"a": 1.5, "##b": 0}^2`, &Weights{Field: "title", Terms: []TermWeight{{"a", 1.5}, {"##b", 0}}, Boost: 2}},
		{`title:{ "a" :1e1}`, &Weights{Field: "title", Terms: []TermWeight{{"a", 10}}, Boost: 1}},
		{`title:{}`, &Weights{Field: "title", Terms: []TermWeight{}, Boost: 1}},
		{`title:{"a" TO "b"}`, &Range{Field: "title", From: "a", To: "b", ExcludeFrom: true, ExcludeTo: true, Boost: 1}},
		{`title:({"a": 1}^=3)`, &Constant{Node: &Weights{Field: "title", Terms: []TermWeight{{"a", 1}}, Boost: 1}, Score: 3}},
		{"a^=2", &Constant{Node: &Term{Text: "a", Boost: 1}, Score: 2}},
		{"(a^3)^=0", &Constant{Node: &Term{Text: "a", Boost: 3}}},
		{"(a b)~2", &Boolean{Clauses: []Clause{{Plain, &Term{Text: "a", Boost: 1}}, {Plain, &Term{Text: "b", Boost: 1}}}, Boost: 1, AtLeast: "2"}},
		{"(a)~1^2", &Boolean{Clauses: []Clause{{Plain, &Term{Text: "a", Boost: 1}}}, Boost: 2, AtLeast: "1"}},
	} {
		got, err := Parse(test.text, testFields)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %#v, %v, want %#v", test.text, got, err, test.want)
			continue
		}
		if again, err := Parse(got.String(), testFields); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s is written %s, which is %#v, %v", test.text, got, again, err)
		}
	}
}

// An object exists if one of its fields does.
func TestExistsOfObjects(t *testing.T) {
	fields := []string{"o.a", "o.b.c", "other"}
	for text, want := range map[string]Node{
		"_exists_:o":      AnyExists([]string{"o.a", "o.b.c"}),
		"_exists_:o.b":    &Exists{Field: "o.b.c", Boost: 1},
		"_exists_:o.b^=2": &Constant{Node: &Exists{Field: "o.b.c", Boost: 1}, Score: 2},
	} {
		got, err := Parse(text, fields)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
			continue
		}
		if again, err := Parse(got.String(), fields); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s is written %s, which is %v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"_exists_:oth", "_exists_:o.a.x", "_exists_:o."} {
		if _, err := Parse(text, fields); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// What usually is text has no operators.
func TestParseTextBesideOperators(t *testing.T) {
	for _, text := range []string{
		"5 * 3", "what is it?", "http://host/a?b=c", "/usr/lib", "/usr/lib/", "~/notes", "a~b", "[1]", "[a b]", "{a}", "<b>", "->x", "a > b", "**", "wow!",
		`wor\*`, `wr\?ld`, `word\~1`, `\/re\/`, `\*`, "a / b / c", "5/3", "title::x", "a[1 TO 2]", "x:[1 TO 2]", "_exists_: a",
	} {
		node, remarks := ParseLenient(text, testFields)
		terms := 0
		var visit func(n Node)
		visit = func(n Node) {
			switch n := n.(type) {
			case *Term:
				terms++
			case *Boolean:
				for _, c := range n.Clauses {
					visit(c.Node)
				}
			default:
				t.Errorf("%s has a %T", text, n)
			}
		}
		visit(node)
		if len(remarks) > 0 || terms == 0 {
			t.Errorf("%s: %v, remarks %v", text, node, remarks)
		}
	}
}

func TestFaultsOfNodes(t *testing.T) {
	for _, test := range []struct {
		text    string
		offset  int
		lenient string
	}{
		{"title:[a b]", 6, `title:\[a b]`},
		{"title:[a TO b", 6, `title:\[a TO b`},
		{"title:[a TO ]", 6, `title:\[a TO ]`},
		{"title:> x", 6, `title:\> x`},
		{"title:>=", 6, `title:\>=`},
		{"word~3", 4, "word~2"},
		{`"a b"~x`, 5, `"a b" ~x`},
		{`"a b"~`, 5, `"a b"`},
		{"(a b)~0", 5, "a b"},
		{"(a b)~x", 5, `(a b) ~x`},
		{"_exists_:none", 9, `_exists_\:none`},
		{"a^=", 1, `a\^=`},
		{"a^=2000", 1, "a"},
		{"(a^=40 b)^40", 9, "a^=40 b"},
	} {
		_, err := Parse(test.text, testFields)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrSyntax) || e.Offset != test.offset {
			t.Errorf("%s: error %v, want one at byte %d", test.text, err, test.offset)
		}
		if node, _ := ParseLenient(test.text, testFields); node.String() != test.lenient {
			t.Errorf("%s: lenient: %s, want %s", test.text, node, test.lenient)
		}
	}
}

func TestStringOfBuiltNodes(t *testing.T) {
	word := func(text string) Node { return &Term{Text: text} }
	for _, test := range []struct {
		node Node
		want string
	}{
		{&Terms{Field: "title", Values: []string{"a", "b c", ""}}, `(title:a OR title:b\ c OR title:"")^=1`},
		{&IDs{IDs: []string{"a", "b"}}, "(_id:a OR _id:b)"},
		{&DisMax{Nodes: []Node{word("a"), word("b")}, TieBreaker: 0.3, Boost: 2}, "(a | b)~0.3^2"},
		{&Boosting{Positive: word("a"), Negative: word("b"), NegativeBoost: 0.5}, "(a / b)^0.5"},
		{&Boolean{Clauses: []Clause{{Must, word("a")}, {Filter, word("b")}}}, "+a +b^=0"},
		{&Boolean{Clauses: []Clause{{Should, word("a")}, {Should, word("b")}}, AtLeast: "2"}, "(a OR b)~2"},
		{&Words{Text: "a b", Occur: Must}, "+a +b"},
		{&Words{Text: "a b", Occur: Should}, "a OR b"},
		{&Words{Text: "a b", AtLeast: "2", Boost: 3}, "(a b)~2^3"},
		{&Words{Text: "a b", Similar: &Similarity{Edits: "1"}}, "a~1 b~1"},
		{&Words{Text: "a b", Prefix: true}, "a b*"},
		{&Constant{Node: &Words{Text: "a b"}, Score: 1}, "(a b)^=1"},
	} {
		if err := Validate(test.node); err != nil {
			t.Errorf("%s: %v", test.want, err)
		}
		if got := test.node.String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestValidateNodes(t *testing.T) {
	word := &Term{Text: "a"}
	for name, node := range map[string]Node{
		"nil prefix": (*Prefix)(nil), "nil in a Constant": &Constant{}, "nil in a DisMax": &DisMax{Nodes: []Node{nil}},
		"nil in a Boosting": &Boosting{Positive: word}, "slop": &Phrase{Text: "a", Slop: -1}, "expansions": &Phrase{Text: "a", MaxExpansions: 5000},
		"edits": &Fuzzy{Text: "a", Similarity: Similarity{Edits: "3"}}, "prefix length": &Fuzzy{Text: "a", Similarity: Similarity{PrefixLength: -1}},
		"fuzzy text": &Fuzzy{}, "states": &Regexp{MaxStates: -1}, "score": &Constant{Node: word, Score: -1}, "large score": &Constant{Node: word, Score: 2000},
		"tie": &DisMax{Nodes: []Node{word}, TieBreaker: 2}, "negative boost": &Boosting{Positive: word, Negative: word, NegativeBoost: 1.5},
		"values": &IDs{IDs: make([]string, MaxValues+1)}, "minimum": &Boolean{AtLeast: "x"}, "minimum of words": &Words{Text: "a", AtLeast: "1<"},
		"occur of words": &Words{Text: "a", Occur: MustNot}, "boost": &MatchAll{Boost: -1}, "weights within": &Constant{Node: &Weights{}},
	} {
		if err := Validate(node); !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrTooManyClauses) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestMinimum(t *testing.T) {
	for _, test := range []struct {
		m    Minimum
		n    int
		want int
	}{
		{"2", 5, 2},
		{"7", 5, 7},
		{"-1", 5, 4},
		{"-7", 5, 0},
		{"75%", 4, 3},
		{"75%", 5, 3},
		{"-25%", 4, 3},
		{"-25%", 5, 4},
		{"0", 3, 0},
		{"-0%", 3, 3},
		{"2<75%", 2, 2},
		{"2<75%", 4, 3},
		{"2<-25% 9<-3", 2, 2},
		{"2<-25% 9<-3", 8, 6},
		{"2<-25% 9<-3", 10, 7},
		{"3<90%", 3, 3},
		{" 2 ", 3, 2},
	} {
		if got, err := test.m.Of(test.n); err != nil || got != test.want {
			t.Errorf("%q of %d: %d, %v, want %d", test.m, test.n, got, err, test.want)
		}
	}
	for _, m := range []Minimum{"x", "1.5", "%", "2<", "<2", "x<1", "99999999999999999999"} {
		if _, err := m.Of(3); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: error %v", m, err)
		}
	}
}

func TestSimilarityMax(t *testing.T) {
	for _, test := range []struct {
		edits, term string
		want        int
	}{
		{"", "ab", 0}, {"AUTO", "abc", 1}, {"auto", "äöüßé", 1}, {"AUTO", "abcdef", 2}, {"AUTO:1,4", "a", 1}, {"AUTO:1,4", "abcd", 2}, {"AUTO:0,0", "", 2}, {"0", "abcdef", 0}, {"2", "a", 2},
	} {
		if got, err := (&Similarity{Edits: test.edits}).Max(test.term); err != nil || got != test.want {
			t.Errorf("%s of %s: %d, %v, want %d", test.edits, test.term, got, err, test.want)
		}
	}
	for _, edits := range []string{"3", "-1", "AUTO:5", "AUTO:5,2", "AUTO:a,b", "1.5"} {
		if _, err := (&Similarity{Edits: edits}).Max(""); !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: error %v", edits, err)
		}
	}
}

func TestParseSimple(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"a b":              "a OR b",
		"a + b | c":        "+a +b OR c",
		"a | b + c":        "+(a OR b) +c",
		"a + b + c":        "+a +b +c",
		"-a b":             "(-a +*:*) OR b",
		"a + -b":           "+a +(-b +*:*)",
		"--a":              "a",
		`"a b"~2 c`:        `"a b"~2 OR c`,
		"wor* wor~1 word~": "wor* OR wor~1 OR word~2",
		"(a + b) | c":      "(+a +b) OR c",
		"a (b":             "a OR b",
		"a) b":             "a OR b",
		`"a`:               "a",
		`a\+b \*`:          `a+b OR \*`,
		"a + ":             "a",
		"| a":              "a",
		"~1":               "~1",
		"w*rd":             `w\*rd`,
		"a AND b":          `a OR \AND OR b`,
	} {
		node := ParseSimple(text, Should)
		got := node.String()
		if text == "a + b | c" {
			got = "+a +b OR c" // (a AND b) within an OR
			b, ok := node.(*Boolean)
			if !ok || len(b.Clauses) != 2 || b.Clauses[0].Node.String() != "+a +b" || b.Clauses[1].Occur != Should {
				t.Errorf("%s: %s", text, node)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := ParseSimple("a b | c", Must).String(); got != "(+a +b) OR c" {
		t.Errorf("with the operator and: %s", got)
	}
}

func FuzzParseSimple(f *testing.F) {
	for _, s := range []string{`a + (b | -"c d"~2) e* f~1`, `\`, `"`, "((((", "\xff~*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, occur := range []Occur{Should, Must} {
			if node := ParseSimple(text, occur); Validate(node) != nil {
				t.Fatalf("%q: %v", text, Validate(node))
			}
		}
	})
}

func TestWithOccur(t *testing.T) {
	for text, want := range map[string][2]string{
		"a b +c -d":       {"a OR b +c -d", "+a +b +c -d"},
		"(a b)~1 c":       {"(a OR b)~1 c", "+(a OR b)~1 +c"},
		"((a b)^2)^=3 c":  {"", "+((a b)^2)^=3 +c"},
		"a OR (b c)":      {"a OR (b OR c)", "a OR (+b +c)"},
		"title:(a b) c^2": {"(title:a OR title:b) OR c^2", "+(+title:a +title:b) +c^2"},
	} {
		for i, occur := range []Occur{Should, Must} {
			node, err := Parse(text, testFields)
			if err != nil {
				t.Fatal(err)
			}
			plain := false
			var visit func(n Node)
			visit = func(n Node) {
				if b, ok := n.(*Boolean); ok {
					for _, c := range b.Clauses {
						plain = plain || c.Occur == Plain
						visit(c.Node)
					}
				}
				eachPart(n, func(part *Node) { visit(*part) })
			}
			node = WithOccur(node, occur)
			visit(node)
			if plain {
				t.Errorf("%s still has plain clauses: %s", text, node)
			}
			if got := node.String(); i == 1 && text != "((a b)^2)^=3 c" && got != want[i] {
				t.Errorf("%s: %s, want %s", text, got, want[i])
			}
		}
	}
	if w := WithOccur(&Words{Text: "a"}, Must).(*Words); w.Occur != Must {
		t.Errorf("words have the occur %d", w.Occur)
	}
}

func TestInFields(t *testing.T) {
	fields := []FieldWeight{{"title", 2}, {"body", 0}}
	node, err := Parse(`a^3 +title:b -"c d"~1 wor* (x~1)^=2 _id:7`, testFields)
	if err != nil {
		t.Fatal(err)
	}
	want := `(title:a^6 | body:a^3) +title:b -(title:"c d"~1^2 | body:"c d"~1) (title:wor*^2 | body:wor*) (title:x~1^2 | body:x~1)^=2 _id:7`
	if got := InFields(node, fields, 0).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	all := []Node{&Term{Text: "a"}, &Words{Text: "a"}, &Phrase{Text: "a"}, &Prefix{}, &Wildcard{}, &Regexp{}, &Fuzzy{Text: "a"}, &Terms{}, &Range{}}
	for _, n := range all {
		one := InFields(n, fields[:1], 0)
		if reflect.TypeOf(one) != reflect.TypeOf(n) || *fieldOf(one) != "title" || *one.boost() != 2 || *fieldOf(n) != "" {
			t.Errorf("%T: %#v", n, one)
		}
	}
	if len(all) != 9 || !slices.ContainsFunc(all, func(n Node) bool { return fieldOf(n) != nil }) {
		t.Error("a leaf is missing")
	}
}
