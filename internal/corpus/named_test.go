package corpus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// A file that lacks a field that the options name is an error that lists its fields, and not one document.
func TestNamedFieldIsMissing(t *testing.T) {
	const listed = `field "bodi": missing; there are "id" "title" "body"`
	files := map[string]string{
		"t.csv": "id,title,body\n1,a,b\n", "t.tsv": "id\ttitle\tbody\n1\ta\tb\n", "t.csv.gz": gzipped(t, "id,title,body\n1,a,b\n"),
		"t.jsonl": `{"id":"1","title":"a","body":"b"}` + "\n", "t.json": `[{"id":"1","title":"a","body":"b"}]`,
	}
	for name, content := range files {
		for option, opts := range map[string]Options{"text": {TextField: "bodi"}, "title": {TitleField: "bodi"}, "id": {IDField: "bodi"}} {
			t.Run(name+"/"+option, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := Open([]string{path}, opts)
				if csv := strings.Contains(name, "sv"); csv { // before anything is read
					if err == nil || !errors.Is(err, base.ErrBadInput) || !strings.Contains(base.Message(err), name+":1: "+listed) {
						t.Errorf("Open: %v", err)
					}
				} else {
					wantOneBad(t, r, err, listed)
				}
				r, err = Open([]string{dir}, opts)
				if name != "t.json" { // in a folder it may be anything
					wantOneBad(t, r, err, listed)
				}
			})
		}
	}
}

func wantOneBad(t *testing.T, r Reader, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	docs, bad := 0, []string{}
	for b, err := r.Next(); err == nil; b, err = r.Next() {
		if err := b.Parse(func(*Document) error { docs++; return nil }, func(rec *RecordError) error {
			bad = append(bad, rec.Error())
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if docs != 0 || len(bad) != 1 || !strings.Contains(bad[0], want) {
		t.Errorf("%d documents, %q", docs, bad)
	}
	if notes := r.Summary().Notes; len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
