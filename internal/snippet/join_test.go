package snippet

import "strings"

const ellipsis = "…"

// " … " separates fragments; an ellipsis marks a truncated sentence at either end.
func join(fragments []Fragment) Fragment {
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

func mark(f Fragment) string {
	var b strings.Builder
	end := 0
	for _, h := range f.Highlights {
		b.WriteString(f.Text[end:h.Start] + "[" + f.Text[h.Start:h.End] + "]")
		end = h.End
	}
	return b.String() + f.Text[end:]
}
