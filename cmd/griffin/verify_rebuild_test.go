package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/index/indextest"
)

func makeIndexOf(t *testing.T, dir string, numDocs int) {
	t.Helper()
	ix, err := griffin.Create(dir, griffin.Settings{NoPositions: true}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	for i := range numDocs {
		if err := ix.Add(t.Context(), griffin.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("word%d common word%d", i%97, i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Differences are printed, also as JSON, and the exit code tells damage.
func TestVerifyRebuildDifferences(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "x.idx")
	makeIndexOf(t, filepath.Join(parent, "good.idx"), 200)
	indextest.CopyWithoutPosting(t, filepath.Join(parent, "good.idx"), dir)
	const want = `field "": term "common": document "127": posting none, want frequency 1`
	for _, asJSON := range []bool{false, true} {
		args := []string{"verify", "--rebuild", dir}
		if asJSON {
			args = append(args, "--json")
		}
		cmd := griffinProcess(t, args...)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitIndex {
			t.Fatalf("%v, want exit code %d\n%s", err, exitIndex, &errOut)
		}
		if !strings.Contains(errOut.String(), "differs from a new index") || !strings.Contains(errOut.String(), repairHint) {
			t.Errorf("standard error %q", &errOut)
		}
		if !asJSON {
			if !strings.Contains(out.String(), want+"\n") {
				t.Errorf("standard output %q lacks %q", &out, want)
			}
			continue
		}
		var r verifyResult
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.OK || r.Docs != 200 || r.Rebuild == nil || len(r.Rebuild.Differences) < 2 || r.Error == nil || r.Error.ExitCode != exitIndex {
			t.Errorf("JSON %s", &out)
		}
	}
}

// The exit code is 130, and only the index is left.
func TestInterruptedVerifyRebuild(t *testing.T) {
	parent := t.TempDir()
	makeIndexOf(t, filepath.Join(parent, "x.idx"), 60_000)
	cmd := griffinProcess(t, "verify", "--rebuild", "--threads", "1", filepath.Join(parent, "x.idx"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() error {
		entries, err := os.ReadDir(parent)
		if err == nil && len(entries) < 2 {
			err = errors.New("no temporary folder yet")
		}
		return err
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("after an interrupt: %v, want exit code %d", err, exitInterrupted)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
