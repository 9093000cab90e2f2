package rest

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// An unused body is read up to maxDropped bytes, and one without Content-Length up to maxDroppedChunks.
const (
	maxDropped       = 1 << 30
	maxDroppedChunks = 64 << 20
)

// bodiless rejects requests with a body, because f would ignore it.
func bodiless(f action) action {
	return func(r *request) (answer, *Error) {
		n := r.ContentLength
		if n < 0 { // it can be empty
			r.reads = true
			r.deadlines()
			first, _ := io.ReadFull(r.Body, make([]byte, 1))
			n = int64(first)
		}
		if n > 0 {
			return answer{}, illegal("request [%s %s] does not support having a body", r.Method, r.URL.Path)
		}
		return f(r)
	}
}

// dropBody reads the rest of the body before an error is sent. Many clients do not read an answer before they have sent the
// body: if the connection were closed earlier, they would see a reset and not the error.
func (r *request) dropBody() {
	waits := !r.reads && strings.EqualFold(r.Header.Get("Expect"), "100-continue") // it sends nothing before it has an answer
	if r.ProtoMajor != 1 || r.Body == nil || waits {
		return
	}
	most := int64(maxDropped)
	if r.ContentLength < 0 {
		most = maxDroppedChunks
	}
	r.deadlines()
	_, _ = io.CopyN(io.Discard, r.Body, most) // the client may have left
}

// reader returns the body, decompressed.
func (r *request) reader() (io.Reader, *Error) {
	if r.ContentLength > r.h.options.MaxBodyBytes {
		return nil, tooLarge(r.h.options.MaxBodyBytes, sendParts)
	}
	r.reads = true
	var body io.Reader = http.MaxBytesReader(r.w, r.Body, r.h.options.MaxBodyBytes)
	var unpacked io.Reader
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		from, err := gzip.NewReader(body)
		if err != nil {
			return nil, badRequest(typeParsing, "the body is not gzip: %v", err)
		}
		unpacked = unpackReader{from, "gzip"}
	case "zstd":
		d := newDecompressor(body)
		r.ends = append(r.ends, d.release)
		unpacked = unpackReader{d.Decoder, "zstd"}
	default:
		return nil, illegal("Content-Encoding [%s] is not supported: there are gzip and zstd", r.Header.Get("Content-Encoding"))
	}
	return http.MaxBytesReader(r.w, io.NopCloser(unpacked), r.h.options.MaxBodyBytes), nil
}

// tooLarge returns the error of a body beyond a limit. The text then tells the client what to do.
func tooLarge(limit int64, then string) *Error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Type: "content_too_long_exception", Reason: fmt.Sprintf("entity content is too long for the limit of %d bytes: %s", limit, then)}
}

// What to do about bodies above a limit.
const (
	sendParts   = "send it in parts"
	sendShorter = "send a shorter one; the limit cannot be changed"
)

// sourceBody reads a body with a document.
func (r *request) sourceBody() ([]byte, *Error) {
	return r.bodyWithin(int64(r.h.options.MaxDocumentBytes))
}

// body reads a body that has no document and is no search. It is empty, or has passed checkBody.
func (r *request) body() ([]byte, *Error) { return checked(r.sourceBody()) }

// searchBody is body for a search, before its admission.
func (r *request) searchBody() ([]byte, *Error) {
	return checked(r.bodyWithin(min(maxQueryText, int64(r.h.options.MaxDocumentBytes))))
}

func checked(body []byte, err *Error) ([]byte, *Error) {
	if err == nil && len(body) > 0 {
		err = checkBody(body)
	}
	return body, err
}

func (r *request) bodyWithin(limit int64) ([]byte, *Error) {
	if r.ContentLength > limit && r.Header.Get("Content-Encoding") == "" {
		return nil, tooLarge(limit, sendShorter)
	}
	r.deadlines()
	from, apiErr := r.reader()
	if apiErr != nil {
		return nil, apiErr
	}
	text, err := io.ReadAll(io.LimitReader(from, limit+1))
	var large *http.MaxBytesError
	switch {
	case int64(len(text)) > limit || errors.As(err, &large):
		return nil, tooLarge(limit, sendShorter)
	case err != nil:
		return nil, badRequest(typeParsing, "the body cannot be read: %v", err)
	}
	return text, nil
}
