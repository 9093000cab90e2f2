package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// lean answers searches over HTTP/1.1 on the goroutine of their connection, with the memory of the connection's earlier
// requests. The overhead of net/http for a request equals the processor time of the search: it reads in a goroutine
// beside the handler, to notice that the client leaves, and makes a context, maps and buffers for each request.
//
// A connection begins here. It moves to net/http permanently with its first request that is not a plain search: another
// route, HTTP/2, a body of unknown or large size, unusual headers, or a malformed request. So lean handles only the
// requests that it accepts.
type lean struct {
	l       limits
	open    *connections
	handler http.Handler
	ctx     context.Context //nolint:containedctx // of all requests
	others  *handedOver

	mu       sync.Mutex
	conns    map[*leanConn]struct{}
	stopping atomic.Bool   // written with mu
	none     chan struct{} // closed when the last connection has ended after stop
}

func newLean(ctx context.Context, open *connections, handler http.Handler, l limits) *lean {
	s := &lean{
		l: l, open: open, handler: handler, ctx: ctx, conns: map[*leanConn]struct{}{}, none: make(chan struct{}),
		others: &handedOver{conns: make(chan net.Conn), closed: make(chan struct{}), addr: open.Addr()},
	}
	open.closeIdle = s.closeIdle
	return s
}

// serve accepts connections until the listener fails or is closed.
func (s *lean) serve() error {
	const first, most = 5 * time.Millisecond, time.Second // as net/http waits
	wait := first
	for {
		c, err := s.open.Accept()
		var temporary interface{ Temporary() bool }
		switch {
		case err == nil:
			wait = first
			s.begin(c)
		case errors.As(err, &temporary) && temporary.Temporary(): // too many open files
			time.Sleep(wait)
			wait = min(2*wait, most)
		default:
			return err
		}
	}
}

// begin answers a connection on a goroutine of its own.
func (s *lean) begin(conn net.Conn) {
	c := &leanConn{Conn: conn, of: s}
	if c.raw = rawOf(conn); c.raw == nil { // nothing would notice that its client leaves
		go func() { s.others.give(conn) }()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		_ = conn.Close()
		return
	}
	s.conns[c] = struct{}{}
	go c.serve()
}

// ended forgets a connection.
func (s *lean) ended(c *leanConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.stopping.Load() && len(s.conns) == 0 {
		close(s.none)
	}
}

// closeIdle closes the connections that wait for a request.
func (s *lean) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.state.Load() == stateIdle {
			_ = c.SetReadDeadline(past)
		}
	}
}

var past = time.Unix(1, 0)

// stop lets all connections end after the requests that they have. It is called once.
func (s *lean) stop() {
	s.mu.Lock()
	s.stopping.Store(true)
	if len(s.conns) == 0 {
		close(s.none)
	}
	for c := range s.conns {
		if c.state.Load() == stateNew { // its first request may be on the way
			_ = c.SetReadDeadline(time.Now().Add(s.l.told))
		}
	}
	s.mu.Unlock()
	s.closeIdle()
}

// wait waits for the end of all connections after stop.
func (s *lean) wait(ctx context.Context) error {
	select {
	case <-s.none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close closes all connections.
func (s *lean) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

// Requests that run for longer than lookEvery have their connections looked at every lookEvery.
const lookEvery = 50 * time.Millisecond

// watch cancels requests whose clients have left, until ctx ends.
func (s *lean) watch(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var long []*leanConn
	for round := int64(1); ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		for c := range s.conns {
			if c.runsSince(round) {
				long = append(long, c)
			}
		}
		s.mu.Unlock()
		for i, c := range long {
			if hasLeft(c.raw) {
				c.cancel(errClientLeft)
			}
			long[i] = nil
		}
		long = long[:0]
	}
}

var errClientLeft = errors.New("the client has left")

// handedOver is the listener of net/http, for connections that lean gives it.
type handedOver struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
	addr   net.Addr
}

// give closes the connection if the listener is closed.
func (h *handedOver) give(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handedOver) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handedOver) Addr() net.Addr { return h.addr }

// begunConn is a connection of which the beginning has been read.
type begunConn struct {
	net.Conn
	begin []byte
}

func (c *begunConn) Read(p []byte) (int, error) {
	if len(c.begin) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.begin)
	if c.begin = c.begin[n:]; len(c.begin) == 0 {
		c.begin = nil
	}
	return n, nil
}
