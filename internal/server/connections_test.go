package server

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"
)

type fakeListener struct{ from []string }

var errNoMore = errors.New("nobody comes any more")

func (l *fakeListener) Accept() (net.Conn, error) {
	if len(l.from) == 0 {
		return nil, errNoMore
	}
	addr, err := net.ResolveTCPAddr("tcp", l.from[0])
	l.from = l.from[1:]
	return &fakeConn{from: addr}, err
}

func (l *fakeListener) Close() error   { return nil }
func (l *fakeListener) Addr() net.Addr { return nil }

type fakeConn struct {
	net.Conn
	from net.Addr
}

func (c *fakeConn) RemoteAddr() net.Addr { return c.from }
func (c *fakeConn) Close() error         { return nil }

// A client has at most a quarter of the connections, whatever the addresses of its network;
// clients on this machine have no limit.
func TestConnectionsOfAClient(t *testing.T) {
	listener := &fakeListener{}
	l := newConnections(listener, 8)
	accepted := func(from ...string) (conns []net.Conn) {
		t.Helper()
		listener.from = from
		for {
			c, err := l.Accept()
			if errors.Is(err, errNoMore) {
				return conns
			} else if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
	}
	first := accepted("10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3")
	if len(first) != 2 {
		t.Fatalf("one client has %d of 8 connections, want 2", len(first))
	}
	if n := len(accepted("[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1")); n != 2 {
		t.Errorf("a network of IPv6 has %d, want 2", n)
	}
	for range 2 { // closing twice counts once
		if err := first[0].Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(accepted("10.0.0.1:4", "10.0.0.1:5")); n != 1 {
		t.Errorf("after one was closed it gets %d, want 1", n)
	}
	if n := len(accepted("127.0.0.1:1", "127.0.0.1:2", "[::1]:3")); n != 3 {
		t.Errorf("clients on this machine have %d, want 3", n)
	}
	if l.open != 7 || len(l.clients) != 2 {
		t.Errorf("%d are open, of %v", l.open, l.clients)
	}
}

// For a client that connects.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	l := defaultLimits
	l.connections, l.idle, l.readHeader, l.read = 8, time.Hour, time.Hour, time.Hour
	r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), time.Second, l)
	for range 3 * l.connections {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
	}
}
