//go:build !nolab

package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"golang.org/x/sys/unix"
)

// streamConn is a connection of a stream.
type streamConn struct {
	fd     int
	serial int32

	busy       bool
	connecting bool
	used       bool // for an earlier request
	began      bool // a part of the answer has come
	q          timed
	out        []byte // of the request, not yet sent
	sent       int    // of out
	waits      bool   // for room to write
	older      *streamConn
	newer      *streamConn

	head    answerHead
	left    int64  // of the body; -1: the head is not complete
	text    []byte // of the answer: of the head while it is not complete, then of the body of an error
	special bool   // net/http reads it from text
}

// dial returns a connection that is being made.
func (s *stream) dial() (*streamConn, error) {
	fd, err := unix.Socket(s.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return nil, err
	}
	s.serial++
	c := &streamConn{fd: fd, serial: s.serial, connecting: true, waits: true}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err := unix.Connect(fd, s.to); err != nil && !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EINTR) {
		return nil, errors.Join(err, unix.Close(fd))
	}
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLOUT, Fd: int32(fd), Pad: c.serial}
	if err := unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	for len(s.conns) <= fd {
		s.conns = append(s.conns, nil)
	}
	s.conns[fd] = c
	s.open++
	return c, nil
}

// wait sets whether the stream waits for room to write.
func (c *streamConn) wait(s *stream, wait bool) {
	if c.waits == wait {
		return
	}
	c.waits = wait
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(c.fd), Pad: c.serial}
	if wait {
		e.Events |= unix.EPOLLOUT
	}
	_ = unix.EpollCtl(s.poll, unix.EPOLL_CTL_MOD, c.fd, &e) // the descriptor is open
}

// assign gives an idle or a new connection a request.
func (s *stream) assign(c *streamConn, q timed) {
	c.busy, c.began, c.special, c.q, c.left, c.sent, c.text = true, false, false, q, -1, 0, c.text[:0]
	s.busy.add(c)
}

// unassign takes the request from a connection.
func (s *stream) unassign(c *streamConn) {
	c.busy = false
	s.busy.remove(c)
}

// busyConns are the connections with a request, in the order in which the requests were sent.
type busyConns struct{ oldest, newest *streamConn }

func (b *busyConns) add(c *streamConn) {
	c.older, c.newer = b.newest, nil
	if b.newest != nil {
		b.newest.newer = c
	} else {
		b.oldest = c
	}
	b.newest = c
}

func (b *busyConns) remove(c *streamConn) {
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		b.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		b.newest = c.older
	}
	c.older, c.newer = nil, nil
}

// drop closes a connection. The caller ends its request.
func (s *stream) drop(c *streamConn) {
	if c.busy {
		s.unassign(c)
	} else {
		for i, one := range s.idle {
			if one == c {
				s.idle = append(s.idle[:i], s.idle[i+1:]...)
				break
			}
		}
	}
	s.conns[c.fd] = nil
	s.open--
	_ = unix.Close(c.fd) // and leaves the epoll
}

// write sends the rest of the request.
func (c *streamConn) write(s *stream) error {
	c.connecting = false
	for c.sent < len(c.out) {
		n, err := unix.Write(c.fd, c.out[c.sent:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			c.wait(s, true)
			return nil
		case err != nil:
			return fmt.Errorf("write: %w", os.NewSyscallError("write", err))
		}
		c.sent += n
	}
	c.wait(s, false)
	return nil
}

// handle goes on with a connection after an event.
func (s *stream) handle(c *streamConn, events uint32) {
	if c.connecting {
		if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
			return
		}
		if code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || code != 0 {
			q := c.q
			s.drop(c)
			s.finish(q, Failed, s.dialError("connect", unix.Errno(code)))
			return
		}
	}
	if events&unix.EPOLLOUT != 0 && c.busy {
		if err := c.write(s); err != nil {
			s.broken(c, err)
			return
		}
	}
	if events&^unix.EPOLLOUT != 0 {
		s.readAnswer(c)
	}
}

// broken ends a connection after an error. Its request is sent again if the server may have closed an idle connection.
func (s *stream) broken(c *streamConn, err error) {
	busy, q := c.busy, c.q
	s.drop(c)
	switch {
	case !busy:
	case c.used && !c.began:
		s.start(q)
	default:
		s.finish(q, Failed, err)
	}
}

// readAnswer reads the bytes that have arrived.
func (s *stream) readAnswer(c *streamConn) {
	n, err := unix.Read(c.fd, s.buffer[:])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return
	case err != nil:
		s.broken(c, fmt.Errorf("read: %w", os.NewSyscallError("read", err)))
		return
	case n == 0 || !c.busy: // closed, or an answer to no request
		if err = io.EOF; c.began {
			err = io.ErrUnexpectedEOF
			if c.special && s.readSpecial(c, true /* whole */) {
				return
			}
		}
		s.broken(c, err)
		return
	}
	c.began = true
	p := s.buffer[:n]
	if c.left < 0 {
		if p = s.readHead(c, p); p == nil {
			return
		}
	}
	if int64(len(p)) > c.left { // more than the answer
		s.broken(c, errors.New("the server has sent more than its answer"))
		return
	}
	c.left -= int64(len(p))
	if c.head.status != http.StatusOK && len(c.text) < maxAnswerBytes {
		c.text = append(c.text, p...)
	}
	if c.left == 0 {
		s.answered(c, c.head.status, c.text, c.head.ends)
	}
}

// readHead returns the bytes after the head. nil: the head is not complete, or net/http reads the answer.
func (s *stream) readHead(c *streamConn, p []byte) []byte {
	if len(c.text) > 0 {
		c.text = append(c.text, p...)
		p = c.text
	}
	if c.special {
		s.readSpecial(c, false)
		return nil
	}
	h, size, e := parseHead(p)
	switch e {
	case plain:
		c.head, c.left = h, h.length
		p = p[size:]
		c.text = c.text[:0] // p may be in its memory, in front of which nothing is appended
		return p
	case special:
		c.special = true
	}
	if len(c.text) == 0 {
		c.text = append(c.text, p...)
	}
	if c.special {
		s.readSpecial(c, false)
	}
	return nil
}

// readSpecial has net/http read an answer from its beginning. false: it is not complete.
func (s *stream) readSpecial(c *streamConn, whole bool) bool {
	from := bufio.NewReader(bytes.NewReader(c.text))
	response, err := http.ReadResponse(from, nil)
	for err == nil && response.StatusCode < http.StatusOK && response.StatusCode != http.StatusSwitchingProtocols {
		response, err = http.ReadResponse(from, nil) // the answer after 100 Continue
	}
	var body []byte
	if err == nil {
		body, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return false
	case err != nil:
		s.broken(c, err)
		return true
	case response.ContentLength < 0 && len(response.TransferEncoding) == 0 && !whole: // to the end of the connection
		return false
	}
	s.answered(c, response.StatusCode, body[:min(len(body), maxAnswerBytes)], response.Close || from.Buffered() > 0)
	return true
}

// answered ends a request with its answer.
func (s *stream) answered(c *streamConn, status int, body []byte, ends bool) {
	o, err := Answered, error(nil)
	if status != http.StatusOK {
		o, err = outcomeOf(status, body)
	}
	q := c.q
	c.used = true
	if ends {
		s.drop(c)
	} else {
		s.unassign(c)
		s.idle = append(s.idle, c)
	}
	s.finish(q, o, err)
}
