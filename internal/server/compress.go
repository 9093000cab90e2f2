package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// minCompressed is the length from which answers are compressed: a shorter one fits into one packet anyway.
const minCompressed = 1400

// encoder compresses one answer at a time.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(to io.Writer)
}

// coding is a way to compress, with encoders that are used again.
type coding struct {
	name     []string // as value of a header
	encoders sync.Pool
}

var (
	gzipCoding = &coding{name: []string{"gzip"}, encoders: sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level exists
		return w
	}}}
	zstdCoding = &coding{name: []string{"zstd"}, encoders: sync.Pool{New: func() any {
		const window = 256 << 10
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true)) // the options are valid
		return w
	}}}
)

// acceptedCoding returns the coding that a client likes best by its header Accept-Encoding; zstd of equals. nil: it takes
// the answer as it is.
func acceptedCoding(accept []string) *coding {
	unset := -1.0
	quality := map[string]float64{}
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(part, ";")
			q := 1.0
			if text, ok := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(parameters), " ", ""), "q="); ok {
				var err error
				if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) { // NaN compares false
					q = 0
				}
			}
			quality[strings.ToLower(strings.TrimSpace(name))] = q
		}
	}
	of := func(names ...string) float64 {
		for _, name := range names {
			if q, ok := quality[name]; ok {
				return q
			}
		}
		return unset
	}
	zstdQuality, gzipQuality := of("zstd", "*"), of("gzip", "x-gzip", "*")
	switch best := max(zstdQuality, gzipQuality); {
	case best <= 0 || best < of("identity"):
		return nil
	case zstdQuality == best:
		return zstdCoding
	default:
		return gzipCoding
	}
}

// compressed compresses the answers of next for clients that ask for it.
func compressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cw := &compressWriter{ResponseWriter: w}
		if r.Method != http.MethodHead {
			cw.coding = acceptedCoding(r.Header["Accept-Encoding"])
		}
		next.ServeHTTP(cw, r)
		cw.end() // not deferred: after a panic the answer is not complete
	})
}

// compressWriter decides with the header of an answer whether to compress it.
type compressWriter struct {
	http.ResponseWriter
	coding  *coding // nil: the client takes none
	decided bool
	to      encoder // nil: the answer is not compressed
}

func (w *compressWriter) WriteHeader(status int) {
	if !w.decided && status >= http.StatusOK {
		w.decided = true
		if header := w.Header(); compressible(status, header) {
			header.Add("Vary", "Accept-Encoding") // also of the answer that is not compressed: caches keep it
			if w.coding != nil {
				header["Content-Encoding"] = w.coding.name
				header.Del("Content-Length")
				w.to, _ = w.coding.encoders.Get().(encoder)
				w.to.Reset(w.ResponseWriter)
			}
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// compressible: the answer is text of some length, and not compressed yet.
func compressible(status int, header http.Header) bool {
	if status == http.StatusNoContent || status == http.StatusNotModified || status == http.StatusPartialContent || header.Get("Content-Encoding") != "" {
		return false
	}
	if length := header.Get("Content-Length"); length != "" {
		if n, err := strconv.Atoi(length); err != nil || n < minCompressed {
			return false
		}
	}
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.HasPrefix(kind, "text/") || strings.HasPrefix(kind, "application/") || kind == "image/svg+xml"
}

func (w *compressWriter) Write(p []byte) (int, error) {
	if !w.decided {
		w.WriteHeader(http.StatusOK)
	}
	if w.to != nil {
		return w.to.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// FlushError serves http.ResponseController.
func (w *compressWriter) FlushError() error {
	if !w.decided {
		w.WriteHeader(http.StatusOK)
	}
	if w.to != nil {
		if err := w.to.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap serves http.ResponseController.
func (w *compressWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *compressWriter) end() {
	if w.to == nil {
		return
	}
	_ = w.to.Close() // the client may have left
	w.to.Reset(nil)
	w.coding.encoders.Put(w.to)
}
