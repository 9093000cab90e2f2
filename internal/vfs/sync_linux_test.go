package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func TestSyncAtOnce(t *testing.T) {
	if q := queues.get(); q == nil {
		t.Log("the system has no asynchronous I/O: only the fallback is tested")
	} else {
		queues.put(q)
	}
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
