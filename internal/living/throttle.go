package living

import (
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/vfs"
)

// mergeFS is the file system of merges: with a limit of written bytes per second, or nil.
func (s *Store) mergeFS() vfs.FS {
	if s.slow == nil {
		return nil
	}
	return s.slow
}

// slowFS limits the rate of writes to its files, together.
type slowFS struct {
	vfs.FS
	perSecond int64
	quit      <-chan struct{}

	mu   sync.Mutex
	next time.Time // when the next byte may be written
}

func (f *slowFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return &slowFile{File: file, fs: f}, nil
}

type slowFile struct {
	vfs.File
	fs *slowFS
}

// Write writes small pieces, so that merges that run at the same time have equal shares of the rate.
func (f *slowFile) Write(p []byte) (n int, err error) {
	const piecesPerSecond = 50
	most := int(max(f.fs.perSecond/piecesPerSecond, 1))
	for {
		piece := p[n:min(len(p), n+most)]
		f.fs.pause(len(piece))
		written, err := f.File.Write(piece)
		if n += written; err != nil || n == len(p) {
			return n, err
		}
	}
}

func (f *slowFS) pause(n int) {
	f.mu.Lock()
	now := time.Now()
	if f.next.Before(now) {
		f.next = now
	}
	wait := f.next.Sub(now)
	f.next = f.next.Add(time.Duration(int64(n) * int64(time.Second) / f.perSecond))
	f.mu.Unlock()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-f.quit:
		}
	}
}
