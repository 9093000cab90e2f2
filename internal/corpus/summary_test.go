package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// In its own directory, so that paths are short.
func readFolder(t testing.TB, files map[string]string, opts Options) (*result, Summary) {
	t.Helper()
	dir := writeFiles(t, files)
	t.Chdir(dir)
	r, err := Open([]string{"."}, opts)
	if err != nil {
		t.Fatal(err)
	}
	res, err := collect(r)
	if err != nil {
		t.Fatal(err)
	}
	return res, r.Summary()
}

func idsOf(docs []Document) []string {
	ids := make([]string, len(docs))
	for i := range docs {
		ids[i] = docs[i].ID
	}
	return ids
}

// Files of all kinds.
func mixed(t testing.TB) map[string]string {
	large := strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&large, `{"_id": "l%d", "contents": "some text to fill the file"}`+"\n", i)
	}
	return map[string]string{
		"a/readme.md":     "# Read me\n",
		"books.csv":       "id,Title,Description,Year\nb1,T,D,1999\nb2,U,E,\n",
		"cities.json":     `[{"name": "Oslo", "place": {"lat": 60}}, {"name": "Rome"}]`,
		"large.jsonl":     large.String(),
		"large.txt":       strings.Repeat("word ", 100_000),
		"lists.ciff":      "\x06\x00",
		"logs.jsonl":      "{\"level\": 1}\n{\"level\": 2}\n",
		"news.trec":       "<DOC><DOCNO>n1</DOCNO><TEXT>x</TEXT></DOC>",
		"packed.jsonl.gz": gzipped(t, `{"id": "p1", "text": "x", "tags": ["a"]}`+"\n{\"text\": \"y\"}\n"),
		"picture.png":     "\x89PNG\x00",
		"qrels.txt":       "1 0 d1 1\n",
		"queries.tsv":     "1\tfox\n2\tdog\n",
		"settings.json":   "{\"indent\": 4}",
		"single.json":     `{"id": 1, "data": "` + strings.Repeat("x", 2*sniffBytes) + `"}`,
		"utf16.csv":       "\xff\xfet\x00e\x00x\x00t\x00,\x00a\x00\n\x00",
		"words.json":      `["a", "b"]`,
		"wide.json":       `{"id": "w1", "text": "` + strings.Repeat("x", 2*sniffBytes) + `", "tags": []}` + "\n" + `{"id": "w2", "text": ""}`,
	}
}

func TestMixedFolder(t *testing.T) {
	res, summary := readFolder(t, mixed(t), Options{})
	checkBad(t, res.bad)
	ids := slices.DeleteFunc(idsOf(res.docs), func(id string) bool {
		return strings.HasPrefix(id, "l") && id != "large.txt" && id != "logs.jsonl" && id != "l0"
	})
	want := []string{
		"a/readme.md", "b1", "b2", "cities.json:1", "cities.json:2", "l0", "large.txt", "logs.jsonl", "n1",
		"p1", "packed.jsonl.gz:2", "qrels.txt", "queries.tsv", "settings.json", "single.json", "utf16.csv",
		"w1", "w2", "words.json",
	}
	if !slices.Equal(ids, want) {
		t.Errorf("documents\n %q, want\n %q", ids, want)
	}
	wantCollections := []Collection{
		{File: "books.csv", Format: "csv", Records: 2, ID: []string{"id"}, Title: []string{"Title"}, Text: []string{"Description"}, Fields: []string{"Description", "Year"}},
		{File: "cities.json", Format: "json", Records: 2, Title: []string{"name"}, Fields: []string{"name", "place.lat"}, Numbered: 2},
		{File: "large.jsonl", Format: "jsonl", Records: 10_000, ID: []string{"_id"}, Text: []string{"contents"}},
		{File: "news.trec", Format: "trectext", Records: 1},
		{File: "packed.jsonl.gz", Format: "jsonl", Records: 2, ID: []string{"id"}, Text: []string{"text"}, Fields: []string{"tags"}, Numbered: 1},
		{File: "wide.json", Format: "jsonl", Records: 2, ID: []string{"id"}, Text: []string{"text"}},
	}
	if !reflect.DeepEqual(summary.Collections, wantCollections) {
		t.Errorf("collections\n %+v, want\n %+v", summary.Collections, wantCollections)
	}
	if want := []string{"Description", "Year", "name", "path", "place.lat", "tags", "title"}; !slices.Equal(summary.Names, want) {
		t.Errorf("names %q, want %q", summary.Names, want)
	}
	if want := []SkippedFile{{"lists.ciff", skippedCIFF}, {"picture.png", skippedBinary}}; !slices.Equal(summary.Skipped, want) {
		t.Errorf("skipped %v, want %v", summary.Skipped, want)
	}
	checkBad(t, summary.Notes, "logs.jsonl is one document: neither a title nor a text", "queries.tsv is one document: its first row names no title or text column", "utf16.csv is one document: UTF-16 or binary data")
}

func TestFolderInOneFormat(t *testing.T) {
	for _, c := range []struct {
		format  string
		docs    int
		skipped int
	}{
		{formatJSONL, 10_000 + 2 + 2, 11},
		{formatJSON, 10_000 + 2 + 2 + 2, 9},
		{formatCSV, 2, 14},
		{formatTRECText, 1, 16},
		{formatWARC, 0, 17},
		{formatFolder, 15, 2},
	} {
		t.Run(c.format, func(t *testing.T) {
			res, summary := readFolder(t, mixed(t), Options{Format: c.format})
			if len(res.docs) != c.docs || len(summary.Skipped) != c.skipped {
				t.Errorf("%d documents, skipped %d, want %d and %d; %v; %q", len(res.docs), len(summary.Skipped), c.docs, c.skipped, summary.Skipped, res.bad)
			}
			if c.format != formatFolder && !slices.Contains(summary.Skipped, SkippedFile{"qrels.txt", "not of format " + c.format}) {
				t.Errorf("skipped %v, without qrels.txt", summary.Skipped)
			}
		})
	}
}

// The second time, with more files around and more batches.
func TestIDsOfRecordsAreStable(t *testing.T) {
	files := map[string]string{"x/a.jsonl": "{\"text\": \"1\"}\n\n{\"text\": \"2\"}\n", "x/b.csv": "text\n\"1\n2\"\n3\n"}
	first, _ := readFolder(t, files, Options{})
	if want := []string{"x/a.jsonl:1", "x/a.jsonl:3", "x/b.csv:2", "x/b.csv:4"}; !slices.Equal(idsOf(first.docs), want) {
		t.Fatalf("ids %q, want %q", idsOf(first.docs), want)
	}
	files["x/a.jsonl"] += strings.Repeat("{\"text\": \"more\"}\n", 100_000)
	files["aa.txt"] = "text"
	second, _ := readFolder(t, files, Options{})
	ids := idsOf(second.docs)
	for _, id := range idsOf(first.docs) {
		if !slices.Contains(ids, id) {
			t.Errorf("the second time there is no %q", id)
		}
	}
}

// A large file that is not text must not count as read text.
func TestSkippedFilesDoNotCount(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.txt": "some text", "b.txt.gz": gzipped(t, strings.Repeat("x", 1000)), "c.csv": "text\nsome more\n"})
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 3 << 30
	if err := sparse.Truncate(size); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	if err := sparse.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	read := int64(0)
	for {
		b, err := r.Next()
		if err != nil {
			break
		}
		if err := b.Parse(func(*Document) error { return nil }, func(e *RecordError) error { return e }); err != nil {
			t.Fatal(err)
		}
		read += b.SizeBytes
	}
	if want := int64(len("some text") + 1000 + len("some more\n")); read != want {
		t.Errorf("%d bytes of text, want %d", read, want)
	}
	if done, total := r.Progress(); done != total || total < size {
		t.Errorf("%d bytes of %d read", done, total)
	}
	if n := r.Summary().NumSkipped[skippedBinary]; n != 1 {
		t.Errorf("%d skipped, want 1", n)
	}
}

func FuzzDetect(f *testing.F) {
	for _, s := range []string{"id,text\n1,\"a", "id\ttext\n", `[{"id":1,"text":"x"}]`, "{\"id\":1,\"text\":\"x\"}\n", "<DOC>", "WARC/1.0", "\ufeff", "\"\n"} {
		f.Add(s)
	}
	opts := Options{}.withDefaults()
	f.Fuzz(func(t *testing.T, head string) {
		for _, name := range []string{"a", "a.csv", "a.tsv", "a.json", "a.jsonl.gz", "a.md", "-"} {
			format, note, _ := classify(name, []byte(head), &opts)
			if format != "" && note != "" {
				t.Errorf("%s: format %s and the note %q", name, format, note)
			}
			if detected, _, err := detect(name, []byte(head), &opts, name == stdinPath); err == nil && format != "" && detected != format {
				t.Errorf("%s: format %s in a folder, %s by itself", name, format, detected)
			}
		}
	})
}
