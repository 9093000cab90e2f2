package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// cancelWriter cancels after some bytes, as Ctrl-C does.
type cancelWriter struct {
	bytes.Buffer
	after  int
	cancel func()
}

// Write implements io.Writer.
func (w *cancelWriter) Write(p []byte) (int, error) {
	if w.Len()+len(p) > w.after {
		w.cancel()
	}
	return w.Buffer.Write(p)
}

// An interrupted export has whole lines, and leaves no file.
func TestExportInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ix")
	ix, err := griffin.Create(dir, griffin.Settings{}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const docs = 2000
	for i := range docs {
		if err := ix.Add(t.Context(), griffin.Document{ID: strings.Repeat("x", i+1), Text: strings.Repeat("text ", 100)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(ix.Commit(t.Context()), ix.Close()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := cancelWriter{after: 600 << 10, cancel: cancel}
	a := &app{console: &console{terminal: terminal{out: &out, err: &bytes.Buffer{}}, quiet: true}}
	err = a.export(ctx, &exportOptions{}, dir)
	lines := strings.Count(out.String(), "\n")
	if !errors.Is(err, context.Canceled) || lines == 0 || lines == docs || !strings.HasSuffix(out.String(), "}\n") {
		t.Errorf("%v after %d lines of %d, the last ends with %q", err, lines, docs, out.String()[max(out.Len()-20, 0):])
	}
	file := filepath.Join(t.TempDir(), "all.jsonl")
	if err := a.export(ctx, &exportOptions{out: file}, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("to a file: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
