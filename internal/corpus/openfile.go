package corpus

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
)

// OpenFile opens one file and sees through its compression (gzip, zstd or
// bzip2, told by its first bytes), for formats that are read elsewhere (CIFF).
// A file that is not compressed is returned as an io.ReaderAt, too. Standard
// input ("-") is base.ErrBadInput: such formats are read more than once.
func OpenFile(path string) (io.ReadCloser, error) {
	if path == stdinPath {
		return nil, fmt.Errorf("a file of this format is read more than once, which standard input cannot be: %w", base.ErrBadInput)
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
