package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/trec"
)

// Title and text.
const contentsField = "contents"

type passage struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Contents with frequencies and lengths, without positions, and stored title
// and text, like an index of Griffin with --no-positions.
func bleveMapping() (mapping.IndexMapping, error) {
	stored := bleve.NewTextFieldMapping()
	stored.Index, stored.Store = false, true
	stored.IncludeInAll, stored.DocValues, stored.IncludeTermVectors = false, false, false

	indexed := bleve.NewTextFieldMapping()
	indexed.Index, indexed.Store = true, false
	indexed.IncludeInAll, indexed.DocValues, indexed.IncludeTermVectors = false, false, false
	indexed.Analyzer = simpleTokenizer

	document := bleve.NewDocumentStaticMapping()
	document.AddFieldMappingsAt("title", stored)
	document.AddFieldMappingsAt("text", stored)
	document.AddFieldMappingsAt(contentsField, indexed)

	m := bleve.NewIndexMapping()
	m.DefaultMapping = document
	m.ScoringModel = "bm25"
	err := m.AddCustomAnalyzer(simpleTokenizer, map[string]any{
		"type": custom.Name, "tokenizer": simpleTokenizer,
	})
	return m, err
}

type bleveEngine struct {
	dir       string
	in        subset
	topics    []trec.Topic
	batchSize int
	threads   int
	search    searchOptions

	idx bleve.Index // the result of the last build
}

var _ engine = (*bleveEngine)(nil)

func (e *bleveEngine) name(context.Context) (string, error) { return "bleve v2.5.7", nil }

// build measures indexing until every batch is on disk, and the merge to one
// segment, which gives bleve's fastest queries.
func (e *bleveEngine) build(ctx context.Context) (buildTimes, error) {
	before := runtime.GOMAXPROCS(e.threads)
	defer runtime.GOMAXPROCS(before)
	if err := errors.Join(e.close(), os.RemoveAll(e.dir)); err != nil {
		return buildTimes{}, err
	}
	setBM25(0.9, 0.4)
	m, err := bleveMapping()
	if err != nil {
		return buildTimes{}, err
	}
	started := time.Now()
	e.idx, err = bleve.NewUsing(e.dir, m, scorch.Name, scorch.Name, map[string]any{"unsafe_batch": true})
	if err != nil {
		return buildTimes{}, err
	}
	if err := e.indexAll(ctx); err != nil {
		return buildTimes{}, err
	}
	onDisk := time.Since(started)
	if err := mergeToOne(ctx, e.idx); err != nil {
		return buildTimes{}, err
	}
	times := buildTimes{OnDisk: onDisk.Seconds(), OneSegment: time.Since(started).Seconds()}
	count, err := e.idx.DocCount()
	if err == nil && count != uint64(e.in.numDocs) {
		err = fmt.Errorf("%d documents indexed of %d", count, e.in.numDocs)
	}
	return times, err
}

func (e *bleveEngine) close() error {
	if e.idx == nil {
		return nil
	}
	err := e.idx.Close()
	e.idx = nil
	return err
}

// Of the searched segment; files of older segments may still exist.
func (e *bleveEngine) indexBytes() (int64, error) {
	s, err := scorchOf(e.idx)
	if err != nil {
		return 0, err
	}
	size, ok := s.StatsMap()["num_bytes_used_disk_by_root"].(uint64)
	if !ok {
		return 0, errors.New("bleve does not report the size of its index")
	}
	return int64(size), nil
}

// Each query runs once as a warm-up and then in every run, on this goroutine.
func (e *bleveEngine) query(ctx context.Context, mode queryMode) (queryResult, error) {
	requests := make([]*bleve.SearchRequest, len(e.topics))
	for i, topic := range e.topics {
		requests[i] = bleve.NewSearchRequestOptions(bleveQuery(terms(topic.Title), mode), e.search.k, 0, false /* explain */)
	}
	recorder := latency.NewRecorder(len(e.topics), e.search.runs)
	noResult := 0
	for run := -1; run < e.search.runs; run++ {
		for i, request := range requests {
			started := time.Now()
			found, err := e.idx.SearchInContext(ctx, request)
			elapsed := time.Since(started)
			switch {
			case err != nil:
				return queryResult{}, fmt.Errorf("query %s: %w", e.topics[i].ID, err)
			case run >= 0:
				recorder.Record(i, run, elapsed)
			case len(found.Hits) == 0:
				noResult++
			}
		}
	}
	return queryResult{Latency: recorder.MinPerQuery(), NoResult: noResult}, nil
}

func bleveQuery(terms []string, mode queryMode) query.Query {
	parts := make([]query.Query, len(terms))
	for i, term := range terms {
		q := bleve.NewTermQuery(term)
		q.SetField(contentsField)
		parts[i] = q
	}
	if mode == modeAnd {
		return bleve.NewConjunctionQuery(parts...)
	}
	return bleve.NewDisjunctionQuery(parts...)
}

// The parameters of every index of the process; bleve has no other way.
func setBM25(k1, b float64) { search.BM25_k1, search.BM25_b = k1, b }

// In batches from several goroutines, until every batch is on disk.
func (e *bleveEngine) indexAll(ctx context.Context) error {
	f, err := os.Open(e.in.path)
	if err != nil {
		return err
	}
	defer f.Close()

	chunks := make(chan [][]byte)
	var persisted, workers sync.WaitGroup
	var failed firstError
	for range e.threads {
		workers.Go(func() {
			for chunk := range chunks {
				if failed.get() == nil {
					failed.set(indexBatch(e.idx, chunk, &persisted, &failed))
				}
			}
		})
	}
	lines := newLineScanner(f)
	var chunk [][]byte
	for ctx.Err() == nil && lines.Scan() {
		chunk = append(chunk, bytes.Clone(lines.Bytes()))
		if len(chunk) == e.batchSize {
			chunks <- chunk
			chunk = nil
		}
	}
	if len(chunk) > 0 {
		chunks <- chunk
	}
	close(chunks)
	workers.Wait()
	if err := errors.Join(ctx.Err(), lines.Err(), failed.get()); err != nil {
		return err
	}
	persisted.Wait()
	return failed.get()
}

func indexBatch(idx bleve.Index, lines [][]byte, persisted *sync.WaitGroup, failed *firstError) error {
	batch := idx.NewBatch()
	for _, line := range lines {
		var p passage
		if err := json.Unmarshal(line, &p); err != nil {
			return err
		}
		err := batch.Index(p.ID, map[string]any{
			"title": p.Title, "text": p.Text, contentsField: p.Title + " " + p.Text,
		})
		if err != nil {
			return err
		}
	}
	persisted.Add(1)
	batch.SetPersistedCallback(func(err error) {
		failed.set(err)
		persisted.Done()
	})
	return idx.Batch(batch)
}

func mergeToOne(ctx context.Context, idx bleve.Index) error {
	s, err := scorchOf(idx)
	if err != nil {
		return err
	}
	return s.ForceMerge(ctx, &mergeplan.SingleSegmentMergePlanOptions)
}

func scorchOf(idx bleve.Index) (*scorch.Scorch, error) {
	advanced, err := idx.Advanced()
	if err != nil {
		return nil, err
	}
	s, ok := advanced.(*scorch.Scorch)
	if !ok {
		return nil, fmt.Errorf("bleve made an index of type %T", advanced)
	}
	return s, nil
}

type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
