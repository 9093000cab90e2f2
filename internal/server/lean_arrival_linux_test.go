package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
)

// stampedPair returns both ends of a connection whose reads have times, and the reader of one.
func stampedPair(t *testing.T) (client, conn net.Conn, r *stampedReader) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err = net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	conn, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r = new(stampedReader)
	if raw := rawOf(conn); raw == nil || !r.stamp(raw) {
		t.Fatal("the kernel gives no times")
	}
	p := make([]byte, 100)
	for tries := 0; r.at.IsZero(); tries++ { // the kernel begins a little after the first of all connections asks for times
		_, err := io.WriteString(client, "begin")
		if err == nil {
			_, err = r.read(p)
		}
		if err != nil || tries == 1000 {
			t.Fatalf("try %d: no time, %v", tries, err)
		}
		time.Sleep(time.Millisecond)
	}
	return client, conn, r
}

// The time of a request is the time of its arrival, not of the call that reads it.
func TestStampedReader(t *testing.T) {
	client, conn, r := stampedPair(t)
	p := make([]byte, 100)
	for _, text := range []string{"first", "second"} {
		before := time.Now()
		if _, err := io.WriteString(client, text); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		reads := time.Now()
		n, err := r.read(p)
		if err != nil || string(p[:n]) != text {
			t.Fatalf("read %q, %v", p[:n], err)
		}
		if at := r.at; at.Before(before.Round(0)) || !at.Before(reads.Round(0)) {
			t.Errorf("%s: written from %v on, read at %v, received at %v", text, before, reads, at)
		}
		x := []byte("x")
		if allocs := testing.AllocsPerRun(100, func() {
			_, _ = client.Write(x)
			_, _ = r.read(p)
		}); allocs > 1 { // the address of unix.Recvmsg
			t.Errorf("%v allocations", allocs)
		}
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.read(p); err == nil {
		t.Error("a read ends without an error at its deadline")
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	if n, err := r.read(p); n != 0 {
		t.Errorf("%d bytes, %v after the end", n, err)
	}
}

// Searches that wait to be read, here behind another on their connection, are rejected, but for the first few.
func TestLateSearches(t *testing.T) {
	const maxWait, queued = 500 * time.Millisecond, 20
	stampedPair(t) // so that the kernel has begun
	h := makeHandler(Options{Logger: quiet(), MaxWait: maxWait, Processors: 1}, fakeSearch(func(_ context.Context, req searchRequest) (*griffin.Results, error) {
		if req.Text == "slow" {
			time.Sleep(2 * maxWait)
		}
		return &griffin.Results{Query: req.Text}, nil
	}))
	r := start(t, h.routes(), patience, patientLimits())
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	from := bufio.NewReader(conn)
	request := func(text string) string { return "GET /search?q=" + text + " HTTP/1.1\r\nHost: x\r\n\r\n" }
	if _, err := io.WriteString(conn, request("slow")+strings.Repeat(request("quick"), queued)); err != nil {
		t.Fatal(err)
	}
	answered := 0
	read := func() int {
		response, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusServiceUnavailable && (!strings.Contains(string(body), "after it came") || response.Header.Get("Retry-After") == "") {
			t.Errorf("%s, %v", body, response.Header)
		}
		return response.StatusCode
	}
	for range 1 + queued {
		if read() == http.StatusOK {
			answered++
		}
	}
	if most := 1 + admissionFew; answered == 0 || answered > most { // fewer if the machine was slow to read the first
		t.Errorf("%d of %d were answered, want the first and at most %d late ones", answered, 1+queued, most-1)
	}
	status := 0
	for tries := 0; status != http.StatusOK && tries < 20; tries++ {
		if _, err := io.WriteString(conn, request("quick")); err != nil {
			t.Fatal(err)
		}
		status = read()
	}
	if status != http.StatusOK {
		t.Errorf("status %d afterwards", status)
	}
}
