package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLuceneCodec(t *testing.T) {
	dir := t.TempDir()
	jar := func(name string, classes ...string) string {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w := zip.NewWriter(f)
		for _, class := range classes {
			if _, err := w.Create("org/apache/lucene/codecs/" + class + ".class"); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	older := jar("older.jar", "lucene99/Lucene99Codec")
	newer := jar("newer.jar", "lucene99/Lucene99PostingsFormat", "lucene912/Lucene912Codec")
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{older}, "99"},
		{[]string{jar("other.jar"), newer}, "912"},
		{[]string{older, newer}, "912"},
		{[]string{dir, filepath.Join(dir, "missing.jar")}, "99"},
	} {
		path := strings.Join(c.paths, string(filepath.ListSeparator))
		if got, err := luceneCodec(path); got != c.want || err != nil {
			t.Errorf("%s: codec %s, %v, want %s", path, got, err, c.want)
		}
	}
}
