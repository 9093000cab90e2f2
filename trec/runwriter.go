package trec

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
)

// TiePolicy selects the treatment of equal scores by a [RunWriter]. A searcher's own rule
// for ties is lost in a run file, because trec_eval ignores ranks and prefers the larger
// document number in ties.
type TiePolicy uint8

const (
	// TiesKeepOrder writes the scores of [KeepOrder], so that the evaluated ranking is the
	// one that the searcher returned. It is the default.
	TiesKeepOrder TiePolicy = iota
	// TiesAsScored writes the original scores in full precision. The reader of the run
	// resolves ties.
	TiesAsScored
)

// RunWriter writes a run file, one line for each retrieved document:
//
//	qid Q0 docno rank score tag
//
// Ranks count from 1. Scores have the fewest decimal digits that read back as the same
// number.
type RunWriter struct {
	w    *bufio.Writer
	tag  string
	ties TiePolicy
	buf  []byte
}

// NewRunWriter returns a writer of a run named tag. An error wraps base.ErrBadInput: the
// tag is empty or contains white space.
func NewRunWriter(w io.Writer, tag string, ties TiePolicy) (*RunWriter, error) {
	if !isField(tag) {
		return nil, fmt.Errorf("run tag %q is empty or holds white space: %w", tag, base.ErrBadInput)
	}
	return &RunWriter{w: bufio.NewWriterSize(w, 64<<10), tag: tag, ties: ties}, nil
}

// WriteRanking writes the results of one query, best first. It writes nothing if it returns
// an error that wraps base.ErrBadInput: a query or document number that is empty or
// contains white space, or scores that [KeepOrder] rejects. Other errors are the writer's.
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

// Flush writes the buffer. Call it after the last query.
func (w *RunWriter) Flush() error {
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}
