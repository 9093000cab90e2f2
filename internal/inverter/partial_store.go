package inverter

import (
	"bufio"
	"errors"
	"sync"

	"github.com/griffin-search/griffin/internal/vfs"
)

// partialStore keeps partial indexes in memory up to the budget, then in files. It is safe for
// concurrent use.
type partialStore struct {
	fs     vfs.FS
	files  *tempNames
	budget int64

	mu    sync.Mutex
	used  int64
	spill []vfs.File
}

// One goroutine's file of partial indexes, created on first use.
type spillFile struct {
	file   vfs.File
	out    *bufio.Writer
	offset int64
}

func (s *spillFile) finish() error {
	if s.out == nil {
		return nil
	}
	return s.out.Flush()
}

const spillBufferBytes = 256 << 10

// keep moves r from an inverter's memory to its own or to the caller's spill file.
func (s *partialStore) keep(r *partial, to *spillFile) error {
	if s.reserve(r.sizeBytes()) {
		r.detach()
		return nil
	}
	if to.file == nil {
		file, err := s.fs.Create(s.files.next("partials"))
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.spill = append(s.spill, file)
		s.mu.Unlock()
		to.file, to.out = file, bufio.NewWriterSize(file, spillBufferBytes)
	}
	if err := r.spillStored(s.files.next("stored")); err != nil {
		return err
	}
	end, err := r.spill(to.out, to.file, to.offset)
	to.offset = end
	if err != nil {
		return err
	}
	return r.columns.spill(s.fs, s.files.next("columns"))
}

func (s *partialStore) reserve(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+size > s.budget {
		return false
	}
	s.used += size
	return true
}

func (s *partialStore) close() error {
	var errs []error
	for _, f := range s.spill {
		errs = append(errs, f.Close())
	}
	s.spill = nil
	return errors.Join(errs...)
}

// For reading n sections concurrently within a budget.
func (s *partialStore) windowBytes(budget int64, n int) int {
	const least, most = 4 << 10, 256 << 10
	return int(min(max(budget/int64(2*max(n, 1)), least), most))
}
