package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/load"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

type loadTarget interface {
	load.BatchTarget
	// read returns the state of the answering process.
	read(ctx context.Context) (load.Reading, error)
	tell(r *loadResult)
	// traced are the parts of the queries that are traced, nil if none are.
	traced() *queryParts
	close()
}

type inProcessFlags struct {
	deviceFlags
	cache     cacheFlag
	resident  residentFlag
	admission admissionFlags
	results   resultCacheFlag
	// One query in traceEvery is traced; 0: none.
	traceEvery int64
}

func (p *inProcessFlags) register(f *pflag.FlagSet) {
	p.deviceFlags.register(f, "cpu")
	p.cache.register(f)
	p.resident.register(f)
	p.admission.register(f, 0)
	p.results.register(f, 0)
	f.Int64Var(&p.traceEvery, "trace-every", 0, "trace one query in `N`, and report in which parts their time goes (default: none)")
}

func (p *inProcessFlags) check() error {
	return errors.Join(p.deviceFlags.check(), p.resident.check(&p.deviceFlags), p.admission.check())
}

func (p *inProcessFlags) given(all *pflag.FlagSet) (names []string) {
	var own pflag.FlagSet
	new(inProcessFlags).register(&own)
	own.VisitAll(func(f *pflag.Flag) {
		if all.Changed(f.Name) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

func isAddress(target string) bool {
	return strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://")
}

func (a *app) loadTarget(ctx context.Context, o *loadOptions, name string, texts []string, mode griffin.Mode) (loadTarget, error) {
	if isAddress(name) {
		return o.httpTarget(name, texts, mode)
	}
	if host, _, err := net.SplitHostPort(strings.TrimSuffix(name, "/")); err == nil && host != "" {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil, usagef("%s: there is no such index; the address of a server begins with http://: http://%s", name, name)
		}
	}
	p := &o.inProcess
	ix, closeIndex, err := p.openIndex(name, griffin.RuntimeOptions{Limits: p.admission.limits(), CacheBytes: p.cache.bytes()}, griffin.Options{ResultCache: int64(p.results.limit)})
	if err != nil {
		return nil, err
	}
	if err := a.calibrateIndex(ctx, &p.deviceFlags, ix); err != nil {
		return nil, errors.Join(err, closeIndex())
	}
	t := &indexTarget{ix: ix, closeIndex: closeIndex, queries: make([]griffin.Query, len(texts)), parts: queryParts{every: p.traceEvery}}
	for i, text := range texts {
		t.queries[i] = plainQuery(text, o.syntax)
		t.queries[i].K, t.queries[i].Mode, t.queries[i].Load = o.k, mode, griffin.LoadIDs
	}
	err = a.warm(ctx, p.resident, mode == griffin.ModeSaat, warmerOfIndex(ix))
	if err != nil {
		return nil, errors.Join(err, closeIndex())
	}
	shareProcessors(0)
	noteDevices(a.console, ix, p.device)
	return t, nil
}

type httpTarget struct{ *load.HTTP }

// maxConnections to a server is more than the searches that griffin serve runs at the same time, which must notice an overload,
// and less than the connections that it takes.
const maxConnections = 2048

func (o *loadOptions) httpTarget(address string, texts []string, mode griffin.Mode) (loadTarget, error) {
	var searches [][]byte
	if o.batch > 0 {
		var err error
		if searches, err = o.searches(texts, mode); err != nil {
			return nil, err
		}
	}
	if !o.syntax {
		plain := make([]string, len(texts))
		for i, text := range texts {
			plain[i] = plainText(text)
		}
		texts = plain
	}
	parameters := url.Values{"k": {strconv.Itoa(o.k)}, "mode": {mode.String()}}
	if o.index != "" {
		parameters.Set("index", o.index)
	}
	h, err := load.NewHTTP(address, texts, parameters, maxConnections)
	if err != nil {
		return nil, usageError{err}
	}
	if o.batch > 0 {
		h.UseBatches(o.index, searches)
	}
	return httpTarget{h}, nil
}

// searches are the bodies of the queries in a multi-search.
func (o *loadOptions) searches(texts []string, mode griffin.Mode) ([][]byte, error) {
	operator := ""
	switch mode {
	case griffin.ModeOr:
	case griffin.ModeAnd:
		operator = "and"
	default:
		return nil, usagef("--batch over HTTP has --mode or and --mode and, not %s", mode)
	}
	var bodies [][]byte
	for _, text := range texts {
		if query.IsWeights(text) {
			return nil, usagef("--batch over HTTP has no vectors of weights")
		}
		var q any = matchQuery{Match: map[string]matchWords{"*": {Query: text, Operator: operator}}}
		if o.syntax {
			q = syntaxQuery{QueryString: queryString{Query: text, Operator: operator}}
		}
		body, err := json.Marshal(batchSearch{Query: q, Size: o.k})
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// batchSearch is a search of OpenSearch with the same results as a search of an index in this process.
type batchSearch struct {
	Query  any  `json:"query"`
	Size   int  `json:"size"`
	Source bool `json:"_source"`
	Total  bool `json:"track_total_hits"`
}

type matchQuery struct {
	Match map[string]matchWords `json:"match"`
}

type matchWords struct {
	Query    string `json:"query"`
	Operator string `json:"operator,omitempty"`
}

type syntaxQuery struct {
	QueryString queryString `json:"query_string"`
}

type queryString struct {
	Query    string `json:"query"`
	Operator string `json:"default_operator,omitempty"`
}

// plainQuery is in the query language with syntax, else plain words. A vector of weights stays
// one.
func plainQuery(text string, syntax bool) griffin.Query {
	if syntax || query.IsWeights(text) {
		return griffin.Query{Text: text}
	}
	return griffin.Query{Node: &query.Words{Text: text}}
}

// plainText quotes words for the query language. A vector of weights stays unchanged.
func plainText(text string) string {
	if query.IsWeights(text) {
		return text
	}
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = (&query.Term{Text: w, Boost: 1}).String()
	}
	return strings.Join(words, " ")
}

func (t httpTarget) read(ctx context.Context) (load.Reading, error) { return t.Read(ctx) }
func (t httpTarget) tell(*loadResult)                               {}
func (t httpTarget) traced() *queryParts                            { return nil }
func (t httpTarget) close()                                         { t.Close() }

type indexTarget struct {
	ix         *griffin.Index
	closeIndex func() error
	queries    []griffin.Query
	results    sync.Pool // of *griffin.Results
	batches    sync.Pool // of *loadBatch
	parts      queryParts
}

// loadBatch is the memory of a batch, for later ones.
type loadBatch struct {
	queries []griffin.Query
	results []griffin.BatchResult
}

// check runs before the load begins.
func (t *indexTarget) check(topics []trec.Topic) error {
	stats, err := t.ix.Stats()
	if err != nil {
		return err
	}
	var fields []string
	for i := range stats.Fields {
		if name := stats.Fields[i].Name; name != "" { // "": the default field
			fields = append(fields, name)
		}
	}
	for _, topic := range topics {
		if query.IsWeights(topic.Title) {
			continue
		}
		if _, err := query.Parse(topic.Title, fields); err != nil {
			return fmt.Errorf("query %s: %w", topic.ID, err)
		}
	}
	return nil
}

func (t *indexTarget) Do(ctx context.Context, query int) (load.Outcome, error) {
	if t.parts.picks() {
		return t.doTraced(ctx, query)
	}
	memory, _ := t.results.Get().(*griffin.Results)
	results, err := t.ix.SearchInto(ctx, t.queries[query], memory)
	if err != nil {
		results = memory // for the next one: at overload most queries are rejected
	}
	if results != nil {
		t.results.Put(results)
	}
	return outcomeOf(err)
}

func (t *indexTarget) doTraced(ctx context.Context, query int) (load.Outcome, error) {
	q := t.queries[query]
	q.Trace = true
	began := time.Now()
	results, err := t.ix.Search(ctx, q)
	if err == nil {
		t.parts.add(results.Trace, began, time.Since(began))
	}
	return outcomeOf(err)
}

func (t *indexTarget) DoBatch(ctx context.Context, first, n int) (o load.Outcome, failed int, err error) {
	memory, _ := t.batches.Get().(*loadBatch)
	if memory == nil {
		memory = new(loadBatch)
	}
	queries := memory.queries[:0]
	for i := range n {
		queries = append(queries, t.queries[(first+i)%len(t.queries)])
	}
	results, err := t.ix.SearchBatchInto(ctx, queries, memory.results)
	if err != nil {
		o, err = outcomeOf(err)
		return o, 0, err
	}
	defer func() {
		memory.queries, memory.results = queries, results
		t.batches.Put(memory)
	}()
	for i := range results {
		if e := results[i].Err; e != nil {
			failed++
			if err == nil {
				_, err = outcomeOf(e)
			}
		}
	}
	return load.Answered, failed, err
}

func outcomeOf(err error) (load.Outcome, error) {
	if err == nil {
		return load.Answered, nil // without the memory of the rest
	}
	var overload *griffin.Overload
	switch {
	case errors.As(err, &overload) && overload.Reason == griffin.ReasonExpired:
		return load.Expired, err
	case errors.As(err, &overload):
		return load.Overloaded, err
	case errors.Is(err, griffin.ErrBadInput): // also mode saat without impact-ordered lists
		return load.Failed, &load.Refusal{Err: err, OfQuery: !errors.Is(err, griffin.ErrNoImpacts)}
	}
	return load.Failed, err
}

func (t *indexTarget) read(context.Context) (load.Reading, error) {
	r := load.ReadProcess()
	r.Errors += t.ix.Runtime().DispatchStats().Bugs
	s, _ := t.ix.Runtime().GPUStats()
	for i := range s.Devices {
		d := &s.Devices[i]
		r.DeviceBytes += d.UsedBytes
		r.PinnedBytes += d.Host.SizeBytes
		r.Errors += d.Errors
		if d.Lost != "" {
			r.Errors++
		}
	}
	return r, nil
}

func (t *indexTarget) tell(r *loadResult) {
	dispatch := t.ix.Runtime().DispatchStats()
	r.Dispatch = &dispatch
	if s, used := t.ix.Runtime().GPUStats(); used {
		r.GPU = &s
	}
	if s, used := t.ix.ResultCacheStats(); used {
		r.ResultCache = &s
	}
}

func (t *indexTarget) traced() *queryParts {
	if t.parts.every == 0 {
		return nil
	}
	return &t.parts
}

func (t *indexTarget) close() { _ = t.closeIndex() }
