package segment

import (
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
)

var sharedText = strings.Repeat("a text that others have as well, ", 4)

// Documents are read as they were written, whether strings share bytes or not.
func TestStoredDocs(t *testing.T) {
	quoted := sharedText + "\"quoted\", 1 < 2 \\ \u00e9\u4e2d\U0001F600\n" + sharedText
	json := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "<", `\u003c`, "\U0001F600", `\uD83D\ude00`, "\u00e9", `\u00E9`).Replace(quoted)
	if strings.Contains(json, quoted) {
		t.Fatal("nothing is escaped")
	}
	shared := new(corpus.Shared)
	var d StoredDoc
	for _, c := range []struct {
		name        string
		title, text string
		extra       []corpus.Field
		most        int // bytes
	}{
		{"empty", "", "", nil, 3},
		{"no fields", sharedText, sharedText, nil, 2*len(sharedText) + 8},
		{"text of 128 bytes", strings.Repeat("x", 128), "", []corpus.Field{{Name: "a", Value: "b"}}, 150},
		{"nothing in common", "title", sharedText, []corpus.Field{{Name: "url", Value: "https://example.org"}}, len(sharedText) + 50},
		{"parts", "title", sharedText, []corpus.Field{{Name: "text", Value: sharedText}, {Name: "_source", Value: `{"title":"title","text":"` + sharedText + `"}`}}, len(sharedText) + 80},
		{"escaped parts", quoted, quoted, []corpus.Field{{Name: "text", Value: quoted}, {Name: "_source", Value: `{"text":"` + json + `"}`}}, len(json) + 80},
		{"many fields", quoted, sharedText, append(make([]corpus.Field, 40), corpus.Field{Name: "_source", Value: json}), len(json) + 350},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := appendStoredDoc(nil, shared, c.title, c.text, c.extra)
			if len(b) > c.most {
				t.Errorf("%d bytes, want at most %d", len(b), c.most)
			}
			if err := d.decode(b); err != nil {
				t.Fatal(err)
			}
			if string(d.Title) != c.title || string(d.Text) != c.text || len(d.Extra) != len(c.extra) {
				t.Fatalf("title %q, text %q, %d fields", d.Title, d.Text, len(d.Extra))
			}
			for i, f := range d.Extra {
				if string(f.Name) != c.extra[i].Name || string(f.Value) != c.extra[i].Value {
					t.Errorf("field %d: %q = %q", i, f.Name, f.Value)
				}
			}
			for n := range b {
				if err := d.decode(b[:n]); err == nil {
					t.Fatalf("%d of %d bytes are a document", n, len(b))
				}
			}
		})
	}
}
