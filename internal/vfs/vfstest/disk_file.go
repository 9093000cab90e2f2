package vfstest

import (
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/griffin-search/griffin/internal/vfs"
)

type diskFile struct {
	d     *Disk
	n     *node
	name  string
	write bool
	at    int
}

// Read implements vfs.File.
func (f *diskFile) Read(p []byte) (n int, err error) {
	n, err = f.read(p, f.at)
	f.at += n
	return n, err
}

// ReadAt implements vfs.File.
func (f *diskFile) ReadAt(p []byte, off int64) (n int, err error) {
	n, err = f.read(p, int(off))
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *diskFile) read(p []byte, at int) (n int, err error) {
	ended := false
	err = f.d.do("read", f.name, false, func() error {
		if f.d.faults.FailReads {
			return syscall.EIO
		}
		if ended = at >= len(f.n.data); !ended {
			n = copy(p, f.n.data[at:])
		}
		return nil
	})
	if ended && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements vfs.File.
func (f *diskFile) Write(p []byte) (n int, err error) {
	var delay time.Duration
	f.d.Change(func(faults *DiskFaults) { delay = faults.WriteDelay })
	if delay > 0 {
		time.Sleep(delay)
	}
	err = f.d.do("write", f.name, true, func() error {
		if !f.write {
			return syscall.EBADF
		}
		n = len(p)
		faults := &f.d.faults
		if faults.Capacity > 0 {
			n = max(0, min(n, faults.Capacity-f.d.root.size()))
		}
		if faults.CutWrites > 0 && len(f.n.data) >= faults.CutFrom {
			faults.CutWrites--
			n /= 2
		}
		f.d.largestWrite = max(f.d.largestWrite, n)
		f.n.data = append(f.n.data, p[:n]...)
		if n < len(p) {
			return syscall.ENOSPC
		}
		return nil
	})
	if errors.Is(err, ErrCrashed) {
		f.d.cut(f, p)
	}
	return n, err
}

// cut writes a part of the bytes during which the machine stops.
func (d *Disk) cut(f *diskFile, p []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.numOps == d.faults.CrashAt && f.write {
		f.n.data = append(f.n.data, p[:len(p)/2]...)
	}
}

// Sync implements vfs.File.
func (f *diskFile) Sync() error {
	target, delay := 0, time.Duration(0)
	err := f.d.do("sync", f.name, false, func() error {
		target, delay = len(f.n.data), f.d.faults.SyncDelay
		return nil
	})
	if err != nil {
		return err
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	return f.d.do("sync", f.name, false, func() error {
		f.d.numSyncs++
		switch faults := &f.d.faults; {
		case faults.FailSyncs > 0:
			faults.FailSyncs--
			f.d.numFailedSyncs++
			f.n.dropped = true
			return syscall.EIO
		case !f.n.dropped && !faults.Lie:
			f.n.synced = max(f.n.synced, target)
		}
		return nil
	})
}

// Close implements vfs.File. It is never an error.
func (f *diskFile) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.numOpen--
	return nil
}

var _ vfs.File = (*diskFile)(nil)
