package trec

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
)

// RunEntry is a retrieved document's external number and score.
type RunEntry struct {
	DocNo string
	Score float64
}

// Run holds a system's results by query. Zero is empty.
type Run struct {
	Tag      string   // the system's name: the last column of the run file
	queries  []string // in order of first appearance
	rankings map[string][]RunEntry
}

// Queries returns the queries with results in the file's order, not to be modified.
func (r *Run) Queries() []string { return r.queries }

// Ranking returns a query's documents in trec_eval's order, not to be modified: score
// descending, then document number descending.
func (r *Run) Ranking(query string) []RunEntry { return r.rankings[query] }

// AddRanking adds a query's results. It copies and orders them as trec_eval does; use
// [KeepOrder] first to keep their order among equal scores. A query without entries is omitted:
// a run file cannot represent it. Errors wrap base.ErrBadInput: a repeated query or document,
// or a score that is not a number.
func (r *Run) AddRanking(query string, entries []RunEntry) error {
	if len(entries) == 0 {
		return nil
	}
	if _, ok := r.rankings[query]; ok {
		return fmt.Errorf("query %q: already in the run: %w", query, base.ErrBadInput)
	}
	ranking := slices.Clone(entries)
	seen := make(map[string]struct{}, len(ranking))
	for _, e := range ranking {
		if _, dup := seen[e.DocNo]; dup {
			return fmt.Errorf("query %q: document %q twice: %w", query, e.DocNo, base.ErrBadInput)
		}
		seen[e.DocNo] = struct{}{}
		if math.IsNaN(e.Score) {
			return fmt.Errorf("query %q: document %q: score is not a number: %w", query, e.DocNo, base.ErrBadInput)
		}
	}
	base.Sort(ranking, compareEntries)
	if r.rankings == nil {
		r.rankings = make(map[string][]RunEntry)
	}
	r.queries = append(r.queries, query)
	r.rankings[query] = ranking
	return nil
}

// trec_eval's total order: score descending as 32-bit floats (9.0), then document number
// descending by bytes.
func compareEntries(a, b RunEntry) int {
	if c := cmp.Compare(float32(b.Score), float32(a.Score)); c != 0 {
		return c
	}
	return cmp.Compare(b.DocNo, a.DocNo)
}

// KeepOrder changes scores minimally, best first, to strictly decreasing 32-bit floats, so that
// every reader that sorts by score, including trec_eval with 32 or 64 bits, finds the given
// order.
//
// A score is rounded to the nearest float32, or, if that is not below the previous one, to the
// next below that. Griffin's scores have 16 fraction bits, exact up to 256, so only ties
// change, each by one unit in the last place: three documents at 5.25 get 5.25, 5.2499995 and
// 5.249999.
//
// Errors wrap base.ErrBadInput: a score that increases, is not a number, or exceeds the range
// of float32.
func KeepOrder(entries []RunEntry) ([]RunEntry, error) {
	kept := make([]RunEntry, len(entries))
	previous := float32(math.Inf(1))
	for i, e := range entries {
		if i > 0 && e.Score > entries[i-1].Score {
			return nil, fmt.Errorf("document %q: score %v is above the one before it, %v: %w",
				e.DocNo, e.Score, entries[i-1].Score, base.ErrBadInput)
		}
		score := float32(e.Score)
		if math.IsNaN(e.Score) || math.IsInf(float64(score), 0) {
			return nil, fmt.Errorf("document %q: score %v is not a finite 32-bit float: %w", e.DocNo, e.Score, base.ErrBadInput)
		}
		if score >= previous {
			score = math.Nextafter32(previous, float32(math.Inf(-1)))
			if math.IsInf(float64(score), 0) {
				return nil, fmt.Errorf("document %q: no 32-bit float is below score %v: %w", e.DocNo, previous, base.ErrBadInput)
			}
		}
		kept[i] = RunEntry{DocNo: e.DocNo, Score: float64(score)}
		previous = score
	}
	return kept, nil
}

// The number is for reporting duplicates.
type runLine struct {
	RunEntry
	line int
}

// ReadRun reads "qid Q0 docno rank score tag" lines, separated by white space, queries and
// ranks in any order. As in trec_eval, the second and fourth fields and everything after the
// tag are ignored, and the last line's tag is the run's. A malformed line, a score that is not
// a number, or a duplicate document is a *SyntaxError.
func ReadRun(r io.Reader) (*Run, error) {
	run := &Run{rankings: make(map[string][]RunEntry)}
	byQuery := make(map[string][]runLine)
	lines := newLineReader(r)
	query := ""
	for {
		line, ok := lines.next()
		if !ok {
			break
		}
		if isComment(line) {
			continue
		}
		var f [6][]byte
		if n := splitFields(line, f[:]); n < len(f) {
			return nil, syntaxErrorf(lines.line, "%d fields, want 6: qid Q0 docno rank score tag", n)
		}
		score, err := strconv.ParseFloat(string(f[4]), 64)
		if err != nil || math.IsNaN(score) {
			return nil, syntaxErrorf(lines.line, "score %q is not a number", f[4])
		}
		if query != string(f[0]) {
			query = string(f[0])
		}
		results, ok := byQuery[query]
		if !ok {
			run.queries = append(run.queries, query)
		}
		byQuery[query] = append(results, runLine{RunEntry{string(f[2]), score}, lines.line})
		if run.Tag != string(f[5]) {
			run.Tag = string(f[5])
		}
	}
	if err := lines.err(); err != nil {
		return nil, err
	}
	for _, query := range run.queries {
		ranking, err := rankLines(query, byQuery[query])
		if err != nil {
			return nil, err
		}
		run.rankings[query] = ranking
		delete(byQuery, query)
	}
	return run, nil
}

func rankLines(query string, lines []runLine) ([]RunEntry, error) {
	base.Sort(lines, func(a, b runLine) int {
		if c := cmp.Compare(a.DocNo, b.DocNo); c != 0 {
			return c
		}
		return cmp.Compare(a.line, b.line)
	})
	ranking := make([]RunEntry, len(lines))
	for i, l := range lines {
		if i > 0 && l.DocNo == lines[i-1].DocNo {
			return nil, syntaxErrorf(l.line, "document %q is already on line %d for query %q",
				l.DocNo, lines[i-1].line, query)
		}
		ranking[i] = l.RunEntry
	}
	base.Sort(ranking, compareEntries)
	return ranking, nil
}
