package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/load"
)

type countingServer struct {
	*httptest.Server
	searches, readings atomic.Int64
}

func newCountingServer(t *testing.T) *countingServer {
	s := &countingServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			s.searches.Add(1)
		case "/metrics":
			_, _ = w.Write([]byte("go_goroutines 1\n"))
			s.readings.Add(1)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// The exit code is 130, with the earlier results.
func TestInterruptedLoad(t *testing.T) {
	dir := t.TempDir()
	queries, readings := filepath.Join(dir, "log.tsv"), filepath.Join(dir, "soak.jsonl")
	if err := os.WriteFile(queries, []byte("1\talpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, soak := range []bool{false, true} {
		t.Run(fmt.Sprintf("soak=%t", soak), func(t *testing.T) {
			t.Parallel() // it mostly waits
			server := newCountingServer(t)
			args := []string{"load", server.URL, "--queries", queries, "--rate", "200", "--warmup", "0s", "--for", "1h", "--wait", patience.String(), "--json"}
			if soak {
				args = append(args, "--soak", "--every", "50ms", "--readings", readings)
			}
			cmd := griffinProcess(t, args...)
			var out, errOut bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errOut
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			// One search and one reading precede the load. Most searches of the load are
			// answered.
			waitUntil(t, func() error {
				if s, r := server.searches.Load(), server.readings.Load(); s < 100 || soak && r < 10 {
					return fmt.Errorf("%d searches and %d readings came", s, r)
				}
				return nil
			})
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
				t.Fatalf("it ended with %v\n%s", err, &errOut)
			}
			var r struct {
				Points  []load.Point
				Samples []load.Sample
				Error   jsonError
			}
			if err := json.Unmarshal(out.Bytes(), &r); err != nil { // one document, including the error
				t.Fatal(err)
			}
			if r.Error.ExitCode != exitInterrupted || len(r.Points) != 1 || r.Points[0].Answered == 0 || r.Points[0].Faulty() != 0 || r.Points[0].Took >= time.Hour || soak != (len(r.Samples) > 0) {
				t.Errorf("%+v, %d samples", r, len(r.Samples))
			}
			if !soak {
				return
			}
			if lines, err := os.ReadFile(readings); err != nil || !bytes.HasSuffix(lines, []byte("}\n")) {
				t.Errorf("readings %q, %v", lines, err)
			}
		})
	}
}

// The current rate does not count as failed.
func TestInterruptedSearchForRate(t *testing.T) {
	queries := filepath.Join(t.TempDir(), "log.tsv")
	if err := os.WriteFile(queries, []byte("1\talpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := newCountingServer(t)
	cmd := griffinProcess(t, "load", server.URL, "--queries", queries, "--p99", patience.String(), "--rate", "200", "--warmup", "0s", "--for", "1h", "--wait", patience.String())
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	waitUntil(t, func() error {
		if n := server.searches.Load(); n < 100 {
			return fmt.Errorf("%d searches came", n)
		}
		return nil
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code is tested above
	if text := out.String(); !strings.Contains(text, "goodput/s") || strings.Contains(text, "fails") || strings.Contains(text, "holds") {
		t.Errorf("shown:\n%s", text)
	}
}
