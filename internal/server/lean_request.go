package server

import (
	"bytes"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// leanRequest is a request that lean answers. Its memory is used again for the next one of its connection.
type leanRequest struct {
	method   string
	target   string // path?query
	path     int    // length of the path
	host     string
	length   int64 // of the body
	body     []byte
	header   http.Header
	rawLines []byte // the lines of header, which the next request often repeats

	request http.Request
	url     url.URL
	reader  bytes.Reader
}

// parse reads the head of a request at the beginning of p, of size bytes. ok means that the request is one for lean, and that
// net/http would read the same; otherwise nothing is known about it.
func (r *leanRequest) parse(p []byte) (size int, ok bool) {
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, false
	}
	line, lines, _ := bytes.Cut(p[:end+len("\r\n")], []byte("\r\n"))
	rest, ok := bytes.CutSuffix(line, []byte(" HTTP/1.1"))
	if !ok {
		return 0, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte("GET ")); ok {
		r.method = http.MethodGet
	} else if rest, ok = bytes.CutPrefix(rest, []byte("POST ")); ok {
		r.method = http.MethodPost
	} else {
		return 0, false
	}
	path, query, asks := bytes.Cut(rest, []byte("?"))
	if !isSearch(path) || path[0] != '/' || asks && len(query) == 0 || !consistsOf(path, &pathBytes) || !consistsOf(query, &queryBytes) || bytes.Contains(path, []byte("//")) {
		return 0, false
	}
	if !bytes.Equal(lines, r.rawLines) || r.host == "" {
		r.rawLines = r.rawLines[:0]
		if !r.parseLines(string(lines)) {
			r.host = ""
			return 0, false
		}
		r.rawLines = append(r.rawLines, lines...)
	}
	r.target, r.path = string(rest), len(path)
	return end + len("\r\n\r\n"), true
}

// parseLines reads the headers.
func (r *leanRequest) parseLines(lines string) bool {
	r.host, r.length = "", -1
	r.header = make(http.Header)
	for lines != "" {
		var line string
		line, lines, _ = strings.Cut(lines, "\r\n")
		name, value, found := strings.Cut(line, ":")
		if !found || name == "" || !consistsOf(name, &nameBytes) || !consistsOf(value, &valueBytes) {
			return false
		}
		name, value = textproto.CanonicalMIMEHeaderKey(name), strings.Trim(value, " \t")
		switch name {
		case "Host":
			if r.host != "" || value == "" || !consistsOf(value, &hostBytes) {
				return false
			}
			r.host = value
			continue
		case "Content-Length":
			if r.length >= 0 || !r.setLength(value) {
				return false
			}
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Transfer-Encoding", "Trailer", "Expect", "Upgrade", "Te", "Http2-Settings", "Pragma", "Keep-Alive", "Proxy-Connection":
			return false
		}
		r.header[name] = append(r.header[name], value)
	}
	r.length = max(r.length, 0)
	return r.host != ""
}

func (r *leanRequest) setLength(text string) bool {
	const most = 9 // digits
	if text == "" || len(text) > most {
		return false
	}
	r.length = 0
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
		r.length = 10*r.length + int64(text[i]-'0')
	}
	return true
}

// fill returns the request with the context of base, which is valid until the next one.
func (r *leanRequest) fill(base *http.Request) *http.Request {
	r.request = *base
	r.url = url.URL{Path: r.target[:r.path], RawQuery: r.target[min(r.path+1, len(r.target)):]}
	q := &r.request
	q.Method, q.URL, q.RequestURI, q.Host, q.Header = r.method, &r.url, r.target, r.host, r.header
	q.Proto, q.ProtoMajor, q.ProtoMinor = "HTTP/1.1", 1, 1
	q.ContentLength, q.Body = r.length, http.NoBody
	if r.length > 0 {
		r.reader.Reset(r.body)
		q.Body = io.NopCloser(&r.reader)
	}
	return q
}

// byteSet has the bytes that a part of a request may have.
type byteSet [256]bool

var (
	pathBytes  = bytesOf("-._~/")
	queryBytes = bytesOf("-._~/!$&'()*+,;=:@%?")
	nameBytes  = bytesOf("-")
	hostBytes  = bytesOf("-._:[]")
	valueBytes byteSet
)

func init() {
	for b := range valueBytes {
		valueBytes[b] = b >= ' ' && b != 0x7f || b == '\t'
	}
}

// bytesOf returns the set of letters, digits and others.
func bytesOf(others string) (s byteSet) {
	for b := range s {
		c := byte(b)
		s[b] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(others, c) >= 0
	}
	return s
}

func consistsOf[T string | []byte](text T, s *byteSet) bool {
	for i := range len(text) {
		if !s[text[i]] {
			return false
		}
	}
	return true
}
