package vfs

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

func syncData(f *os.File) error { return syncFile(f, controlBlock{operation: opSyncData}) }

func syncDir(d *os.File) error { return syncFile(d, controlBlock{operation: opSync}) }

// syncFile is f.Sync, except that the caller waits like a reader of a socket. A goroutine in fsync keeps its processor (P)
// from others until the runtime takes it away, up to 10 ms later: with two processors, up to 12 % of the time of a
// process that syncs a log was lost. io_uring would do as well, but many containers forbid it.
func syncFile(f *os.File, c controlBlock) error {
	q := queues.get()
	if q == nil {
		return f.Sync()
	}
	if q.submit(f, c) != nil {
		queues.put(q)
		return f.Sync()
	}
	errno, ended := q.await()
	if ended {
		queues.put(q)
	}
	if errno != 0 {
		return &fs.PathError{Op: "sync", Path: f.Name(), Err: errno}
	}
	return nil
}

// syncQueue is a queue of Linux's asynchronous I/O (io_setup(2)) that syncs one file at a time.
type syncQueue struct {
	context uintptr
	fd      int32    // an eventfd, readable when a sync has ended
	ended   *os.File // fd, for the runtime's poller
}

// syncQueues are the queues of the process, which are kept.
type syncQueues struct {
	mu     sync.Mutex
	idle   []*syncQueue // no sync uses them
	count  int
	absent bool // the system has no asynchronous I/O
}

// More syncs at a time block their processors.
const maxSyncQueues = 16

var queues syncQueues

// get returns nil if there is no queue.
func (s *syncQueues) get() *syncQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		q := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return q
	}
	if s.absent || s.count == maxSyncQueues {
		return nil
	}
	q, err := newSyncQueue()
	if err != nil { // others may lack descriptors or queues (aio-max-nr) for a time
		s.absent = errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM)
		return nil
	}
	s.count++
	return q
}

func (s *syncQueues) put(q *syncQueue) {
	s.mu.Lock()
	s.idle = append(s.idle, q)
	s.mu.Unlock()
}

func newSyncQueue() (*syncQueue, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	q := &syncQueue{fd: int32(fd), ended: os.NewFile(uintptr(fd), "eventfd")}
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&q.context)), 0); errno != 0 {
		return nil, errors.Join(errno, q.ended.Close())
	}
	return q, nil
}

// controlBlock is struct iocb of linux/aio_abi.h on a little-endian machine.
type controlBlock struct {
	_              [16]byte // data, key, flags of reads and writes
	operation      uint16
	_              uint16 // priority
	file           int32
	buffer, length uint64 // 0 for a sync
	_              [16]byte
	flags          uint32
	completion     int32 // the eventfd
}

// event is struct io_event of linux/aio_abi.h.
type event struct {
	_      [16]byte // data, control block
	result int64    // 0 or a negative error number
	_      int64
}

// Of linux/aio_abi.h.
const (
	opSync         = 2 // IOCB_CMD_FSYNC
	opSyncData     = 3 // IOCB_CMD_FDSYNC
	flagCompletion = 1 // IOCB_FLAG_RESFD
)

// submit begins an operation on f.
func (q *syncQueue) submit(f *os.File, c controlBlock) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	c.flags, c.completion = flagCompletion, q.fd
	at := &c
	n, errno := uintptr(0), unix.EINTR
	err = conn.Control(func(fd uintptr) { // the file is not closed meanwhile; then the system holds it
		c.file = int32(fd)
		for errno == unix.EINTR {
			n, _, errno = unix.Syscall(unix.SYS_IO_SUBMIT, q.context, 1, uintptr(unsafe.Pointer(&at)))
		}
	})
	switch {
	case err != nil:
		return err
	case n == 1:
		return nil
	}
	return errno
}

// await waits until the operation has ended, and returns its error number or 0. It reports false if it cannot know.
func (q *syncQueue) await() (errno unix.Errno, ended bool) {
	var n [8]byte
	_, _ = q.ended.Read(n[:]) // after an error, the call below waits
	var e event
	for {
		n, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, q.context, 1, 1, uintptr(unsafe.Pointer(&e)), 0, 0)
		switch {
		case n == 1:
			return unix.Errno(max(-e.result, 0)), true // a read returns its length
		case errno == 0:
			return unix.EIO, false
		case errno != unix.EINTR:
			return errno, false
		}
	}
}
