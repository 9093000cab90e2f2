package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A watch whose index is removed, moved or replaced ends with an error, and makes no files in its place.
func TestWatchRemoved(t *testing.T) {
	for name, remove := range map[string]func(idx string) error{
		"removed":  os.RemoveAll,
		"moved":    func(idx string) error { return os.Rename(idx, idx+".moved") },
		"lock":     func(idx string) error { return os.Remove(filepath.Join(idx, "LOCK")) },
		"replaced": func(idx string) error { return errors.Join(os.Rename(idx, idx+".moved"), os.Rename(idx+".other", idx)) },
	} {
		for _, changed := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				docs, idx := filepath.Join(dir, "docs"), filepath.Join(dir, "x.idx")
				write(t, "alpha one", docs, "a.txt")
				runGriffin(t, "index", docs, "--out", idx+".other")
				w := startWatch(t, docs, "--out", idx)
				w.wait(func(e watchEvent) bool { return e.Event == "ready" })
				if err := remove(idx); err != nil {
					t.Fatal(err)
				}
				if changed {
					write(t, "beta two", docs, "b.txt")
				} else if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				end := w.wait(func(e watchEvent) bool { return e.Event == "end" })
				for range w.events {
					continue
				}
				var exit *exec.ExitError
				if err := w.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitIndex || !strings.Contains(end.Error, "removed, moved or replaced") || !strings.Contains(end.Error, "lock file LOCK") {
					t.Errorf("changed %t: %v, %+v\n%s", changed, err, end, &w.errOut)
				}
				if name == "replaced" {
					runGriffin(t, "verify", idx, "--rebuild")
					return
				}
				if name == "lock" { // it goes on
					runGriffin(t, "watch", docs, "--out", idx, "--once")
					runGriffin(t, "verify", idx, "--rebuild")
					return
				}
				if _, err := os.Stat(idx); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the folder was made anew: %v", err)
				}
				if name == "moved" { // it goes on from there
					runGriffin(t, "watch", docs, "--out", idx+".moved", "--once")
					runGriffin(t, "verify", idx+".moved", "--rebuild")
				}
			})
		}
	}
}

// A warning names the folder, also if the name is a part of its text.
func TestWatchNamesFolder(t *testing.T) {
	for _, name := range []string{"w", "folder", "files"} {
		dir := t.TempDir()
		t.Chdir(dir)
		write(t, "alpha", name, "a.txt")
		runGriffin(t, "watch", name, "--out", "x.idx", "--once")
		if err := os.Remove(filepath.Join(name, "a.txt")); err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		realMain([]string{"watch", name, "--out", "x.idx", "--once"}, terminal{in: strings.NewReader(""), out: &out, err: &errOut})
		if !strings.Contains(errOut.String(), "griffin: "+name+": the folder has no files any more") {
			t.Errorf("%s%s", &out, &errOut)
		}
	}
	for message, want := range map[string]bool{"w: gone": true, "open w: denied": true, "w:3: bad": true, "the folder w has no files": false, "ww: gone": false, "open ./w: denied": false} {
		if namesFile(message, "w") != want {
			t.Errorf("%q: %t", message, !want)
		}
	}
}
