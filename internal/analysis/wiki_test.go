package analysis

import (
	"bufio"
	"encoding/json"
	"testing"

	"github.com/griffin-search/griffin/internal/shareddata"
)

// At least sizeBytes of title and text; skips without the shared data.
func wikiTexts(tb testing.TB, sizeBytes int) (texts [][]byte) {
	tb.Helper()
	lines := bufio.NewScanner(shareddata.OpenWiki(tb))
	lines.Buffer(nil, 1<<24)
	for total := 0; total < sizeBytes && lines.Scan(); {
		var doc struct{ Title, Text string }
		if err := json.Unmarshal(lines.Bytes(), &doc); err != nil {
			tb.Fatal(err)
		}
		texts = append(texts, []byte(doc.Title+" "+doc.Text))
		total += len(texts[len(texts)-1])
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return texts
}

// Real text.
func TestWikiSegmentsMatchUAX29(t *testing.T) {
	for _, text := range wikiTexts(t, 2<<20) {
		checkSegmenter(t, text)
	}
}
