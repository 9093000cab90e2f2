//go:build linux && !nolab

package load

import (
	"bytes"
	"strings"
)

// answerHead is the part of the head of an HTTP/1.1 answer that a client that skips the body needs.
type answerHead struct {
	status int
	length int64 // of the body
	ends   bool  // the server closes the connection after it
}

// extent describes an answer that has arrived in part.
type extent uint8

const (
	partial extent = iota // the head is not complete
	plain                 // the head is an answerHead
	special               // net/http must read it
)

const maxHeadBytes = 64 << 10

// parseHead parses the head at the beginning of p, of size bytes. It knows heads that give the length of the body, without
// anything that changes the length; the others are special.
func parseHead(p []byte) (h answerHead, size int, e extent) {
	const version, statusLine = "HTTP/1.1 ", len("HTTP/1.1 200 ")
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < 0 {
		if len(p) > maxHeadBytes {
			return h, 0, special
		}
		return h, 0, partial
	}
	head := string(p[:end]) // does not escape
	line, rest, _ := strings.Cut(head, "\r\n")
	if len(line) < statusLine || line[:len(version)] != version || line[statusLine-1] != ' ' || strings.ContainsFunc(line, isControl) {
		return h, 0, special
	}
	for _, digit := range line[len(version) : statusLine-1] {
		if digit < '0' || digit > '9' {
			return h, 0, special
		}
		h.status = 10*h.status + int(digit-'0')
	}
	if h.status < 200 || h.status == 204 || h.status == 304 {
		return h, 0, special
	}
	h.length = -1
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		if !h.header(line) {
			return h, 0, special
		}
	}
	if h.length < 0 {
		return h, 0, special
	}
	return h, end + len("\r\n\r\n"), plain
}

// header reads a line of the head. false: the head is special.
func (h *answerHead) header(line string) bool {
	name, value, found := strings.Cut(line, ":")
	if !found || !isToken(name) || strings.ContainsFunc(value, isControl) {
		return false
	}
	switch {
	case strings.EqualFold(name, "Content-Length"):
		const most = 15 // digits
		value = strings.Trim(value, " \t")
		if h.length >= 0 || value == "" || len(value) > most {
			return false
		}
		h.length = 0
		for i := range len(value) {
			if value[i] < '0' || value[i] > '9' {
				return false
			}
			h.length = 10*h.length + int64(value[i]-'0')
		}
	case strings.EqualFold(name, "Connection"):
		switch strings.ToLower(strings.Trim(value, " \t")) {
		case "close":
			h.ends = true
		case "keep-alive":
		default:
			return false
		}
	case strings.EqualFold(name, "Transfer-Encoding"), strings.EqualFold(name, "Trailer"):
		return false
	}
	return true
}

// isToken reports whether the name of a header has only letters, digits and hyphens; HTTP has some more.
func isToken(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return name != ""
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
