package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

func TestFolderOfIndexes(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	none, other, idx := filepath.Join(t.TempDir(), "none"), t.TempDir(), filepath.Join(t.TempDir(), "typo.idx")
	file := filepath.Join(other, "a.txt")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{data, none} {
		if err := os.MkdirAll(filepath.Join(dir, rest.MetaFolder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		ix, err := griffin.Create(filepath.Join(data, fmt.Sprintf("n%d", i)), griffin.Settings{}, griffin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	named := "data/n4, …; if a server has the folder, use --server URL"
	for _, c := range []struct {
		want string
		args []string
	}{
		{named, []string{"add", data, file}},
		{named, []string{"stats", data}},
		{named, []string{"search", data, "word"}},
		{named, []string{"merge", data}},
		{named, []string{"verify", data}},
		{named, []string{"delete", data, "1"}},
		{named, []string{"watch", other, "--out", data}},
		{named, []string{"snapshot", "create", data, filepath.Join(t.TempDir(), "store")}},
		{"griffin index --out " + none, []string{"stats", none}},
		{"there is no such index", []string{"serve", idx}},
		{"neither an index nor a folder of indexes", []string{"serve", other}},
	} {
		var out, errOut bytes.Buffer
		code := realMain(c.args, terminal{in: strings.NewReader(""), out: &out, err: &errOut})
		if code != exitIndex || !strings.Contains(errOut.String(), c.want) {
			t.Errorf("griffin %s: exit code %d, want %d and %q: %s", strings.Join(c.args, " "), code, exitIndex, c.want, &errOut)
		}
	}
	if _, err := os.Stat(idx); err == nil {
		t.Errorf("serve made %s", idx)
	}
}
