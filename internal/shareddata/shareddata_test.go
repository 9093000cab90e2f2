package shareddata_test

import (
	"bufio"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/shareddata"
)

func TestCollectionsHaveTheStatedSizes(t *testing.T) {
	for _, c := range shareddata.Collections(t) {
		lines := bufio.NewScanner(shareddata.Open(t, c.Corpus))
		lines.Buffer(nil, 1<<20)
		n := 0
		for lines.Scan() {
			n++
		}
		if err := lines.Err(); err != nil || n != c.NumDocs {
			t.Errorf("%s: %d documents, want %d (%v)", c.Name, n, c.NumDocs, err)
		}
	}
}

func TestQueries(t *testing.T) {
	queries := shareddata.Queries(t, "tb05-1000.tsv")
	if len(queries) != 1000 || queries[0].ID == "" || queries[0].Text == "" {
		t.Errorf("%d queries, the first %+v", len(queries), queries[0])
	}
}

func TestOpenWiki(t *testing.T) {
	line, err := bufio.NewReader(shareddata.OpenWiki(t)).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"id": "12-0", "title": "Anarchism"`) {
		t.Errorf("first line %.60q (%v)", line, err)
	}
}
