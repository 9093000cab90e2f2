package impact_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs"
)

var update = flag.Bool("update", false, "regenerate testdata/v1")

func goldenLists() []entry {
	all, some, few := entry{term: "all"}, entry{term: "löwe"}, entry{term: "ox"}
	for d := range base.DocID(3000) {
		all.postings = append(all.postings, impact.Posting{DocID: d, Impact: uint8(1 + d%2)})
		if d%19 == 0 {
			some.postings = append(some.postings, impact.Posting{DocID: d, Impact: 7})
		}
	}
	few.postings = []impact.Posting{{DocID: 1, Impact: 12}, {DocID: 3, Impact: 255}, {DocID: 2999, Impact: 12}}
	return []entry{all, some, few}
}

// "go test -update" is valid only before version 1 is released.
func TestVersion1StaysReadable(t *testing.T) {
	for _, codec := range []string{"qmx", "simdbp", "lrc"} {
		t.Run(codec, func(t *testing.T) {
			name := filepath.Join("testdata", "v1", codec)
			lists := goldenLists()
			if *update {
				check(t, os.MkdirAll(filepath.Dir(name), 0o777))
				w, err := impact.Create(vfs.OS, name, impact.Options{
					IndexID: "0123456789abcdef", Generation: 3, NumDocs: 3000, Codec: codec, BitmapBits: 8,
					Ranking: impact.Ranking{Name: impact.RankingATIRE, BM25: score.DefaultBM25}, Quantizer: impact.Quantizer{Min: 5, Max: 500},
				})
				check(t, err)
				for _, l := range lists {
					check(t, w.Add([]byte(l.term), l.postings))
				}
				check(t, w.Close())
			}
			x, err := impact.Open(vfs.OS, name)
			check(t, err)
			defer x.Close()
			check(t, x.Verify(t.Context(), nil))
			for _, want := range lists {
				var l impact.List
				found, err := x.Find([]byte(want.term), &l)
				check(t, err)
				if !found || !slices.Equal(read(t, x, &l), want.postings) {
					t.Errorf("term %q: found %v, or other postings", want.term, found)
				}
			}
			m := x.Meta()
			if m.IndexID != "0123456789abcdef" || m.Generation != 3 || m.Ranking != impact.RankingATIRE || m.Codec != codec || m.Quantizer.Max != 500 {
				t.Errorf("%+v", m)
			}
			if m.Raw.Segments == 0 || m.Blocks.Segments == 0 || m.Bitmap.Segments == 0 {
				t.Errorf("not all forms: %+v", m)
			}
		})
	}
}
