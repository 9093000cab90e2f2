package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// Links, modes, pipes and devices stay.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	a := &app{console: &console{}}
	failure := errors.New("failure")
	err := a.writeFile(file, func(w io.Writer) error {
		return errors.Join(writeText(strings.Repeat("x", 1<<20))(w), failure)
	})
	if got, _ := os.ReadFile(file); !errors.Is(err, failure) || string(got) != "old" {
		t.Errorf("after a failure: %v, %d bytes", err, len(got))
	}
	if err := a.writeFile(link, writeText("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "new" {
		t.Errorf("the file behind the link has %q", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := a.writeFile(pipe, writeText("piped")); err != nil {
		t.Error(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(reader, got); err != nil || string(got) != "piped" {
		t.Errorf("through the pipe came %q, %v", got, err)
	}
	if err := a.writeFile(filepath.Join(dir, "no", "file"), writeText("x")); err == nil || !strings.Contains(err.Error(), "no/file") {
		t.Errorf("a folder that is not there: %v", err)
	}
}
