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
)

// runLoad sends queries at equal intervals, with a long time limit: repeating a rejected query
// would not end.
func runLoad(t *testing.T, server, queries string, flags ...string) (r loadResult, code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.tsv")
	if err := os.WriteFile(file, []byte(queries), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"load", server, "--queries", file, "--rate", "100", "--for", "500ms", "--warmup", "0s", "--arrivals", "constant", "--wait", "1h"}
	cmd := griffinProcess(t, append(args, flags...)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(out.Bytes(), &r) // if it is JSON
	return r, code, out.String(), errOut.String()
}

func answering(t *testing.T, answer func(r *http.Request) (status int, code string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, code := answer(r); status != http.StatusOK {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"code":%q,"message":"it says %s"}}`, code, code)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A query that repeating cannot help is reported at once.
func TestRefusedLoad(t *testing.T) {
	for code, c := range map[string]struct{ status, exit int }{
		"no_impacts":    {http.StatusBadRequest, exitInput},
		"bad_parameter": {http.StatusBadRequest, exitInput},
		"query_syntax":  {http.StatusBadRequest, exitInput}, // for each query
		"not_found":     {http.StatusNotFound, exitFailure},
	} {
		t.Run(code, func(t *testing.T) {
			server := answering(t, func(*http.Request) (int, string) { return c.status, code })
			_, exit, _, stderr := runLoad(t, server, "1\talpha\n2\tbeta\n")
			if exit != c.exit || !strings.Contains(stderr, fmt.Sprintf("no query was answered: status %d: it says %s", c.status, code)) {
				t.Errorf("exit code %d: %s", exit, stderr)
			}
		})
	}
}

// The measurement of the others continues; the exit code reports the rejected query.
func TestLoadWithFaultyQuery(t *testing.T) {
	server := answering(t, func(r *http.Request) (int, string) {
		if strings.HasPrefix(r.FormValue("q"), "(") {
			return http.StatusBadRequest, "query_syntax"
		}
		return http.StatusOK, ""
	})
	for _, queries := range []string{"1\t(word\n2\tword\n", "1\tword\n2\t(word\n"} {
		r, exit, _, _ := runLoad(t, server, queries, "--syntax", "--json")
		if exit != exitFailure || len(r.Points) != 1 || r.Points[0].Failed < 24 || r.Points[0].Answered < 24 {
			t.Fatalf("%q: exit code %d, %+v", queries, exit, r.Points)
		}
		if e := r.Error; e == nil || e.ExitCode != exitFailure || !strings.Contains(e.Message, fmt.Sprintf("%d of 49 queries came to nothing: status 400", r.Points[0].Failed)) {
			t.Errorf("%q: %+v", queries, e)
		}
	}
}

// Faults give exit code 1, rejected queries do not.
func TestExitCodeOfFaults(t *testing.T) {
	for status, want := range map[int]int{
		http.StatusInternalServerError: exitFailure,
		http.StatusTooManyRequests:     exitOK, http.StatusServiceUnavailable: exitOK, http.StatusGatewayTimeout: exitOK,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := answering(t, func(*http.Request) (int, string) {
				if asked.Add(1) > 10 {
					return status, "late"
				}
				return http.StatusOK, ""
			})
			r, exit, _, _ := runLoad(t, server, "1\tword\n", "--json")
			if exit != want || (r.Error != nil) != (want != exitOK) || len(r.Points) != 1 || r.Points[0].Answered != 9 {
				t.Errorf("exit code %d, error %+v, %+v", exit, r.Error, r.Points)
			}
			asked.Store(0)
			_, exit, stdout, stderr := runLoad(t, server, "1\tword\n")
			if exit != want || !strings.Contains(stdout, "goodput/s") || strings.Contains(stderr, "40 of 49 queries came to nothing: status 500: it says late") != (want != exitOK) {
				t.Errorf("exit code %d\n%s%s", exit, stdout, stderr)
			}
		})
	}
}
