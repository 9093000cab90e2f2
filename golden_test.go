package griffin_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// The index of version 1, made by internal/index (goldenDocs), keeps its hits and scores.
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
		"roc":                         "d000 2.4626, d050 2.4626, late 1.8008",
		"griffin gold":                "d003 0.3804, d005 0.3804, d009 0.3804",
		"\"second segment\"":          "late 5.0085",
		"author:adler -title:griffin": "late 0.3769",
		"+roc +legs number":           "d000 4.3041",
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
