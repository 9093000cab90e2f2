package corpus

import (
	"io"
	"os"
	"sync/atomic"
)

// OpenFile opens one file and sees through its compression (gzip, zstd or
// bzip2, told by its first bytes), for formats that are read elsewhere (CIFF).
// A file that is not compressed is returned as an io.ReaderAt, too.
func OpenFile(path string) (io.ReadCloser, error) {
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
