package trec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The longest real topic has a few KiB: a longer line indicates another kind of file.
const maxLineBytes = 1 << 20

const byteOrderMark = "\ufeff"

// lineReader removes a byte order mark and carriage returns before line feeds.
type lineReader struct {
	scanner *bufio.Scanner
	line    int // number of the last line returned by next, 1-based
}

func newLineReader(r io.Reader) *lineReader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
	return &lineReader{scanner: s}
}

// next returns the next line, valid until the next call. After the last, see err.
func (l *lineReader) next() ([]byte, bool) {
	if !l.scanner.Scan() {
		return nil, false
	}
	l.line++
	line := l.scanner.Bytes()
	if l.line == 1 && strings.HasPrefix(string(line), byteOrderMark) {
		line = line[len(byteOrderMark):]
	}
	return line, true
}

func (l *lineReader) err() error {
	err := l.scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return syntaxErrorf(l.line+1, "longer than %d bytes", maxLineBytes)
	}
	if err != nil {
		return fmt.Errorf("after line %d: %w", l.line, err)
	}
	return nil
}

// As trec_eval: lines that begin with '#', and blank lines of runs.
func isComment(line []byte) bool {
	for _, b := range line {
		if !isSpace(b) {
			return b == '#'
		}
	}
	return true
}

// isSpace is C's isspace, as in trec_eval. Bytes above 0x7f belong to fields.
func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// Fields beyond len(dst) are counted, not stored.
func splitFields(line []byte, dst [][]byte) int {
	n, start := 0, -1
	for i := 0; i <= len(line); i++ {
		switch inField := i < len(line) && !isSpace(line[i]); {
		case inField && start < 0:
			start = i
		case !inField && start >= 0:
			if n < len(dst) {
				dst[n] = line[start:i]
			}
			n++
			start = -1
		}
	}
	return n
}

func isField(s string) bool {
	for i := range len(s) {
		if isSpace(s[i]) {
			return false
		}
	}
	return s != ""
}
