package griffin

import (
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
)

// Results is the answer to a query.
type Results struct {
	// Query is the canonical text of the query.
	Query string `json:"query"`
	// Hits are at most K, best first, from Offset on.
	Hits []Hit `json:"hits"`
	// MaxScore is the highest score of Hits and of the Offset hits before them; 0 if they have none. A search that sorts by
	// fields does not know higher scores of later hits.
	MaxScore float64 `json:"max_score,omitempty"`
	// Mode is the mode of the hits: in ModeAndOr, the one that found them.
	Mode Mode `json:"mode"`
	// Engine answered, with its options: RuntimeOptions.Engine, or "griffin".
	Engine string `json:"engine"`
	// Traversal names their algorithm: one of Traversals(Mode), in ModeSaat one of
	// Accumulators, or TraversalGPU or TraversalSteps.
	Traversal string `json:"traversal"`
	// Missed bounds the amount by which any score is too low because the Budget of ModeSaat
	// ended the search; else 0.
	Missed float64 `json:"missed,omitempty"`
	// Notes are remarks about the query: ignored syntax faults (Query.Lenient), unknown fields
	// and operators, words that the analyzer drops.
	Notes []string `json:"notes,omitempty"`
	// Total is the number of documents that match in Mode: exact with Query.Count, with Query.Sort
	// and whatever else needs all of them, and if there are fewer than K hits.
	Total Total `json:"total"`
	// Facets are the values of Query.Facets by field, the most frequent first.
	Facets map[string][]FacetValue `json:"facets,omitempty"`
	// Aggregations are the answers to Query.Aggregations.
	Aggregations Aggregations `json:"aggregations,omitzero"`
	// CountedBy is the processor that counted the values of Facets and Aggregations and found the best hits of
	// Query.Sort, if there is a GPU: "gpu", or "cpu: " and the reason. If the query is not a flat list of words, it is
	// the processor that counted the values.
	CountedBy string `json:"counted_by,omitempty"`
	// CountTook is the time of this on a GPU.
	CountTook time.Duration `json:"count_took_ns,omitempty"`
	// Suggestions are queries with corrected words, with hits, if Query.Suggest is set and there is no hit.
	Suggestions []string `json:"suggestions,omitempty"`
	// Matches is the number of documents that match in Mode, if Query.Count is set.
	Matches int64 `json:"matches,omitempty"`
	// NumDocs is the number of documents in the index.
	NumDocs int `json:"num_docs"`
	// Cached: the hits come from the result cache (Options.ResultCache).
	Cached bool `json:"cached,omitempty"`
	// Took is the time of the whole search, with snippets.
	Took time.Duration `json:"took_ns"`
	// Trace is set if Query.Trace is.
	Trace *Trace `json:"trace,omitempty"`
}

// Values of Results.Traversal that are no algorithms of Query.Traversal.
const (
	// TraversalGPU: a GPU answered the query, or its last step.
	TraversalGPU = dispatch.TraversalGPU
	// TraversalSteps: the CPU finished a conjunction that ran list by list on the CPU and a
	// GPU.
	TraversalSteps = dispatch.TraversalSteps
)

// DocID is the number of a document within an index, from 0, valid for one commit: later
// commits can renumber documents.
type DocID uint32

// Hit is one document of the results.
type Hit struct {
	ID    string `json:"id"`
	DocID DocID  `json:"doc_id"`
	// NoScore: Score is unknown, since the hits are ordered by fields.
	NoScore bool    `json:"no_score,omitempty"`
	Score   float64 `json:"score"`
	// SeqNo and Version are as of VersionedDocument, if Query.LoadVersions is set.
	SeqNo   uint64 `json:"seq_no,omitempty"`
	Version uint64 `json:"version,omitempty"`
	// Title and Fields as stored; Query.Load can leave them out.
	Title  string  `json:"title,omitempty"`
	Fields []Field `json:"fields,omitempty"`
	// Sort are the values of Query.Sort, a list; null is for no value.
	Sort json.RawMessage `json:"sort,omitempty"`
	// Group is the value of Query.Collapse.
	Group json.RawMessage `json:"group,omitempty"`
	// InnerHits are documents of the group, by the names of Query.InnerHits.
	InnerHits map[string]InnerResult `json:"-"`
	// Highlights are the passages of Query.Highlight, by field.
	Highlights map[string][]Snippet `json:"highlights,omitempty"`
	// Snippet is set if Query.SnippetLength is.
	Snippet Snippet `json:"snippet,omitzero"`
}

// Snippet is the passage of a text that fits the query best.
type Snippet struct {
	// Text is one line; an ellipsis (…) marks omitted text.
	Text string `json:"text"`
	// Highlights are the words of the query in Text, in order, without overlaps.
	Highlights []Span `json:"highlights,omitempty"`
}

// Span is a range of bytes of a text: Start inclusive, End exclusive.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Parts iterates over the highlighted (true) and other ranges, in order.
func (s Snippet) Parts() iter.Seq2[string, bool] {
	return func(yield func(text string, highlighted bool) bool) {
		end := 0
		for _, h := range s.Highlights {
			if h.Start > end && !yield(s.Text[end:h.Start], false) {
				return
			}
			if !yield(s.Text[h.Start:h.End], true) {
				return
			}
			end = h.End
		}
		if end < len(s.Text) {
			yield(s.Text[end:], false)
		}
	}
}

// Mark returns the text with before and after around each highlight. It escapes nothing: for
// HTML, escape each text of Parts.
func (s Snippet) Mark(before, after string) string {
	var b strings.Builder
	for text, highlighted := range s.Parts() {
		if highlighted {
			b.WriteString(before + text + after)
		} else {
			b.WriteString(text)
		}
	}
	return b.String()
}

// Explanation is the score of one document for a query, part by part.
type Explanation struct {
	// Matches reports whether the query finds the document. If not, Score is 0, and Parts are
	// the parts that the document has.
	Matches bool `json:"matches"`
	// Score is exactly the sum of the Contributions.
	Score float64 `json:"score"`
	// Mode is the mode of the hits, as in Results.
	Mode Mode `json:"mode"`
	// Parts are the terms and phrases of the query and its parts of constant score, in its order,
	// duplicates summed.
	Parts []ExplanationPart `json:"parts"`
	// Notes are remarks about the query, as in Results.
	Notes []string `json:"notes,omitempty"`
}

// ExplanationPart is the part of a term or a phrase in a score:
//
//	Contribution = IDF * Boost * Freq / (Freq + K1*(1 - B + B*Length/AvgLength))
//
// or, in an index of learned weights,
//
//	Contribution = Boost * Freq / Scale
//
// rounded to a multiple of 2^-16. IDF * Boost counts as at most 60000.
type ExplanationPart struct {
	// Query is the text of a part of constant score, such as price:[10 TO 20] or wor*, or of a
	// node whose score is not the sum of other parts, with the difference as Contribution. Of the
	// other fields, Excluded applies.
	Query string `json:"query,omitempty"`
	Field string `json:"field,omitempty"` // "" is the default field
	// Terms are the index terms: one, or all terms of a phrase in their order.
	Terms []string `json:"terms"`
	// Excluded: the part is under a minus and has no Contribution.
	Excluded bool `json:"excluded,omitempty"`
	// Freq is the number of occurrences in the field of the document. SloppyFreq is in its place for a
	// phrase with slop.
	Freq       uint32  `json:"freq"`
	SloppyFreq float64 `json:"sloppy_freq,omitempty"`
	// Length is the number of tokens in the document's field, AvgLength the mean over all
	// live documents.
	Length    uint32  `json:"length"`
	AvgLength float64 `json:"avg_length"`
	// DocFreq is the number of live documents of each term, of NumDocs.
	DocFreq []uint64 `json:"doc_freq"`
	NumDocs uint64   `json:"num_docs"`
	// IDF is the inverse document frequency; of a phrase, the sum over its terms.
	IDF   float64 `json:"idf"`
	Boost float64 `json:"boost"`
	K1    float32 `json:"k1"`
	B     float32 `json:"b"`
	// Scale is Settings.WeightScale of an index of learned weights, where Freq is a
	// scaled weight and IDF, K1 and B do not apply; else 0.
	Scale        float64 `json:"scale,omitempty"`
	Contribution float64 `json:"contribution"`

	// Combined are the fields that count as one (query.Combined). Frequency (as SloppyFreq) and AvgLength are
	// sums over them, multiplied by their weights, and CombinedLength is in the place of Length.
	Combined       []CombinedField `json:"combined,omitempty"`
	CombinedLength float64         `json:"combined_length,omitempty"`

	// Functions are the values of query.FunctionScore. Contribution is the difference that they make to the
	// score of the query, whose parts are before; it can be negative.
	Functions []FunctionValue `json:"functions,omitempty"`
}

// FunctionValue is the value of a function for a document, multiplied by its weight.
type FunctionValue struct {
	Function string `json:"function"`
	// Applies: the document matches the filter of the function, and has a value.
	Applies bool    `json:"applies"`
	Value   float64 `json:"value"`
}

// CombinedField is a field that is scored as one with others, and its weight.
type CombinedField struct {
	Field  string  `json:"field"`
	Weight float64 `json:"weight"`
}

func newExplanation(e *plan.Explanation, notes []string) *Explanation {
	out := &Explanation{Matches: e.Matches, Score: e.Score, Mode: Mode(e.Mode), Parts: make([]ExplanationPart, len(e.Parts)), Notes: notes}
	for i := range e.Parts {
		out.Parts[i] = newExplanationPart(&e.Parts[i])
	}
	return out
}

func newExplanationPart(p *plan.Part) ExplanationPart {
	out := ExplanationPart{
		Query: p.Query, Field: p.Field, Terms: p.Terms, Excluded: p.Excluded, Freq: p.Freq, SloppyFreq: p.SloppyFreq, Length: p.Length, AvgLength: p.AvgLength,
		DocFreq: p.DocFreq, NumDocs: p.NumDocs, IDF: p.IDF, Boost: p.Boost, K1: p.K1, B: p.B, Scale: p.Scale, Contribution: p.Contribution,
		CombinedLength: p.CombinedLength,
	}
	for _, f := range p.Combined {
		out.Combined = append(out.Combined, CombinedField(f))
	}
	for _, f := range p.Functions {
		out.Functions = append(out.Functions, FunctionValue(f))
	}
	return out
}
