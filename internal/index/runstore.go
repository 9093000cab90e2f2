package index

import (
	"bufio"
	"errors"
	"sync"

	"github.com/griffin-search/griffin/internal/vfs"
)

// runStore keeps finished runs: in memory as long as the budget lasts, in
// files after that. It is safe for concurrent use.
type runStore struct {
	fs     vfs.FS
	files  *tempNames
	budget int64

	mu    sync.Mutex
	used  int64
	spill []vfs.File
}

// spillFile is a file that one goroutine writes runs to, one after another.
// It is made when it is first needed.
type spillFile struct {
	file   vfs.File
	out    *bufio.Writer
	offset int64
}

// finish makes what was written readable.
func (s *spillFile) finish() error {
	if s.out == nil {
		return nil
	}
	return s.out.Flush()
}

const spillBufferBytes = 256 << 10

// keep gives the run, which is in the memory of an inverter, memory of its own
// or moves it to the caller's spill file.
func (s *runStore) keep(r *run, to *spillFile) error {
	if s.reserve(r.sizeBytes()) {
		r.detach()
		return nil
	}
	if to.file == nil {
		file, err := s.fs.Create(s.files.next("runs"))
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.spill = append(s.spill, file)
		s.mu.Unlock()
		to.file, to.out = file, bufio.NewWriterSize(file, spillBufferBytes)
	}
	end, err := r.spill(to.out, to.file, to.offset)
	to.offset = end
	return err
}

func (s *runStore) reserve(size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+size > s.budget {
		return false
	}
	s.used += size
	return true
}

// close closes the files.
func (s *runStore) close() error {
	var errs []error
	for _, f := range s.spill {
		errs = append(errs, f.Close())
	}
	s.spill = nil
	return errors.Join(errs...)
}

// windowBytes is the size of the window for reading each of n sections at a
// time within a budget.
func (s *runStore) windowBytes(budget int64, n int) int {
	const least, most = 4 << 10, 256 << 10
	return int(min(max(budget/int64(2*max(n, 1)), least), most))
}
