package trec

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
)

// TiePolicy is a [RunWriter]'s treatment of equal scores. trec_eval ignores ranks and prefers
// the larger document number in ties, so a searcher's own rule is lost.
type TiePolicy uint8

const (
	// TiesKeepOrder is the default: it writes [KeepOrder]'s scores, so that the searcher's ranking
	// is evaluated.
	TiesKeepOrder TiePolicy = iota
	// TiesAsScored writes original scores in full precision; the reader resolves ties.
	TiesAsScored
)

// RunWriter writes a run file, a line per document:
//
//	qid Q0 docno rank score tag
//
// Ranks count from 1. Scores have the fewest digits that read back as the same number.
type RunWriter struct {
	w    *bufio.Writer
	tag  string
	ties TiePolicy
	buf  []byte
}

// NewRunWriter returns a writer of a run. A tag that is empty or contains white space is an
// error that wraps base.ErrBadInput.
func NewRunWriter(w io.Writer, tag string, ties TiePolicy) (*RunWriter, error) {
	if !isField(tag) {
		return nil, fmt.Errorf("run tag %q is empty or holds white space: %w", tag, base.ErrBadInput)
	}
	return &RunWriter{w: bufio.NewWriterSize(w, 64<<10), tag: tag, ties: ties}, nil
}

// WriteRanking writes a query's results, best first. It writes nothing if it returns an error
// that wraps base.ErrBadInput: an empty or spaced query or document number, or scores that
// [KeepOrder] rejects. Other errors are the writer's.
func (w *RunWriter) WriteRanking(query string, entries []RunEntry) error {
	if !isField(query) || query[0] == '#' {
		return fmt.Errorf("query id %q is empty, begins with '#' or holds white space: %w", query, base.ErrBadInput)
	}
	bits := 64
	if w.ties == TiesKeepOrder {
		kept, err := KeepOrder(entries)
		if err != nil {
			return fmt.Errorf("query %q: %w", query, err)
		}
		entries, bits = kept, 32
	}
	for _, e := range entries {
		if !isField(e.DocNo) {
			return fmt.Errorf("query %q: document number %q is empty or holds white space: %w", query, e.DocNo, base.ErrBadInput)
		}
		if math.IsNaN(e.Score) {
			return fmt.Errorf("query %q: document %q: score is not a number: %w", query, e.DocNo, base.ErrBadInput)
		}
	}
	for i, e := range entries {
		b := append(w.buf[:0], query...)
		b = append(b, " Q0 "...)
		b = append(b, e.DocNo...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(i+1), 10)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, e.Score, 'f', -1, bits)
		b = append(b, ' ')
		b = append(b, w.tag...)
		w.buf = append(b, '\n')
		if _, err := w.w.Write(w.buf); err != nil {
			return fmt.Errorf("write run: %w", err)
		}
	}
	return nil
}

// Flush writes the buffer after the last query.
func (w *RunWriter) Flush() error {
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}
