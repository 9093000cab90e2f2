package corpus

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
)

// mboxSyntax is the format of RFC 4155: each message begins with a line "From ", after an empty line. Lines
// of a text that begin so have > before them.
type mboxSyntax struct {
	r      *reader
	fileID string
	limit  int
}

func splitMbox(s *stream, r *reader) splitter {
	limit := r.opts.MaxRecordBytes
	return newTextSplitter(s, limit, &mboxSyntax{r: r, fileID: s.id, limit: limit})
}

var mboxMarks = [][]byte{[]byte("\n\nFrom "), []byte("\n\r\nFrom ")}

const fromLine = "From "

func (m *mboxSyntax) firstEnd(b []byte) int {
	first := 0
	for _, mark := range mboxMarks {
		if i := bytes.Index(b, mark); i >= 0 {
			if end := i + len(mark) - len(fromLine); first == 0 || end < first {
				first = end
			}
		}
	}
	return first
}

func (m *mboxSyntax) lastEnd(b []byte) int {
	last := 0
	for _, mark := range mboxMarks {
		if i := bytes.LastIndex(b, mark); i >= 0 {
			last = max(last, i+len(mark)-len(fromLine))
		}
	}
	return last
}

func (m *mboxSyntax) endBytes() int { return len(mboxMarks[1]) }

func (m *mboxSyntax) parse(c chunk, doc func(*Document) error, bad func(*RecordError) error) error {
	for rest, line := c.data, c.line; len(rest) > 0; {
		end := m.firstEnd(rest)
		if end == 0 {
			end = len(rest)
		}
		at := Location{File: c.file, Line: line}
		var err error
		if end > m.limit {
			err = bad(tooLong(at, m.limit))
		} else if d, rec := m.message(rest[:end], at); rec != nil {
			err = bad(rec)
		} else if d != nil {
			err = doc(d)
		}
		if err != nil {
			return err
		}
		line += int64(bytes.Count(rest[:end], []byte{'\n'}))
		rest = rest[end:]
	}
	return nil
}

// message returns nil for blank lines. The id is the number of the first line, which stays when messages are
// appended.
func (m *mboxSyntax) message(raw []byte, at Location) (*Document, *RecordError) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	first, content, _ := bytes.Cut(raw, []byte{'\n'})
	if !bytes.HasPrefix(first, []byte(fromLine)) {
		return nil, &RecordError{Location: at, Err: fmt.Errorf("a message begins with a line %q, not with %.40q: %w", fromLine, first, base.ErrBadInput)}
	}
	id := m.fileID + ":" + strconv.FormatInt(at.Line, 10)
	parsed, err := parseMail(quotedFrom.ReplaceAll(content, []byte("$1")), at.String())
	if err != nil {
		return nil, &RecordError{Location: at, Err: damaged("mail", err)}
	}
	for _, part := range parsed.skipped {
		m.r.summary.skip(part.File, part.Reason)
	}
	d := &Document{ID: id, Title: cleanText(parsed.title), Text: cleanText(parsed.text), Source: at}
	for _, f := range parsed.extra {
		d.Extra = m.r.opts.extra(d.Extra, f.Name, cleanText(f.Value))
	}
	return d, nil
}

// quotedFrom is a line of a text that began with From, once quoted or several times.
var quotedFrom = regexp.MustCompile(`(?m)^>(>*From )`)

// isMbox reports whether a text begins with a From line and a header.
func isMbox(head []byte) bool {
	if !bytes.HasPrefix(head, []byte(fromLine)) {
		return false
	}
	_, rest, ok := bytes.Cut(head, []byte{'\n'})
	return ok && mailHeaderLine.Match(rest)
}

var mailHeaderLine = regexp.MustCompile(`^>?[A-Za-z][A-Za-z-]*:`)
