//go:build !nolab

package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// plainTarget hides the senders of a target.
type plainTarget struct{ Target }

func runOn(t *testing.T, target Target, o Options) Point {
	t.Helper()
	o.Arrivals, o.Seed = Constant, 1
	p, err := Run(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcomes returns the results of a run that must not depend on its senders.
func outcomes(p Point) string {
	slices.Sort(p.Faults)
	return fmt.Sprintf("%d sent, %d answered, %d limited, %d overloaded, %d expired, %d unanswered, %d unsent, %d failed: %q",
		p.Sent, p.Answered, p.Limited, p.Overloaded, p.Expired, p.Unanswered, p.Unsent, p.Failed, p.Faults)
}

// Streams give the outcomes of goroutines that use Do.
func TestStreams(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // two senders
	statuses := map[string]int{"limited": 429, "full": 503, "late": 504, "none": 204, "same": 304, "broken": 500}
	var mu sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query().Get("q")
		mu.Lock()
		seen[q]++
		mu.Unlock()
		switch {
		case statuses[q] != 0:
			w.WriteHeader(statuses[q])
		case q == "chunked" || q == "chunked fault":
			if q == "chunked fault" {
				w.WriteHeader(http.StatusBadRequest)
			}
			for range 3 {
				_, _ = io.WriteString(w, strings.Repeat("x", 30000))
				w.(http.Flusher).Flush()
			}
		case q == "long":
			_, _ = w.Write(make([]byte, 1<<20))
		case q == "close":
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "bye")
		case q == "fault":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"`+strings.Repeat("why ", 500)+`"}}`)
		default:
			_, _ = io.WriteString(w, q)
		}
	}))
	defer server.Close()
	queries := []string{"a", "limited", "full", "late", "none", "same", "broken", "chunked", "chunked fault", "long", "close", "fault", "b+c & d"}
	h, err := NewHTTP(server.URL, queries, url.Values{"k": {"5"}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o := Options{Queries: len(queries), Rate: 300, Duration: time.Second, Timeout: time.Hour, MaxOutstanding: 1000}
	want := runOn(t, plainTarget{h}, o)
	mu.Lock()
	asked := seen
	seen = map[string]int{}
	mu.Unlock()
	got := runOn(t, h, o)
	if outcomes(got) != outcomes(want) || want.Answered == 0 {
		t.Errorf("streams: %s\ngoroutines: %s", outcomes(got), outcomes(want))
	}
	mu.Lock()
	defer mu.Unlock()
	for _, q := range queries {
		if seen[q] != asked[q] || seen[q] == 0 {
			t.Errorf("%q was asked %d times, %d by goroutines", q, seen[q], asked[q])
		}
	}
	if n := len(h.streams.kept); n != 2 {
		t.Errorf("%d streams were used, want 2", n)
	}
}

// A raw server handles each connection by itself.
func rawServer(t *testing.T, handle func(c net.Conn, from *bufio.Reader)) *HTTP {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				handle(c, bufio.NewReader(c))
			})
		}
	})
	h, err := NewHTTP("http://"+listener.Addr().String(), []string{"q"}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = listener.Close()
		h.Close()
		all.Wait()
	})
	return h
}

func TestStreamAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, c := range map[string]struct {
		answers []string // of a connection, which then ends; in pieces between |
		want    string
	}{
		"in pieces":     {[]string{"HT|TP/1.1 200 OK\r\nContent-|Length: 2\r\n\r\n|o|k", ok, "HTTP/1.1 200 OK\r\n|\r\nto the end"}, "answered"},
		"continue":      {[]string{"HTTP/1.1 100 Continue\r\n\r\n|" + ok, ok}, "answered"},
		"closed idle":   {[]string{ok}, "answered"},
		"cut off":       {[]string{ok[:len(ok)-1]}, "unexpected EOF"},
		"cut off early": {[]string{"HTTP"}, "unexpected EOF"},
		"too much":      {[]string{ok + "!"}, "more than its answer"},
		"garbage":       {[]string{"SSH-2.0-x\r\n\r\n"}, "malformed HTTP"},
		"nothing":       {nil, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			h := rawServer(t, func(conn net.Conn, from *bufio.Reader) {
				for i := range max(len(c.answers), 1) {
					if r, err := http.ReadRequest(from); err != nil || r.URL.Path != "/search" {
						return
					}
					if i == len(c.answers) {
						return
					}
					for piece := range strings.SplitSeq(c.answers[i], "|") {
						_, _ = io.WriteString(conn, piece)
						time.Sleep(2 * time.Millisecond)
					}
				}
			})
			p := runOn(t, h, Options{Queries: 1, Rate: 100, Duration: 300 * time.Millisecond, Timeout: time.Hour})
			if c.want == "answered" {
				if p.Answered != p.Sent || p.Sent < 29 {
					t.Error(outcomes(p))
				}
				return
			}
			if p.Failed != p.Sent || len(p.Faults) != 1 || !strings.Contains(p.Faults[0], c.want) {
				t.Error(outcomes(p))
			}
		})
	}
}

// Requests wait for a connection, and end with their time limit.
func TestStreamConnections(t *testing.T) {
	var mu sync.Mutex
	connections := 0
	door := make(chan struct{})
	var second atomic.Bool // run
	opens := sync.OnceFunc(func() { time.AfterFunc(200*time.Millisecond, func() { close(door) }) })
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if second.Load() { // however slow the machine is, all arrivals are due 100 ms before the door opens
			opens()
		}
		select {
		case <-door:
		case <-r.Context().Done():
		}
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if s == http.StateNew {
			connections++
		}
	}
	server.Start()
	defer server.Close()
	h, err := NewHTTP(server.URL, []string{"q"}, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o := Options{Queries: 1, Rate: 1000, Duration: 100 * time.Millisecond, Timeout: 50 * time.Millisecond}
	if p := runOn(t, h, o); p.Unanswered+p.Unsent != p.Sent || p.Unanswered == 0 || p.Sent < 99 {
		t.Error(outcomes(p))
	}
	mu.Lock()
	connections = 0
	mu.Unlock()
	o.Timeout = time.Hour
	second.Store(true)
	if p := runOn(t, h, o); p.Answered != p.Sent || p.Sent < 99 || p.Latency.P50 < 100_000 {
		t.Errorf("%s, p50 %v µs", outcomes(p), p.Latency.P50)
	}
	mu.Lock()
	defer mu.Unlock()
	if connections != 2 {
		t.Errorf("%d connections, want 2", connections)
	}
}

// The end of the context ends a run at once.
func TestStreamsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := rawServer(t, func(_ net.Conn, from *bufio.Reader) {
		if _, err := from.ReadByte(); err == nil {
			cancel()
		}
		_, _ = io.Copy(io.Discard, from)
	})
	p, err := Run(ctx, h, Options{Queries: 1, Rate: 100, Duration: time.Hour, Timeout: time.Hour})
	if err == nil || p.Sent == 0 || p.Answered+p.Failed+p.Unanswered > 0 || p.Took > time.Minute {
		t.Errorf("%v; %s in %v", err, outcomes(p), p.Took)
	}
}

// A server that reads late gets a request that is larger than the buffers of the sockets.
func TestStreamLongRequest(t *testing.T) {
	const size = 32 << 20
	h := rawServer(t, func(c net.Conn, from *bufio.Reader) {
		time.Sleep(20 * time.Millisecond)
		for {
			r, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", 200+min(len(r.URL.RawQuery)-size-2, 1))
		}
	})
	h.targets[0] = "/search?q=" + strings.Repeat("a", size)
	if p := runOn(t, h, Options{Queries: 1, Rate: 5, Duration: 500 * time.Millisecond, Timeout: time.Hour}); p.Answered != p.Sent || p.Sent == 0 {
		t.Error(outcomes(p))
	}
}

// Later runs report a server that has gone.
func TestStreamsWithoutServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	h, err := NewHTTP(server.URL, []string{"q"}, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	o := Options{Queries: 1, Rate: 100, Duration: 100 * time.Millisecond, Timeout: time.Hour}
	if p := runOn(t, h, o); p.Answered != p.Sent {
		t.Error(outcomes(p))
	}
	server.Close()
	want := runOn(t, plainTarget{h}, o)
	if got := runOn(t, h, o); outcomes(got) != outcomes(want) || got.Failed == 0 {
		t.Errorf("streams: %s\ngoroutines: %s", outcomes(got), outcomes(want))
	}
}
