package corpus

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/griffin-search/griffin/internal/base"
)

const (
	stdinPath = "-"
	// maxWindowBytes is the largest accepted zstd window (zstd --long=27).
	maxWindowBytes = 128 << 20
	// sniffBytes at the start show the format.
	sniffBytes = 64 << 10
)

type stream struct {
	*bufio.Reader // the decompressed bytes
	name          string
	id            string      // of the input: the start of the ids of records without one
	into          *collection // nil while the format is being detected
	compression   string      // "", "gzip", "zstd", "bzip2"
	closers       []func() error
}

// openStream opens path, "-" for stdin, decompresses it, and adds the bytes read from the file,
// as stored, to read.
func openStream(path string, stdin io.Reader, read *atomic.Int64) (*stream, error) {
	s := &stream{name: path}
	raw := stdin
	if path != stdinPath {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, f.Close)
		raw = f
	}
	if err := s.decompress(&countingReader{raw, read}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// decompress sets the Reader of s, which decompresses raw if its first bytes are a
// compression format's.
func (s *stream) decompress(raw io.Reader) error {
	stored := bufio.NewReaderSize(raw, sniffBytes)
	magic, err := stored.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		d, err := gzip.NewReader(stored)
		if err != nil {
			return fmt.Errorf("gzip stream: %w", err)
		}
		s.setDecompressor("gzip", d)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), isSkippableFrame(magic):
		d, err := zstd.NewReader(stored, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindowBytes))
		if err != nil {
			return fmt.Errorf("zstd stream: %w", err)
		}
		s.setDecompressor("zstd", d)
		s.closers = append(s.closers, func() error { d.Close(); return nil })
	case bytes.HasPrefix(magic, []byte("BZh")):
		s.setDecompressor("bzip2", bzip2.NewReader(stored))
	case bytes.HasPrefix(magic, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return fmt.Errorf("xz compression is not supported: decompress the file, or pipe it in with xz -dc: %w", base.ErrBadInput)
	case bytes.HasPrefix(magic, []byte{0x1f, 0x9d}):
		return fmt.Errorf("compress (.Z) is not supported: decompress the file, or pipe it in with gzip -dc: %w", base.ErrBadInput)
	default:
		s.Reader = stored
	}
	return nil
}

func (s *stream) setDecompressor(name string, d io.Reader) {
	s.compression, s.Reader = name, bufio.NewReaderSize(d, sniffBytes)
}

// isSkippableFrame reports whether a zstd stream starts with a frame without data, as
// parallel compressors write.
func isSkippableFrame(magic []byte) bool {
	return len(magic) >= 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:4], []byte{0x2a, 0x4d, 0x18})
}

// head returns the start, at most sniffBytes, without reading it. An error comes back when the
// stream is read.
func (s *stream) head() []byte {
	head, _ := s.Peek(sniffBytes)
	return head
}

// fill reads until p is full (then without an error) or the stream ends.
func (s *stream) fill(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m, err := s.Read(p[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// failed is the error of a stream unreadable beyond offset, in decompressed bytes.
func (s *stream) failed(offset int64, err error) *RecordError {
	what := "reading"
	if s.compression != "" {
		what = "reading the " + s.compression + " stream"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("cut off: %w", err)
	}
	return &RecordError{
		Location: Location{File: s.name, Offset: offset},
		Err:      fmt.Errorf("%s after %d bytes; the rest of the file is lost: %w", what, offset, err),
	}
}

// Close releases file and decompressor.
func (s *stream) Close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
