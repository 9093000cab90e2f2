package corpus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/griffin-search/griffin/internal/base"
)

// The content is written once.
func pipe(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte(content), 0o600) }()
	t.Cleanup(func() {
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
	return path
}

// A shell's <(command) can be read once: detecting the format must not consume input.
func TestPipe(t *testing.T) {
	const numDocs = 5000
	var jsonl, tsv strings.Builder
	for i := range numDocs {
		fmt.Fprintf(&jsonl, `{"_id":"%d","text":"some text that fills the buffers"}`+"\n", i)
		fmt.Fprintf(&tsv, "%d\tsome text that fills the buffers\n", i)
	}
	for name, content := range map[string]string{"jsonl": jsonl.String(), "tsv": tsv.String()} {
		t.Run(name, func(t *testing.T) {
			path := pipe(t, name, content)
			r, err := Open([]string{path}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, total := r.Progress(); total != 0 {
				t.Errorf("%s: total %d, want 0: unknown", name, total)
			}
			res, err := collect(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.docs) != numDocs || len(res.bad) != 0 {
				t.Errorf("%s: %d documents of %d, bad: %q", name, len(res.docs), numDocs, res.bad)
			}
		})
	}
	if res := mustCollect(t, []string{pipe(t, "note", "one document")}, Options{Format: formatFolder}); len(res.docs) != 1 || res.docs[0].Text != "one document" {
		t.Errorf("as a document: %+v", res)
	}
	r, err := Open([]string{pipe(t, "note", "nobody knows what")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, errUndetected) {
		t.Errorf("unknown format: %v", err)
	}
}

func TestOpenFileOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	if _, err := OpenFile(path); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a pipe cannot be read twice: %v", err)
	}
}
