package corpus

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	content := []byte("what lies in the file")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, stored := range map[string][]byte{"plain": content, "packed": packed.Bytes()} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, stored, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(f)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: read %q, %v", name, got, err)
			}
			if _, seekable := f.(io.ReaderAt); seekable != (name == "plain") {
				t.Errorf("%s: is a ReaderAt: %v", name, seekable)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := OpenFile("-"); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("standard input: %v", err)
	}
	if _, err := OpenFile(filepath.Join(dir, "missing")); !os.IsNotExist(err) {
		t.Errorf("missing file: %v", err)
	}
}
