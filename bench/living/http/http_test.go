package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/bench/living/process"
	"github.com/griffin-search/griffin/internal/rest"
	serving "github.com/griffin-search/griffin/internal/server"
)

// TestMain is the process of the queries, too.
func TestMain(m *testing.M) {
	if os.Getenv(queryProcess) == "" {
		os.Exit(m.Run())
	}
	if err := runQueries(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inProcess serves a folder of indexes without a process of its own.
func inProcess(t *testing.T, data string) *server {
	t.Helper()
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := rest.OpenDirectory(t.Context(), data, rest.DirectoryOptions{Index: griffin.Options{Runtime: runtime}})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := serving.New(serving.Options{Directory: d})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(func() {
		s.Close()
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := runtime.Close(); err != nil {
			t.Error(err)
		}
	})
	return &server{url: s.URL + "/", process: process.Self(), client: newClient()}
}

func TestPhases(t *testing.T) {
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, `{"id":"%d","title":"Title %d","text":"some words of passage %d"}`+"\n", i, i, i%7)
	}
	dir := t.TempDir()
	passages, data := filepath.Join(dir, "passages.jsonl"), filepath.Join(dir, "data")
	if err := os.WriteFile(passages, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bench{data: data, queries: []string{"words", "title passage", "3"}, o: options{
		duration: 400 * time.Millisecond, beside: 100 * time.Millisecond, quiet: 40 * time.Millisecond, clients: 2, base: 150, queryRate: 500, queryCount: 10, singleCount: 20, probeInterval: 50 * time.Millisecond,
	}}
	var err error
	if b.bodies, err = readBodies([]string{passages}, 170, 2000); err != nil {
		t.Fatal(err)
	}
	b.server = inProcess(t, data)
	var r report
	if err := b.phases(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Documents != int(b.ids.Load())+b.o.singleCount+b.probes || b.probes == 0 {
		t.Errorf("%d documents, %d probes", r.Documents, b.probes)
	}
	for _, l := range []load{r.Full, r.Half} {
		if l.MBPerSecond <= l.DocMBPerSecond || l.DocMBPerSecond <= 0 || l.LongestPause <= 0 || l.Ack.Count == 0 {
			t.Errorf("writes: %+v", l)
		}
	}
	// A client writes whole requests, the first at once.
	largest := 0
	for _, body := range b.bodies {
		largest = max(largest, len(body.data))
	}
	if most := r.Full.MBPerSecond/2*1e6*r.Half.Seconds + float64(b.o.clients*largest); float64(r.Half.bytes) > most {
		t.Errorf("%d bytes in %g s at half of %g MB/s", r.Half.bytes, r.Half.Seconds, r.Full.MBPerSecond)
	}
	if r.Single.Count != 20 || r.Queries.Idle.Count != 10 || r.Queries.Merged.Count != 10 || r.Queries.Beside.Count == 0 || r.Visible.Count != b.probes {
		t.Errorf("times: %+v", r)
	}
}

func TestBodies(t *testing.T) {
	b := &body{}
	b.add([]byte(`{"title":"a"}`))
	b.add([]byte(`{"title":"b"}`))
	const want = `{"index":{"_id":"000000000041"}}
{"title":"a"}
{"index":{"_id":"000000000042"}}
{"title":"b"}
`
	if got := string(b.number(nil, 41)); got != want {
		t.Errorf("request\n%swant\n%s", got, want)
	}
	if b.docBytes != 26 || strings.Contains(string(b.data), "4") {
		t.Errorf("%d bytes of documents; the body itself is changed: %q", b.docBytes, b.data)
	}
}

func TestReadBodies(t *testing.T) {
	name := filepath.Join(t.TempDir(), "passages.jsonl")
	if err := os.WriteFile(name, []byte(strings.Repeat(`{"id":"1","title":"a","text":"b"}`+"\n", 10)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ limit, size, bodies, docs int }{
		{9, 100, 4, 8}, // whole bodies only
		{9, 1, 9, 9},
		{5, 1 << 20, 1, 5},
		{99, 1 << 20, 1, 10},
	} {
		bodies, err := readBodies([]string{name}, test.limit, test.size)
		docs := 0
		for _, b := range bodies {
			docs += len(b.ids)
		}
		if err != nil || len(bodies) != test.bodies || docs != test.docs {
			t.Errorf("limit %d, size %d: %d bodies of %d documents, %v", test.limit, test.size, len(bodies), docs, err)
		}
	}
}

// A copy of a server's folder has the same files. Changes by the server do not affect the original.
func TestLinkData(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "data")
	files := map[string]string{"wiki/MANIFEST": "1", "wiki/log/wal-000001": "2", "wiki/seg-000001/postings": "3"}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkData(to, from); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"wiki/MANIFEST", "wiki/log/wal-000001"} {
		if err := os.WriteFile(filepath.Join(to, name), []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(to, "wiki/seg-000001")); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if got, err := os.ReadFile(filepath.Join(from, name)); err != nil || string(got) != content {
			t.Errorf("original of %s: %q, %v", name, got, err)
		}
	}
}

// The slowest queries are kept in order, and not more of them than a report has.
func TestKeepSlowest(t *testing.T) {
	var kept []slowQuery
	for i := range 3 * numSlowest {
		kept = keepSlowest(kept, slowQuery{Millis: float64(i * 7 % (3 * numSlowest))})
	}
	if len(kept) != numSlowest {
		t.Fatalf("%d queries", len(kept))
	}
	for i, q := range kept {
		if want := float64(3*numSlowest - 1 - i); q.Millis != want {
			t.Errorf("query %d took %g ms, want %g", i, q.Millis, want)
		}
	}
}
