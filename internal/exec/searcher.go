package exec

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Searcher plans queries over one snapshot of an index, which must not be
// released before the last Plan was run. It is safe for concurrent use.
type Searcher struct {
	snapshot *index.Snapshot
	bm25     score.BM25
	// ownBounds says that bm25 is not what the index's bounds were made with,
	// so that lists get theirs from their frontiers.
	ownBounds bool
	fields    []string // by FieldID
	// dispatcher says where plans run; nil: on the CPU.
	dispatcher *Dispatcher
	results    *ResultCache // nil: none
}

// NewSearcher returns a Searcher that scores with bm25, or with the parameters
// of the index if bm25 is nil. (In an index of weights they play no part.) It
// costs next to nothing.
func NewSearcher(snapshot *index.Snapshot, bm25 *score.BM25) *Searcher {
	s := &Searcher{snapshot: snapshot, bm25: snapshot.Options.BM25}
	if bm25 != nil {
		s.ownBounds = *bm25 != s.bm25 && !snapshot.Options.Weighted()
		s.bm25 = *bm25
	}
	s.fields = make([]string, len(snapshot.Fields))
	for i := range snapshot.Fields {
		s.fields[i] = snapshot.Fields[i].Name
	}
	return s
}

// UseResults lets the Searcher's plans that ask for it (Options.Cached) take their
// answers from c, which is of the index of the Searcher, or nil. It must be called
// before the first Prepare.
func (s *Searcher) UseResults(c *ResultCache) { s.results = c }

// Fields returns the names that a query may have before a colon, the default
// field's ("") first. The slice must not be changed.
func (s *Searcher) Fields() []string { return s.fields }

// BM25 returns the parameters that scores are computed with.
func (s *Searcher) BM25() score.BM25 { return s.bm25 }

// Scratch is the memory that planning and running a query need. It grows to
// what the largest query needs and is kept by its owner: one goroutine at a
// time may use it, for any Searcher of indexes with its analyzer. Traversals
// have theirs of a pool, only while they run: as many queries wait as arrive.
type Scratch struct {
	compiler compiler
	query    traverse.Query
	mask     mask
	tree     treeBuilder
	queue    topk.Queue
	pulse    pulse
	saat     *saat.Engine // of ModeSaat; nil until it is asked for
	gpu      gpuScratch
	placed   placedRun
	counter  counter
	keys     keyBuilder
}

// NewScratch returns a Scratch for indexes with the analyzer of that name.
func NewScratch(analyzer string) (*Scratch, error) {
	a, err := analysis.New(analyzer)
	if err != nil {
		return nil, fmt.Errorf("queries: %w", err)
	}
	return &Scratch{compiler: compiler{analyzer: a}}, nil
}

// Analyzer returns the analyzer, for whoever owns the Scratch: snippets are
// made with it.
func (sc *Scratch) Analyzer() analysis.Analyzer { return sc.compiler.analyzer }
