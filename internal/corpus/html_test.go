package corpus

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHTMLText(t *testing.T) {
	for _, c := range []struct{ name, html, title, text string }{
		{"page", "<!DOCTYPE html><html><head><title> A  title </title><meta charset=utf-8></head><body><p>One<p>two</body>", "A title", "One\ntwo"},
		{"boilerplate", "<header><h1>Site</h1><nav>menu</nav></header><main>text</main><aside>ad</aside><footer>imprint</footer>", "Site", "text"},
		{
			"no text", "a<script>if (a < b) x()</script><style>p{}</style><noscript>turn on</noscript><template>t</template><svg><title>icon</title></svg><button>go</button>b",
			"", "a\nb",
		},
		{"inline", "<b>bo</b>ld <i>it</i>alic<br>line <a href=x>link</a>.", "", "bold italic\nline link."},
		{"references", "x &lt; y &amp; &eacute;&#228; &nbsp;z", "", "x < y & éä \u00a0z"},
		{"title from h1", "<p>before</p><h1>First <em>heading</em></h1><h1>Second</h1>", "First heading", "before\nFirst heading\nSecond"},
		{"title first", "<title>T</title><h1>H</h1>", "T", "H"},
		{"nested", "<nav>a<nav>b</nav>c</nav>text", "", "text"},
		{"menu not closed", "<nav>menu<p>text that would be lost", "", "menu\ntext that would be lost"},
		{"button not closed", "<nav>menu</nav>a<button>push<p>text that would be lost", "", "menu\na\npush\ntext that would be lost"},
		{"list not closed", "a<select><option>b<script>x()</script><p>text that would be lost", "", "a\nb\ntext that would be lost"},
		{"text area not closed", "<form><textarea>a</form><p>text that would be lost", "", "a\ntext that would be lost"},
		{"script not closed", "text<script>x()", "", "text"},
		{"nothing but a header", "<body><header>All of <b>it</b></header></body>", "", "All of it"},
		{"frames", "<frameset><noframes><body><p>For old <i>browsers</i></body></noframes></frameset>", "", "For old browsers"},
		{"XHTML", "<head><title/><script src=x /></head><p>text</p><script>x()</script><p>end", "", "text\nend"},
		{"heading not closed", "<h1>" + strings.Repeat("word ", 200) + "<p>rest", strings.TrimSpace(strings.Repeat("word ", 200)), strings.TrimSpace(strings.Repeat("word ", 200)) + "\nrest"},
		{"comment", "a<!-- <p>no -->b", "", "ab"},
		{"table", "<table><tr><td>1<td>2<tr><td>3</table>", "", "1\n2\n3"},
		{"no markup", "just text", "", "just text"},
		{"empty", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if title, text := htmlText([]byte(c.html)); title != c.title || text != c.text {
				t.Errorf("title %q, text %q, want %q, %q", title, text, c.title, c.text)
			}
		})
	}
}

func TestHTMLCharset(t *testing.T) {
	ascii := strings.Repeat(" ", 2000) // more than the part that shows the encoding
	for _, c := range []struct{ name, page, contentType, want string }{
		{"meta", "<meta charset=windows-1251>\xcf\xf0", "", "Пр"},
		{"header", "\x83\x65", "text/html; charset=shift_jis", "テ"},
		{"header wins", "<meta charset=windows-1251>é", "text/html; charset=utf-8", "é"},
		{"late UTF-8", ascii + "é", "", "é"},
		{"late Latin-1", ascii + "\xe9", "", "é"},
		{"UTF-16", "\xff\xfea\x00\xe9\x00", "", "aé"},
		{"byte order mark", "\ufeffé", "", "é"},
		{"invalid", "a\xffb", "text/html; charset=utf-8", "a\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := htmlText(htmlToUTF8([]byte(c.page), c.contentType)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, src, title, text string }{
		{"heading", "intro\n\n# The *title* #\n\ntext\n", "The *title*", "intro\n\n\ntext\n"},
		{"any level", "### Deep\ntext", "Deep", "text"},
		{"underlined", "Title\n=====\n\ntext\n---\n", "Title", "\ntext\n---\n"},
		{"underlined twice", "Title\n-----\ntext", "Title", "text"},
		{"in code", "```sh\n# comment\n```\n    # code\n\n# Title\n", "Title", "```sh\n# comment\n```\n    # code\n\n"},
		{"no heading", "#tag and\n\n---\ntext #", "", "#tag and\n\n---\ntext #"},
		{"front matter", "---\nauthor: x\ntitle: \"The title\"\n---\n# Other\n", "The title", "# Other\n"},
		{"front matter without title", "---\nauthor: x\n---\n# Title\ntext", "Title", "text"},
		{"text between rules", "---\nNot a field: is it?\n---\nrest", "Not a field: is it?", "---\nrest"},
		{"sharp", "# On C#\ntext", "On C#", "text"},
		{"closed sharp", "## On C# ##\ntext", "On C#", "text"},
		{"rule at the start", "---\n# Title\n", "Title", "---\n"},
		{"empty", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if title, text := markdownText(c.src); title != c.title || text != c.text {
				t.Errorf("title %q, text %q, want %q, %q", title, text, c.title, c.text)
			}
		})
	}
}

func FuzzHTML(f *testing.F) {
	f.Add([]byte("<!doctype html><title>a</title><nav>x</nav><h1>b<p>&eacute;<script>x</script>"), "text/html; charset=latin1")
	f.Fuzz(func(t *testing.T, page []byte, contentType string) {
		title, text := htmlText(htmlToUTF8(page, contentType))
		if !utf8.ValidString(title) || !utf8.ValidString(text) || strings.Contains(text, "\n\n") || strings.TrimLeft(text, " \n") != text {
			t.Fatalf("title %q, text %q", title, text)
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	f.Add("---\ntitle: x\n---\n# a #\n```\n# b\n```\nc\n===\n")
	f.Fuzz(func(t *testing.T, src string) {
		if _, text := markdownText(src); len(text) > len(src) {
			t.Fatalf("%q became %q", src, text)
		}
	})
}

func BenchmarkHTMLText(b *testing.B) {
	page := []byte("<html><head><title>t</title></head><body>" + strings.Repeat("<p>Some <b>text</b> of a paragraph &amp; a <a href=\"http://x.y/z\" class=link>link</a>, forty words or so.</p>\n", 500))
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		htmlText(page)
	}
}
