package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A repository that is unusable is an error at the start, and a folder of other files is not listed as an empty store.
func TestUnusableRepository(t *testing.T) {
	dir := t.TempDir()
	write(t, "alpha", dir, "texts", "a.txt")
	texts := filepath.Join(dir, "texts")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"serve", filepath.Join(dir, "data"), "--addr", "127.0.0.1:0", "--repository", "r=" + texts}, exitUsage, "--repository r: " + texts + " holds other files"},
		{[]string{"serve", filepath.Join(dir, "data"), "--addr", "127.0.0.1:0", "--repository", "r=" + filepath.Join(texts, "a.txt")}, exitFailure, "--repository r: "},
		{[]string{"serve", filepath.Join(dir, "data"), "--addr", "127.0.0.1:0", "--repository", "r=" + filepath.Join(texts, "a.txt", "b")}, exitFailure, "--repository r: "},
		{[]string{"snapshot", "list", texts}, exitInput, "not a folder of snapshots"},
	} {
		var out, errOut bytes.Buffer
		if code := realMain(c.args, terminal{in: strings.NewReader(""), out: &out, err: &errOut}); code != c.code || !strings.Contains(errOut.String(), c.want) {
			t.Errorf("%q: exit code %d\n%s%s", c.args, code, &out, &errOut)
		}
	}
}
