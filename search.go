package griffin

import (
	"context"
)

// SearchOption sets one property of a search.
type SearchOption func(*searchConfig)

type searchConfig struct {
	k, offset     int
	mode          Mode
	traversal     string
	snippetBytes  int
	trace         bool
	lenient       bool
	plainWords    bool
	withoutFields bool
	idsOnly       bool
}

// DefaultK is how many hits a search gives if WithK does not say.
const DefaultK = 10

// DefaultSnippetBytes is the length of a snippet, about three lines.
const DefaultSnippetBytes = 240

// MaxK is the largest K plus Offset.
const MaxK = 1_000_000

// WithK asks for the best k hits, 1 to MaxK.
func WithK(k int) SearchOption { return func(c *searchConfig) { c.k = k } }

// WithOffset leaves out the best n hits, to show a further page.
func WithOffset(n int) SearchOption { return func(c *searchConfig) { c.offset = n } }

// WithMode chooses the mode; ModeOr is the default.
func WithMode(m Mode) SearchOption { return func(c *searchConfig) { c.mode = m } }

// WithTraversal chooses the algorithm for flat queries by name; Traversals
// lists them. All give the same answer. "" is the default of the mode.
func WithTraversal(name string) SearchOption { return func(c *searchConfig) { c.traversal = name } }

// WithSnippets adds to each hit the passages of its text that fit the query
// best, about DefaultSnippetBytes long.
func WithSnippets() SearchOption { return WithSnippetBytes(DefaultSnippetBytes) }

// WithSnippetBytes is WithSnippets with another length.
func WithSnippetBytes(n int) SearchOption { return func(c *searchConfig) { c.snippetBytes = n } }

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

// Search answers a query in the language of README's section "Queries":
// words, "phrases", field:word, +required, -excluded, AND, OR, NOT,
// parentheses, and ^boost. A query without any word gives no hits and no error.
func (ix *Index) Search(ctx context.Context, query string, opts ...SearchOption) (*Results, error) {
	return nil, errIncomplete
}

// Explain tells how the document with the given id scores for the query, part
// by part. Of opts only the mode and WithLenientSyntax matter. ErrBadInput if
// there is no such document.
func (ix *Index) Explain(ctx context.Context, query, id string, opts ...SearchOption) (*Explanation, error) {
	return nil, errIncomplete
}
