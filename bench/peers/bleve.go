package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// contentsField is the field that is searched: title and text.
const contentsField = "contents"

// passage is one document as both engines read it.
type passage struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// bleveMapping indexes contents with frequencies and lengths, without positions,
// and stores title and text: what an index of Griffin without --positions has.
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

// bleveOptions are the settings of the indexing run.
type bleveOptions struct {
	batchSize int
	threads   int
}

// measureBleve indexes the passages into dir and times the queries.
func measureBleve(dir string, in subset, topics []trec.Topic, opts bleveOptions, search searchOptions) (engineResult, error) {
	// The variables are bleve's only way to set the parameters.
	setBM25(0.9, 0.4)
	m, err := bleveMapping()
	if err != nil {
		return engineResult{}, err
	}
	started := time.Now()
	idx, err := bleve.NewUsing(dir, m, scorch.Name, scorch.Name, map[string]any{"unsafe_batch": true})
	if err != nil {
		return engineResult{}, err
	}
	defer idx.Close()
	if err := indexAll(idx, in.path, opts); err != nil {
		return engineResult{}, err
	}
	result := engineResult{Engine: "bleve v2.5.7", IndexSeconds: time.Since(started).Seconds()}

	started = time.Now()
	if err := mergeToOne(idx); err != nil {
		return engineResult{}, err
	}
	result.MergeSeconds = time.Since(started).Seconds()
	if result.IndexBytes, err = folderBytes(dir); err != nil {
		return engineResult{}, err
	}
	count, err := idx.DocCount()
	if err != nil {
		return engineResult{}, err
	}
	if count != uint64(in.numDocs) {
		return engineResult{}, fmt.Errorf("%d documents indexed of %d", count, in.numDocs)
	}
	if result.Or, err = timeQueries(idx, topics, orQuery, search); err != nil {
		return engineResult{}, err
	}
	result.And, err = timeQueries(idx, topics, andQuery, search)
	return result, err
}

func setBM25(k1, b float64) { search.BM25_k1, search.BM25_b = k1, b }

// indexAll gives the file to bleve in batches from several goroutines and
// returns when bleve has every batch on disk.
func indexAll(idx bleve.Index, path string, opts bleveOptions) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()

	chunks := make(chan [][]byte)
	var persisted, workers sync.WaitGroup
	var failed firstError
	for range opts.threads {
		workers.Go(func() {
			for chunk := range chunks {
				if failed.get() == nil {
					failed.set(indexBatch(idx, chunk, &persisted, &failed))
				}
			}
		})
	}
	lines := newLineScanner(f)
	var chunk [][]byte
	for lines.Scan() {
		chunk = append(chunk, bytes.Clone(lines.Bytes()))
		if len(chunk) == opts.batchSize {
			chunks <- chunk
			chunk = nil
		}
	}
	if len(chunk) > 0 {
		chunks <- chunk
	}
	close(chunks)
	workers.Wait()
	if err := errors.Join(lines.Err(), failed.get()); err != nil {
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

// mergeToOne merges the segments to one, with which bleve answers fastest.
func mergeToOne(idx bleve.Index) error {
	advanced, err := idx.Advanced()
	if err != nil {
		return err
	}
	s, ok := advanced.(*scorch.Scorch)
	if !ok {
		return fmt.Errorf("bleve made an index of type %T", advanced)
	}
	return s.ForceMerge(context.Background(), &mergeplan.SingleSegmentMergePlanOptions)
}

// orQuery and andQuery build the query over the topic's terms.
func orQuery(terms []query.Query) query.Query  { return bleve.NewDisjunctionQuery(terms...) }
func andQuery(terms []query.Query) query.Query { return bleve.NewConjunctionQuery(terms...) }

// timeQueries runs each query once to warm up and then in every run, on this
// goroutine.
func timeQueries(idx bleve.Index, topics []trec.Topic, combine func([]query.Query) query.Query, opts searchOptions) (queryResult, error) {
	requests := make([]*bleve.SearchRequest, len(topics))
	for i, topic := range topics {
		var parts []query.Query
		for _, term := range terms(topic.Title) {
			q := bleve.NewTermQuery(term)
			q.SetField(contentsField)
			parts = append(parts, q)
		}
		requests[i] = bleve.NewSearchRequestOptions(combine(parts), opts.k, 0, false /* explain */)
	}
	recorder := latency.NewRecorder(len(topics), opts.runs)
	noResult := 0
	for run := -1; run < opts.runs; run++ {
		for i, request := range requests {
			started := time.Now()
			found, err := idx.Search(request)
			elapsed := time.Since(started)
			switch {
			case err != nil:
				return queryResult{}, fmt.Errorf("query %s: %w", topics[i].ID, err)
			case run >= 0:
				recorder.Record(i, run, elapsed)
			case len(found.Hits) == 0:
				noResult++
			}
		}
	}
	return queryResult{Latency: recorder.MinPerQuery(), NoResult: noResult}, nil
}

// folderBytes sums the sizes of the files in a folder.
func folderBytes(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}

// firstError keeps the first error of several goroutines.
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
