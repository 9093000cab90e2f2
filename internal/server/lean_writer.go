package server

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// leanWriter collects an answer, which is sent as a whole. Its memory is used again.
type leanWriter struct {
	header http.Header
	status int // 0: not yet
	closes bool
	out    []byte
	memory *answerBuffer
	length int    // of the body, as the handler has announced it; -1: not
	inline bool   // out has the whole head, and takes the body
	start  int    // of the body in out
	body   []byte // else

	stopping *atomic.Bool // the server stops: connections end after their answers
}

func (w *leanWriter) begin() {
	if w.header == nil {
		w.header = make(http.Header)
	}
	clear(w.header)
	w.status, w.closes, w.length, w.inline, w.body = 0, false, -1, false, w.body[:0]
	w.memory = newAnswerBuffer()
	w.out = w.memory.bytes
}

func (w *leanWriter) release() {
	w.memory.bytes = w.out
	w.memory.release()
	w.memory, w.out = nil, nil
	if cap(w.body) > leanHeadBytes {
		w.body = nil
	}
}

// Header implements http.ResponseWriter.
func (w *leanWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *leanWriter) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	w.out = append(append(append(append(w.out, "HTTP/1.1 "...), strconv.Itoa(status)...), ' '), http.StatusText(status)...)
	w.out = append(append(w.out, "\r\nDate: "...), dateNow()...)
	typed := w.header["Content-Type"] != nil || w.header["Content-Encoding"] != nil
	for name, values := range w.header {
		switch name {
		case "Content-Length":
			n, err := strconv.Atoi(values[0])
			if err != nil || !hasBody(status) {
				continue
			}
			if w.length = n; !typed {
				continue // finish sends it
			}
		case "Connection":
			w.closes = w.closes || len(values) > 0 && strings.EqualFold(values[0], "close")
		}
		for _, value := range values {
			w.out = append(append(append(w.out, "\r\n"...), name...), ": "...)
			if strings.ContainsAny(value, "\r\n") {
				value = strings.NewReplacer("\n", " ", "\r", " ").Replace(value)
			}
			w.out = append(w.out, value...)
		}
	}
	if !w.closes && w.stopping.Load() {
		w.closes = true
		w.out = append(w.out, "\r\nConnection: close"...)
	}
	if w.length >= 0 && typed {
		w.out = append(w.out, "\r\n\r\n"...)
		w.inline, w.start = true, len(w.out)
	}
}

// hasBody reports whether answers of a status have a body.
func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Write implements http.ResponseWriter.
func (w *leanWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case !hasBody(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && w.written()+len(p) > w.length:
		w.closes = true
		return 0, http.ErrContentLength
	case w.inline:
		w.out = append(w.out, p...)
	default:
		w.body = append(w.body, p...)
	}
	return len(p), nil
}

// written is the present length of the body.
func (w *leanWriter) written() int {
	if w.inline {
		return len(w.out) - w.start
	}
	return len(w.body)
}

// finish completes the answer. false: the handler has written less than it announced.
func (w *leanWriter) finish() bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.length >= 0 && w.written() != w.length:
		return false
	case w.inline:
		return true
	case !hasBody(w.status):
		w.out = append(w.out, "\r\n\r\n"...)
		return true
	}
	if len(w.body) > 0 && w.header["Content-Type"] == nil && w.header["Content-Encoding"] == nil {
		w.out = append(append(w.out, "\r\nContent-Type: "...), http.DetectContentType(w.body)...)
	}
	w.out = append(strconv.AppendInt(append(w.out, "\r\nContent-Length: "...), int64(len(w.body)), 10), "\r\n\r\n"...)
	w.out = append(w.out, w.body...)
	return true
}

// date is the header Date of answers within a second.
type date struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[date]

func dateNow() string {
	now := time.Now()
	d := lastDate.Load()
	if d == nil || d.second != now.Unix() {
		d = &date{now.Unix(), now.UTC().Format(http.TimeFormat)}
		lastDate.Store(d)
	}
	return d.text
}
