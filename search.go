package griffin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
)

// Query is a search. The zero value of each field is its default; one of Text and
// Node is set.
type Query struct {
	// Text is in the query language (package query): words, "phrases", field:word, +required
	// and -excluded parts, AND, OR and NOT, parentheses, boosts (word^2). In an index of
	// learned weights, a JSON object of terms and weights is a vector.
	Text string
	// Node is a built or parsed query; Text is then empty.
	Node query.Node
	// Mode is the meaning of words without + and -; default ModeOr.
	Mode Mode
	// K is the maximum number of hits, 1 to MaxK; 0 is DefaultK.
	K int
	// Offset is the number of best hits to skip; K plus Offset is at most MaxK.
	Offset int
	// Lenient accepts syntax faults in Text and reports them in Results.Notes.
	Lenient bool
	// Count sets Results.Matches, which reads every posting of the query.
	Count bool
	// Trace sets Results.Trace.
	Trace bool
	// Suggest sets Results.Suggestions if there is no hit. It is for queries of Text.
	Suggest bool
	// Load is the part of documents that hits have; default LoadFields.
	Load Load
	// LoadVersions sets Hit.SeqNo and Hit.Version, unless Load is LoadNone.
	LoadVersions bool
	// SnippetLength is the length of snippets in characters, such as
	// DefaultSnippetLength; 0: none.
	SnippetLength int
	// Traversal is the algorithm for flat queries: one of Traversals. "" chooses the usually
	// fastest for each segment. All give the same answer.
	Traversal string
	// Policy replaces the policy of the Runtime; PolicyCPU keeps the search off GPUs.
	Policy Policy
	// Accumulators is the way in which ModeSaat adds scores, in the form of ParseAccumulators.
	// All give the same answer.
	Accumulators string
	// Budget bounds the work of ModeSaat.
	Budget Budget

	// Filter is another query that documents must match. It does not change scores.
	Filter query.Node
	// PostFilter is a query that hits must match, but not the documents of Aggregations.
	PostFilter query.Node
	// MinScore leaves out documents with a lower score.
	MinScore float64
	// Sort orders the hits by fields, in the JSON of OpenSearch: a name, such as "date", "_score" or
	// "_doc" (the order of writing), {"date": "desc"}, {"price": {"order": "asc", "missing": "_first",
	// "mode": "min"}}, {"_geo_distance": {"place": {"lat": 52, "lon": 13}}}, or a list of these.
	// Documents with equal values are in the order of writing. Empty: the hits are ordered by score.
	Sort json.RawMessage
	// SearchAfter is Hit.Sort of the last hit of a page: the search returns the hits after it.
	SearchAfter json.RawMessage
	// TrackScores sets Hit.Score also with a Sort without "_score".
	TrackScores bool
	// Highlight asks for passages of fields; nil: none.
	Highlight *Highlight
	// Collapse is a field: of the documents with the same value, only the best is a hit.
	Collapse string
	// InnerHits asks for further documents of each value of Collapse.
	InnerHits []InnerHits
	// Facets are fields whose most frequent values are counted.
	Facets []Facet
	// Aggregations are requests in the JSON of OpenSearch, for example
	// {"kinds": {"terms": {"field": "kind"}}}.
	Aggregations json.RawMessage
	// ParseQuery reads the queries of the aggregations filter and filters. Without it, they are
	// {"query_string": {"query": TEXT}}, with a text as for ParseFilter, and {"match_all": {}}.
	ParseQuery func(raw json.RawMessage) (query.Node, error)
	// ParseHits checks the options of top_hits and InnerHits besides size, from, sort and track_scores. The caller applies these
	// options when it writes the hits. ParseHits returns the passages that they ask for; nil: none. Without it, _source is the
	// only such option.
	ParseHits func(options json.RawMessage) (*Highlight, error)
}

// Load is a part of stored documents.
type Load uint8

const (
	// LoadFields loads IDs, titles and fields.
	LoadFields Load = iota
	// LoadTitles loads IDs and titles.
	LoadTitles
	// LoadIDs loads IDs only. There are no snippets.
	LoadIDs
	// LoadNone loads nothing: hits have a DocID and a score only.
	LoadNone
)

// Budget bounds a search of ModeSaat by Postings processed and by Time; 0 is no bound.
// Results.Missed bounds the error of the scores.
type Budget struct {
	Postings int64
	Time     time.Duration
}

// DefaultK is the default of Query.K.
const DefaultK = 10

// DefaultSnippetLength is a length of snippets in characters, about three lines.
const DefaultSnippetLength = 240

// MaxK is the maximum of Query.K plus Query.Offset.
const MaxK = 1_000_000

// check also sets the default of K.
func (q *Query) check() error {
	if q.K == 0 {
		q.K = DefaultK
	}
	switch {
	case q.Node != nil && q.Text != "":
		return fmt.Errorf("the query has a text and a node: set one of them: %w", ErrBadInput)
	case q.Node != nil && q.Suggest:
		return fmt.Errorf("suggestions are for queries of text, but the query is a node: %w", ErrBadInput)
	case q.K < 1 || q.K > MaxK:
		return fmt.Errorf("k is %d, not between 1 and %d: %w", q.K, MaxK, ErrBadInput)
	case q.Offset < 0 || q.Offset > MaxK-q.K:
		return fmt.Errorf("offset is %d, not between 0 and %d less k: %w", q.Offset, MaxK, ErrBadInput)
	case q.SnippetLength < 0:
		return fmt.Errorf("snippets of %d characters: %w", q.SnippetLength, ErrBadInput)
	case q.Load > LoadNone:
		return fmt.Errorf("load %d is none of the parts of documents: %w", q.Load, ErrBadInput)
	case q.Budget.Postings < 0 || q.Budget.Time < 0:
		return fmt.Errorf("budget of %d postings and %v: neither can be negative: %w", q.Budget.Postings, q.Budget.Time, ErrBadInput)
	}
	if q.Node != nil {
		if err := query.Validate(q.Node); err != nil {
			return err
		}
	}
	return q.checkSorted()
}

func (q *Query) options(cached bool) dispatch.Options {
	return dispatch.Options{
		Mode: plan.Mode(q.Mode), K: q.K + q.Offset, Traversal: q.Traversal, Accumulators: q.Accumulators,
		Budget: saat.Budget(q.Budget), Count: q.Count, Policy: dispatch.Policy(q.Policy), Cached: cached,
	}
}

// ParseQuery parses a text in the query language, with the fields of an index. The error is a *query.Error.
func ParseQuery(ix *Index, text string) (query.Node, error) {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Release()
	return parseText(ix.searcher(snapshot), text)
}

// parseText returns the first fault of a query text. It is a *query.Error.
func parseText(searcher *dispatch.Searcher, text string) (query.Node, error) {
	node, remarks := query.ParseChecked(text, searcher.Fields(), searcher.LeafCheck())
	if len(remarks) > 0 {
		return nil, remarks[0]
	}
	return node, nil
}

// ParseFilter is ParseQuery for a filter, in which nothing may be ignored: what looks like an unknown field or like
// an operator of another language is an error, too, and so is a text without any clause. It wraps ErrBadInput.
func ParseFilter(ix *Index, text string) (query.Node, error) {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Release()
	return parseFilter(ix.searcher(snapshot), text)
}

func parseFilter(searcher *dispatch.Searcher, text string) (query.Node, error) {
	node, err := parseText(searcher, text)
	if err != nil {
		return nil, err
	}
	if hints := query.StrictHints(text, searcher.Fields()); len(hints) > 0 {
		return nil, fmt.Errorf("%s: %w", hints[0], ErrBadInput)
	}
	if b, ok := node.(*query.Boolean); ok && len(b.Clauses) == 0 {
		return nil, fmt.Errorf("the filter is empty: want a query, such as kind:book: %w", ErrBadInput)
	}
	return node, nil
}

// Search answers a query. A query without words has no hits and is no error. The
// error is a *query.Error if Text has a syntax fault, and an *Overload if a limit of
// the Runtime is exceeded. If ctx ends, the search stops within about a millisecond.
func (ix *Index) Search(ctx context.Context, q Query) (*Results, error) {
	return ix.SearchInto(ctx, q, nil)
}

// SearchInto is Search that reuses memory, unless it is nil: results of a former call, with their Hits, which nobody may use any
// longer. A program that answers many queries makes less garbage with it.
func (ix *Index) SearchInto(ctx context.Context, q Query, memory *Results) (_ *Results, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := refuse(ctx, ix, &q); err != nil {
		return nil, err
	}
	began := time.Now()
	a := askedMemory.Get().(*asked)
	a.query = q
	if err := beginIn(ctx, &a.search, ix, &a.query); err != nil {
		return nil, err
	}
	a.search.memory = memory
	r, err := a.search.answer(ctx, began)
	if err == nil && !a.query.Trace && !a.query.needsMatches() { // other results may refer to the query
		*a = asked{}
		askedMemory.Put(a)
	}
	return r, err
}

// asked is a search and its query, whose memory other searches use again.
type asked struct {
	search search
	query  Query
}

var askedMemory = sync.Pool{New: func() any { return new(asked) }}

// answer runs and ends the search.
func (s *search) answer(ctx context.Context, began time.Time) (*Results, error) {
	defer s.snapshot.Release()
	gate := s.index.runtime.gate
	gate.Enter()
	defer gate.Leave()
	s.began = began
	r, err := s.run(ctx)
	s.index.scratches.Put(s.sc) // not deferred: after a panic, no other search may use it
	if err == nil && s.query.Suggest && len(r.Hits)+s.query.Offset == 0 {
		r.Suggestions, err = s.didYouMean(ctx)
	}
	if err != nil {
		return nil, publicError(err)
	}
	r.Took = time.Since(began)
	return r, nil
}

// Explain returns the score of the document with the given id, part by part. Of q, Text, Node,
// Lenient and Mode apply, and K in ModeAndOr. The error wraps ErrNotFound if there is no such
// document.
func (ix *Index) Explain(ctx context.Context, q Query, id string) (_ *Explanation, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	s, err := beginSearch(ctx, ix, &q)
	if err != nil {
		return nil, err
	}
	defer s.snapshot.Release()
	ix.runtime.gate.Enter()
	defer ix.runtime.gate.Leave()
	e, err := s.explain(ctx, id)
	ix.scratches.Put(s.sc) // not deferred, as in Search
	if err != nil {
		return nil, publicError(err)
	}
	return e, nil
}

type search struct {
	index    *Index
	snapshot *index.Snapshot
	searcher *dispatch.Searcher
	sc       *scratch
	query    *Query
	memory   *Results // for the results; nil: they need memory of their own
	began    time.Time
	trace    *plan.Trace
	noHits   bool // only matches are counted
	plain    bool // likewise, by plan.CountMatches
	refusal  dispatch.Refusal
	stop     traverse.Interrupt // of planning; nil: none
}

// beginSearch takes a snapshot and a scratch; the caller releases them.
func beginSearch(ctx context.Context, ix *Index, q *Query) (*search, error) {
	s := new(search)
	return s, beginIn(ctx, s, ix, q)
}

// beginIn is beginSearch in the memory of s.
func beginIn(ctx context.Context, s *search, ix *Index, q *Query) error {
	if err := q.check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return err
	}
	return beginOf(s, ix, snapshot, q)
}

// beginOf takes over a reference to the snapshot.
func beginOf(s *search, ix *Index, snapshot *index.Snapshot, q *Query) error {
	sc, err := ix.scratch(snapshot.Options.Analyzer)
	if err != nil {
		snapshot.Release()
		return err
	}
	*s = search{index: ix, snapshot: snapshot, searcher: ix.searcher(snapshot), sc: sc, query: q}
	return nil
}

// searcher returns the Searcher of a snapshot, which its searches share. The snapshot keeps it, and not the index, which
// would keep the memory of a snapshot that is no longer in use. A weak pointer makes searches wait until the garbage
// collector has marked: 8 ms were measured.
func (ix *Index) searcher(snapshot *index.Snapshot) *dispatch.Searcher {
	if s, ok := snapshot.Kept().(*dispatch.Searcher); ok {
		return s
	}
	s := dispatch.NewSearcher(snapshot, ix.options.bm25())
	s.Use(ix.runtime.dispatcher)
	s.UseResults(ix.results)
	snapshot.Keep(s)
	return s
}

// parse also returns notes on faults, and on unknown fields and operators.
func (q *Query) parse(searcher *dispatch.Searcher, weighted bool) (node query.Node, notes []string, err error) {
	isWeights := query.IsWeights(q.Text)
	switch {
	case q.Node != nil:
		return q.Node, nil, nil
	case weighted && isWeights:
		node, err = query.ParseWeights(q.Text)
		return node, nil, err
	case isWeights:
		if _, err := query.ParseWeights(q.Text); err == nil {
			notes = append(notes, "the query is a vector of terms and weights, but the index stores texts: it is read as words; a field of vectors is searched as FIELD:"+q.Text)
		}
	}
	node, remarks := query.ParseChecked(q.Text, searcher.Fields(), searcher.LeafCheck())
	for _, r := range remarks {
		if !q.Lenient {
			return nil, nil, r
		}
		notes = append(notes, r.Error())
	}
	return node, append(notes, query.Hints(q.Text, searcher.Fields())...), nil
}

// Only traces need the time.
func (s *search) now() time.Time {
	if s.query.Trace {
		return time.Now()
	}
	return time.Time{}
}

// prepare uses the memory of the scratch. notes are parse's, then the plan's. With cached, the
// answer may come from the result cache.
func (s *search) prepare(q *dispatch.Query, cached bool) (notes []string, err error) {
	began := s.now()
	node, notes, err := s.query.parse(s.searcher, s.snapshot.Options.Weighted())
	if err != nil {
		return nil, err
	}
	node = filtered(node, s.query.Filter)
	if s.query.Trace {
		s.trace = &plan.Trace{Query: node.String(), Mode: plan.Mode(s.query.Mode), Began: s.began}
		s.trace.AddStep(StepParse, time.Since(began))
		began = s.now()
	}
	o := s.query.options(cached)
	o.Refusal, o.Stop = s.refusal, s.stop
	if s.noHits {
		o.K = 0
	}
	o.MatchesOnly = s.plain
	if s.query.needsMatches() && s.searcher.Dispatcher().Plain() {
		o.Count = false // the matches are found anyway
	}
	if err = s.searcher.PrepareInto(q, s.sc.search, node, o); err != nil {
		return nil, err
	}
	notes = append(notes, q.Notes()...)
	if s.trace != nil {
		s.trace.Notes = notes
		if s.index.results != nil {
			s.trace.Notes = append(s.trace.Notes[:len(notes):len(notes)], "the trace bypasses the result cache")
		}
		s.trace.AddStep(StepPlan, time.Since(began))
	}
	return notes, nil
}

func (s *search) run(ctx context.Context) (*Results, error) {
	s.stop = ctx
	if s.query.needsMatches() {
		return s.runSorted(ctx)
	}
	plan := &s.sc.query
	s.refusal = refusalOf(ctx)
	notes, err := s.prepare(plan, !s.query.Trace /* cached */)
	if err != nil {
		return nil, err
	}
	answer, err := plan.RunTraced(ctx, s.sc.search, s.sc.hits, s.trace)
	if err != nil {
		return nil, err
	}
	s.sc.hits = answer.Hits
	r := s.memory
	if r == nil {
		r = new(Results)
	}
	began := s.now()
	s.sc.former = r.Hits
	hits, err := s.fetch(ctx, plan, answer.Hits[min(s.query.Offset, len(answer.Hits)):])
	s.sc.former = nil
	if err != nil {
		return nil, err
	}
	if s.trace != nil {
		s.trace.AddStep(StepFetch, time.Since(began))
	}
	*r = Results{Notes: notes, Trace: newTrace(s.trace)}
	s.fill(r, plan, &answer, hits)
	return r, nil
}

func (s *search) fill(r *Results, q *dispatch.Query, answer *plan.Answer, hits []Hit) {
	r.Engine = s.index.runtime.engine
	r.Query, r.Hits, r.Mode, r.Traversal = q.Query().String(), hits, Mode(answer.Mode), answer.Traversal
	r.Missed, r.Matches, r.NumDocs, r.Cached = answer.Missed.Float64(), answer.Matches, s.snapshot.NumLive, answer.Cached
	r.Total = s.query.total(answer)
	if len(answer.Hits) > 0 {
		r.MaxScore = answer.Hits[0].Score.Float64()
	}
}

// total is exact if the matches were counted, or if there are fewer than were asked for.
func (q *Query) total(answer *plan.Answer) Total {
	found := int64(len(answer.Hits))
	switch {
	case q.Count:
		return Total{Value: answer.Matches, Relation: TotalExact}
	case found < int64(cmp.Or(q.K, DefaultK)+q.Offset) && answer.Missed == 0:
		return Total{Value: found, Relation: TotalExact}
	}
	return Total{Value: found, Relation: TotalAtLeast}
}

func (s *search) explain(ctx context.Context, id string) (*Explanation, error) {
	view, doc, found, err := s.snapshot.Lookup(id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, notFound(id)
	}
	plan := &s.sc.query
	notes, err := s.prepare(plan, false /* cached */)
	if err != nil {
		return nil, err
	}
	e, err := plan.Explain(ctx, s.sc.search, view, doc)
	if err != nil {
		return nil, err
	}
	return newExplanation(&e, notes), nil
}
