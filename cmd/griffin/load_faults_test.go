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

	"github.com/griffin-search/griffin/internal/load"
)

// runLoad puts a load of queries at equal distances on a server, and returns what comes out. It
// waits long for a first answer: a test in which it repeats what is refused does not end.
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
	_ = json.Unmarshal(out.Bytes(), &r) // where it is JSON
	return r, code, out.String(), errOut.String()
}

// answering is a server that ends its searches with a status and a code.
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

// A refusal that asking again does not change is told at once.
func TestRefusedLoad(t *testing.T) {
	for code, c := range map[string]struct{ status, exit int }{
		"no_impacts":    {http.StatusBadRequest, exitInput},
		"bad_parameter": {http.StatusBadRequest, exitInput},
		"query_syntax":  {http.StatusBadRequest, exitInput}, // of each of the queries
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

// Of a file with a query that the server refuses the others are measured, wherever it stands,
// and the exit code tells of it.
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

// A load of which queries fail has not worked; one of which queries are turned away has.
func TestExitCodeOfFaults(t *testing.T) {
	for status, want := range map[int]int{
		http.StatusInternalServerError: exitFailure,
		http.StatusTooManyRequests:     exitOK, http.StatusServiceUnavailable: exitOK, http.StatusGatewayTimeout: exitOK,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
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

// A figure has its points at the rates of the arrivals as they were drawn.
func TestDrawnRates(t *testing.T) {
	r := &loadResult{Points: []load.Point{{Rate: 100, ArrivalRate: 90}, {Rate: 200, ArrivalRate: 180}}, BoundMicros: 1000}
	for i := range r.Points {
		r.Points[i].Latency.P50 = 1000
	}
	for _, s := range loadFigure(r).Series {
		if n := len(s.Points); n != 2 || s.Points[0].X != 90 || s.Points[1].X != 180 {
			t.Errorf("%s: %+v", s.Name, s.Points)
		}
	}
}
