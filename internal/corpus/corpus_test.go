package corpus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/shareddata"
)

type result struct {
	docs    []Document
	bad     []string // messages of RecordErrors, without the folder of the test
	skipped int64
}

func collect(r Reader) (*result, error) {
	res := &result{}
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			res.skipped = r.Skipped()
			return res, r.Close()
		}
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		err = b.Parse(
			func(d *Document) error { res.docs = append(res.docs, *d); return nil },
			func(e *RecordError) error { res.bad = append(res.bad, e.Error()); return nil },
		)
		if err != nil {
			return nil, err
		}
	}
}

func mustCollect(t testing.TB, paths []string, opts Options) *result {
	t.Helper()
	r, err := Open(paths, opts)
	if err != nil {
		t.Fatal(err)
	}
	res, err := collect(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func collectString(t testing.TB, s string, opts Options) *result {
	t.Helper()
	opts.Stdin = strings.NewReader(s)
	return mustCollect(t, []string{"-"}, opts)
}

func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Without Source.
func checkDocs(t testing.TB, got []Document, want ...Document) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("document %d is missing: %+v", i, want[i])
		case i >= len(want):
			t.Errorf("document %d is too much: %+v", i, got[i])
		default:
			g := got[i]
			g.Source = want[i].Source
			if !reflect.DeepEqual(g, want[i]) {
				t.Errorf("document %d:\n %+v, want\n %+v", i, g, want[i])
			}
		}
	}
}

// Messages are compared by their beginnings.
func checkBad(t testing.TB, got []string, want ...string) {
	t.Helper()
	ok := slices.EqualFunc(got, want, func(g, w string) bool { return strings.HasPrefix(g, w) })
	if !ok {
		t.Errorf("bad records:\n %s\nwant:\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
}

func TestSharedCollections(t *testing.T) {
	for _, c := range shareddata.Collections(t) {
		res := mustCollect(t, []string{c.Corpus}, Options{})
		checkBad(t, res.bad)
		if len(res.docs) != c.NumDocs {
			t.Errorf("%s: %d documents, want %d", c.Name, len(res.docs), c.NumDocs)
		}
		for i, d := range res.docs {
			if want := (Location{File: c.Corpus, Line: int64(i + 1)}); d.Source != want {
				t.Fatalf("%s: document %d comes from %v, want %v", c.Name, i, d.Source, want)
			}
		}
	}
}

// Batches are parsed in many goroutines, as in indexing.
func TestCorpusWorksInParallel(t *testing.T) {
	inputs := map[string]*strings.Builder{formatJSONL: {}, formatTSV: {}, formatTRECText: {}, formatTRECWeb: {}, formatWARC: {}}
	numDocs := sampletest.UnderRace(20_000, 8_000)
	for i := range numDocs {
		text := strings.Repeat("word ", i%100)
		fmt.Fprintf(inputs[formatJSONL], `{"id":"%d","title":"\u00e4 %d","text":%q,"n":%d}`+"\n", i, i, text, i)
		fmt.Fprintf(inputs[formatTSV], "%d\thttp://x/%d\tä %d\t%s\n", i, i, i, text)
		fmt.Fprintf(inputs[formatTRECText], "<DOC><DOCNO>%d</DOCNO><HL>\xe4 %d</HL><P>%s</P><N>%d</N></DOC>\n", i, i, text, i)
		fmt.Fprintf(inputs[formatTRECWeb], "<DOC><DOCNO>%d</DOCNO><DOCHDR>http://x/%d</DOCHDR><h1>\xe4 %d</h1>%s</DOC>\n", i, i, i, text)
		page := fmt.Sprintf("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<h1>\xe4 %d</h1>%s", i, text)
		fmt.Fprintf(inputs[formatWARC], "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <%d>\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", i, len(page), page)
	}
	for format, input := range inputs {
		t.Run(format, func(t *testing.T) { checkParallel(t, format, input.String(), numDocs) })
	}
}

func checkParallel(t *testing.T, format, input string, numDocs int) {
	t.Helper()
	want := collectString(t, input, Options{Format: format})
	r, err := Open([]string{"-"}, Options{Format: format, Stdin: strings.NewReader(input)})
	if err != nil {
		t.Fatal(err)
	}
	var batches []*Batch
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, b)
	}
	parts := make([][]Document, len(batches))
	var wg sync.WaitGroup
	for i, b := range batches {
		wg.Go(func() {
			doc := func(d *Document) error { parts[i] = append(parts[i], *d); return nil }
			if err := b.Parse(doc, func(e *RecordError) error { return e }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := slices.Concat(parts...)
	if len(batches) < sampletest.UnderRace(5, 2) || len(got) != numDocs || !reflect.DeepEqual(got, want.docs) {
		t.Errorf("%d batches, %d documents, want %d equal ones", len(batches), len(got), numDocs)
	}
}

func TestErrorsOfTheCallerEndParse(t *testing.T) {
	stop := errors.New("stop")
	for _, input := range []string{"{\"id\":1,\"text\":\"a\"}\n", "{bad\n"} {
		r, err := Open([]string{"-"}, Options{Format: "jsonl", Stdin: strings.NewReader(input + input)})
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		err = b.Parse(func(*Document) error { calls++; return stop }, func(*RecordError) error { calls++; return stop })
		if !errors.Is(err, stop) || calls != 1 {
			t.Errorf("%q: %v after %d calls", input, err, calls)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := writeFiles(t, map[string]string{"index.ciff": "x", "all/a.ciff": "x"})
	for _, c := range []struct {
		paths []string
		opts  Options
		want  string
	}{
		{nil, Options{}, "no path was given"},
		{[]string{filepath.Join(dir, "absent")}, Options{}, "stat "},
		{[]string{dir}, Options{Format: "pdf"}, `unknown format "pdf" (known: auto, folder, jsonl, json, csv, trectext, trecweb, msmarco-tsv, warc, mbox)`},
		{[]string{dir}, Options{Format: "ciff"}, "CIFF files hold posting lists, not documents: import them with: griffin ciff import"},
		{[]string{filepath.Join(dir, "index.ciff")}, Options{}, filepath.Join(dir, "index.ciff") + ": CIFF files hold posting lists"},
		{[]string{filepath.Join(dir, "all")}, Options{}, filepath.Join(dir, "all") + ": CIFF files hold posting lists"},
		{[]string{"-"}, Options{Format: "folder"}, "standard input is no folder"},
	} {
		_, err := Open(c.paths, c.opts)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Open(%q, %+v): %v, want %s", c.paths, c.opts, err, c.want)
		}
	}
}

// A message has the path once, and its control characters cannot reach the terminal.
func TestMessagesNamePlacesOnce(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "a/b", Err: fs.ErrPermission}
	for _, c := range []struct {
		err  RecordError
		want string
	}{
		{RecordError{Location: Location{File: "a/b"}, Err: denied}, "a/b: open: permission denied"},
		{RecordError{Location: Location{File: "a/c"}, Err: denied}, "a/c: open a/b: permission denied"},
		{RecordError{Location: Location{File: "a\x1b[2J\n", Line: 7}, Err: errMissing}, `"a\x1b[2J\n":7: missing: bad input`},
		{RecordError{Location: Location{File: "a\xff", Offset: 9}, Field: "x", Err: errMissing}, `"a\xff"@9: field "x": missing: bad input`},
		{RecordError{Location: Location{File: "ä b", Line: 1}, Err: errMissing}, "ä b:1: missing: bad input"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := c.err.Error(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestFormatsAreDescribed(t *testing.T) {
	for _, name := range Formats() {
		if Describe(name) == "" {
			t.Errorf("%s has no description", name)
		}
	}
	if Describe("pdf") != "" {
		t.Error("an unknown format is described")
	}
}

func TestProgressReachesTheTotal(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.txt": strings.Repeat("text ", 5000), "b.bin": "\x00" + strings.Repeat("x", 100_000), "c.jsonl": "{}"})
	for _, paths := range [][]string{{dir}, {filepath.Join(dir, "c.jsonl")}} {
		r, err := Open(paths, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := collect(r); err != nil {
			t.Fatal(err)
		}
		if read, total := r.Progress(); read != total || total == 0 {
			t.Errorf("%q: %d of %d bytes read", paths, read, total)
		}
	}
}
