package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"
)

// States of a leanConn.
const (
	stateNew int32 = iota // without a request
	stateActive
	stateIdle // after a request
)

// leanConn is a connection, for one goroutine but for the atomic fields, raw and cancel.
type leanConn struct {
	net.Conn
	of     *lean
	raw    syscall.RawConn
	cancel context.CancelCauseFunc // of the connection's context

	state    atomic.Int32
	serial   atomic.Int64 // of the request that runs; 0: none
	seen     int64        // the serial that watch saw last
	round    int64        // of watch, when it saw it
	requests int64

	stamped bool // reader reads
	reader  stampedReader
	arrived time.Time // of the request; zero: unknown

	from    string // RemoteAddr
	in      []byte // read and not used
	buffer  []byte // memory of in
	request leanRequest
	base    *http.Request // with the connection's context
	answer  leanWriter

	readUntil, writeUntil time.Time // deadlines
}

const (
	// leanHeadBytes is the size of a connection's buffer, in which a head must fit.
	leanHeadBytes = 4 << 10
	// leanBodyBytes bounds the body of a search; net/http takes larger ones.
	leanBodyBytes = 64 << 10
)

// runsSince reports whether the request runs that ran in the round before. It is for watch only.
func (c *leanConn) runsSince(round int64) bool {
	serial := c.serial.Load()
	before := serial != 0 && serial == c.seen && c.round == round-1
	c.seen, c.round = serial, round
	return before
}

func (c *leanConn) serve() {
	ctx, cancel := context.WithCancelCause(c.of.ctx)
	c.cancel = cancel
	given := false
	defer func() {
		c.of.ended(c)
		cancel(nil)
		if !given {
			_ = c.Close()
		}
	}()
	c.answer.stopping = &c.of.stopping
	c.stamped = c.reader.stamp(c.raw)
	c.base, c.from = (&http.Request{}).WithContext(context.WithValue(ctx, leanConnKey{}, c)), c.RemoteAddr().String()
	c.buffer = make([]byte, leanHeadBytes)
	for first := true; ; first = false {
		if !c.await(first) {
			return
		}
		size, ok := c.request.parse(c.in)
		if !ok || !c.readBody(size) {
			c.state.Store(stateActive)
			given = true
			// From now on, net/http sets its deadlines.
			_ = c.SetDeadline(time.Time{})
			c.of.others.give(&begunConn{Conn: c.Conn, begin: c.in})
			return
		}
		if !c.answerOne() {
			return
		}
	}
}

// await reads the beginning of a request, unless it is there already. false: the connection ends.
func (c *leanConn) await(first bool) bool {
	if len(c.in) > 0 {
		return true
	}
	now := time.Now()
	wait := c.of.l.idle
	if first {
		wait = c.of.l.readHeader
	}
	// A deadline is not moved for each request.
	if slack := wait / 8; first || c.readUntil.Sub(now) < wait-slack || c.readUntil.Sub(now) > wait {
		c.readUntil = now.Add(wait)
		if c.SetReadDeadline(c.readUntil) != nil {
			return false
		}
	}
	if first && c.of.stopping.Load() && c.SetReadDeadline(now.Add(c.of.l.told)) != nil { // stop may have set it too early
		return false
	}
	if !first {
		c.state.Store(stateIdle)
		if c.of.open.isCrowded() || c.of.stopping.Load() {
			return false
		}
	}
	n, err := c.read(c.buffer)
	if n == 0 || err != nil {
		return false
	}
	c.state.Store(stateActive)
	c.in = c.buffer[:n]
	return true
}

// read sets arrived.
func (c *leanConn) read(p []byte) (n int, err error) {
	if !c.stamped {
		return c.Read(p)
	}
	n, err = c.reader.read(p)
	c.arrived = c.reader.at
	return n, err
}

// leanConnKey is the key of a leanConn in the contexts of its requests.
type leanConnKey struct{}

// waited returns how long a request has been on this machine, before now; 0 if that is unknown.
func waited(r *http.Request, now time.Time) time.Duration {
	c, ok := r.Context().Value(leanConnKey{}).(*leanConn)
	if !ok || c.arrived.IsZero() {
		return 0
	}
	return max(now.Sub(c.arrived), 0)
}

// readBody reads the rest of the request, whose head has size bytes. false: net/http takes it.
func (c *leanConn) readBody(size int) bool {
	r := &c.request
	if r.length > leanBodyBytes {
		return false
	}
	have := c.in[size:]
	if int64(len(have)) >= r.length {
		r.body, c.in = have[:r.length], have[r.length:]
		return true
	}
	// Invariant: c.in has the request from its beginning until it is complete, for net/http.
	all := make([]byte, size+int(r.length))
	at := copy(all, c.in)
	c.readUntil = time.Now().Add(c.of.l.read)
	if c.SetReadDeadline(c.readUntil) != nil {
		return false
	}
	for at < len(all) {
		n, err := c.Read(all[at:])
		at += n
		if c.in = all[:at]; err != nil {
			return false
		}
	}
	r.body, c.in = all[size:], nil
	return true
}

// answerOne runs the handler and sends its answer. false: the connection ends.
func (c *leanConn) answerOne() (more bool) {
	r := c.request.fill(c.base)
	r.RemoteAddr = c.from
	w := &c.answer
	w.begin()
	defer w.release()
	if !c.run(w, r) || !w.finish() {
		return false
	}
	if now := time.Now(); c.writeUntil.Sub(now) < c.of.l.write-c.of.l.write/8 {
		c.writeUntil = now.Add(c.of.l.write)
		if c.SetWriteDeadline(c.writeUntil) != nil {
			return false
		}
	}
	if _, err := c.Write(w.out); err != nil {
		return false
	}
	return !w.closes
}

// run runs the handler. false: it panicked.
func (c *leanConn) run(w http.ResponseWriter, r *http.Request) (returned bool) {
	c.requests++
	c.serial.Store(c.requests)
	defer func() {
		c.serial.Store(0)
		if returned {
			return
		}
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // a recovered value, compared as net/http does
			slog.Error("a request panicked", "from", c.from, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	c.of.handler.ServeHTTP(w, r)
	return true
}

// isSearch reports whether lean answers a path: /search and those that end with /_search.
func isSearch(path []byte) bool {
	return string(path) == "/search" || bytes.HasSuffix(path, []byte("/_search"))
}
