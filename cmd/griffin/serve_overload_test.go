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
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/load"
)

// At twice its capacity a server spends little more processor time per answer, rejects the
// excess, and recovers. The load adapts to the machine: each answer triggers two more searches.
// One of several attempts must show it. Tests in internal/server check latencies in virtual
// time.
func TestOverloadedProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	dir := t.TempDir()
	queries := makeHeavyIndex(t, filepath.Join(dir, "x.idx"), filepath.Join(dir, "queries.tsv"))
	address := startServer(t, "--timeout", "1m", "--max-wait", "1m", "--max-concurrent", "16", "--result-cache", "0", filepath.Join(dir, "x.idx"))
	const attempts = 10
	var costs []string
	for {
		calm := ask(t, address, queries, 2, 1)
		over := ask(t, address, queries, 32, 2)
		after := ask(t, address, queries, 2, 1)
		if calm.refused > 0 || after.refused > 0 {
			t.Fatalf("of a server that has little to do, %d and then %d searches were refused", calm.refused, after.refused)
		}
		if over.refused < over.answered/2 {
			t.Fatalf("%d refused, %d answered: that was no overload", over.refused, over.answered)
		}
		costs = append(costs, fmt.Sprintf("%.4f s, with %.2f refused %.4f s, then %.4f s", calm.cost, float64(over.refused)/float64(over.answered), over.cost, after.cost))
		if min(calm.cost, after.cost) >= 0.9*over.cost {
			t.Log(costs)
			break
		}
		if len(costs) == attempts {
			t.Fatalf("an answer costs\n%s", strings.Join(costs, "\n"))
		}
	}
	loadProcess(t, address, filepath.Join(dir, "queries.tsv"))
}

// startServer uses one processor, until the test ends.
func startServer(t *testing.T, args ...string) string {
	t.Helper()
	address, _ := startServerProcess(t, args...)
	return address
}

func startServerProcess(t *testing.T, args ...string) (address string, process *os.Process) {
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
	_, address, _ = strings.Cut(line, " on ")
	address, _, _ = strings.Cut(address, "/ ")
	return address, cmd.Process
}

// makeHeavyIndex makes snippets that are slow to compute.
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
	ix, err := griffin.Create(dir, griffin.Settings{}, griffin.Options{})
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

// heavyK is the number of hits, and so of snippets.
const heavyK = "40"

// asked counts the outcomes of searches; cost is processor seconds of the server per answer.
type asked struct {
	answered, refused int64
	cost              float64
}

// ask lets each client send one search, and each answer trigger more.
func ask(t *testing.T, address string, queries []string, clients int, more int64) asked {
	t.Helper()
	h, err := load.NewHTTP(address, queries, url.Values{"k": {heavyK}}, clients)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const enough = 100
	var (
		a         asked
		sent, out int64
		mu        sync.Mutex
		changed   = sync.NewCond(&mu)
		wg        sync.WaitGroup
	)
	spent := processorTime(t, address)
	for range clients {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for {
				// Continue if a stalled server rejects everything.
				for a.answered < enough && sent >= int64(clients)+more*a.answered && out > 0 {
					changed.Wait()
				}
				if a.answered >= enough || t.Failed() {
					return
				}
				query := int(sent) % len(queries)
				sent++
				out++
				mu.Unlock()
				o, err := h.Do(t.Context(), query)
				mu.Lock()
				out--
				switch {
				case o == load.Answered:
					a.answered++
				case o.Shed():
					a.refused++
				default:
					t.Errorf("%v: %v", o, err)
				}
				changed.Broadcast()
			}
		})
	}
	wg.Wait()
	a.cost = (processorTime(t, address) - spent) / float64(a.answered)
	return a
}

// loadProcess expects an idle server.
func loadProcess(t *testing.T, address, queries string) {
	t.Helper()
	cmd := griffinProcess(t, "load", address, "--queries", queries, "--rate", "20", "--k", heavyK, "--warmup", "100ms", "--for", "500ms",
		"--wait", patience.String(), "--json")
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
	if p := &r.Points[0]; p.Answered == 0 || p.Answered+p.Shed() != p.Sent {
		t.Errorf("%+v", p)
	}
}

// processorTime is in seconds.
func processorTime(t *testing.T, address string) float64 {
	t.Helper()
	for line := range strings.Lines(metricsOf(t, address)) {
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

func metricsOf(t *testing.T, address string) string {
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
	return string(body)
}
