package corpus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestFolder(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"b/readme.md":    "# Read me\n\nfirst",
		"a.txt":          "plain\ntext\n",
		"b/page.html":    "<title>Page</title><nav>x</nav>body",
		"b/untitled.htm": "body",
		"b/page":         "<!DOCTYPE html><title>Sniffed</title>body",
		"c/main.go":      "package main\n",
		"c/Makefile":     "all:\n",
		"c/notes.txt.gz": gzipped(t, "compressed"),
		"latin1.txt":     "caf\xe9",
		"utf16le.txt":    "\xff\xfeh\x00i\x00\x3d\xd8\x00\xde",
		"utf16be.txt":    "\xfe\xff\x00h\x00i\xd8\x00",
		"bom.txt":        "\ufeffmarked",
		"empty.txt":      "",
		"binary":         "\x7fELF\x00\x00",
		"binary.txt":     "text\x00text",
		"control":        "\xff\x01\x02",
		"paper.pdf":      "%PDF-1.5\n",
		".hidden":        "no",
		".git/config":    "no",
		"b/.cache/x.txt": "no",
	})
	res := mustCollect(t, []string{dir}, Options{})
	checkBad(t, res.bad)
	doc := func(id, title, text string) Document {
		return Document{ID: id, Title: title, Text: text, Extra: []Field{{"path", id}}}
	}
	checkDocs(
		t, res.docs,
		doc("a.txt", "a.txt", "plain\ntext"),
		doc("b/page", "Sniffed", "body"),
		doc("b/page.html", "Page", "body"),
		doc("b/readme.md", "Read me", "first"),
		doc("b/untitled.htm", "b/untitled.htm", "body"),
		doc("bom.txt", "bom.txt", "marked"),
		doc("c/Makefile", "c/Makefile", "all:"),
		doc("c/main.go", "c/main.go", "package main"),
		doc("c/notes.txt.gz", "c/notes.txt.gz", "compressed"),
		doc("latin1.txt", "latin1.txt", "café"),
		doc("utf16be.txt", "utf16be.txt", "hi\ufffd"),
		doc("utf16le.txt", "utf16le.txt", "hi😀"),
	)
	if res.skipped != 6 { // 4 binary files, 1 hidden, 1 empty
		t.Errorf("%d skipped, want 6", res.skipped)
	}
	if want := filepath.Join(dir, "a.txt"); res.docs[0].Source.String() != want {
		t.Errorf("the source is %v, want %s", res.docs[0].Source, want)
	}
}

func TestFolderErrors(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"a.txt": "a", "large.txt": strings.Repeat("x", 1001), "z.txt.gz": gzipped(t, "compressed")[:20], "secret/b.txt": "b", "unreadable.txt": "c",
	})
	if err := os.Symlink("nowhere", filepath.Join(dir, "broken")); err != nil {
		t.Skip("no symbolic links:", err)
	}
	want := []string{
		filepath.Join(dir, "broken") + ": ",
		filepath.Join(dir, "large.txt") + ": the file is larger than the limit of 1000 bytes",
	}
	if os.Getuid() > 0 { // root reads everything
		for _, name := range []string{"secret", "unreadable.txt"} {
			if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
				t.Fatal(err)
			}
			want = append(want, filepath.Join(dir, name)+": open")
		}
		t.Cleanup(func() {
			if err := os.Chmod(filepath.Join(dir, "secret"), 0o755); err != nil {
				t.Error(err)
			}
		})
	}
	want = append(want, filepath.Join(dir, "z.txt.gz")+"@")
	res := mustCollect(t, []string{dir}, Options{MaxRecordBytes: 1000})
	checkBad(t, res.bad, want...)
}

// Errors of listing take the files' places.
func TestUnreadableEntries(t *testing.T) {
	denied := fs.ErrPermission
	r := &reader{opts: Options{}.withDefaults()}
	folder, err := findFormat(formatFolder)
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string]string{"a": "a", "c": "c"})
	r.inputs = []input{
		{path: filepath.Join(dir, "a"), id: "a", format: folder},
		{path: filepath.Join(dir, "b"), id: "b", format: folder, err: denied},
		{path: filepath.Join(dir, "c"), id: "c", format: folder},
		{path: filepath.Join(dir, "gone"), id: "gone", format: folder},
	}
	res, err := collect(r)
	if err != nil {
		t.Fatal(err)
	}
	checkBad(t, res.bad, filepath.Join(dir, "b")+": permission denied", filepath.Join(dir, "gone")+": open: ")
	if len(res.docs) != 2 {
		t.Errorf("%d documents, want 2", len(res.docs))
	}
}

// An unreadable named folder is an error of Open. It does not exist, because root can read
// every folder.
func TestUnreadableFolder(t *testing.T) {
	auto, err := findFormat(formatAuto)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{opts: Options{}.withDefaults()}
	if err := r.addFolder(filepath.Join(t.TempDir(), "gone"), auto, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want that of listing the folder", err)
	}
}

func TestSymbolicLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege there")
	}
	outside := writeFiles(t, map[string]string{"o.txt": "outside", "deep/p.txt": "outside"})
	dir := writeFiles(t, map[string]string{"a/x.txt": "x", "..data/y.txt": "y", "z.txt": "z"})
	for name, target := range map[string]string{
		"loop":      ".",
		"a/up":      "..",
		"again":     "a", // listed under its own name
		"out":       outside,
		"y.txt":     "..data/y.txt", // its target is hidden, as Kubernetes does it
		"z-too.txt": "z.txt",
		"self":      "self",
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		})
	}
	res := mustCollect(t, []string{dir}, Options{})
	var ids []string
	for _, d := range res.docs {
		ids = append(ids, d.ID)
	}
	if got, want := fmt.Sprint(ids), "[a/x.txt out/deep/p.txt out/o.txt y.txt z.txt]"; got != want {
		t.Errorf("ids %s, want %s", got, want)
	}
	checkBad(t, res.bad, filepath.Join(dir, "self")+": ")
	if res.skipped != 1 { // z-too.txt
		t.Errorf("%d skipped, want 1", res.skipped)
	}
	// The folder itself may be a link.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	if res := mustCollect(t, []string{link}, Options{}); len(res.docs) != 2 {
		t.Errorf("%d documents through a link, want 2", len(res.docs))
	}
}

func TestSeveralPaths(t *testing.T) {
	dir := writeFiles(t, map[string]string{"one/readme": "1", "two/readme": "2", "c.jsonl": `{"id":"j","text":"x"}`})
	t.Chdir(dir)
	res := mustCollect(t, []string{"two/", "./one", "c.jsonl", "one/readme"}, Options{})
	ids := ""
	for _, d := range res.docs {
		ids += d.ID + " "
	}
	if want := "two/readme one/readme j one/readme "; ids != want {
		t.Errorf("ids %s, want %s", ids, want)
	}
	res = mustCollect(t, []string{"one/readme"}, Options{})
	if len(res.docs) != 1 || res.docs[0].ID != "readme" {
		t.Errorf("%+v", res.docs)
	}
}

func TestDetectFolders(t *testing.T) {
	json := `{"id":"1","text":"x"}` + "\n"
	doc := "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>x</TEXT>\n</DOC>\n"
	for _, c := range []struct {
		name          string
		files         map[string]string
		docs, skipped int
	}{
		{"jsonl and a text", map[string]string{"1.jsonl": json, "2.jsonl.gz": gzipped(t, json+json), "README": "about"}, 4, 0},
		{"warc", map[string]string{"a.warc.gz": gzipped(t, warcOf("WARC-Type: conversion\nWARC-Record-ID: <urn:uuid:w>\nContent-Type: text/plain", "x"))}, 1, 0},
		{"trec disk", map[string]string{"FT911_1": doc, "FT911_2.0": doc + doc, "sub/FT3": doc, "readme.txt": "about"}, 5, 0},
		{"trec with names", map[string]string{"a.trectext": doc, "b.trectext": doc}, 2, 0},
		{"TSV without a header row", map[string]string{"queries.tsv": "1\tx\n2\ty\n"}, 1, 0},
		{"posting lists", map[string]string{"a.ciff": "\x06", "b.txt": "b"}, 1, 1},
		{"json settings", map[string]string{"a.json": `{"indent": 4}`, "b.json": `{"x": 1}`}, 2, 0},
		{"documents, one of them JSONL", map[string]string{"a.txt": "a", "b.txt": "b", "c.jsonl": json}, 3, 0},
		{"empty", nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := mustCollect(t, []string{writeFiles(t, c.files)}, Options{})
			checkBad(t, res.bad)
			if len(res.docs) != c.docs || res.skipped != int64(c.skipped) {
				t.Errorf("%d documents, %d skipped, want %d and %d: %+v", len(res.docs), res.skipped, c.docs, c.skipped, res.docs)
			}
		})
	}
}

// Names with bytes that are not UTF-8: their ids must be UTF-8, for JSON and CIFF, and differ.
func TestFolderNames(t *testing.T) {
	dir := t.TempDir()
	names := []string{"a\xff.txt", "a\xfe.txt"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Skip("the file system takes no such names: ", err)
		}
	}
	for _, paths := range [][]string{{dir}, {filepath.Join(dir, names[1]), filepath.Join(dir, names[0])}} {
		res := mustCollect(t, paths, Options{})
		if len(res.docs) != 2 {
			t.Fatalf("%d documents of 2", len(res.docs))
		}
		for i, want := range []string{`a\xfe.txt`, `a\xff.txt`} {
			d := res.docs[i]
			if !strings.HasSuffix(d.ID, want) || d.Title != d.ID || d.Extra[0].Value != d.ID {
				t.Errorf("id %q, title %q, %+v, want %q", d.ID, d.Title, d.Extra, want)
			}
		}
	}
}

func TestDetectFiles(t *testing.T) {
	for _, c := range []struct{ file, content, want string }{
		{"x.jsonl", "not JSON", formatJSONL},
		{"x", `{"id":"1","text":"x"}` + "\n{", formatJSONL},
		{"x.json", "{\n \"id\": 1\n}", formatFolder},
		{"x.json", "[1]", formatFolder},
		{"x", `{"text":"` + strings.Repeat("x", 2*sniffBytes) + `"}`, formatJSONL},
		{"x.txt", "<DOC>\n<DOCNO>", formatTRECText},
		{"x", "\n<DOC>\n<DOCNO>1</DOCNO>\n<DOCHDR>", formatTRECWeb},
		{"x", "WARC/1.0\r\n", formatWARC},
		{"x.tsv", "1\tx", formatTSV},
		{"x.TSV.gz", "<DOC>\tx", formatTSV},
		{"x.txt", "1\tx", formatFolder},
		{"x.html", "<html>", formatFolder},
		{"x", "", formatFolder},
		{"x.ciff", "\x06", formatCIFF},
		{"-", "1\tx\n", formatTSV},
		{"-", "plain text", "error"},
	} {
		s := &stream{}
		if err := s.decompress(strings.NewReader(c.content)); err != nil {
			t.Fatal(err)
		}
		got, _, err := detect(c.file, s.head(), &Options{}, c.file == stdinPath)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s with %.20q: %s, want %s", c.file, c.content, got, c.want)
		}
	}
	r, err := Open([]string{"-"}, Options{Stdin: strings.NewReader("plain text")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, errUndetected) {
		t.Errorf("plain text from standard input: %v", err)
	}
}

// An index's files are not documents.
func TestFolderLeavesOutIndexes(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"note.txt":                     "a note",
		"x.idx/MANIFEST":               base.ManifestMagic + "1 crc32c 00000000\n{}\n",
		"x.idx/seg-000001/meta":        "of the index",
		"x.idx/seg-000001/lost/a.html": "<p>of the index</p>",
		"other/MANIFEST":               "packing list: two crates of apples",
		"other/deeper/note.txt":        "another note",
	})
	files, skipped := walk(dir)
	var ids []string
	for _, f := range files {
		ids = append(ids, f.id)
	}
	if want := []string{"note.txt", "other/MANIFEST", "other/deeper/note.txt"}; !slices.Equal(ids, want) {
		t.Errorf("files %q, want %q", ids, want)
	}
	if want := []SkippedFile{{filepath.Join(dir, "x.idx"), skippedIndex}}; !slices.Equal(skipped, want) {
		t.Errorf("skipped %v, want %v", skipped, want)
	}
}
