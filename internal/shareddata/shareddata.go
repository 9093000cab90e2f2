package shareddata

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// maxWindowBytes is the largest zstd window of the collections.
const maxWindowBytes = 128 << 20

// Collection is one judged collection.
type Collection struct {
	Name    string
	NumDocs int    // documents in Corpus
	Corpus  string // JSONL compressed with zstd: id, title, text
	Queries string // id<TAB>text
	Qrels   string // TREC: qid 0 docid rel
}

// Query is one line of a query file.
type Query struct{ ID, Text string }

// collectionSizes are the document counts in the folder's README.
var collectionSizes = []struct {
	name    string
	numDocs int
}{
	{"cacm", 3204},
	{"cranfield", 1400},
	{"nfcorpus", 3633},
	{"npl_vaswani", 11429},
	{"scifact", 5183},
}

// NumWikiPassages is the total number of wiki passages.
const NumWikiPassages = 750_000

// Dir returns the path of the shared data. If this machine does not have them, it skips the
// test, or fails it if CI=true.
func Dir(t testing.TB) string {
	t.Helper()
	start, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// A module may be nested in another (bench/peers), so every parent with a go.mod is
	// tried.
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			data := filepath.Join(filepath.Dir(dir), "shared", "data")
			if info, err := os.Stat(data); err == nil && info.IsDir() {
				return data
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	const absent = "the folder ../shared/data (test collections that are not part of the repository) is absent"
	if os.Getenv("CI") == "true" {
		t.Fatal(absent + ", and CI=true requires it")
	}
	t.Skip(absent + ": this test is skipped; nothing is wrong with your checkout")
	return ""
}

// Collections returns all judged collections, sorted by name.
func Collections(t testing.TB) []Collection {
	t.Helper()
	dir := Dir(t)
	var all []Collection
	for _, c := range collectionSizes {
		folder := filepath.Join(dir, "collections", c.name)
		all = append(all, Collection{
			Name:    c.name,
			NumDocs: c.numDocs,
			Corpus:  filepath.Join(folder, "corpus.jsonl.zst"),
			Queries: filepath.Join(folder, "queries.tsv"),
			Qrels:   filepath.Join(folder, "qrels.txt"),
		})
	}
	return all
}

// OneCollection returns the judged collection with the given name.
func OneCollection(t testing.TB, name string) Collection {
	t.Helper()
	for _, c := range Collections(t) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no collection is named %q", name)
	return Collection{}
}

// Wiki returns the paths of the wiki passages (JSONL compressed with zstd), in order.
func Wiki(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(Dir(t), "wiki", "wiki-passages-*.jsonl.zst"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no wiki passages in the shared data (%v)", err)
	}
	return paths
}

// OpenWiki returns the wiki passages as one decompressed stream of JSON lines. It is closed
// when the test ends.
func OpenWiki(t testing.TB) io.Reader {
	t.Helper()
	var parts []io.Reader
	for _, path := range Wiki(t) {
		parts = append(parts, Open(t, path))
	}
	return io.MultiReader(parts...)
}

// Open opens a file of the shared data and decompresses it if its name ends in .zst. It is
// closed when the test ends.
func Open(t testing.TB, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // read-only: the error can be ignored
	if !strings.HasSuffix(path, ".zst") {
		return f
	}
	d, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(maxWindowBytes), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// Queries reads a query file: a name in the folder queries ("tb05-1000.tsv") or the path of
// a collection's Queries.
func Queries(t testing.TB, name string) []Query {
	t.Helper()
	path := name
	if !strings.ContainsRune(name, filepath.Separator) {
		path = filepath.Join(Dir(t), "queries", name)
	}
	var queries []Query
	lines := bufio.NewScanner(Open(t, path))
	for n := 1; lines.Scan(); n++ {
		id, text, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			t.Fatalf("%s:%d: no tab", path, n)
		}
		queries = append(queries, Query{ID: id, Text: text})
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return queries
}

// CIFF returns the path of the CIFF file written by other software.
func CIFF(t testing.TB) string {
	t.Helper()
	return filepath.Join(Dir(t), "toy-complete-20200309.ciff")
}
