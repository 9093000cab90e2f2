package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// needQueues skips a test on a system without asynchronous I/O, which CI has.
func needQueues(t *testing.T) {
	t.Helper()
	q := queues.get()
	switch {
	case q != nil:
		queues.put(q)
	case os.Getenv("CI") != "":
		t.Fatal("the system has no asynchronous I/O")
	default:
		t.Skip("the system has no asynchronous I/O: fsync is called")
	}
}

func TestSyncAtOnce(t *testing.T) {
	needQueues(t)
	dir := t.TempDir()
	var wait sync.WaitGroup
	for i := range 3 * maxSyncQueues { // some find no queue
		wait.Go(func() {
			f, err := OS.Create(filepath.Join(dir, string(rune('A'+i))))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for range 8 {
				if _, err := f.Write([]byte("content")); err != nil {
					t.Error(err)
				}
				if err := f.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if n := len(queues.idle); n != queues.count {
		t.Errorf("%d of %d queues came back", n, queues.count)
	}
}

func TestSyncErrors(t *testing.T) {
	f, err := OS.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
	r, w, err := os.Pipe() // the system cannot sync it
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := syncData(w); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a pipe: %v", err)
	}
}

// An error of an operation that has begun is returned: a read into memory that is not there fails at its end.
func TestSyncFails(t *testing.T) {
	needQueues(t)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const opRead = 0 // IOCB_CMD_PREAD
	err = syncFile(f, controlBlock{operation: opRead, buffer: 8, length: 4})
	if at := (*os.PathError)(nil); !errors.Is(err, syscall.EFAULT) || !errors.As(err, &at) || at.Path != name {
		t.Errorf("error %v, want EFAULT of %s", err, name)
	}
	if err := syncData(f); err != nil {
		t.Errorf("the next sync: %v", err)
	}
}

// A sync beside Close ends without an error, or with ErrClosed.
func TestSyncBesideClose(t *testing.T) {
	for range 100 {
		f, err := OS.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
		})
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		wait.Wait()
	}
}
