package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
)

var leanHeads = []struct {
	text string
	lean bool
}{
	{"GET /search?q=a+b%20c&k=5 HTTP/1.1\r\nHost: x\r\n\r\n", true},
	{"GET /search HTTP/1.1\r\nHost: [::1]:80\r\nUser-Agent: a\r\nAccept: */*\r\nAccept-Encoding: gzip, zstd\r\naccept: b\r\n\r\n", true},
	{"POST /wiki/_search HTTP/1.1\r\nhost:x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\n{}GET", true},
	{"POST /a.b-c_d/_search?size=1&q=a?b HTTP/1.1\r\nHost: x\r\nX: \t\xff \r\n\r\n", true},
	{"GET /search?q=a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", true},
	{"GET /search?q=a HTTP/1.0\r\nHost: x\r\n\r\n", false},
	{"GET 0/_search HTTP/1.1\r\nHost:0\r\n\r\n", false},
	{"GET /search?q=a HTTP/1.1\r\nHost: x\r\n", false},
	{"GET /search?q=a HTTP/1.1\r\n\r\n", false},
	{"GET /search?q=a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", false},
	{"GET /search?q=a#b HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET /search?q=a b HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET /search? HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET //x/_search?q=a HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET /%78/_search?q=a HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET http://x/_search?q=a HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET /search?q=a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
	{"GET /search?q=a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", false},
	{"POST /x/_search HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false},
	{"POST /x/_search HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", false},
	{"POST /x/_search HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}", false},
	{"GET /search?q=a HTTP/1.1\r\nHost: x\r\n folded: b\r\n\r\n", false},
	{"GET /search?q=a HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", false},
	{"GET /search?q=a HTTP/1.1\nHost: x\r\n\r\n", false},
	{"GET /search?q=a HTTP/1.1\r\nHost: x\r\nA: b\nC: d\r\n\r\n", false},
	{"HEAD /search?q=a HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", false},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false},
}

func TestLeanParse(t *testing.T) {
	for _, c := range leanHeads {
		if _, ok := new(leanRequest).parse([]byte(c.text)); ok != c.lean {
			t.Errorf("%q: %v, want %v", c.text, ok, c.lean)
		}
		checkLean(t, []byte(c.text), []byte(c.text))
	}
}

// checkLean compares the second of two requests of a connection with what net/http reads.
func checkLean(t *testing.T, before, p []byte) {
	t.Helper()
	var r leanRequest
	_, _ = r.parse(before)
	size, ok := r.parse(p)
	if !ok {
		return
	}
	from := bufio.NewReaderSize(bytes.NewReader(p), max(len(p), 16))
	want, err := http.ReadRequest(from)
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", p, err)
	}
	if rest := p[size:]; from.Buffered() != len(rest) {
		t.Fatalf("%q: the head has %d bytes, and %d remain of net/http's", p, size, from.Buffered())
	} else if int64(len(rest)) < r.length {
		return
	}
	r.body = p[size : size+int(r.length)]
	got := r.fill(new(http.Request))
	if got.Method != want.Method || *got.URL != *want.URL || got.Proto != want.Proto || got.ProtoMajor != 1 || got.ProtoMinor != 1 ||
		got.ContentLength != want.ContentLength || got.Host != want.Host || got.RequestURI != want.RequestURI || got.Close != want.Close || len(want.TransferEncoding) > 0 {
		t.Fatalf("%q:\n%+v\nnet/http has\n%+v", p, got, want)
	}
	if !reflect.DeepEqual(got.Header, want.Header) {
		t.Fatalf("%q: headers %v, net/http has %v", p, got.Header, want.Header)
	}
	gotBody, _ := io.ReadAll(got.Body)
	wantBody, err := io.ReadAll(want.Body)
	if err != nil || !bytes.Equal(gotBody, wantBody) {
		t.Fatalf("%q: body %q, net/http has %q, %v", p, gotBody, wantBody, err)
	}
}

func FuzzLeanParse(f *testing.F) {
	for i, c := range leanHeads {
		f.Add([]byte(leanHeads[i/2].text), []byte(c.text))
	}
	f.Fuzz(func(t *testing.T, before, p []byte) { checkLean(t, before, p) })
}

// manyAnswers has a path for each kind of answer.
func manyAnswers(w http.ResponseWriter, r *http.Request) {
	switch strings.TrimSuffix(r.URL.Path, "/_search") {
	case "/none":
		w.WriteHeader(http.StatusNoContent)
		if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
			panic(err)
		}
	case "/same":
		w.Header().Set("Content-Length", "3")
		w.WriteHeader(http.StatusNotModified)
	case "/empty":
	case "/error":
		http.Error(w, "it\nbroke", http.StatusTeapot)
	case "/header":
		w.Header()["X-A"] = []string{"b", "c\r\nd: e"}
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("Late", "x")
		_, _ = io.WriteString(w, "hello")
	case "/long":
		_, _ = w.Write(bytes.Repeat([]byte("long"), 1000))
		_, _ = w.Write(bytes.Repeat([]byte("er"), 1<<20))
	case "/more":
		w.Header().Set("Content-Length", "2")
		_, _ = io.WriteString(w, "ok")
		if _, err := io.WriteString(w, "more"); !errors.Is(err, http.ErrContentLength) {
			panic(err)
		}
	case "/close":
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "bye")
	case "/html":
		_, _ = io.WriteString(w, "<html>")
	default:
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintln(w, r.Method, r.Host, r.URL, r.URL.Query(), r.RequestURI, r.Header, r.ContentLength, string(body), err, r.RemoteAddr != "")
	}
}

// Answers equal the answers of net/http.
func TestLeanAnswers(t *testing.T) {
	plain := &http.Server{Handler: compressed(http.HandlerFunc(manyAnswers)), ReadHeaderTimeout: patience}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = plain.Serve(listener) }()
	defer plain.Close()
	direct := start(t, compressed(http.HandlerFunc(manyAnswers)), time.Second, patientLimits())
	answers := func(address string, requests []string) (all []string) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() { _, _ = io.WriteString(conn, strings.Join(requests, "")) }()
		from := bufio.NewReader(conn)
		for range requests {
			r, err := http.ReadResponse(from, nil)
			if err != nil {
				return append(all, err.Error())
			}
			body, err := io.ReadAll(r.Body)
			r.Header.Del("Date")
			r.Header.Del("Content-Length") // net/http sends long answers in chunks
			all = append(all, fmt.Sprint(r.Status, r.Header, len(body), string(body[:min(len(body), 1000)]), err, r.Close))
		}
		return all
	}
	get := func(path string, lines ...string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + strings.Join(lines, "") + "\r\n"
	}
	post := func(path, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	}
	for name, requests := range map[string][]string{
		"kinds": {
			get("/search?q=a&k=%20b"), get("/none/_search"), get("/same/_search"), get("/empty/_search"), get("/error/_search"), get("/html/_search"),
			get("/header/_search"), get("/search?q=a&k=%20b", "A: b\r\n"), get("/search?q=a&k=%20b", "A: b\r\n"), get("/close/_search"), get("/search"),
		},
		"bodies":      {post("/x/_search", ""), post("/x/_search", "{}"), post("/x/_search", strings.Repeat("a", 50_000)), post("/x/_search", "b"), post("/x/_search", strings.Repeat("a", 100_000)), get("/search")},
		"more":        {get("/more/_search"), get("/search")},
		"others":      {get("/search?q=a"), get("/search?q=b"), get("/other"), get("/search?q=c")},
		"compression": {get("/long/_search"), get("/long/_search", "Accept-Encoding: gzip\r\n"), get("/long/_search", "Accept-Encoding: zstd\r\n")},
	} {
		got, want := answers(direct.addr, requests), answers(listener.Addr().String(), requests)
		if !reflect.DeepEqual(got, want) {
			for i := range max(len(got), len(want)) {
				if i >= min(len(got), len(want)) || got[i] != want[i] {
					t.Errorf("%s, answer %d:\n%.1500q\nnet/http:\n%.1500q", name, i, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
				}
			}
		}
	}
}

// Requests end when their clients leave, also while others are answered.
func TestLeanNoticesClientsThatLeave(t *testing.T) {
	entered, gone := make(chan struct{}), make(chan error)
	r := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "wait" {
			entered <- struct{}{}
			<-r.Context().Done()
			gone <- context.Cause(r.Context())
		}
	}), patience, patientLimits())
	for _, leave := range []func(c *net.TCPConn) error{(*net.TCPConn).Close, (*net.TCPConn).CloseWrite, func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }} {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /search?wait HTTP/1.1\r\nHost: x\r\n\r\n")
		<-entered
		select {
		case err := <-gone:
			t.Fatalf("the client has not left, and the request ends with %v", err)
		case <-time.After(5 * lookEvery):
		}
		getSoon(t, "http://"+r.addr+"/search?q=a")
		if err := leave(conn.(*net.TCPConn)); err != nil {
			t.Fatal(err)
		}
		if err := <-gone; !errors.Is(err, errClientLeft) {
			t.Error(err)
		}
	}
}

// A panic ends a connection, and no other.
func TestLeanPanics(t *testing.T) {
	r := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "panic" {
			panic(http.ErrAbortHandler)
		}
	}), patience, patientLimits())
	if resp, err := http.Post("http://"+r.addr+"/x/_search?panic", "text/plain", strings.NewReader("x")); err == nil {
		resp.Body.Close()
		t.Errorf("status %s", resp.Status)
	}
	getSoon(t, "http://"+r.addr+"/search?q=a")
}

// Idle connections, and those without a request, end with their time limits or when the server stops.
func TestLeanConnectionsEnd(t *testing.T) {
	for _, begin := range []string{"", "GET /search?q=a HTTP/1.1\r\nHost: x\r\n\r\n", "POST /x/_search HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"} {
		for _, stops := range []bool{false, true} {
			l := shortLimits()
			if stops {
				l = patientLimits()
				l.told = 50 * time.Millisecond
				if strings.HasPrefix(begin, "POST") {
					continue // the request is under way
				}
			}
			r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), patience, l)
			conn, from := begun(t, r.addr, begin)
			if stops {
				r.stop()
			}
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			if _, err := io.Copy(io.Discard, from); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%q: %v", begin, err)
			}
			if stops {
				if err := r.wait(t); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// begun returns a connection that has sent text, and has read the answer if text is a request. A server with short limits
// may close the connection of a slow machine before.
func begun(t *testing.T, address, text string) (conn net.Conn, from *bufio.Reader) {
	t.Helper()
	for began := time.Now(); ; {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		from := bufio.NewReader(conn)
		if _, err = io.WriteString(conn, text); !strings.HasPrefix(text, "GET") {
			return conn, from
		}
		if err == nil {
			var resp *http.Response
			if resp, err = http.ReadResponse(from, nil); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				return conn, from
			}
		}
		if time.Since(began) > patience {
			t.Fatal(err)
		}
	}
}

// deadlineConn is a connection on which nothing comes.
type deadlineConn struct {
	net.Conn
	read time.Time
}

func (c *deadlineConn) SetReadDeadline(t time.Time) error {
	c.read = t
	return nil
}

func (c *deadlineConn) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// A connection that begins to wait for its first request just after the server stops waits no longer than others.
func TestLeanStopsNewConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l := patientLimits()
	l.told, l.readHeader = time.Minute, time.Hour
	s := newLean(t.Context(), newConnections(listener, l.connections), http.NotFoundHandler(), l)
	conn := new(deadlineConn)
	c := &leanConn{Conn: conn, of: s}
	s.conns[c] = struct{}{}
	s.stop()
	if c.await(true) || time.Until(conn.read) > l.told {
		t.Errorf("it waits for %v, want at most %v", time.Until(conn.read), l.told)
	}
}

// A server that stops answers the requests that it has, on connections that it then closes.
func TestLeanDrains(t *testing.T) {
	entered, door := make(chan struct{}, 1), make(chan struct{})
	var served atomic.Int64
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1) == 2 {
			entered <- struct{}{}
			<-door
		}
		_, _ = io.WriteString(w, "ok")
	}), patience, patientLimits())
	client := &http.Client{}
	var all sync.WaitGroup
	all.Go(func() {
		for i := range 2 {
			resp, err := client.Get("http://" + r.addr + "/search?q=a")
			if err != nil {
				t.Error(err)
				return
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != "ok" || resp.Close != (i == 1) {
				t.Errorf("%d: %q, %v, close %v", i, body, err, resp.Close)
			}
		}
	})
	<-entered
	r.stop()
	for {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			break
		}
		conn.Close()
	}
	time.AfterFunc(50*time.Millisecond, func() { close(door) })
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// A search over HTTP leaves little garbage.
func TestLeanAllocations(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) {
		return &griffin.Results{}, nil
	}))
	var r leanRequest
	w := leanWriter{stopping: new(atomic.Bool)}
	head := []byte("GET /search?q=a HTTP/1.1\r\nHost: x\r\nUser-Agent: y\r\n\r\n")
	base := (&http.Request{}).WithContext(t.Context())
	parse := testing.AllocsPerRun(100, func() {
		if _, ok := r.parse(head); !ok {
			t.Fatal("not parsed")
		}
		r.fill(base)
	})
	if parse > 1 { // the address
		t.Errorf("parsing allocates %v times", parse)
	}
	before := testing.AllocsPerRun(100, func() { h.ServeHTTP(&leanWriter{header: http.Header{}, stopping: w.stopping}, r.fill(base)) })
	whole := testing.AllocsPerRun(100, func() {
		w.begin()
		h.ServeHTTP(&w, r.fill(base))
		if !w.finish() {
			t.Fatal("not complete")
		}
		w.release()
	})
	if whole > before {
		t.Errorf("answering allocates %v times, without the memory of a connection %v", whole, before)
	}
}
