package griffin_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// The index of version 1, made by internal/index (goldenDocs), stays readable. Its scores do not count
// deleted documents, and equal scores rank by the order of writing, as in later versions.
func TestVersion1Searches(t *testing.T) {
	ix, err := griffin.Open(filepath.Join("internal", "index", "testdata", "v1"), griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if err := ix.Verify(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"roc":                         "d000 2.7856, d050 2.7856, late 2.0365",
		"griffin gold":                "d001 0.3733, d003 0.3733, d005 0.3733",
		"\"second segment\"":          "late 4.9896",
		"author:adler -title:griffin": "late 0.2099",
		"+roc +legs number":           "d000 5.0306",
		"d100 phoenix":                "",
	} {
		t.Run(query, func(t *testing.T) {
			r, err := ix.Search(t.Context(), griffin.Query{Text: query, K: 3})
			if err != nil {
				t.Errorf("%s: %v", query, err)
				return
			}
			var got []string
			for _, h := range r.Hits {
				got = append(got, fmt.Sprintf("%s %.4f", h.ID, h.Score))
			}
			if got := strings.Join(got, ", "); got != want {
				t.Errorf("%s: got %s, want %s", query, got, want)
			}
		})
	}
}
