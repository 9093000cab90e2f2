package corpus

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// TREC text elements by use; others go to Extra under their lower-case names.
var (
	trecTitle = map[string]bool{"TITLE": true, "HEADLINE": true, "HL": true, "HEAD": true, "TTL": true}
	trecText  = map[string]bool{"": true, "TEXT": true, "LP": true, "LEADPARA": true, "BODY": true, "P": true}
)

// parseTRECText is for TREC text collections (TREC disks, AQUAINT, WSJ, AP …):
//
//	<DOCNO> WSJ870324-0001 </DOCNO>
//	<HL> John Blair Is Near Accord </HL>
//	<TEXT> … </TEXT>
//
// A document without any element of trecText has the text of all elements. Invalid UTF-8 is
// read as Windows-1252.
func parseTRECText(opts *Options) func([]byte, Location) (*Document, *RecordError) {
	return func(content []byte, at Location) (*Document, *RecordError) {
		decoded, ok := decodeText(content)
		if !ok {
			return nil, &RecordError{Location: at, Err: fmt.Errorf("neither UTF-8 nor Windows-1252 text: %w", base.ErrBadInput)}
		}
		d := &Document{Source: at}
		var title, text, others []string
		for elements := newElements(string(decoded)); elements.rest != ""; {
			e := elements.next()
			value := stripTags(e.text)
			switch {
			case value == "":
			case e.name == "DOCNO":
				if d.ID == "" {
					d.ID = value
				}
			case trecTitle[e.name]:
				title = append(title, value)
			case trecText[e.name]:
				text = append(text, value)
			default:
				others = append(others, value)
				if d.Extra = opts.extra(d.Extra, strings.ToLower(e.name), value); len(d.Extra) > MaxFields {
					rec := tooManyFields([]byte(e.name), MaxFields)
					rec.Location = at
					return nil, rec
				}
			}
		}
		if d.ID == "" {
			return nil, &RecordError{Location: at, Field: "DOCNO", Err: errMissing}
		}
		if len(text) == 0 {
			text = others
		}
		d.Title, d.Text = strings.Join(title, " "), strings.Join(text, "\n")
		return d, nil
	}
}

// parseTRECWeb is for TREC web collections (WT10g, .GOV, GOV2):
//
//	<DOCNO>GX000-00-0000000</DOCNO>
//	<DOCHDR>
//	http://example.gov/
//	HTTP/1.1 200 OK
//	Content-Type: text/html
//	</DOCHDR>
//	<html>…
func parseTRECWeb(opts *Options) func([]byte, Location) (*Document, *RecordError) {
	return func(content []byte, at Location) (*Document, *RecordError) {
		id, page, ok := cutElement(content, "DOCNO")
		if !ok || len(id) == 0 {
			return nil, &RecordError{Location: at, Field: "DOCNO", Err: errMissing}
		}
		header, page, ok := cutElement(page, "DOCHDR")
		if !ok {
			return nil, &RecordError{Location: at, Field: "DOCHDR", Err: errMissing}
		}
		first, fields, _ := bytes.Cut(header, []byte{'\n'})
		url, _, _ := strings.Cut(strings.TrimSpace(string(first)), " ")
		http := parseHeader(fields)
		title, text := htmlText(htmlToUTF8(page, http["content-type"]))
		return &Document{
			ID: string(bytes.ToValidUTF8(id, []byte("\ufffd"))), Title: title, Text: text,
			Extra:  opts.extra(nil, "url", strings.ToValidUTF8(url, "\ufffd")),
			Source: at,
		}, nil
	}
}

// cutElement returns the first element's trimmed text and the rest; case does not matter.
func cutElement(s []byte, name string) (text, rest []byte, ok bool) {
	for _, name := range []string{name, strings.ToLower(name)} {
		_, after, ok := bytes.Cut(s, []byte("<"+name+">"))
		if !ok {
			continue
		}
		if text, rest, ok = bytes.Cut(after, []byte("</"+name+">")); ok {
			return bytes.TrimSpace(text), rest, true
		}
	}
	return nil, s, false
}

// maxFoldedBytes bounds a folded field.
const maxFoldedBytes = 4 << 10

// parseHeader returns a header's fields as in HTTP and WARC, by lower-case names; the first of
// equal names applies. It ignores other lines; a folded line continues a field.
func parseHeader(lines []byte) map[string]string {
	fields := map[string]string{}
	last := ""
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte{'\n'})
		line = bytes.TrimRight(line, " \t\r")
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			if last == "" || len(fields[last]) > maxFoldedBytes {
				continue
			}
			fields[last] += " " + string(bytes.TrimSpace(line))
			continue
		}
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		last = strings.ToLower(string(bytes.TrimSpace(name)))
		if _, twice := fields[last]; twice {
			last = ""
			continue
		}
		fields[last] = string(bytes.TrimSpace(value))
	}
	return fields
}
