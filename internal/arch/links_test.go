package arch

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// document is a Markdown file without its fenced code.
type document struct {
	path    string // from the module root
	lines   []string
	anchors map[string]bool
}

func documents(t *testing.T) map[string]document {
	t.Helper()
	docs := map[string]document{}
	err := walk(true /* nested */, func(name string) error {
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		docs[name] = newDocument(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

var (
	heading = regexp.MustCompile(`^#{1,6} +(.*?)(?: +#+)?$`)
	idAttr  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	// link finds [text](target), ![text](target) and [text]: target; the text may be an image.
	link     = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	attr     = regexp.MustCompile(`<[a-z]+ [^>]*\b(?:href|src|srcset)="([^"]+)"`)
	linkDef  = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)`)
	codeSpan = regexp.MustCompile("`[^`]*`")
	mdMarkup = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

func newDocument(name, text string) document {
	d := document{path: name, anchors: map[string]bool{}}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			fenced = !fenced
			line = ""
		}
		if fenced {
			line = ""
		}
		d.lines = append(d.lines, line) // empty lines preserve the numbering
		if m := heading.FindStringSubmatch(line); m != nil {
			slug := slugOf(m[1])
			for i, unique := 1, slug; ; i++ {
				if !d.anchors[unique] {
					d.anchors[unique] = true
					break
				}
				unique = fmt.Sprintf("%s-%d", slug, i)
			}
		}
		for _, m := range idAttr.FindAllStringSubmatch(line, -1) {
			d.anchors[m[1]] = true
		}
	}
	return d
}

// slugOf returns GitHub's anchor of a heading.
func slugOf(title string) string {
	title = mdMarkup.ReplaceAllString(title, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestLinksResolve(t *testing.T) {
	docs := documents(t)
	for _, d := range docs {
		for i, line := range d.lines {
			line = codeSpan.ReplaceAllString(line, "``")
			for _, target := range targets(line) {
				if msg := checkLink(docs, d.path, target); msg != "" {
					t.Errorf("%s:%d: link to %s: %s", d.path, i+1, target, msg)
				}
			}
		}
	}
}

func targets(line string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(line, -1) {
		out = append(out, m[1])
	}
	for _, m := range attr.FindAllStringSubmatch(line, -1) {
		out = append(out, m[1])
	}
	if m := linkDef.FindStringSubmatch(line); m != nil {
		out = append(out, m[1])
	}
	return out
}

// External addresses are not checked, so no network is needed.
func checkLink(docs map[string]document, from, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
			return "no such file: " + to
		}
	}
	if u.Fragment == "" {
		return ""
	}
	d, ok := docs[to]
	if !ok {
		return "has an anchor, but is no Markdown file"
	}
	if !d.anchors[u.Fragment] {
		return "no heading with this anchor in " + to
	}
	return ""
}

func TestCheckLink(t *testing.T) {
	docs := map[string]document{
		"README.md": newDocument("README.md", "# One `two`, three\n```sh\n# no heading\n```\n## Same\n## Same\n"),
	}
	for target, ok := range map[string]bool{
		"#one-two-three":             true,
		"#same-1":                    true,
		"#no-heading":                false,
		"#same-2":                    false,
		"go.mod":                     true,
		"nowhere.md":                 false,
		"go.mod#x":                   false,
		"https://example.org/x#frag": true,
	} {
		t.Run(target, func(t *testing.T) {
			if msg := checkLink(docs, "README.md", target); (msg == "") != ok {
				t.Errorf("checkLink(%s) = %q, want ok=%t", target, msg, ok)
			}
		})
	}
	line := `[![badge](b.svg)](ci "title") and [x](<y.md>) <img alt="" src="z.png">`
	if got := strings.Join(targets(line), " "); got != "b.svg ci y.md z.png" {
		t.Errorf("targets(%s) = %s", line, got)
	}
}
