package server

import (
	"context"
	"encoding/binary"
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

// http2Client speaks HTTP/2 without TLS and nothing else.
func http2Client() *http.Client {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: p}}
}

// Many requests share a connection, are answered as over HTTP/1.1, and end before the server stops.
func TestHTTP2(t *testing.T) {
	var running, most atomic.Int64
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	atOnce, two := make(chan struct{}), make(chan struct{})
	close(atOnce)
	together := sync.OnceFunc(func() { close(two) })
	h := newHandler(Options{Logger: quiet(), Timeout: MaxTimeout, MaxWait: MaxTimeout}, fakeSearch(func(ctx context.Context, r searchRequest) (*griffin.Results, error) {
		n := running.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		defer running.Add(-1)
		waited := atOnce
		switch {
		case r.Text == "last":
			waited = release
		case strings.HasPrefix(r.Text, "word"): // until another one is open
			if n > 1 {
				together()
			}
			waited = two
		}
		select {
		case <-waited:
			return &griffin.Results{Query: strings.Repeat(r.Text, 3000)}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}))
	var connections atomic.Int64
	l := patientLimits()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, countingListener{listener, &connections}, h, patience, l) }()
	address := "http://" + listener.Addr().String()
	client := http2Client()
	ask := func(c *http.Client, q string) (response *http.Response, text string) {
		response, err := c.Get(address + "/search?q=" + q)
		if err != nil {
			t.Error(err)
			return &http.Response{}, ""
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		return response, string(body)
	}
	if r, _ := ask(client, "first"); r.ProtoMajor != 2 {
		t.Fatalf("%s, want HTTP/2", r.Proto)
	}
	var asking sync.WaitGroup
	open := make(chan struct{}, l.streams/2)
	for i := range 50 {
		asking.Go(func() {
			open <- struct{}{}
			defer func() { <-open }()
			q := fmt.Sprintf("word%d", i)
			r, got := ask(client, q)
			if r.StatusCode != http.StatusOK || r.ProtoMajor != 2 || !strings.Contains(got, strings.Repeat(q, 3000)) || r.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %s, %d bytes", q, r.Status, len(got))
			}
		})
	}
	asking.Wait()
	if n := connections.Load(); n != 1 || most.Load() < 2 || most.Load() > int64(cap(open)) {
		t.Errorf("%d connections, at most %d searches at the same time", n, most.Load())
	}
	old := &http.Client{Transport: &http.Transport{}}
	r1, got1 := ask(old, "same")
	r2, got2 := ask(client, "same")
	if r1.ProtoMajor != 1 || r2.ProtoMajor != 2 || got1 != got2 {
		t.Errorf("%s: %.200s\n%s: %.200s", r1.Proto, got1, r2.Proto, got2)
	}
	old.CloseIdleConnections()
	for range 10 {
		asking.Go(func() {
			if r, got := ask(client, "last"); r.StatusCode != http.StatusOK || len(got) < 10_000 {
				t.Errorf("cut off: %s, %d bytes", r.Status, len(got))
			}
		})
	}
	waitFor(t, &running, 10)
	stop()
	time.AfterFunc(20*time.Millisecond, letGo) // while the server stops
	asking.Wait()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the server did not stop")
	}
}

// A connection announces its limit of concurrent requests, and a client with more of them opens further connections.
func TestHTTP2Streams(t *testing.T) {
	l := patientLimits()
	var running atomic.Int64
	more, once := make(chan struct{}), sync.Once{} // closed when more requests are open than one connection may have
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if running.Add(1) > int64(l.streams) {
			once.Do(func() { close(more) })
		}
		defer running.Add(-1)
		select {
		case <-more:
		case <-time.After(patience):
			t.Errorf("%d requests are open, no more", l.streams)
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int64
	address := startOn(t, countingListener{listener, &connections}, h, patience, l).addr
	if got := toldSettings(t, address)[maxConcurrentStreams]; got != uint32(l.streams) {
		t.Errorf("%d requests of a connection may be open, want %d", got, l.streams)
	}
	client := http2Client()
	connections.Store(0)
	var asking sync.WaitGroup
	for range 3 * l.streams {
		asking.Go(func() {
			response, err := client.Get("http://" + address)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Error(response.Status)
			}
		})
	}
	asking.Wait()
	if n := connections.Load(); n < 2 {
		t.Errorf("%d connections, want 2 or more", n)
	}
}

// toldSettings returns the settings that a server sends at the beginning of a connection.
func toldSettings(t *testing.T, address string) map[uint16]uint32 {
	t.Helper()
	header := make([]byte, len(settings))
	var c net.Conn
	for began := time.Now(); ; {
		var err error
		if c, err = net.Dial("tcp", address); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err = io.WriteString(c, preface+settings); err == nil {
			_, err = io.ReadFull(c, header)
		}
		if err == nil {
			break
		}
		// net/http closes connections from which it read no settings for two seconds.
		if time.Since(began) > patience {
			t.Fatal(err)
		}
	}
	if header[3] != settings[3] {
		t.Fatalf("% x, want a settings frame", header)
	}
	sent := make([]byte, int(header[0])<<16|int(header[1])<<8|int(header[2]))
	if _, err := io.ReadFull(c, sent); err != nil {
		t.Fatal(err)
	}
	told := map[uint16]uint32{}
	for ; len(sent) >= 6; sent = sent[6:] {
		told[binary.BigEndian.Uint16(sent)] = binary.BigEndian.Uint32(sent[2:])
	}
	return told
}

// waitFor waits until n requests are running.
func waitFor(t *testing.T, running *atomic.Int64, n int64) {
	t.Helper()
	for deadline := time.Now().Add(patience); running.Load() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests are running, want %d", running.Load(), n)
		}
	}
}

// Of RFC 9113, sections 3.4 and 6.5.
const (
	preface              = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	settings             = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	maxConcurrentStreams = 3
)

type countingListener struct {
	net.Listener
	accepted *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

// Clients of HTTP/2 that send nothing, a part of the preface, or a part of a frame are disconnected.
func TestSlowHTTP2(t *testing.T) {
	r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), time.Second, shortLimits())
	for name, sent := range map[string]string{
		"preface": preface, "part of a preface": preface[:20], "settings": preface + settings,
		"part of headers": preface + settings + "\x00\x00\x40\x01\x04\x00\x00\x00\x01\x82", "not HTTP/2": preface + "GET / HTTP/1.1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, sent); err != nil {
				t.Fatal(err)
			}
			if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the connection is still open: %v", err)
			}
		})
	}
}

// Connections of HTTP/2 cannot open more requests together than the server allows: others are refused at once.
func TestOpenRequests(t *testing.T) {
	const limit = 4
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	var running atomic.Int64
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		running.Add(1)
		<-release
	})
	l := patientLimits()
	l.requests = limit
	address := "http://" + start(t, h, patience, l).addr
	client := http2Client()
	var asking sync.WaitGroup
	for range limit {
		asking.Go(func() {
			response, err := client.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Errorf("an admitted request: %s", response.Status)
			}
		})
	}
	waitFor(t, &running, limit)
	for _, c := range []*http.Client{client, {Transport: &http.Transport{}}} {
		response, err := c.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if want := `{"error":{"code":"overloaded","message":"4 requests are already open; try again in a moment"}}`; err != nil || response.StatusCode != http.StatusServiceUnavailable ||
			response.Header.Get("Retry-After") != "1" || strings.TrimSpace(string(text)) != want {
			t.Errorf("%s: %s, %v, %s", response.Proto, response.Status, response.Header, text)
		}
	}
	letGo()
	asking.Wait()
	response, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("after the others: %s", response.Status)
	}
}
