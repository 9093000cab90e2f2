package traverse_test

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/traverse"
)

// wikiVersion names the cache file; it changes with the format of the lists, the codec or the
// analyzer.
const wikiVersion = 1

// wiki is the Wikipedia passages as one segment, inverted for the timed queries' terms.
type wiki struct {
	Lengths             []uint32
	NumTokens           int64
	Terms               map[string]int // index in Metas
	Metas               [][]byte
	Postings, Frontiers []byte

	avgLen float64
	sat    score.Saturation
	lists  []postings.List
	kept   *derived.Segment
}

// loadWiki uses a cache in the temporary directory; building it takes about a minute.
func loadWiki(tb testing.TB) *wiki {
	tb.Helper()
	shareddata.Dir(tb)  // skips without data
	dir := os.TempDir() //nolint:usetesting // the cache serves later runs
	path := filepath.Join(dir, fmt.Sprintf("griffin-traverse-wiki-v%d.gob", wikiVersion))
	w := new(wiki)
	if f, err := os.Open(path); err == nil {
		err = gob.NewDecoder(bufio.NewReaderSize(f, 1<<20)).Decode(w)
		f.Close()
		if err != nil {
			tb.Fatalf("%s: %v (delete it)", path, err)
		}
		w.open(tb)
		return w
	}
	w = buildWiki(tb)
	f, err := os.CreateTemp(dir, "griffin-traverse-wiki-*.tmp")
	if err != nil {
		tb.Fatal(err)
	}
	if err := gob.NewEncoder(f).Encode(w); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		tb.Fatal(err)
	}
	w.open(tb)
	return w
}

func (w *wiki) open(tb testing.TB) {
	w.avgLen = float64(w.NumTokens) / float64(len(w.Lengths))
	w.sat = score.Saturation{BM25: score.DefaultBM25, AvgLen: w.avgLen}
	w.lists = make([]postings.List, len(w.Metas))
	w.kept = derived.NewCache(derived.DefaultLimit).NewSegment()
	for i, rec := range w.Metas {
		m, _, err := postings.DecodeMeta(rec)
		if err != nil {
			tb.Fatal(err)
		}
		if err := w.lists[i].Open(m, codec.SIMDBP{}, w.Postings, nil, w.Frontiers); err != nil {
			tb.Fatal(err)
		}
	}
}

var queryLogs = []string{"tb05-1000.tsv", "tb06-1000.tsv"}

func readQueries(tb testing.TB, name string) [][]string {
	tb.Helper()
	var queries [][]string
	lines := bufio.NewScanner(shareddata.Open(tb, filepath.Join(shareddata.Dir(tb), "queries", name)))
	for lines.Scan() {
		_, text, _ := strings.Cut(lines.Text(), "\t")
		queries = append(queries, strings.Fields(text))
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return queries
}

func buildWiki(tb testing.TB) *wiki {
	w := &wiki{Terms: map[string]int{}}
	for _, name := range queryLogs {
		for _, query := range readQueries(tb, name) {
			for _, term := range query {
				if _, ok := w.Terms[term]; !ok {
					w.Terms[term] = len(w.Terms)
				}
			}
		}
	}
	analyzer, err := analysis.New("simple")
	if err != nil {
		tb.Fatal(err)
	}
	type column struct{ docIDs, freqs []uint32 }
	columns := make([]column, len(w.Terms))
	var tokens []analysis.Token
	lines := bufio.NewScanner(shareddata.OpenWiki(tb))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var doc struct{ Title, Text string }
		if err := json.Unmarshal(lines.Bytes(), &doc); err != nil {
			tb.Fatal(err)
		}
		docID := uint32(len(w.Lengths))
		tokens = analyzer.Tokens(tokens[:0], []byte(doc.Title+" "+doc.Text))
		w.Lengths = append(w.Lengths, uint32(len(tokens)))
		w.NumTokens += int64(len(tokens))
		for _, token := range tokens {
			i, ok := w.Terms[string(token.Term)]
			if !ok {
				continue
			}
			c := &columns[i]
			if n := len(c.docIDs); n > 0 && c.docIDs[n-1] == docID {
				c.freqs[n-1]++
			} else {
				c.docIDs, c.freqs = append(c.docIDs, docID), append(c.freqs, 1)
			}
		}
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	var p, f bytes.Buffer
	sat := score.Saturation{BM25: score.DefaultBM25, AvgLen: float64(w.NumTokens) / float64(len(w.Lengths))}
	writer := postings.NewWriter(postings.Options{Codec: codec.SIMDBP{}, Saturation: sat}, &p, nil, &f)
	for _, c := range columns {
		writer.Begin(w.Lengths)
		if err := writer.AddBlock(c.docIDs, c.freqs, nil); err != nil {
			tb.Fatal(err)
		}
		m, err := writer.Finish()
		if err != nil {
			tb.Fatal(err)
		}
		w.Metas = append(w.Metas, m.Append(nil))
	}
	w.Postings, w.Frontiers = p.Bytes(), f.Bytes()
	return w
}

func (w *wiki) query(terms []string) traverse.Query {
	q := traverse.Query{NumDocs: len(w.Lengths)}
	for _, term := range terms {
		i := w.Terms[term]
		l := &w.lists[i]
		t := score.DefaultBM25.NewTerm(score.IDF(uint64(q.NumDocs), uint64(l.DocFreq)), 1, w.avgLen)
		scale := score.NewScale(t, w.avgLen, w.avgLen)
		q.Legs = append(q.Legs, traverse.Leg{
			Leg: leg.Leg{List: l, Term: t, Scale: scale}, Lengths: w.Lengths, MaxScore: scale.Upper(l.Max), Derived: w.kept.List(uint64(i)),
		})
	}
	return q
}
