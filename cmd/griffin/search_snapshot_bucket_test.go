//go:build !nobuckets

package main

import (
	"bytes"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Snapshots in a bucket of a server with the protocol of S3, and in a folder by its URL.
func TestSnapshotBucket(t *testing.T) {
	server := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(true)).Server())
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	dir := t.TempDir()
	docs, idx := filepath.Join(dir, "docs"), filepath.Join(dir, "x.idx")
	for _, store := range []string{
		"s3://backups/notes?region=us-east-1&use_path_style=true&endpoint=" + server.URL,
		"file://" + filepath.ToSlash(filepath.Join(dir, "folder")),
	} {
		write(t, "alpha one", docs, "a.txt")
		runGriffin(t, "index", "--out", idx, "--replace", docs, "--quiet")
		before := documentsOf(t, idx)
		if out := runGriffin(t, "snapshot", "create", idx, store, "--name", "monday"); !strings.Contains(out, "1 segment copied, 0 shared") {
			t.Error(out)
		}
		write(t, "beta two", docs, "b.txt")
		runGriffin(t, "add", idx, docs, "--quiet")
		if out := runGriffin(t, "snapshot", "create", idx, store, "--name", "tuesday"); !strings.Contains(out, "shared") {
			t.Error(out)
		}
		if out := runGriffin(t, "snapshot", "list", store); !strings.Contains(out, "monday") || !strings.Contains(out, "tuesday") {
			t.Error(out)
		}
		for name, want := range map[string]any{"monday": before, "tuesday": documentsOf(t, idx)} {
			restored := filepath.Join(t.TempDir(), "restored.idx")
			runGriffin(t, "snapshot", "restore", store, name, "--out", restored)
			if got := documentsOf(t, restored); !reflect.DeepEqual(got, want) {
				t.Errorf("%s has %v, want %v", name, got, want)
			}
			runGriffin(t, "verify", restored)
		}
		var out, errOut bytes.Buffer
		if code := realMain([]string{"snapshot", "create", idx, store, "--name", "monday"}, terminal{out: &out, err: &errOut}); code != exitIndex {
			t.Errorf("the same name: exit code %d\n%s", code, &errOut)
		}
		for _, name := range []string{"monday", "tuesday"} {
			if out := runGriffin(t, "snapshot", "delete", store, name, "--json"); !strings.Contains(out, `"freed_bytes"`) {
				t.Error(out)
			}
		}
		if out := runGriffin(t, "snapshot", "list", store); !strings.HasPrefix(out, "no snapshots in ") {
			t.Error(out)
		}
	}
	for _, bad := range []string{"gs://bucket", "nothing://bucket", "file://relative", "file:///folder?region=x"} {
		var out, errOut bytes.Buffer
		if code := realMain([]string{"snapshot", "list", bad}, terminal{out: &out, err: &errOut}); code != exitUsage {
			t.Errorf("%s: exit code %d\n%s", bad, code, &errOut)
		}
	}
}
