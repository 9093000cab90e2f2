package rest

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// unpackReader names the way of compression in errors.
type unpackReader struct {
	io.Reader
	name string
}

func (u unpackReader) Read(p []byte) (n int, err error) {
	n, err = u.Reader.Read(p)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("the %s data is truncated: %w", u.name, err)
	case errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, new(flate.CorruptInputError)) || isDamage(err):
		err = fmt.Errorf("the %s data is damaged: %w", u.name, err)
	}
	return n, err
}

// damages are errors of package zstd.
var damages = []error{
	zstd.ErrReservedBlockType, zstd.ErrCompressedSizeTooBig, zstd.ErrBlockTooSmall, zstd.ErrUnexpectedBlockSize, zstd.ErrMagicMismatch, zstd.ErrWindowSizeExceeded,
	zstd.ErrWindowSizeTooSmall, zstd.ErrDecoderSizeExceeded, zstd.ErrUnknownDictionary, zstd.ErrFrameSizeExceeded, zstd.ErrFrameSizeMismatch, zstd.ErrCRCMismatch,
}

func isDamage(err error) bool {
	for _, d := range damages {
		if errors.Is(err, d) {
			return true
		}
	}
	return false
}

// maxZstdWindow is the most that RFC 9659 allows over HTTP.
const maxZstdWindow = 8 << 20

// decompressor is a decoder of zstd that is used again.
type decompressor struct{ *zstd.Decoder }

var decompressors = sync.Pool{New: func() any {
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true)) // the options are valid
	return &decompressor{d}
}}

func newDecompressor(from io.Reader) *decompressor {
	d, _ := decompressors.Get().(*decompressor)
	_ = d.Reset(from) // Read returns the error
	return d
}

func (d *decompressor) release() {
	_ = d.Reset(nil)
	decompressors.Put(d)
}
