package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

type found struct {
	Hits []struct {
		ID, Title string
	}
	Cached bool
}

func lookFor(address, word string) (found, error) {
	var f found
	client := http.Client{Timeout: patience}
	response, err := client.Get(address + "/search?q=" + word)
	if err != nil {
		return f, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return f, fmt.Errorf("status %s", response.Status)
	}
	return f, json.NewDecoder(response.Body).Decode(&f)
}

// griffinIndex indexes a record in another process.
func griffinIndex(t *testing.T, out, record string, args ...string) {
	t.Helper()
	cmd := griffinProcess(t, append([]string{"index", "--format", "jsonl", "--out", out, "-"}, args...)...)
	cmd.Stdin = strings.NewReader(record + "\n")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("griffin index: %v\n%s", err, text)
	}
}

func waitForTitle(t *testing.T, address, title string) {
	t.Helper()
	waitUntil(t, func() error {
		f, err := lookFor(address, "alpha")
		if err == nil && (len(f.Hits) != 1 || f.Hits[0].Title != title) {
			err = fmt.Errorf("found %+v, want title %q", f, title)
		}
		return err
	})
}

// The server answers queries meanwhile and returns no stale cached results.
func TestServeFollowsCommits(t *testing.T) {
	for _, c := range []struct {
		name, flag string
	}{
		{"update", "--update"},
		{"replace", "--replace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "x.idx")
			griffinIndex(t, dir, `{"_id":"1","title":"One","text":"alpha"}`)
			address := startServer(t, dir)
			waitForTitle(t, address, "One")
			if f, err := lookFor(address, "alpha"); err != nil || !f.Cached {
				t.Fatalf("the answer is not from the cache: %+v, %v", f, err)
			}

			stop := make(chan struct{})
			var asking sync.WaitGroup
			asking.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if f, err := lookFor(address, "alpha"); err != nil || len(f.Hits) != 1 {
						t.Errorf("while the index changes: %+v, %v", f, err)
						return
					}
				}
			})
			for _, title := range []string{"Two", "Three"} {
				griffinIndex(t, dir, fmt.Sprintf(`{"_id":"1","title":%q,"text":"alpha"}`, title), c.flag)
				waitForTitle(t, address, title)
			}
			close(stop)
			asking.Wait()
			waitUntil(t, func() error { // The count follows the commit.
				if !strings.Contains(metricsOf(t, address), "griffin_index_refreshes_total{result=\"changed\"} 2\n") {
					return errors.New("the metrics do not count two commits")
				}
				return nil
			})
		})
	}
}

// SIGHUP refreshes at once and does not stop the server.
func TestServeRefreshesOnSignal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.idx")
	griffinIndex(t, dir, `{"_id":"1","title":"One","text":"alpha"}`)
	address, process := startServerProcess(t, "--refresh", "0", dir)
	waitForTitle(t, address, "One")
	griffinIndex(t, dir, `{"_id":"1","title":"Two","text":"alpha"}`, "--update")
	if err := process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	waitForTitle(t, address, "Two")
}

// The server keeps the last commit, reports the error once, and follows a new index.
func TestServeIndexRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.idx")
	griffinIndex(t, dir, `{"_id":"1","title":"One","text":"alpha"}`)
	address := startServer(t, "--refresh", "10ms", dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() error {
		if !strings.Contains(metricsOf(t, address), "griffin_index_refresh_failing 1\n") {
			return errors.New("the metrics do not tell of the error")
		}
		return nil
	})
	waitForTitle(t, address, "One")
	griffinIndex(t, dir, `{"_id":"1","title":"Two","text":"alpha"}`)
	waitForTitle(t, address, "Two")
}
