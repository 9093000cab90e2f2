package load

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// wire sends requests over connections of HTTP/1.1, each of which answers one request at a time on the goroutine
// that sent it. A http.Client hands each request to two goroutines of a connection and has timers, maps and
// contexts for it, which take more processor time than many queries, on the processors of the server that is
// measured.
type wire struct {
	address string // to dial
	host    string // header
	most    int    // idle connections

	mu      sync.Mutex
	open    map[*wireConn]struct{}
	idle    []*wireConn     // the last one is used next
	watched context.Context //nolint:containedctx // the last one that interrupts its connections when it ends
}

type wireConn struct {
	net.Conn
	ctx    context.Context //nolint:containedctx // of the present request; guarded by wire.mu
	used   bool            // for an earlier request
	ends   bool            // the server closes it
	reader *bufio.Reader
	out    []byte // memory of requests
	answer bytes.Buffer
}

// newWire returns nil for an address that needs more than plain HTTP.
func newWire(u *url.URL, connections int) *wire {
	if u.Scheme != "http" || u.User != nil {
		return nil
	}
	return &wire{address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")), host: u.Host, most: connections, open: map[*wireConn]struct{}{}}
}

// appendRequest appends a request without a body to a path with its parameters.
func (w *wire) appendRequest(dst []byte, target string) []byte {
	return append(append(append(append(append(dst, "GET "...), target...), " HTTP/1.1\r\nHost: "...), w.host...), "\r\nUser-Agent: griffin-load\r\n\r\n"...)
}

// appendPost appends the head of a request with a body of a size.
func (w *wire) appendPost(dst []byte, target, contentType string, size int) []byte {
	dst = append(append(append(append(append(dst, "POST "...), target...), " HTTP/1.1\r\nHost: "...), w.host...), "\r\nUser-Agent: griffin-load\r\nContent-Type: "...)
	dst = append(append(append(dst, contentType...), "\r\nContent-Length: "...), strconv.Itoa(size)...)
	return append(dst, "\r\n\r\n"...)
}

// do sends a request that make appends, and calls read with the status and up to limit bytes of the answer, which
// is complete if it has no more, and which is valid until read returns.
func (w *wire) do(ctx context.Context, limit int64, request func(dst []byte) []byte, read func(status int, answer []byte) error) error {
	for {
		c, err := w.take(ctx)
		if err != nil {
			return err
		}
		status, began, err := c.exchange(request, limit)
		if err == nil {
			err = read(status, c.answer.Bytes())
			w.put(c)
			return err
		}
		w.drop(c)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case began || !c.used: // else the server has closed an idle connection
			return withoutPorts(err)
		}
	}
}

// exchange is cut off when the connection's context ends. began: a part of an answer has come.
func (c *wireConn) exchange(request func(dst []byte) []byte, limit int64) (status int, began bool, err error) {
	c.out = request(c.out[:0])
	if _, err := c.Write(c.out); err != nil {
		return 0, false, err
	}
	if _, err := c.reader.Peek(1); err != nil {
		return 0, false, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return 0, true, err
	}
	c.answer.Reset()
	if _, err := c.answer.ReadFrom(io.LimitReader(response.Body, limit)); err != nil {
		return 0, true, err
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0, true, err
	}
	if err := response.Body.Close(); err != nil {
		return 0, true, err
	}
	c.used, c.ends = true, response.Close
	return response.StatusCode, true, nil
}

// take returns a connection for a request.
func (w *wire) take(ctx context.Context) (*wireConn, error) {
	if c, err := w.takeIdle(ctx); c != nil || err != nil {
		return c, err
	}
	opened, err := new(net.Dialer).DialContext(ctx, "tcp", w.address)
	if err != nil {
		return nil, err
	}
	const readBytes = 16 << 10
	c := &wireConn{Conn: opened, ctx: ctx, reader: bufio.NewReaderSize(opened, readBytes)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[c] = struct{}{}
	if ctx.Err() != nil { // it may have ended before the connection was known
		_ = c.SetDeadline(past)
	}
	return c, nil
}

func (w *wire) takeIdle(ctx context.Context) (*wireConn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watched != ctx {
		w.watched = ctx
		context.AfterFunc(ctx, func() { w.interrupt(ctx) })
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	last := len(w.idle) - 1
	if last < 0 {
		return nil, nil
	}
	c := w.idle[last]
	w.idle = w.idle[:last]
	c.ctx = ctx
	return c, nil
}

var past = time.Unix(1, 0)

// interrupt ends the requests of a context that has ended.
func (w *wire) interrupt(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		if c.ctx == ctx {
			_ = c.SetDeadline(past)
		}
	}
	if w.watched == ctx {
		w.watched = nil
	}
}

// put keeps a connection for another request, unless the server closes it or it was interrupted.
func (w *wire) put(c *wireConn) {
	w.mu.Lock()
	keep := !c.ends && c.ctx.Err() == nil && len(w.idle) < w.most
	if c.ctx = nil; keep {
		w.idle = append(w.idle, c)
	}
	w.mu.Unlock()
	if !keep {
		w.drop(c)
	}
}

func (w *wire) drop(c *wireConn) {
	w.mu.Lock()
	delete(w.open, c)
	w.mu.Unlock()
	_ = c.Close()
}

// close closes the idle connections.
func (w *wire) close() {
	w.mu.Lock()
	idle := w.idle
	w.idle = nil
	w.mu.Unlock()
	for _, c := range idle {
		w.drop(c)
	}
}

// withoutPorts removes the addresses of a connection, one of which differs from connection to connection, so that
// equal faults have equal texts.
func withoutPorts(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op != "dial" {
		return fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return err
}
