package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/selftest"
)

// Only a failing test reaches this limit of waiting, even on a slow, busy machine.
const patience = 3 * time.Minute

func waitUntil(t *testing.T, holds func() error) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := holds()
		if err == nil {
			return
		}
		if time.Since(began) > patience {
			t.Fatal(err)
		}
	}
}

// griffinProcess is a separate process, for signals.
func griffinProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	// testscript.Main runs the command if argv[0] is its name.
	cmd := selftest.Command(t, "griffin", args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// The server reports its processors, answers over HTTP, and exits with 0 on an interrupt.
func TestServeProcess(t *testing.T) {
	dir := t.TempDir()
	makeIndex(t, filepath.Join(dir, "x.idx"))
	cmd := griffinProcess(t, "serve", "--addr", "127.0.0.1:0", filepath.Join(dir, "x.idx"))
	cmd.Env = append(cmd.Env, "GRIFFIN_CUDA_LIBRARY=/nowhere/libcuda.so.1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no line on standard output: %v\n%s", err, &errOut)
	}
	_, url, _ := strings.Cut(line, "on http://")
	url, _, _ = strings.Cut(url, "/")

	client := http.Client{Timeout: patience}
	response, err := client.Get("http://" + url + "/search?q=alpha")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Hits []struct{ ID string } }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Hits) != 1 || answer.Hits[0].ID != "1" {
		t.Errorf("answer %+v, %v", answer, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v\n%s", err, &errOut)
	}
	if !strings.Contains(errOut.String(), "queries run on the CPU") {
		t.Errorf("standard error does not say where queries run:\n%s", &errOut)
	}
}

// The exit code is 130, no files are left, and an interrupted replacement leaves the old index.
func TestInterruptedIndex(t *testing.T) {
	for _, replace := range []bool{false, true} {
		t.Run(fmt.Sprintf("replace=%v", replace), func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "x.idx")
			args := []string{"index", "--format", "jsonl", "--out", out, "-"}
			if replace {
				makeIndex(t, out)
				args = append(args, "--replace")
			}
			cmd := griffinProcess(t, args...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			fed := make(chan struct{})
			counted := &countedWriter{WriteCloser: in}
			go func() { defer close(fed); feed(ctx, counted) }()
			waitUntil(t, func() error { // more than a pipe holds: the build has begun
				if n := counted.written.Load(); n < 1<<20 {
					return fmt.Errorf("%d bytes were read", n)
				}
				return nil
			})
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			err = cmd.Wait()
			stop()
			<-fed
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
				t.Errorf("after an interrupt: %v, want exit code %d", err, exitInterrupted)
			}
			checkLeft(t, dir, replace)
		})
	}
}

func feed(ctx context.Context, in io.WriteCloser) {
	defer in.Close()
	for i := 0; ctx.Err() == nil; i++ {
		if _, err := fmt.Fprintf(in, "{\"_id\": \"n%d\", \"text\": \"document number %d of many\"}\n", i, i); err != nil {
			return
		}
	}
}

type countedWriter struct {
	io.WriteCloser
	written atomic.Int64
}

func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.WriteCloser.Write(p)
	w.written.Add(int64(n))
	return n, err
}

// dir must be empty or have only the index of makeIndex.
func checkLeft(t *testing.T, dir string, index bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !index {
		if len(names) > 0 {
			t.Errorf("left behind: %q", names)
		}
		return
	}
	if len(names) != 1 || names[0] != "x.idx" {
		t.Fatalf("left behind: %q, want the index only", names)
	}
	ix, err := griffin.Open(filepath.Join(dir, "x.idx"), griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if s, err := ix.Stats(); err != nil || s.NumDocs != 1 {
		t.Errorf("%d documents, %v; want the one of before", s.NumDocs, err)
	}
	if err := ix.Verify(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

func makeIndex(t *testing.T, dir string) {
	t.Helper()
	ix, err := griffin.Create(dir, griffin.Settings{}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if err := ix.Add(context.Background(), griffin.Document{ID: "1", Title: "One", Text: "alpha"}); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}
