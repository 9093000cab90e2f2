package corpus

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// trecSyntax is documents between <DOC> and </DOC>, with the id in <DOCNO>; see parseTRECText
// and parseTRECWeb.
type trecSyntax struct {
	open, end string // the tags, in upper or lower case as in the file
	limit     int
	parseDoc  func(content []byte, at Location) (*Document, *RecordError)
	// searched counts the bytes that find looks at, for tests that parse in one goroutine; nil:
	// not counted.
	searched *int64
}

func (t *trecSyntax) find(b []byte, tag string) int {
	i := bytes.Index(b, []byte(tag))
	if t.searched != nil {
		if *t.searched += int64(i + len(tag)); i < 0 {
			*t.searched += int64(len(b))
		}
	}
	return i
}

// newTRECSyntax uses the case of the stream's first tags.
func newTRECSyntax(s *stream, limit int, parseDoc func([]byte, Location) (*Document, *RecordError)) *trecSyntax {
	t := &trecSyntax{open: "<DOC>", end: "</DOC>", limit: limit, parseDoc: parseDoc}
	head, _ := s.Peek(sniffBytes)
	lower := bytes.Index(head, []byte("<doc>"))
	if upper := bytes.Index(head, []byte("<DOC>")); lower >= 0 && (upper < 0 || lower < upper) {
		t.open, t.end = "<doc>", "</doc>"
	}
	return t
}

func (t *trecSyntax) firstEnd(b []byte) int {
	if i := bytes.Index(b, []byte(t.end)); i >= 0 {
		return i + len(t.end)
	}
	return 0
}

func (t *trecSyntax) lastEnd(b []byte) int {
	if i := bytes.LastIndex(b, []byte(t.end)); i >= 0 {
		return i + len(t.end)
	}
	return 0
}

func (t *trecSyntax) endBytes() int { return len(t.end) }

var (
	errOutside  = fmt.Errorf("text outside of <DOC>: %w", base.ErrBadInput)
	errNotEnded = fmt.Errorf("<DOC> without </DOC>: %w", base.ErrBadInput)
)

// parse ignores tags around all documents, as in some collections.
func (t *trecSyntax) parse(c chunk, doc func(*Document) error, bad func(*RecordError) error) error {
	line := c.line
	advance := func(n int) {
		line += int64(bytes.Count(c.data[:n], []byte{'\n'}))
		c.data = c.data[n:]
	}
	// Bytes from the next t.end to the end, 0 if there is none: documents without an end would
	// all search for the same one.
	endLeft := len(c.data) + 1
	for {
		start := t.find(c.data, t.open)
		stray := c.data
		if start >= 0 {
			stray = c.data[:start]
		}
		blank := len(stray) - len(bytes.TrimLeft(stray, " \t\r\n"))
		advance(blank)
		if stray = stray[blank:]; stripTags(string(stray)) != "" {
			if err := bad(&RecordError{Location: Location{File: c.file, Line: line}, Err: errOutside}); err != nil {
				return err
			}
		}
		if start < 0 {
			return nil
		}
		advance(len(stray))
		at := Location{File: c.file, Line: line}
		content := c.data[len(t.open):]
		if endLeft > len(content) {
			endLeft = 0
			if i := t.find(content, t.end); i >= 0 {
				endLeft = len(content) - i
			}
		}
		end, next := len(content)-endLeft, len(content)-endLeft
		if endLeft == 0 {
			end = -1
		}
		if inner := t.innerStart(content[:next]); inner >= 0 {
			end, next = -1, inner
		}
		var err error
		switch {
		case end < 0:
			err = bad(&RecordError{Location: at, Err: errNotEnded})
		case end > t.limit:
			err = bad(tooLong(at, t.limit))
		default:
			if d, rec := t.parseDoc(content[:end], at); rec != nil {
				err = bad(rec)
			} else {
				err = doc(d)
			}
			next += len(t.end)
		}
		if err != nil {
			return err
		}
		advance(len(t.open) + next)
	}
}

// innerStart returns the start within content of another document, a <DOC> with <DOCNO>, or -1:
// the one around it lacks its end.
func (t *trecSyntax) innerStart(content []byte) int {
	for from := 0; ; {
		i := t.find(content[from:], t.open)
		if i < 0 {
			return -1
		}
		after := bytes.TrimLeft(content[from+i+len(t.open):], " \t\r\n")
		if len(after) >= 7 && strings.EqualFold(string(after[:7]), "<DOCNO>") {
			return from + i
		}
		from += i + len(t.open)
	}
}

// element is <name>text</name> of a TREC document, or text outside elements (no name).
type element struct{ name, text string }

// elements splits a document into its outermost elements, in one pass.
type elements struct {
	rest     string
	end      int            // offset of the end of rest in the document
	last     map[string]int // offset of the last end tag of each name
	searched int            // bytes that all searches looked at, for tests
}

// find returns the index of sub in s, -1 if it is absent.
func (e *elements) find(s, sub string) int {
	i := strings.Index(s, sub)
	if e.searched += i + len(sub); i < 0 {
		e.searched += len(s)
	}
	return i
}

func newElements(s string) *elements {
	e := &elements{rest: s, end: len(s), last: map[string]int{}}
	for at := 0; ; at += 2 {
		i := e.find(s[at:], "</")
		if i < 0 {
			return e
		}
		at += i
		if n := tagBytes(s[at:]); n > 0 {
			e.last[s[at+2:at+n-1]] = at
		}
	}
}

// A tag without an end tag is text.
func (e *elements) next() element {
	s := e.rest
	for at := 0; ; {
		i := e.find(s[at:], "<")
		if i < 0 {
			e.rest = ""
			return element{text: s}
		}
		at += i
		n := tagBytes(s[at:])
		if n == 0 || strings.IndexByte("/!?", s[at+1]) >= 0 {
			at++
			continue
		}
		name, start := tagName(s[at:at+n]), at+n
		if last, ok := e.last[name]; !ok || last < e.end-len(s)+start {
			at = start
			continue
		}
		if strings.TrimSpace(s[:at]) != "" {
			e.rest = s[at:]
			return element{text: s[:at]}
		}
		end := start + e.find(s[start:], "</"+name+">") // there: last is one
		e.rest = s[end+len(name)+len("</>"):]
		return element{strings.ToUpper(name), s[start:end]}
	}
}

func tagName(tag string) string {
	name := tag[1 : len(tag)-1]
	if end := strings.IndexAny(name, " \t\r\n"); end >= 0 {
		name = name[:end]
	}
	return name
}

const maxTagBytes = 256

// tagBytes returns the length of s's first tag, 0 if the "<" is text.
func tagBytes(s string) int {
	if len(s) < 3 || s[0] != '<' {
		return 0
	}
	if c := s[1] | 0x20; (c < 'a' || c > 'z') && s[1] != '/' && s[1] != '!' && s[1] != '?' {
		return 0
	}
	end := strings.IndexAny(s[1:min(len(s), maxTagBytes)], "<>")
	if end < 0 || s[1+end] == '<' {
		return 0
	}
	return end + 2
}

// stripTags also trims and replaces character references.
func stripTags(s string) string {
	if strings.IndexByte(s, '<') >= 0 {
		var b strings.Builder
		for len(s) > 0 {
			i := strings.IndexByte(s, '<')
			if i < 0 {
				break
			}
			b.WriteString(s[:i])
			n := tagBytes(s[i:])
			if n == 0 {
				b.WriteByte('<')
				n = 1
			} else {
				b.WriteByte(' ')
			}
			s = s[i+n:]
		}
		b.WriteString(s)
		s = b.String()
	}
	return strings.TrimSpace(html.UnescapeString(s))
}
