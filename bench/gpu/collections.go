package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/trec"
)

const maxQueries = 10_000

// A collection with its queries; close releases the index.
type bench struct {
	name    string
	numDocs int
	sat     score.Saturation
	lengths []uint32
	lists   []postings.List
	queries []benchQuery
	derived *derived.Segment
	close   func()
}

// Numbers of lists and, for sparse vectors, weights.
type benchQuery struct {
	lists   []int
	weights []float64
}

// open generates a collection that does not exist.
func open(ctx context.Context, o *options, name string) (*bench, error) {
	if name == "sparse" {
		docs := 8_800_000
		if o.docs > 0 {
			docs = o.docs
		}
		return newSparse(docs)
	}
	dir := filepath.Join(filepath.Dir(o.base), name)
	if _, err := os.Stat(dir); err != nil {
		if err := generate(ctx, o, name, dir); err != nil {
			return nil, err
		}
	}
	return openIndex(name, dir)
}

// With the parameters of griffin lab generate.
func generate(ctx context.Context, o *options, name, dir string) error {
	like, err := collection.Lookup(name)
	if err != nil {
		return err
	}
	log, err := readLog(o.queries)
	if err != nil {
		return err
	}
	source, release, err := snapshot(o.base)
	if err != nil {
		return err
	}
	defer release()
	report, err := collection.Generate(ctx, vfs.OS, dir, source, log, collection.Options{Like: like, Order: collection.Crawl, Seed: 1, NumDocs: o.docs})
	if err != nil {
		return err
	}
	f, err := os.Create(dir + ".queries.tsv")
	if err != nil {
		return err
	}
	defer f.Close()
	return report.WriteQueries(f)
}

func readLog(name string) ([]trec.Topic, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return trec.ReadTopics(f)
}

func snapshot(dir string) (*index.Snapshot, func(), error) {
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := ix.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	return s, func() { s.Release(); _ = ix.Close() }, nil
}

// One segment; the lists of its first maxQueries queries.
func openIndex(name, dir string) (*bench, error) {
	s, release, err := snapshot(dir)
	if err != nil {
		return nil, err
	}
	view := s.Segments[0]
	meta := view.Meta()
	b := &bench{
		name: name, numDocs: view.NumDocs(), close: release,
		sat:     score.Saturation{BM25: meta.BM25, AvgLen: meta.Fields[0].AvgLen},
		derived: derived.NewCache(derived.DefaultLimit).NewSegment(),
	}
	log, err := readLog(dir + ".queries.tsv")
	if err != nil {
		return nil, err
	}
	analyzer, err := analysis.New(meta.Analyzer)
	if err != nil {
		return nil, err
	}
	log = log[:min(len(log), maxQueries)]
	numbers := map[string]int{}
	var tokens []analysis.Token
	for _, topic := range log {
		var q benchQuery
		seen := map[int]bool{}
		tokens = analyzer.Tokens(tokens[:0], []byte(topic.Title))
		for _, t := range tokens {
			n, ok := numbers[string(t.Term)]
			if !ok {
				var l postings.List
				found, err := view.Find(base.FieldID(0), t.Term, &l)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", t.Term, err)
				}
				n = -1
				if found {
					n = len(b.lists)
					b.lists = append(b.lists, l)
				}
				numbers[strings.Clone(string(t.Term))] = n
			}
			if n >= 0 && !seen[n] {
				q.lists = append(q.lists, n)
				seen[n] = true
			}
		}
		if len(q.lists) > 0 {
			b.queries = append(b.queries, q)
		}
	}
	b.lengths = view.Lengths(0)
	return b, nil
}
