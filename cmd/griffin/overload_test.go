package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/load"
)

// A server that is asked for twice what it can do still does nine tenths of what it can,
// refuses the rest, and a second later is as it was. Server and load are processes. Where
// other work on the machine takes processors away in the meantime, what the server does
// with a second of a processor is compared in the place of a second; and one of a few
// attempts has to show it.
func TestOverloadedProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	dir := t.TempDir()
	queries := makeHeavyIndex(t, filepath.Join(dir, "x.idx"), filepath.Join(dir, "queries.tsv"))
	address := startServer(t, "--timeout", "1s", "--result-cache", "0", filepath.Join(dir, "x.idx"))
	const attempts = 4
	var failed []string
	for range attempts {
		spent := processorTime(t, address)
		capacity, answers := measureCapacity(t, address, queries)
		perSecond := float64(answers) / (processorTime(t, address) - spent)
		over, underLoad := overload(t, address, filepath.Join(dir, "queries.tsv"), 2*capacity)
		after, _ := overload(t, address, filepath.Join(dir, "queries.tsv"), capacity/2)
		problem := ""
		switch {
		case capacity == 0:
			problem = "nothing is answered"
		case over.Goodput < 0.9*capacity && underLoad < 0.9*perSecond:
			problem = fmt.Sprintf("goodput %.1f; %.1f answers a second of a processor, before %.1f", over.Goodput, underLoad, perSecond)
		case over.Shed() < over.Sent/10:
			problem = fmt.Sprintf("%d of %d refused: that was no overload", over.Shed(), over.Sent)
		case over.Faulty() > 0 || after.Faulty() > 0:
			problem = fmt.Sprintf("faults %q %q", over.Faults, after.Faults)
		case after.Shed() > 0 || !after.Holds:
			problem = fmt.Sprintf("a second later: %d of %d refused, p99 %v", after.Shed(), after.Sent, after.Latency.P99)
		default:
			t.Logf("capacity %.1f/s; at %.1f/s: goodput %.1f, %d of %d refused, p99 %v; a second later, at %.1f/s: p99 %v",
				capacity, over.Rate, over.Goodput, over.Shed(), over.Sent, over.Latency.P99, after.Rate, after.Latency.P99)
			return
		}
		failed = append(failed, fmt.Sprintf("capacity %.1f: %s", capacity, problem))
	}
	t.Errorf("%d attempts:\n%s", attempts, strings.Join(failed, "\n"))
}

// startServer runs griffin serve on one processor and returns its address. The process
// ends with the test.
func startServer(t *testing.T, args ...string) string {
	t.Helper()
	cmd := griffinProcess(t, append([]string{"serve", "--addr", "127.0.0.1:0", "--device", "cpu"}, args...)...)
	cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v\n%s", err, &errOut)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no line on standard output: %v\n%s", err, &errOut)
	}
	_, address, _ := strings.Cut(line, " on ")
	address, _, _ = strings.Cut(address, "/ ")
	return address
}

// makeHeavyIndex makes an index whose long texts take time to make snippets of, and a
// file of queries. It returns their texts.
func makeHeavyIndex(t *testing.T, dir, file string) []string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	words := func(n int) string {
		w := make([]string, n)
		for i := range w {
			w[i] = fmt.Sprintf("w%d", rng.IntN(40))
		}
		return strings.Join(w, " ")
	}
	ix, err := griffin.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	for i := range 200 {
		if err := ix.Add(t.Context(), griffin.Document{ID: fmt.Sprint(i), Text: words(1000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	var texts []string
	var lines strings.Builder
	for i := range 50 {
		texts = append(texts, words(3))
		fmt.Fprintf(&lines, "%d\t%s\n", i, texts[i])
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return texts
}

// heavyK hits of each query have snippets.
const heavyK = "40"

// measureCapacity returns how many queries a second the server answers to a few that
// ask one after another, and how many it answered.
func measureCapacity(t *testing.T, address string, queries []string) (capacity float64, answers int64) {
	t.Helper()
	h, err := load.NewHTTP(address, queries, url.Values{"k": {heavyK}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const clients, takes = 2, 1500 * time.Millisecond
	var answered atomic.Int64
	began := time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := c; time.Since(began) < takes; i += clients {
				if o, err := h.Do(t.Context(), i%len(queries)); o == load.Answered {
					answered.Add(1)
				} else if !o.Shed() {
					t.Errorf("%v: %v", o, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(answered.Load()) / time.Since(began).Seconds(), answered.Load()
}

// overload runs griffin load at a rate, from a second after it has begun on, and returns
// how many queries the server answered with a second of a processor.
func overload(t *testing.T, address, queries string, rate float64) (p *load.Point, perSecond float64) {
	t.Helper()
	if rate == 0 {
		return &load.Point{}, 0
	}
	spent := processorTime(t, address)
	cmd := griffinProcess(t, "load", address, "--queries", queries, "--rate", fmt.Sprintf("%.1f", rate),
		"--k", heavyK, "--warmup", "1s", "--for", "2s", "--within", "1s", "--json")
	out, err := cmd.Output()
	if err != nil {
		exit := (*exec.ExitError)(nil)
		if asExit(err, &exit) {
			t.Fatalf("%v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var r struct{ Points []load.Point }
	if err := json.Unmarshal(out, &r); err != nil || len(r.Points) != 1 {
		t.Fatalf("%d points, %v: %s", len(r.Points), err, out)
	}
	p = &r.Points[0]
	// The warm-up is half as long as what is counted.
	return p, 1.5 * float64(p.Good) / (processorTime(t, address) - spent)
}

// processorTime returns how many seconds of processors a server has used.
func processorTime(t *testing.T, address string) float64 {
	t.Helper()
	response, err := http.Get(address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if text, is := strings.CutPrefix(line, "process_cpu_seconds_total "); is {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatal("the metrics do not tell")
	return 0
}
