package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
)

// Only a failing test reaches this limit.
const patience = 3 * time.Minute

type running struct {
	addr string
	stop context.CancelFunc
	done chan error
}

func start(t *testing.T, h http.Handler, grace time.Duration, l limits) *running {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, listener, h, grace, l)
}

func startOn(t *testing.T, listener net.Listener, h http.Handler, grace time.Duration, l limits) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{addr: listener.Addr().String(), stop: stop, done: make(chan error, 1)}
	go func() { r.done <- serve(ctx, listener, h, grace, l) }()
	t.Cleanup(stop)
	return r
}

func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(patience):
		t.Fatal("the server did not stop")
		return nil
	}
}

func TestServeStopsWhenIdle(t *testing.T) {
	r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), patience, patientLimits())
	resp, err := http.Get("http://" + r.addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	r.stop()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", r.addr); err == nil {
		t.Error("the server still accepts connections")
	}
}

// Every answered request gets a complete answer during shutdown.
func TestServeDrainsUnderLoad(t *testing.T) {
	h := newHandler(Options{Logger: quiet(), MaxConcurrent: 64, Timeout: MaxTimeout, MaxWait: MaxTimeout}, fakeSearch(func(ctx context.Context, _ searchRequest) (*griffin.Results, error) {
		select {
		case <-time.After(20 * time.Millisecond):
			return &griffin.Results{Query: strings.Repeat("x", 10000)}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}))
	r := start(t, h, patience, patientLimits())
	var answered atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			for {
				resp, err := client.Get("http://" + r.addr + "/search?q=a")
				if err != nil {
					return // the server has stopped
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || len(body) < 10000 {
					t.Errorf("cut off: %s, %d bytes, %v", resp.Status, len(body), err)
				}
				answered.Add(1)
			}
		})
	}
	for answered.Load() < 50 {
		time.Sleep(time.Millisecond)
	}
	r.stop()
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestServeCutsOffAfterGrace(t *testing.T) {
	const clients = 50
	var started sync.WaitGroup
	started.Add(clients)
	h := newHandler(Options{Logger: quiet(), MaxWait: patience, Timeout: MaxTimeout}, fakeSearch(func(ctx context.Context, _ searchRequest) (*griffin.Results, error) {
		started.Done()
		<-ctx.Done() // the server cancels it long before Timeout
		return nil, ctx.Err()
	}))
	l := patientLimits()
	l.told = patience
	r := start(t, h, 50*time.Millisecond, l)
	answers := make(chan string, clients)
	for range clients {
		go func() {
			resp, err := http.Get("http://" + r.addr + "/search?q=a")
			if err != nil {
				answers <- err.Error()
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), `"closing"`) {
				answers <- fmt.Sprintf("%s, %s, %v", resp.Status, body, err)
				return
			}
			answers <- ""
		}()
	}
	started.Wait()
	r.stop()
	if err := r.wait(t); err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("got %v, want an error about requests that were cancelled", err)
	}
	for range clients {
		if got := <-answers; got != "" {
			t.Errorf("a client whose request was cancelled got: %s", got)
		}
	}
}

// Requests that ignore cancellation do not block shutdown.
func TestServeClosesOnRequestsThatGoOn(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(started)
		<-release
	})
	l := patientLimits()
	l.told = 20 * time.Millisecond
	r := start(t, h, 20*time.Millisecond, l)
	go func() {
		if resp, err := http.Get("http://" + r.addr + "/"); err == nil {
			resp.Body.Close()
		}
	}()
	<-started
	r.stop()
	if err := r.wait(t); err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("got %v, want an error about requests that were cancelled", err)
	}
}

func TestServeReportsBrokenListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := Serve(t.Context(), listener, http.NotFoundHandler(), time.Second); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want %v", err, net.ErrClosed)
	}
}

// patientLimits are for tests of something else, on a slow, busy machine.
func patientLimits() limits {
	l := defaultLimits
	l.readHeader, l.read, l.idle = patience, patience, patience
	return l
}

// getSoon repeats a request until it is answered: a server with short limits may close the
// connection of a slow machine.
func getSoon(t *testing.T, address string) {
	t.Helper()
	for began := time.Now(); ; {
		resp, err := http.Get(address)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", address, resp.Status)
			}
			return
		}
		if time.Since(began) > patience {
			t.Fatal(err)
		}
	}
}

func shortLimits() limits {
	l := defaultLimits
	l.readHeader, l.read, l.idle = 100*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond
	return l
}

// The server disconnects clients that send slowly, and answers others meanwhile.
func TestSlowClients(t *testing.T) {
	r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), time.Second, shortLimits())
	var dripping, wg sync.WaitGroup
	for range 20 {
		dripping.Add(1)
		wg.Go(func() {
			var once sync.Once
			defer once.Do(dripping.Done)
			conn, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			begin := time.Now()
			for i := 0; ; i++ {
				_, err := fmt.Fprintf(conn, "%s", "GET /search?q=slow HTTP/1.1\r\nX-A: "[i%30:i%30+1])
				if err != nil {
					return
				}
				once.Do(dripping.Done)
				if time.Since(begin) > patience {
					t.Errorf("the server is still reading after %v", patience)
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	dripping.Wait()
	for range 20 {
		getSoon(t, "http://"+r.addr+"/search?q=fast")
	}
	wg.Wait()
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), time.Second, patientLimits())
	for name, c := range map[string]struct{ request, want string }{
		"one megabyte of query": {"GET /search?q=" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 431"},
		"large header":          {"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", "HTTP/1.1 431"},
		"no HTTP":               {"\x00\x01\x02 garbage\r\n\r\n", "HTTP/1.1 400"},
		"NUL in the address":    {"GET /search?q=a\x00b HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400"},
		"two lengths":           {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 400"},
		"endless body":          {"POST /search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", "HTTP/1.1 405"},
		"body":                  {"GET /search?q=a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 413"},
		"no host":               {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
		"parent folders":        {"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 307"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() { _, _ = io.WriteString(conn, c.request) }() // the server may close the connection first
			if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil && line == "" {
				return // closed: the reset overtook the answer
			}
			if !strings.HasPrefix(line, c.want) {
				t.Errorf("answer %q, want %s", line, c.want)
			}
		})
	}
	resp, err := http.Get("http://" + r.addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// net/http allows 4 KiB of headers beyond MaxHeaderBytes. In the first request of a connection, it does not count the bytes in
// which it looks for the preface of HTTP/2.
func TestHeaderLimit(t *testing.T) {
	r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), time.Second, patientLimits())
	limit := defaultLimits.headerBytes + 4<<10
	if limit != 36<<10 {
		t.Errorf("the limit is %d bytes, docs/guides/serving.md says 36 KiB", limit)
	}
	for size, want := range map[int]int{limit: http.StatusOK, limit + len("PRI * HTTP/2.0") + 1: http.StatusRequestHeaderFieldsTooLarge} {
		request := "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: \r\n\r\n"
		request = strings.Replace(request, "X: ", "X: "+strings.Repeat("a", size-len(request)), 1)
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("a header of %d bytes: %v", size, err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a header of %d bytes: code %d, want %d", size, resp.StatusCode, want)
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	l := shortLimits()
	l.connections = 2
	r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), time.Second, l)
	for range 8 { // all but two wait in the kernel until the idle ones are closed
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	getSoon(t, "http://"+r.addr+"/healthz")
}
