package trec

import (
	"bytes"
	"io"
	"strconv"
)

// Qrels holds judged documents by query: relevance 0 is not relevant, greater is more relevant,
// negative is in the pool but not judged.
type Qrels struct {
	queries   []string // in order of first appearance
	judgments map[string]map[string]int
}

// Queries returns the judged queries in the file's order, not to be modified.
func (q *Qrels) Queries() []string { return q.queries }

// Judgments returns a query's judgements by document number, nil for none, not to be modified.
func (q *Qrels) Judgments(query string) map[string]int { return q.judgments[query] }

// Relevance returns a judgement and whether it exists.
func (q *Qrels) Relevance(query, docNo string) (relevance int, judged bool) {
	relevance, judged = q.judgments[query][docNo]
	return relevance, judged
}

// ReadQrels reads two formats, distinguished by the first line:
//
//	qid iter docno relevance          TREC: four fields, iter ignored
//	query-id <TAB> corpus-id <TAB> score   BEIR: this header, then three fields a line
//
// Fields are separated by white space. The relevance may be negative. A malformed line, or a
// repeated document of a query, is a *SyntaxError.
func ReadQrels(r io.Reader) (*Qrels, error) {
	q := &Qrels{judgments: make(map[string]map[string]int)}
	lines := newLineReader(r)
	beir := false
	first := true
	for {
		line, ok := lines.next()
		if !ok {
			break
		}
		if isComment(line) {
			continue
		}
		if first {
			first = false
			if beir = isBEIRHeader(line); beir {
				continue
			}
		}
		query, docNo, relevance, err := parseJudgment(line, lines.line, beir)
		if err != nil {
			return nil, err
		}
		if !q.add(string(query), string(docNo), relevance) {
			return nil, syntaxErrorf(lines.line, "document %q is judged twice for query %q", docNo, query)
		}
	}
	if err := lines.err(); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *Qrels) add(query, docNo string, relevance int) bool {
	docs, ok := q.judgments[query]
	if !ok {
		docs = make(map[string]int)
		q.judgments[query] = docs
		q.queries = append(q.queries, query)
	}
	if _, dup := docs[docNo]; dup {
		return false
	}
	docs[docNo] = relevance
	return true
}

func isBEIRHeader(line []byte) bool {
	var fields [2][]byte
	return splitFields(line, fields[:]) == 3 &&
		bytes.Equal(fields[0], []byte("query-id")) && bytes.Equal(fields[1], []byte("corpus-id"))
}

func parseJudgment(line []byte, number int, beir bool) (query, docNo []byte, relevance int, err error) {
	var f [4][]byte
	want, form, doc := 4, "qid iter docno relevance", 2
	if beir {
		want, form, doc = 3, "query-id corpus-id score", 1
	}
	if n := splitFields(line, f[:]); n != want {
		return nil, nil, 0, syntaxErrorf(number, "%d fields, want %d: %s", n, want, form)
	}
	v, perr := strconv.ParseInt(string(f[want-1]), 10, 32)
	if perr != nil {
		return nil, nil, 0, syntaxErrorf(number, "relevance %q is not an integer", f[want-1])
	}
	return f[0], f[doc], int(v), nil
}
