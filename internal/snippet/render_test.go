package snippet

import (
	"encoding/json"
	"testing"
)

func TestRender(t *testing.T) {
	fragments := []Fragment{
		{Text: "a <cat> & dog", Highlights: []Range{{3, 6}, {10, 13}}, CutBefore: true},
		{Text: "the cat", Highlights: []Range{{4, 7}}, CutAfter: true},
	}
	joined := Join(fragments)
	if want := "… a <cat> & dog … the cat …"; joined.Text != want {
		t.Errorf("Join: %q, want %q", joined.Text, want)
	}
	if got, want := joined.HTML(), "… a &lt;<mark>cat</mark>&gt; &amp; <mark>dog</mark> … the <mark>cat</mark> …"; got != want {
		t.Errorf("HTML: %q, want %q", got, want)
	}
	if got, want := fragments[1].ANSI(), "the \x1b[1mcat\x1b[22m"; got != want {
		t.Errorf("ANSI: %q, want %q", got, want)
	}
	got, err := json.Marshal(fragments[1])
	if want := `{"text":"the cat","highlights":[{"start":4,"end":7}],"cut_after":true}`; err != nil || string(got) != want {
		t.Errorf("JSON: %s (%v), want %s", got, err, want)
	}
	if empty := Join(nil); empty.Text != "" || empty.Highlights != nil {
		t.Errorf("Join of nothing: %+v", empty)
	}
}
