package snippet

import (
	"html"
	"strings"
)

const ellipsis = "…"

// Join makes one text of fragments: " … " stands between them, and an ellipsis
// where the first or the last cuts a sentence.
func Join(fragments []Fragment) Fragment {
	var b strings.Builder
	var joined Fragment
	for i, f := range fragments {
		switch {
		case i > 0:
			b.WriteString(" " + ellipsis + " ")
		case f.CutBefore:
			b.WriteString(ellipsis + " ")
		}
		offset := b.Len()
		b.WriteString(f.Text)
		for _, h := range f.Highlights {
			joined.Highlights = append(joined.Highlights, Range{h.Start + offset, h.End + offset})
		}
	}
	if n := len(fragments); n > 0 && fragments[n-1].CutAfter {
		b.WriteString(" " + ellipsis)
	}
	joined.Text = b.String()
	return joined
}

// HTML returns the text for a page: escaped, with <mark> around highlights.
func (f Fragment) HTML() string { return f.render("<mark>", "</mark>", html.EscapeString) }

// ANSI returns the text for a terminal: highlights are bold.
func (f Fragment) ANSI() string {
	return f.render("\x1b[1m", "\x1b[22m", func(text string) string { return text })
}

// render returns the text with before and after around each highlight.
func (f Fragment) render(before, after string, escape func(string) string) string {
	var b strings.Builder
	end := 0
	for _, h := range f.Highlights {
		b.WriteString(escape(f.Text[end:h.Start]))
		b.WriteString(before)
		b.WriteString(escape(f.Text[h.Start:h.End]))
		b.WriteString(after)
		end = h.End
	}
	b.WriteString(escape(f.Text[end:]))
	return b.String()
}
