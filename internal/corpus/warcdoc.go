package corpus

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"mime"
	"net/http/httputil"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/griffin-search/griffin/internal/base"
)

// parseWARC returns nil twice for a record without a document: an image, a redirection,
// an error page.
func (r *reader) parseWARC(rec *warcRecord) (*Document, *RecordError) {
	body, contentType := rec.block, rec.header["content-type"]
	if rec.header["warc-type"] == "response" {
		status, header, payload := splitHTTP(rec.block)
		if status < 200 || status > 299 {
			return nil, nil
		}
		if contentType = header["content-type"]; !isText(contentType, payload) {
			return nil, nil
		}
		var err error
		if body, err = decodeBody(payload, header, int64(r.opts.MaxRecordBytes)); err != nil {
			return nil, &RecordError{Location: rec.at, Err: err}
		}
	} else if !isText(contentType, body) {
		return nil, nil
	}
	d := &Document{ID: warcID(rec.header), Source: rec.at}
	if d.ID == "" {
		return nil, &RecordError{Location: rec.at, Field: "WARC-Record-ID", Err: errMissing}
	}
	if isHTML(contentType, body) {
		d.Title, d.Text = htmlText(htmlToUTF8(body, contentType))
	} else {
		text, ok := decodeText(body)
		if !ok {
			return nil, nil
		}
		d.Text = strings.TrimSpace(string(text))
	}
	d.Extra = r.opts.extra(d.Extra, "url", validUTF8(strings.Trim(rec.header["warc-target-uri"], "<>")))
	d.Extra = r.opts.extra(d.Extra, "date", validUTF8(rec.header["warc-date"]))
	return d, nil
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// warcID returns the TREC id, else the record id, else the address.
func warcID(header map[string]string) string {
	id := header["warc-trec-id"]
	if id == "" {
		id = strings.Trim(header["warc-record-id"], "<>")
		id = strings.TrimPrefix(id, "urn:uuid:")
	}
	if id == "" {
		id = strings.Trim(header["warc-target-uri"], "<>")
	}
	return validUTF8(id)
}

// splitHTTP is lenient, because crawls hold all kinds of responses. status is 0 without a
// status line.
func splitHTTP(block []byte) (status int, header map[string]string, body []byte) {
	head, body := cutBlankLine(block)
	head = head[:min(len(head), maxHeaderBytes)]
	first, fields, _ := bytes.Cut(head, []byte{'\n'})
	words := bytes.Fields(first)
	if len(words) < 2 || !bytes.HasPrefix(words[0], []byte("HTTP/")) {
		return 0, nil, block
	}
	status, _ = strconv.Atoi(string(words[1])) // 0 if it is not a number
	return status, parseHeader(fields), body
}

// cutBlankLine cuts at the first blank line, with any line end.
func cutBlankLine(b []byte) (head, rest []byte) {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return b, nil
		}
		at += i + 1
		switch {
		case at < len(b) && b[at] == '\n':
			return b[:at], b[at+1:]
		case at+1 < len(b) && b[at] == '\r' && b[at+1] == '\n':
			return b[:at], b[at+2:]
		}
	}
}

// isText reports whether a body can be a document by its declared type; the content
// counts only if no type is declared.
func isText(contentType string, body []byte) bool {
	kind := mediaType(contentType)
	if kind == "" {
		return looksLikeHTML(body)
	}
	return strings.HasPrefix(kind, "text/") && kind != "text/css" && kind != "text/javascript" || kind == "application/xhtml+xml"
}

func isHTML(contentType string, body []byte) bool {
	kind := mediaType(contentType)
	return kind == "text/html" || kind == "application/xhtml+xml" || looksLikeHTML(body)
}

func mediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil { // bad parameters: use the type before them
		kind, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	return strings.TrimSpace(kind)
}

// decodeBody removes transfer and content encodings. A body stored decoded in spite of its
// header is unchanged; of a truncated one, the readable part is returned.
func decodeBody(body []byte, header map[string]string, limit int64) ([]byte, error) {
	if strings.Contains(strings.ToLower(header["transfer-encoding"]), "chunked") {
		if decoded, err := readBounded(httputil.NewChunkedReader(bytes.NewReader(body)), limit); err == nil || len(decoded) > 0 {
			body = decoded
		}
	}
	var decoder io.Reader
	var err error
	switch encoding := strings.ToLower(strings.TrimSpace(header["content-encoding"])); encoding {
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
			return body, nil
		}
		decoder, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		if decoder, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			decoder, err = flate.NewReader(bytes.NewReader(body)), nil // as some servers send it
		}
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20)); err == nil {
			defer d.Close()
			decoder = d
		}
	case "br":
		return nil, fmt.Errorf("content encoding %q is not supported: %w", encoding, base.ErrBadInput)
	default: // none, or unknown
		return body, nil
	}
	if err != nil {
		return nil, fmt.Errorf("content encoding: %w: %w", err, base.ErrBadInput)
	}
	decoded, err := readBounded(decoder, limit)
	if err != nil && len(decoded) == 0 {
		return nil, fmt.Errorf("content encoding: %w: %w", err, base.ErrBadInput)
	}
	if int64(len(decoded)) > limit {
		return nil, fmt.Errorf("the decoded page is longer than the limit of %d bytes: %w", limit, base.ErrBadInput)
	}
	return decoded, nil
}

// readBounded returns at most limit+1 bytes, also with an error.
func readBounded(r io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, limit+1))
}
