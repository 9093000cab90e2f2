package suggest

import "testing"

func TestClosest(t *testing.T) {
	names := []string{"title", "author", "meta.url", "meta.author.name", "größe"}
	for _, c := range []struct{ name, word, want string }{
		{"equal", "author", "author"},
		{"case", "Title", "title"},
		{"replaced", "tidle", "title"},
		{"exchanged", "titel", "title"},
		{"left out", "autho", "author"},
		{"added", "autthor", "author"},
		{"last part", "url", "meta.url"},
		{"last part with an error", "naem", "meta.author.name"},
		{"not ASCII", "grösse", "größe"},
		{"too far", "path", ""},
		{"at the limit", "abthox", "author"},
		{"beyond the limit", "abthxx", ""},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Closest(c.word, names); got != c.want {
				t.Errorf("Closest(%q) = %q, want %q", c.word, got, c.want)
			}
		})
	}
	if got := Closest("title", nil); got != "" {
		t.Errorf("Closest without names: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"mode", "mode", 0},
		{"mode", "mod", 1},
		{"", "abc", 3},
		{"kitten", "sitting", 3},
		{"serch", "search", 1},
		{"ab", "ba", 1},
		{"abc", "ca", 3},
		{"é", "e", 1},
	} {
		t.Run(c.a+" "+c.b, func(t *testing.T) {
			if got := Distance(c.a, c.b); got != c.want {
				t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
			}
			if got := Distance(c.b, c.a); got != c.want {
				t.Errorf("Distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
			}
		})
	}
}
