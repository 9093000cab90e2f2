package corpus

import "bytes"

// lineParser parses one record a line.
type lineParser interface {
	// parse returns a document or an error; both are nil for no record. line has no line end
	// and is not blank.
	parse(line []byte, at Location) (*Document, *RecordError)
	end()
}

var (
	_ lineParser = (*jsonParser)(nil)
	_ lineParser = (*tsvParser)(nil)
	_ lineParser = (*rowParser)(nil)
)

type lineSyntax struct {
	limit int // longest line, without the line feed
	// A chunk's parser may keep scratch memory.
	newParser func() lineParser
}

func (l *lineSyntax) firstEnd(b []byte) int { return bytes.IndexByte(b, '\n') + 1 }
func (l *lineSyntax) lastEnd(b []byte) int  { return bytes.LastIndexByte(b, '\n') + 1 }
func (l *lineSyntax) endBytes() int         { return 1 }

// parse ignores blank lines.
func (l *lineSyntax) parse(c chunk, doc func(*Document) error, bad func(*RecordError) error) error {
	parser := l.newParser()
	defer parser.end()
	for lines, number := c.data, c.line; len(lines) > 0; number++ {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte{'\n'})
		tooLarge := len(line) > l.limit
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		at := Location{File: c.file, Line: number}
		var err error
		if tooLarge {
			err = bad(tooLong(at, l.limit))
		} else if d, rec := parser.parse(line, at); rec != nil {
			err = bad(rec)
		} else if d != nil {
			err = doc(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
