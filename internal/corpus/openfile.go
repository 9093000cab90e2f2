package corpus

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
)

// OpenFile opens and decompresses (gzip, zstd or bzip2, by its first bytes) a file that another
// package reads (CIFF). An uncompressed file is an io.ReaderAt too. Standard input ("-") and
// pipes are base.ErrBadInput, because such formats are read more than once.
func OpenFile(path string) (io.ReadCloser, error) {
	once, err := readableOnce(path)
	if err != nil {
		return nil, err
	}
	if once {
		return nil, fmt.Errorf("a file of this format is read more than once; standard input and pipes cannot be: %w", base.ErrBadInput)
	}
	s, err := openStream(path, nil, new(atomic.Int64))
	if err != nil {
		return nil, err
	}
	if s.compression != "" {
		return s, nil
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// readableOnce reports whether path is standard input, a pipe or a device.
func readableOnce(path string) (bool, error) {
	if path == stdinPath {
		return true, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	return !info.Mode().IsRegular() && !info.IsDir(), nil
}
