package corpus

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// textSniffBytes at the start show whether a file is text.
const textSniffBytes = 8 << 10

// isBinary looks for NUL bytes (unless UTF-16 with a byte order mark), or a document format
// that starts with text.
func isBinary(head []byte) bool {
	if isUTF16(head) {
		return false
	}
	return bytes.IndexByte(head, 0) >= 0 || bytes.HasPrefix(head, []byte("%PDF-")) || bytes.HasPrefix(head, []byte("{\\rtf"))
}

func isUTF16(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff})
}

// decodeText returns content as UTF-8 without a byte order mark. Content that is neither UTF-8
// nor marked as UTF-16 is read as Windows-1252, the superset of Latin-1; false for bytes
// undefined there.
func decodeText(content []byte) (text []byte, ok bool) {
	switch {
	case bytes.HasPrefix(content, []byte{0xff, 0xfe}):
		return decodeUTF16(content[2:], binary.LittleEndian), true
	case bytes.HasPrefix(content, []byte{0xfe, 0xff}):
		return decodeUTF16(content[2:], binary.BigEndian), true
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if utf8.Valid(content) {
		return content, true
	}
	for _, c := range content {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b {
			return nil, false
		}
	}
	text, err := charmap.Windows1252.NewDecoder().Bytes(content)
	return text, err == nil
}

// Unpaired surrogates and an odd last byte become U+FFFD.
func decodeUTF16(b []byte, order binary.ByteOrder) []byte {
	text := make([]byte, 0, len(b))
	for ; len(b) >= 2; b = b[2:] {
		r := rune(order.Uint16(b))
		if utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if len(b) >= 4 {
				low = rune(order.Uint16(b[2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				b = b[2:]
			}
		}
		text = utf8.AppendRune(text, r)
	}
	if len(b) == 1 {
		text = utf8.AppendRune(text, utf8.RuneError)
	}
	return text
}

// fileText returns false if a folder's file is not text.
func fileText(in input, content []byte) (title, text string, ok bool) {
	kind := kindByExtension[extension(in.path)]
	if kind == kindHTML || kind == kindUnknown && looksLikeHTML(content) {
		title, text = htmlText(htmlToUTF8(content, ""))
	} else {
		content, ok := decodeText(content)
		if !ok {
			return "", "", false
		}
		text = string(content)
		if kind == kindMarkdown {
			title, text = markdownText(text)
		}
	}
	if title == "" {
		title = in.id
	}
	return title, strings.TrimSpace(text), true
}

type fileKind uint8

const (
	kindUnknown fileKind = iota
	kindPlain
	kindMarkdown
	kindHTML
)

var kindByExtension = map[string]fileKind{
	".md": kindMarkdown, ".markdown": kindMarkdown, ".mdown": kindMarkdown, ".mkd": kindMarkdown, ".mdx": kindMarkdown,
	".html": kindHTML, ".htm": kindHTML, ".xhtml": kindHTML, ".shtml": kindHTML,
}

func looksLikeHTML(content []byte) bool {
	head := bytes.TrimLeft(content[:min(len(content), 256)], "\ufeff \t\r\n")
	for _, start := range []string{"<!doctype html", "<html"} {
		if len(head) >= len(start) && strings.EqualFold(string(head[:len(start)]), start) {
			return true
		}
	}
	return false
}
