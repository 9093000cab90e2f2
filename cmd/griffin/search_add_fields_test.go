package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A misspelt name of a field is an error that lists the fields, and nothing is written.
func TestMisspeltField(t *testing.T) {
	dir := t.TempDir()
	idx := filepath.Join(dir, "x.idx")
	write(t, "alpha", dir, "docs", "a.txt")
	write(t, "id,title,body\n1,a,b\n", dir, "t.csv")
	write(t, `{"id":"1","title":"a","body":"b"}`, dir, "t.jsonl")
	write(t, `[{"id":"1","title":"a","body":"b"}]`, dir, "t.json")
	runGriffin(t, "index", filepath.Join(dir, "docs"), "--out", idx)
	before := len(documentsOf(t, idx))
	for _, file := range []string{"t.csv", "t.jsonl", "t.json"} {
		for _, command := range [][]string{{"index", "--out", filepath.Join(dir, "new.idx")}, {"add", idx}} {
			for _, flag := range []string{"--text-field", "--id-field", "--title-field"} {
				var out, errOut bytes.Buffer
				args := append(command, filepath.Join(dir, file), flag, "bodi")
				if code := realMain(args, terminal{in: strings.NewReader(""), out: &out, err: &errOut}); code != exitInput || !strings.Contains(errOut.String(), `field "bodi": missing; there are "id" "title" "body"`) {
					t.Errorf("%q: exit code %d\n%s%s", args, code, &out, &errOut)
				}
			}
		}
	}
	if now := len(documentsOf(t, idx)); now != before {
		t.Errorf("%d documents, %d before", now, before)
	}
	runGriffin(t, "add", idx, filepath.Join(dir, "t.csv"), "--text-field", "body")
}
