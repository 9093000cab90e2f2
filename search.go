package griffin

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/saat"
)

// SearchOption sets one property of a search.
type SearchOption func(*searchConfig)

type searchConfig struct {
	k, offset     int
	mode          Mode
	traversal     string
	accumulators  string
	budget        saat.Budget
	snippetLength int
	trace         bool
	lenient       bool
	plainWords    bool
	withoutFields bool
	idsOnly       bool
	cpu           bool
	policy        exec.Policy
	count         bool
}

// DefaultK is how many hits a search gives if WithK does not say.
const DefaultK = 10

// DefaultSnippetLength is the length of a snippet in characters, about three lines.
const DefaultSnippetLength = 240

// MaxK is the largest K plus Offset.
const MaxK = 1_000_000

// WithK asks for the best k hits, 1 to MaxK.
func WithK(k int) SearchOption { return func(c *searchConfig) { c.k = k } }

// WithOffset leaves out the best n hits, to show a further page.
func WithOffset(n int) SearchOption { return func(c *searchConfig) { c.offset = n } }

// WithMode chooses the mode; ModeOr is the default.
func WithMode(m Mode) SearchOption { return func(c *searchConfig) { c.mode = m } }

// WithTraversal chooses the algorithm for flat queries by name; Traversals
// lists them. All give the same answer. "" lets the planner choose for each
// segment, which is nearly always the fastest.
func WithTraversal(name string) SearchOption { return func(c *searchConfig) { c.traversal = name } }

// WithSnippets adds to each hit the passage of its text that fits the query
// best, about DefaultSnippetLength characters long.
func WithSnippets() SearchOption { return WithSnippetLength(DefaultSnippetLength) }

// WithSnippetLength is WithSnippets with another length in characters.
func WithSnippetLength(n int) SearchOption { return func(c *searchConfig) { c.snippetLength = n } }

// WithTrace adds a Trace to the results.
func WithTrace() SearchOption { return func(c *searchConfig) { c.trace = true } }

// WithLenientSyntax makes the best of a query that has faults, instead of
// returning a *QueryError, and tells in Notes what was overlooked.
func WithLenientSyntax() SearchOption { return func(c *searchConfig) { c.lenient = true } }

// WithPlainWords takes the query as text without any syntax: each term that
// the index's analyzer makes of it counts on its own. It is how the topics of
// test collections are asked.
func WithPlainWords() SearchOption { return func(c *searchConfig) { c.plainWords = true } }

// WithoutFields leaves Hit.Fields empty.
func WithoutFields() SearchOption { return func(c *searchConfig) { c.withoutFields = true } }

// WithIDsOnly reads no stored documents: hits have an ID and a score.
func WithIDsOnly() SearchOption { return func(c *searchConfig) { c.idsOnly = true } }

// WithCount sets Results.Matches. It takes reading every posting of the query, which
// finding the best hits does not.
func WithCount() SearchOption { return func(c *searchConfig) { c.count = true } }

// newSearchConfig applies options and checks them.
func newSearchConfig(opts []SearchOption) (searchConfig, error) {
	c := searchConfig{k: DefaultK}
	for _, o := range opts {
		o(&c)
	}
	switch {
	case c.k < 1 || c.k > MaxK:
		return c, fmt.Errorf("k is %d, not between 1 and %d: %w", c.k, MaxK, ErrBadInput)
	case c.offset < 0 || c.offset > MaxK-c.k:
		return c, fmt.Errorf("offset is %d, not between 0 and %d less k: %w", c.offset, MaxK, ErrBadInput)
	case c.snippetLength < 0:
		return c, fmt.Errorf("snippets of %d characters: %w", c.snippetLength, ErrBadInput)
	}
	return c, checkBudget(c.budget)
}

// Search answers a query, in which stand words, "phrases", field:word, +required
// and -excluded parts, AND, OR and NOT, parentheses, and boosts (word^2). A
// backslash takes from a character its meaning. A query without any word gives
// no hits and no error; one that cannot be read gives a *QueryError.
func (ix *Index) Search(ctx context.Context, query string, opts ...SearchOption) (*Results, error) {
	began := time.Now()
	s, err := ix.beginSearch(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer s.snapshot.Release()
	s.began = began
	r, err := s.run(ctx, query)
	ix.scratches.Put(s.sc) // not deferred: what a panic leaves behind must not serve another search
	if err != nil {
		return nil, err
	}
	r.Took = time.Since(began)
	return r, nil
}

// Explain tells how the document with the given id scores for the query, part
// by part. Of opts only those about syntax, the mode and, for ModeAndOr, how
// many hits are wanted matter. ErrBadInput if there is no such document.
func (ix *Index) Explain(ctx context.Context, query, id string, opts ...SearchOption) (*Explanation, error) {
	s, err := ix.beginSearch(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer s.snapshot.Release()
	e, err := s.explain(ctx, query, id)
	ix.scratches.Put(s.sc) // not deferred, as in Search
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// search is one query on its way.
type search struct {
	snapshot *index.Snapshot
	searcher *exec.Searcher
	sc       *scratch
	config   searchConfig
	began    time.Time
	trace    *Trace
	caching  bool          // the Index keeps answers
	reading  chan struct{} // Index.reading
}

// beginSearch takes a snapshot and a scratch, which the caller gives back.
func (ix *Index) beginSearch(ctx context.Context, opts []SearchOption) (*search, error) {
	c, err := newSearchConfig(opts)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	sc, err := ix.scratch()
	if err != nil {
		snapshot.Release()
		return nil, err
	}
	searcher := exec.NewSearcher(snapshot, ix.cfg.bm25)
	searcher.Use(ix.dispatcher)
	searcher.UseResults(ix.results)
	return &search{snapshot: snapshot, searcher: searcher, sc: sc, config: c, caching: ix.results != nil, reading: ix.reading}, nil
}

// prepare parses and plans, in the memory of the scratch. notes are the faults
// that lenient syntax overlooks, then the plan's. With cached, the plan's answer may come
// from the cache of answers.
func (s *search) prepare(text string, cached bool) (plan *exec.Plan, notes []string, err error) {
	began := time.Now()
	var node query.Node
	if !s.snapshot.Options.Weighted() && query.IsWeights(text) {
		if _, err := query.ParseWeights(text); err == nil {
			notes = append(notes, "the query is a vector of terms and weights, but the index is one of texts: it is taken for words")
		}
	}
	switch {
	case s.snapshot.Options.Weighted() && query.IsWeights(text):
		if node, err = query.ParseWeights(text); err != nil {
			return nil, nil, err
		}
	case s.config.plainWords:
		node = &query.Words{Text: text, Boost: 1}
	case s.config.lenient:
		var remarks []*query.Error
		node, remarks = query.ParseLenient(text, s.searcher.Fields())
		for _, r := range remarks {
			notes = append(notes, r.Error())
		}
	default:
		if node, err = query.Parse(text, s.searcher.Fields()); err != nil {
			return nil, nil, err
		}
	}
	if s.config.trace {
		s.trace = &Trace{Query: node.String(), Mode: s.config.mode, Began: s.began}
		s.trace.AddStep("parse", time.Since(began))
		began = time.Now()
	}
	plan = &s.sc.plan
	err = s.searcher.PrepareInto(plan, s.sc.exec, node, exec.Options{
		Mode: s.config.mode, K: s.config.k + s.config.offset, Traversal: s.config.traversal,
		Accumulators: s.config.accumulators, Budget: s.config.budget, Count: s.config.count, CPU: s.config.cpu, Policy: s.config.policy,
		Cached: cached,
	})
	if err != nil {
		return nil, nil, err
	}
	notes = append(notes, plan.Notes()...)
	if s.trace != nil {
		s.trace.Notes = notes
		if s.caching {
			s.trace.Notes = append(s.trace.Notes[:len(notes):len(notes)], "run, and not answered from the result cache, for the sake of the trace")
		}
		s.trace.AddStep("plan", time.Since(began))
	}
	return plan, notes, nil
}

func (s *search) run(ctx context.Context, text string) (*Results, error) {
	plan, notes, err := s.prepare(text, !s.config.trace /* cached */)
	if err != nil {
		return nil, err
	}
	answer, err := plan.RunTraced(ctx, s.sc.exec, s.sc.hits, s.trace)
	if err != nil {
		return nil, err
	}
	s.sc.hits = answer.Hits
	began := time.Now()
	hits, err := s.fetch(ctx, plan, answer.Hits[min(s.config.offset, len(answer.Hits)):])
	if err != nil {
		return nil, err
	}
	if s.trace != nil {
		s.trace.AddStep("fetch", time.Since(began))
	}
	return &Results{
		Query: plan.Query().String(), Hits: hits, Mode: answer.Mode, Traversal: answer.Traversal, Notes: notes,
		Missed: answer.Missed.Float64(), Matches: answer.Matches, NumDocs: s.snapshot.NumLive, Cached: answer.Cached, Trace: s.trace,
	}, nil
}

func (s *search) explain(ctx context.Context, text, id string) (e Explanation, err error) {
	view, doc, found, err := s.snapshot.Lookup(id)
	if err != nil {
		return e, err
	}
	if !found {
		return e, fmt.Errorf("explain: the index has no document %q: %w", id, ErrBadInput)
	}
	plan, notes, err := s.prepare(text, false /* cached */)
	if err != nil {
		return e, err
	}
	e, err = plan.Explain(ctx, s.sc.exec, view, doc)
	e.Notes = notes
	return e, err
}
