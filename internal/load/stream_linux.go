//go:build !nolab

package load

import (
	"context"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// stream sends the requests of a part of a run and reads their answers on one thread, which waits for arrivals and for
// all connections at the same time. A goroutine for each request takes four times the processor time, most of it to wake
// threads, and the server that is measured has the same processors.
//
// A connection has one request at a time. Requests wait while all connections are busy, and the wait counts in their latencies.
type stream struct {
	h      *HTTP
	to     unix.Sockaddr
	family int
	at     *net.TCPAddr
	poll   int // of epoll
	most   int // connections
	locked bool

	r     *run
	least time.Duration // of a sleep, as in pacer; 0: answers are read as they come

	conns   []*streamConn // by descriptor
	idle    []*streamConn // the last one is used next
	open    int
	busy    busyConns
	waiting []timed // from next on
	next    int
	out     int // requests without an end
	polled  time.Time
	serial  int32 // of the last connection

	events [256]unix.EpollEvent
	buffer [32 << 10]byte
}

// timed is a request that ends by a time.
type timed struct {
	request
	until time.Time
}

// streams keeps the streams of a target between runs.
type streams struct {
	mu   sync.Mutex
	to   *net.TCPAddr // of the server, once one of its addresses has taken a connection
	kept []*stream
}

// senders implements streamer.
func (h *HTTP) senders(r *run, n int, interval time.Duration) []sender {
	if h.wire == nil {
		return nil
	}
	h.streams.mu.Lock()
	defer h.streams.mu.Unlock()
	if h.streams.to == nil {
		ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
		defer cancel()
		c, err := new(net.Dialer).DialContext(ctx, "tcp", h.wire.address)
		if err != nil {
			return nil // requests that goroutines send have this error
		}
		to, _ := c.RemoteAddr().(*net.TCPAddr)
		_ = c.Close()
		if h.streams.to = to; to == nil || to.Zone != "" {
			return nil
		}
	}
	var all []sender
	for range n {
		s := h.streams.take()
		if s == nil {
			var err error
			if s, err = h.newStream(); err != nil {
				break
			}
		}
		s.r, s.least, s.most = r, 0, max(h.wire.most/n, 1)
		if interval < chunk {
			s.least = chunk
		}
		all = append(all, s)
	}
	if len(all) < n {
		for _, s := range all {
			s.(*stream).close()
		}
		return nil
	}
	return all
}

func (h *HTTP) newStream() (*stream, error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	to := h.streams.to
	s := &stream{h: h, poll: poll, at: to}
	if four := to.IP.To4(); four != nil {
		s.family, s.to = unix.AF_INET, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(four)}
	} else {
		s.family, s.to = unix.AF_INET6, &unix.SockaddrInet6{Port: to.Port, Addr: [16]byte(to.IP.To16())}
	}
	return s, nil
}

// take returns a stream of an earlier run, or nil. The lock is held.
func (k *streams) take() *stream {
	last := len(k.kept) - 1
	if last < 0 {
		return nil
	}
	s := k.kept[last]
	k.kept = k.kept[:last]
	return s
}

func (k *streams) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for s := k.take(); s != nil; s = k.take() {
		s.close()
	}
}

func (s *stream) close() {
	for _, c := range s.conns {
		if c != nil {
			_ = unix.Close(c.fd)
		}
	}
	_ = unix.Close(s.poll)
}

// until implements sender.
func (s *stream) until(t time.Time) bool {
	if !s.locked {
		runtime.LockOSThread()
		prepareThread()
		s.locked = true
	}
	for {
		if s.r.ctx.Err() != nil {
			return false
		}
		now := time.Now()
		left := t.Sub(now)
		if left <= 0 && now.Sub(s.polled) < chunk {
			return true
		}
		s.expire(now)
		s.read(min(left, lookAround))
		if left <= 0 {
			return true
		}
	}
}

// end implements sender.
func (s *stream) end() {
	for s.out > 0 && s.r.ctx.Err() == nil {
		s.expire(time.Now())
		s.read(lookAround)
	}
	for s.busy.oldest != nil {
		s.drop(s.busy.oldest)
	}
	if s.locked {
		s.locked = false
		restoreThread()
		runtime.UnlockOSThread()
	}
	s.waiting, s.next, s.out, s.r = s.waiting[:0], 0, 0, nil
	s.h.streams.mu.Lock()
	defer s.h.streams.mu.Unlock()
	s.h.streams.kept = append(s.h.streams.kept, s)
}

// send implements sender.
func (s *stream) send(q request) {
	s.out++
	s.start(timed{q, time.Now().Add(s.r.Timeout)})
}

// start sends a request on a connection, or lets it wait for one.
func (s *stream) start(q timed) {
	for last := len(s.idle) - 1; last >= 0; last = len(s.idle) - 1 {
		c := s.idle[last]
		s.idle = s.idle[:last]
		s.assign(c, q)
		c.out = s.h.wire.appendRequest(c.out[:0], s.h.targets[q.query])
		if err := c.write(s); err == nil {
			return
		}
		s.drop(c) // the server has closed it
	}
	if s.open >= s.most {
		s.waiting = append(s.waiting, q)
		return
	}
	c, err := s.dial()
	if err != nil {
		s.finish(q, Failed, s.dialError("socket", err))
		return
	}
	s.assign(c, q)
	c.out = s.h.wire.appendRequest(c.out[:0], s.h.targets[q.query])
}

// startWaiting uses connections that have become free.
func (s *stream) startWaiting() {
	for s.next < len(s.waiting) && (len(s.idle) > 0 || s.open < s.most) {
		q := s.waiting[s.next]
		s.next++
		s.start(q)
	}
	if s.next == len(s.waiting) || s.next > len(s.waiting)/2 {
		s.waiting = append(s.waiting[:0], s.waiting[s.next:]...)
		s.next = 0
	}
}

// finish counts the end of a request.
func (s *stream) finish(q timed, o Outcome, err error) {
	s.out--
	s.r.finish(q.request, o, err)
}

// expire ends the requests whose time is over.
func (s *stream) expire(now time.Time) {
	for c := s.busy.oldest; c != nil && now.After(c.q.until); c = s.busy.oldest {
		q := c.q
		s.drop(c)
		s.finish(q, Unanswered, context.DeadlineExceeded)
	}
	for s.next < len(s.waiting) && now.After(s.waiting[s.next].until) {
		s.next++
		s.finish(s.waiting[s.next-1], Unanswered, context.DeadlineExceeded)
	}
	s.startWaiting()
}

// read waits for at most a time for answers, and reads those that have come.
func (s *stream) read(wait time.Duration) {
	n := s.wait(wait)
	s.polled = time.Now()
	for _, e := range s.events[:max(n, 0)] {
		if int(e.Fd) >= len(s.conns) {
			continue
		}
		if c := s.conns[e.Fd]; c != nil && c.serial == e.Pad { // else it was closed since
			s.handle(c, e.Events)
		}
	}
	s.startWaiting()
}

// wait returns the number of events.
func (s *stream) wait(d time.Duration) int {
	if d > 0 && s.least > 0 && s.out > 0 {
		sleepBriefly(max(min(d, briefly), s.least))
		d = 0
	}
	return epollWait(s.poll, s.events[:], d)
}

func (s *stream) dialError(call string, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: s.at, Err: os.NewSyscallError(call, err)}
}
