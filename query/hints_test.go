package query

import (
	"slices"
	"strings"
	"testing"
)

// An unknown name before a blank is usual text, except where nothing may be ignored.
func TestStrictHints(t *testing.T) {
	fields := []string{"", "title"}
	const want = `no field "titel"; fields: title; did you mean title:? ("titel:" is searched as words; write titel\: for the text)`
	for _, text := range []string{`titel: x`, `+titel: x`, `a titel:`, `(titel: x)`} {
		if got := StrictHints(text, fields); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if got := Hints(text, fields); len(got) > 0 {
			t.Errorf("%s: %q of usual text", text, got)
		}
	}
	for _, text := range []string{`titel\: x`, `3: x`, `a::b`, `: x`, `title:x`, `http://x`} {
		if got := StrictHints(text, fields); len(got) > 0 {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := StrictHints(`titel:x`, fields); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestHints(t *testing.T) {
	fields := []string{"", "title", "meta.author"}
	for _, c := range []struct{ query, want string }{
		{`titel:x`, `no field "titel"; fields: title, meta.author; did you mean title:? ("titel:x" is searched as words; write titel\:x for the text)`},
		{`a +Title:x`, `no field "Title"; fields: title, meta.author; did you mean title:?`},
		{`(author:"a b")`, `no field "author"; fields: title, meta.author; did you mean meta.author:?`},
		{`path:(a b)`, `no field "path"; fields: title, meta.author (`},
		{`id:7`, `no field "id"; fields: title, meta.author (`},
		{`a NEAR b`, `no operator NEAR`},
		{`a NEAR/3 b`, `no operator NEAR`},
		{`a && b`, `no operator "&&": write AND`},
		{`a || b`, `no operator "||": write OR`},
		{`!a`, `no operator "!": write -a to exclude, or \!a for the text`},
		{`!!a`, `no operator "!": write -a to exclude, or \!!a for the text`},
		{`+!a`, `no operator "!": write -a to exclude, or +\!a for the text`},
		{`-!a`, `no operator "!": write -a to exclude, or -\!a for the text`},
		{`!(a b)`, `no operator "!"`},
		{`title:!y`, `no operator "!": write -title:y to exclude, or title:\!y for the text`},
		{`title:!"x y"`, `no operator "!"`},
		{`a &&& b`, `no operator "&&": write AND`},
		{`a &&b`, `no operator "&&": write AND`},
		{`title: x`, `nothing follows "title:": write the value directly after it, or title\: for the text`},
		{`(a meta.author:)`, `nothing follows "meta.author:"`},
		{`_exists_:`, `nothing follows "_exists_:"`},
		{`a ||| b`, `no operator "||": write OR`},
	} {
		t.Run(c.query, func(t *testing.T) {
			got := Hints(c.query, fields)
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("hints %q, want %q", got, c.want)
			}
		})
	}
	for _, text := range []string{
		"", "zebra", "title:x", `meta.author:"a:b*"`, "title:(a b)", "std::vector", "http://host/a?b=c", "http://host/", "note: this", "zeb*", "z?bra", "title:*ra", "zebr~", "zebr~0.8", `"a b"~5`, "/zeb.*a/", "title:[10 TO 20]", "title:>10", "*:*", "*",
		"_exists_:title", "_id:7", "title:/a b:c|d/", "/a b:c/",
		"12:30", `C:\temp`, "what is it?", "why?!", "wow !!!", "a&&b a||b", `title:\!y`, `+\!a`, "a * b", "5 * 3", "C++", "a/b", "/usr/lib/", "~/notes", "wow!", "nearly", "a~b",
		`titel\:x`, `zeb\*`, `z\?bra`, `zebr\~`, `\/re\/`, `\*`, `\!a`, `"zeb*" "titel:x"`, "(a) [1]", "**", "x:", `title\: x`, "a title :x",
	} {
		t.Run("no hint for "+text, func(t *testing.T) {
			if got := Hints(text, fields); got != nil {
				t.Errorf("hints %q, want none", got)
			}
		})
	}
	t.Run("no fields", func(t *testing.T) {
		got := Hints("a:b", []string{""})
		if len(got) != 1 || !strings.HasPrefix(got[0], `no field "a"; the index has no fields to search in (`) {
			t.Errorf("hints %q", got)
		}
	})
	t.Run("at most MaxRemarks, each once", func(t *testing.T) {
		many := ""
		for i := range 2 * MaxRemarks {
			many += strings.Repeat("a", i/2+1) + ":b "
		}
		got := Hints(many, fields)
		if len(got) != MaxRemarks || len(slices.Compact(slices.Clone(got))) != MaxRemarks {
			t.Errorf("%d hints, %q", len(got), got)
		}
	})
}

func TestHintsAllocateNothing(t *testing.T) {
	fields := []string{"", "title"}
	if n := testing.AllocsPerRun(100, func() { Hints(`white whale "moby dick" +ship -film^2 C++`, fields) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Written as the hint says, each part gives the same words and no further hint.
func TestHintsFollowTheirAdvice(t *testing.T) {
	for _, text := range []string{"titel:x", "titel:zeb", "a:b:c"} {
		t.Run(text, func(t *testing.T) {
			advised := text
			for range 3 {
				hints := Hints(advised, nil)
				if len(hints) == 0 {
					break
				}
				_, after, ok := strings.Cut(hints[0], " write ")
				if !ok {
					_, after, ok = strings.Cut(hints[0], "(write ")
				}
				advice, _, found := strings.Cut(after, " for the text)")
				if !ok || !found {
					t.Fatalf("no advice in %q", hints[0])
				}
				advised = advice
			}
			if hints := Hints(advised, nil); len(hints) > 0 {
				t.Errorf("%s still has hints %q", advised, hints)
			}
			node, err := Parse(advised, nil)
			if err != nil {
				t.Fatal(err)
			}
			if term, ok := node.(*Term); !ok || term.Text != text {
				t.Errorf("%s is %v, want the word %s", advised, node, text)
			}
		})
	}
}

func FuzzHints(f *testing.F) {
	for _, s := range []string{`a:b*~ "c"~5 /x/ \`, "é?é", "\xff*:", `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n := len(Hints(text, []string{"", "title"})); n > MaxRemarks {
			t.Fatalf("%d hints", n)
		}
	})
}
