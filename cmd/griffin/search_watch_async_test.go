package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A server whose writes are durable later commits them before the files of their documents are done.
func TestWatchAsyncServer(t *testing.T) {
	dir := t.TempDir()
	docs := filepath.Join(dir, "docs")
	address := startDirectory(t, filepath.Join(dir, "data"))
	var mu sync.Mutex
	var posts []string
	var failing atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		if r.Method == http.MethodPost && name != "_refresh" {
			mu.Lock()
			posts = append(posts, name)
			mu.Unlock()
		}
		if name == "_flush" && failing.Load() {
			http.Error(w, "no room on the disk", http.StatusInternalServerError)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	once := func(index string, code int, want ...string) {
		t.Helper()
		mu.Lock()
		posts = nil
		mu.Unlock()
		var out, errOut bytes.Buffer
		args := []string{"watch", docs, "--once", "--out", index, "--server", server.URL, "--state", filepath.Join(dir, "state of "+index)}
		got := realMain(args, terminal{in: strings.NewReader(""), out: &out, err: &errOut})
		mu.Lock()
		defer mu.Unlock()
		if got != code || !slices.Equal(posts, want) {
			t.Errorf("%s: exit code %d, want %d; requests %q, want %q\n%s%s", index, got, code, posts, want, &out, &errOut)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/slack", strings.NewReader(`{"settings":{"index.translog.durability":"async"}}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	write(t, "alpha one", docs, "a.txt")
	once("strict", exitOK, "_bulk")
	failing.Store(true)
	once("slack", exitFailure, "_bulk", "_flush")
	failing.Store(false)
	once("slack", exitOK, "_bulk", "_flush") // uncommitted documents are written again
	once("slack", exitOK)
}
