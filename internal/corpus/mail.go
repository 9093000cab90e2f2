package corpus

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// Bounds of a message's structure.
const (
	maxMailDepth = 16
	maxMailParts = 1000
)

// mailHeaders become fields, beside the subject, which is the title, and the date.
var mailHeaders = []struct{ header, field string }{
	{"From", "from"},
	{"To", "to"},
	{"Cc", "cc"},
	{"Reply-To", "reply_to"},
	{"Message-Id", "message_id"},
	{"In-Reply-To", "in_reply_to"},
	{"List-Id", "list_id"},
}

// convertMail reads a message of RFC 5322 with MIME.
func convertMail(_ *reader, in input, content []byte) (converted, error) {
	c, err := parseMail(content, in.path)
	if err != nil {
		return converted{}, damaged("mail", err)
	}
	return c, nil
}

// parseMail has the text parts of a message, of alternatives the plain one, and lists the others as skipped
// parts of file.
func parseMail(content []byte, file string) (converted, error) {
	content = bytes.TrimLeft(content, "\r\n")
	if bytes.HasPrefix(content, []byte(fromLine)) { // of a mailbox of which it was cut
		_, content, _ = bytes.Cut(content, []byte{'\n'})
	}
	message, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return converted{}, err
	}
	m := mailParser{file: file}
	m.title = decodeHeader(message.Header.Get("Subject"))
	for _, h := range mailHeaders {
		for _, value := range message.Header[h.header] {
			if value = strings.TrimSpace(decodeHeader(value)); value != "" {
				m.extra = append(m.extra, Field{h.field, value})
			}
		}
	}
	if date, err := message.Header.Date(); err == nil {
		m.extra = append(m.extra, Field{"date", date.UTC().Format(time.RFC3339)})
	}
	if err := m.part(mailPart{header: message.Header.Get, body: message.Body}, 0); err != nil {
		return converted{}, err
	}
	m.text = m.body.String()
	return m.converted, nil
}

type mailParser struct {
	converted
	file  string
	body  strings.Builder
	parts int
}

type mailPart struct {
	header func(name string) string
	body   io.Reader
	name   string // of the file of an attachment
}

func (m *mailParser) part(p mailPart, depth int) error {
	if m.parts++; m.parts > maxMailParts || depth > maxMailDepth {
		return fmt.Errorf("more than %d parts, or parts within parts %d deep", maxMailParts, maxMailDepth)
	}
	kind, parameters, err := mime.ParseMediaType(p.header("Content-Type"))
	if err != nil {
		kind, parameters = "text/plain", map[string]string{}
		if p.header("Content-Type") != "" && depth > 0 {
			kind = "application/octet-stream"
		}
	}
	disposition, names, _ := mime.ParseMediaType(p.header("Content-Disposition")) // an error leaves both empty
	if p.name = names["filename"]; p.name == "" {
		p.name = parameters["name"]
	}
	switch {
	case strings.HasPrefix(kind, "multipart/") && parameters["boundary"] != "":
		return m.multipart(kind, parameters["boundary"], p.body, depth)
	case kind == "message/rfc822" && disposition != "attachment":
		return m.inner(p, depth)
	case disposition == "attachment", kind != "text/plain" && kind != "text/html":
		m.skip(p.name, kind)
		return nil
	}
	text, err := decodedPart(p, kind, parameters["charset"])
	m.add(text)
	if err != nil {
		m.leaveOut(p.name, fmt.Sprintf("the rest of a part of type %s: %v", kind, err))
	}
	return nil
}

func (m *mailParser) add(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if m.body.Len() > 0 {
		m.body.WriteString("\n\n")
	}
	m.body.WriteString(text)
}

func (m *mailParser) skip(name, kind string) { m.leaveOut(name, "attachment of type "+kind) }

func (m *mailParser) leaveOut(name, reason string) {
	if name = decodeHeader(name); name == "" {
		name = "part"
	}
	m.skipped = append(m.skipped, SkippedFile{m.file + "/" + cleanText(name), cleanText(reason)})
}

// inner adds a message that is a part of another one.
func (m *mailParser) inner(p mailPart, depth int) error {
	message, err := mail.ReadMessage(transferDecoder(p))
	if err != nil {
		m.skip(p.name, "message/rfc822")
		return nil //nolint:nilerr // it is listed as skipped
	}
	m.add(decodeHeader(message.Header.Get("Subject")))
	return m.part(mailPart{header: message.Header.Get, body: message.Body}, depth+1)
}

func (m *mailParser) multipart(kind, boundary string, body io.Reader, depth int) error {
	parts := multipart.NewReader(body, boundary)
	alternatives := mailParser{file: m.file, parts: m.parts}
	chosen := ""
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // a missing end mark loses nothing
			break
		}
		if err != nil {
			if m.body.Len() > 0 || chosen != "" || alternatives.parts > m.parts || m.parts > 1 {
				break // the rest of a message that was cut off
			}
			return err
		}
		inner := mailPart{header: part.Header.Get, body: part}
		if kind != "multipart/alternative" {
			if err := m.part(inner, depth+1); err != nil {
				return err
			}
			continue
		}
		alternatives.body.Reset()
		alternatives.skipped = nil
		if err := alternatives.part(inner, depth+1); err != nil {
			return err
		}
		m.parts = alternatives.parts
		m.skipped = append(m.skipped, alternatives.skipped...)
		if text := alternatives.body.String(); chosen == "" {
			chosen = text // the first is the plainest
		}
	}
	m.add(chosen)
	return nil
}

// transferDecoder undoes Content-Transfer-Encoding.
func transferDecoder(p mailPart) io.Reader {
	switch strings.ToLower(strings.TrimSpace(p.header("Content-Transfer-Encoding"))) {
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &base64Cleaner{p.body})
	case "quoted-printable":
		return quotedprintable.NewReader(p.body)
	}
	return p.body
}

// base64Cleaner drops characters that are not of base64: the decoder refuses them.
type base64Cleaner struct{ in io.Reader }

// Read implements io.Reader.
func (c *base64Cleaner) Read(p []byte) (int, error) {
	for {
		n, err := c.in.Read(p)
		kept := p[:0]
		for _, b := range p[:n] {
			if 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '+' || b == '/' || b == '=' {
				kept = append(kept, b)
			}
		}
		if len(kept) > 0 || err != nil || len(p) == 0 {
			return len(kept), err
		}
	}
}

// decodedPart is the text of a part, and why the rest of it cannot be decoded.
func decodedPart(p mailPart, kind, label string) (string, error) {
	content, err := io.ReadAll(transferDecoder(p))
	if kind == "text/html" {
		contentType := kind
		if label != "" {
			contentType += "; charset=" + label
		}
		_, text := htmlText(htmlToUTF8(content, contentType))
		return text, err
	}
	return decodeLabel(content, label), err
}

// decodeLabel decodes a text of a named character set, or one that it is recognised to have.
func decodeLabel(content []byte, label string) string {
	if label != "" && !strings.EqualFold(label, "us-ascii") {
		if encoding, name := charset.Lookup(label); encoding != nil && name != "utf-8" {
			if text, err := encoding.NewDecoder().Bytes(content); err == nil {
				return string(text)
			}
		}
	}
	if text, ok := decodeText(content); ok {
		return string(text)
	}
	return cleanText(string(content))
}

var headerDecoder = mime.WordDecoder{CharsetReader: func(label string, in io.Reader) (io.Reader, error) {
	encoding, _ := charset.Lookup(label)
	if encoding == nil {
		content, err := io.ReadAll(in)
		return strings.NewReader(decodeLabel(content, "")), err
	}
	return encoding.NewDecoder().Reader(in), nil
}}

// decodeHeader decodes words such as =?utf-8?q?caf=C3=A9?=.
func decodeHeader(value string) string {
	decoded, err := headerDecoder.DecodeHeader(value)
	if err != nil {
		decoded = value
	}
	return decodeLabel([]byte(decoded), "")
}
