package lab

import (
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/trec"
)

// Collection is an index of one segment.
type Collection struct {
	Name     string
	Snapshot *index.Snapshot
	Searcher *dispatch.Searcher

	dir      string
	drawn    []Query // for a generated collection: its queries
	analyzer analysis.Analyzer
	tokens   []analysis.Token
}

// Query is a query of a log, as terms.
type Query struct {
	ID    string
	Text  string
	Terms []string // distinct, in the order of the text
}

func openCollection(name, dir string) (*Collection, error) {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return nil, err
	}
	snapshot, err := ix.Snapshot()
	if err := errors.Join(err, ix.Close()); err != nil { // a snapshot outlives its index
		return nil, err
	}
	c := &Collection{Name: name, Snapshot: snapshot, Searcher: dispatch.NewSearcher(snapshot, nil), dir: dir}
	if n := len(snapshot.Segments); n != 1 {
		snapshot.Release()
		return nil, fmt.Errorf("collection %s: index %s has %d segments, experiments want one (build it with griffin index --replace): %w", name, dir, n, base.ErrBadInput)
	}
	if c.analyzer, err = snapshot.Options.Scheme().New("", analysis.Documents); err != nil {
		snapshot.Release()
		return nil, err
	}
	return c, nil
}

func (c *Collection) close() { c.Snapshot.Release() }

// Describe describes the collection in a few words.
func (c *Collection) Describe() string {
	f := &c.Snapshot.Fields[0]
	return fmt.Sprintf("%s: %d documents, %d postings, codec %s", c.Name, c.NumDocs(), f.NumPostings, c.Snapshot.Options.Codec)
}

// NumDocs returns the number of documents.
func (c *Collection) NumDocs() int { return c.Snapshot.NumDocs }

// Find opens a list of the default field.
func (c *Collection) Find(term string, l *postings.List) (found bool, err error) {
	return c.Snapshot.Segments[0].Find(0, []byte(term), l)
}

// DocFreq is 0 if the term is unknown.
func (c *Collection) DocFreq(term string) (int, error) {
	var l postings.List
	found, err := c.Find(term, &l)
	if err != nil || !found {
		return 0, err
	}
	return int(l.DocFreq), nil
}

// DocIDs appends the DocIDs of a term to dst; none if it is unknown.
func (c *Collection) DocIDs(dst []uint32, term string) ([]uint32, error) {
	var l postings.List
	found, err := c.Find(term, &l)
	if err != nil || !found {
		return dst, err
	}
	return AppendDocIDs(dst, &l)
}

// AppendDocIDs decodes the DocIDs of a list to the end of dst.
func AppendDocIDs(dst []uint32, l *postings.List) ([]uint32, error) {
	var block [blockLen]uint32
	dst = slices.Grow(dst, int(l.DocFreq))
	for i := range l.NumBlocks() {
		if _, err := l.DecodeDocIDs(i, &block); err != nil {
			return dst, err
		}
		dst = append(dst, block[:l.BlockSize(i)]...)
	}
	return dst, nil
}

// Terms returns the distinct terms of a text, in order.
func (c *Collection) Terms(text string) []string {
	c.tokens = c.analyzer.Tokens(c.tokens[:0], []byte(text))
	var terms []string
	for _, t := range c.tokens {
		if !slices.Contains(terms, string(t.Term)) {
			terms = append(terms, string(t.Term))
		}
	}
	return terms
}

// Counts returns the number of occurrences of each term.
func (c *Collection) Counts(text string) map[string]int {
	c.tokens = c.analyzer.Tokens(c.tokens[:0], []byte(text))
	counts := map[string]int{}
	for _, t := range c.tokens {
		counts[string(t.Term)]++
	}
	return counts
}

// Queries returns the first n queries of a log (0: all) whose terms all occur
// in the collection.
func (c *Collection) Queries(log []trec.Topic, n int) ([]Query, error) {
	known := map[string]bool{}
	var queries []Query
	for _, topic := range log {
		q := Query{ID: topic.ID, Text: topic.Title, Terms: c.Terms(topic.Title)}
		all := len(q.Terms) > 0
		for _, term := range q.Terms {
			has, seen := known[term]
			if !seen {
				df, err := c.DocFreq(term)
				if err != nil {
					return nil, err
				}
				has = df > 0
				known[term] = has
			}
			all = all && has
		}
		if !all {
			continue
		}
		if queries = append(queries, q); len(queries) == n {
			break
		}
	}
	if len(queries) == 0 {
		return nil, fmt.Errorf("collection %s: no query has terms that all occur: %w", c.Name, base.ErrBadInput)
	}
	return queries, nil
}

// DistinctTerms returns the distinct terms of queries, in order of first use.
func DistinctTerms(queries []Query) []string {
	seen := map[string]bool{}
	var terms []string
	for _, q := range queries {
		for _, t := range q.Terms {
			if !seen[t] {
				seen[t] = true
				terms = append(terms, t)
			}
		}
	}
	return terms
}
