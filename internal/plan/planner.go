package plan

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Planner plans queries over one snapshot, which must be held until the last Plan has run. It
// is safe for concurrent use.
type Planner struct {
	snapshot *index.Snapshot
	bm25     score.BM25
	// ownBounds is set if bm25 differs from the index's parameters; the frontiers of the lists
	// then give the bounds.
	ownBounds bool
	fields    []string // by FieldID
	scheme    *analysis.Scheme
	crew      *Crew // nil: no helpers

	idfs [maxKeptIDFs]atomic.Uint64 // bits, of the default field by document frequency; 0: not known yet
}

// maxKeptIDFs is for rare words: to plan a query of one takes less than a microsecond, of which a logarithm is a part.
const maxKeptIDFs = 1024

func (s *Planner) idf(f base.FieldID, docFreq uint64) float64 {
	if f != 0 || docFreq >= maxKeptIDFs {
		return score.IDF(s.snapshot.Fields[f].NumDocs, docFreq)
	}
	kept := &s.idfs[docFreq]
	if bits := kept.Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	idf := score.IDF(s.snapshot.Fields[f].NumDocs, docFreq)
	kept.Store(math.Float64bits(idf))
	return idf
}

// New returns a Planner that scores with bm25, or with the index's parameters if bm25 is nil.
// An index of weights ignores both.
func New(snapshot *index.Snapshot, bm25 *score.BM25) *Planner {
	s := &Planner{snapshot: snapshot, bm25: snapshot.Options.BM25, scheme: snapshot.Options.Scheme()}
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

// Share lets long queries use idle processors of a crew. It must be called before the first Prepare.
func (s *Planner) Share(c *Crew) { s.crew = c }

// Snapshot returns the snapshot that queries are planned for.
func (s *Planner) Snapshot() *index.Snapshot { return s.snapshot }

// Fields returns the read-only field names that a query may use, the default field ("") first.
func (s *Planner) Fields() []string { return s.fields }

// Names returns the read-only names that a query may use, the default field ("") first: Fields, and the
// fields of a mapping that have no terms.
func (s *Planner) Names() []string {
	m := s.snapshot.Options.Mapping
	if m == nil {
		return s.fields
	}
	fields := m.Fields()
	names := make([]string, 1, 1+len(fields))
	for i := range fields {
		names = append(names, fields[i].Name)
	}
	return names
}

// BM25 returns the scoring parameters.
func (s *Planner) BM25() score.BM25 { return s.bm25 }

// OwnBounds reports whether the scoring parameters differ from the index's, so that stored
// bounds do not apply.
func (s *Planner) OwnBounds() bool { return s.ownBounds }

// Scratch is the memory for planning and running a query on the CPU, for one goroutine at a
// time and any Planner whose index has its analyzer. Traversals pool theirs separately, because
// many more queries wait than run.
type Scratch struct {
	compiler compiler
	keys     keyBuilder
	query    traverse.Query
	legs     []traverse.Leg
	tree     treeBuilder
	queue    topk.Queue
	last     base.DocID // the greatest of the hits that ResumeHits put into the queue
	pulse    pulse
	saat     *saat.Engine // nil before the first use of ModeSaat
	counter  counter
	matcher  matcher
	run      stageRun
	matched  []int64     // of stageRun
	ranges   rangeMemory // of rankInRanges
	walk     walk
	counted  Work // of CountMatches
	counts   []segmentCount
}

// NewScratch returns a Scratch for indexes with an analyzer of that name, which their settings can
// define.
func NewScratch(analyzer string) (*Scratch, error) {
	sc := new(Scratch)
	return sc, sc.Begin(analyzer)
}

// Begin is NewScratch in the memory of a zero Scratch.
func (sc *Scratch) Begin(analyzer string) error {
	if analyzer == "" {
		return fmt.Errorf("queries: no analyzer: %w", base.ErrBadInput)
	}
	sc.compiler.analyzers.scheme = analysis.NewScheme(nil, analyzer)
	return nil
}

// Analyzer is the one of a field's documents in the index of the last query, for snippets.
func (sc *Scratch) Analyzer(field string) (analysis.Analyzer, error) {
	return sc.compiler.analyzers.of(field, analysis.Documents)
}
