package server

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
)

// connections accepts at most limit connections, and at most a quarter of them from one
// client; it closes others at once. When few are left, it closes idle connections.
// Clients on this machine have no such limit, because a reverse proxy is one.
type connections struct {
	net.Listener
	limit     int
	slots     chan struct{} // one for each open connection
	closed    chan struct{}
	once      sync.Once
	busy      atomic.Bool // crowded, without mu
	closeIdle func()      // of connections that are not in idle; nil: none

	mu      sync.Mutex
	open    int
	clients map[netip.Addr]int
	idle    map[net.Conn]struct{}
}

// One client may have 1/clientShare of all connections.
const clientShare = 4

func newConnections(l net.Listener, limit int) *connections {
	return &connections{
		Listener: l, limit: limit, slots: make(chan struct{}, limit), closed: make(chan struct{}),
		clients: map[netip.Addr]int{}, idle: map[net.Conn]struct{}{},
	}
}

// Accept waits at the limit.
func (l *connections) Accept() (net.Conn, error) {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			return nil, err
		}
		if counted := l.admit(c); counted != nil {
			return counted, nil
		}
		_ = c.Close() // nothing was sent on it
		<-l.slots
	}
}

func (l *connections) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// admit returns nil if the client has its share already.
func (l *connections) admit(c net.Conn) net.Conn {
	var client netip.Addr // the zero one has no share
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		client = clientAt(c.RemoteAddr().String())
	}
	l.mu.Lock()
	if client.IsValid() && l.clients[client] >= max(l.limit/clientShare, 1) {
		l.mu.Unlock()
		return nil
	}
	l.open++
	if client.IsValid() {
		l.clients[client]++
	}
	var idle []net.Conn
	crowded := l.crowded()
	l.busy.Store(crowded)
	if crowded {
		for c := range l.idle {
			idle = append(idle, c)
		}
	}
	l.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
	if crowded && l.closeIdle != nil {
		l.closeIdle()
	}
	return &countedConn{Conn: c, of: l, client: client}
}

// crowded: few connections are left. The caller holds l.mu.
func (l *connections) crowded() bool { return l.open >= l.limit-l.limit/clientShare }

// isCrowded is crowded without the lock.
func (l *connections) isCrowded() bool { return l.busy.Load() }

// The ConnState hook of the HTTP server.
func (l *connections) state(c net.Conn, s http.ConnState) {
	l.mu.Lock()
	closes := false
	if s == http.StateIdle {
		l.idle[c] = struct{}{}
		closes = l.crowded()
	} else {
		delete(l.idle, c)
	}
	l.mu.Unlock()
	if closes {
		_ = c.Close()
	}
}

func (l *connections) left(client netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.busy.Store(l.crowded())
	if client.IsValid() {
		if l.clients[client]--; l.clients[client] == 0 {
			delete(l.clients, client)
		}
	}
}

type countedConn struct {
	net.Conn
	of     *connections
	client netip.Addr // invalid: it has no share
	once   sync.Once
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.of.left(c.client)
		<-c.of.slots
	})
	return err
}
