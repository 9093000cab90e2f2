package griffin

import (
	"iter"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/exec"
)

// Results is the answer to a query.
type Results struct {
	// Query is the canonical text of what was searched for.
	Query string `json:"query"`
	// Hits are best first: at most K of them, from Offset on.
	Hits []Hit `json:"hits"`
	// Mode that the hits are of: of ModeAndOr, the one that gave them.
	Mode Mode `json:"mode"`
	// Traversal names the algorithm that found them; of ModeSaat, the accumulators; "gpu"
	// if a GPU did, "steps" if the CPU took a conjunction over from it or ended one in steps.
	Traversal string `json:"traversal"`
	// Missed is the most by which any score is too low because the budget of
	// ModeSaat ended (WithBudget); 0 if it did not.
	Missed float64 `json:"missed,omitempty"`
	// Notes tell what of the query was left out and why: faults that were
	// overlooked (WithLenientSyntax), words that the analyzer drops.
	Notes []string `json:"notes,omitempty"`
	// Matches is how many documents match, in Mode, if WithCount was given.
	Matches int64 `json:"matches,omitempty"`
	// NumDocs is how many documents were searched.
	NumDocs int `json:"num_docs"`
	// Cached says that the hits come from the cache of answers (WithResultCache).
	Cached bool `json:"cached,omitempty"`
	// Took is the time of the whole search, snippets included.
	Took time.Duration `json:"took_ns"`
	// Trace is set if WithTrace was given.
	Trace *Trace `json:"trace,omitempty"`
}

// Hit is one document of the answer.
type Hit struct {
	ID string `json:"id"`
	// DocID is the document's number within the index, as of this commit.
	DocID uint32  `json:"doc_id"`
	Score float64 `json:"score"`
	// Title, and Fields unless they are left out with WithoutFields, as stored.
	Title  string  `json:"title,omitempty"`
	Fields []Field `json:"fields,omitempty"`
	// Snippet is set if WithSnippets was given.
	Snippet Snippet `json:"snippet,omitzero"`
}

// Snippet is the part of a document's text that shows best why it was found.
type Snippet struct {
	// Text is one line; an ellipsis (…) stands where a sentence is cut.
	Text string `json:"text"`
	// Highlights are the words of the query in Text, in order, not overlapping.
	Highlights []Span `json:"highlights,omitempty"`
}

// Span is a piece of a text: the bytes from Start up to, not including, End.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Parts splits the text into runs that are highlighted or are not, in order.
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

// Mark returns the text with before and after around each highlight. It
// escapes nothing: for HTML, escape what Parts yields.
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

// Mode says what the words of a query without + and - ask for.
type Mode = exec.Mode

// The modes. Their names are "or", "and", "and+or" and "saat".
const (
	// ModeOr, the default, finds documents with any of the words.
	ModeOr = exec.ModeOr
	// ModeAnd finds documents with all of the words.
	ModeAnd = exec.ModeAnd
	// ModeAndOr finds documents with all of the words or, where there are fewer
	// of them than asked for, with any.
	ModeAndOr = exec.ModeAndOr
	// ModeSaat finds documents with any of the words by impact-ordered lists, score
	// at a time (Index.BuildImpacts makes the lists). Scores are sums of impacts of
	// 8 bits, and nearly in the order of ModeOr. The query is a bag of words of the
	// default field, with boosts.
	ModeSaat = exec.ModeSaat
)

// ParseMode returns the mode of a name.
func ParseMode(name string) (Mode, error) { return exec.ParseMode(name) }

// Trace tells how a query was answered, step by step, with counts and times:
//
//	Query string      // canonical text
//	Notes []string    // what was left out, and why
//	Steps []TraceStep // in the order in which they ran
//
// and the Mode that was asked for. Its String method formats it for a terminal,
// and Total adds up the counts of the steps.
type Trace = exec.Trace

// TraceStep is one piece of the work:
//
//	Name      string      // "parse", "plan", "wait" (for a processor), "segment", "impacts",
//	                      // "gpu", "intersect" (some lists of a conjunction), "given up"
//	                      // (by the CPU, for a GPU to do) or "fetch"
//	Processor string      // that did it: "cpu", or a GPU such as "gpu0"
//	Segment   string      // of a "segment" step: which
//	Traversal string      // the algorithm, of a step that searches
//	Lists     []TraceList // posting lists read
//	Start     time.Duration // since the query came
//	Took      time.Duration
//	Predicted time.Duration // what was expected of it; 0: nothing
//
// and its Mode (of ModeAndOr, the one tried), the counts PostingsDecoded,
// PostingsScored, BlocksDecoded and BlocksSkipped, how many queries shared it (Batch),
// what went over the bus (BusBytes), and what a GPU did (Device).
type TraceStep = exec.Step

// TraceList is a posting list that a step read: Field, Term, DocFreq (its
// length) and Blocks.
type TraceList = exec.ListTrace

// Explanation tells how the score of one document came about:
//
//	Matches bool              // whether the query finds the document
//	Score   float64           // the sum of the parts' Contributions; 0 if not
//	Parts   []ExplanationPart // terms and phrases in the order of the query
//	Notes   []string          // what was left out, and why
//
// and the Mode, of ModeAndOr the one that the hits are of.
type Explanation = exec.Explanation

// ExplanationPart is a term's or a phrase's part of a score,
//
//	Contribution = IDF * Boost * Freq / (Freq + K1*(1 - B + B*Length/AvgLength))
//
// with all of these as fields, and
//
//	Field    string   // "" is the default field
//	Terms    []string // index terms: one, or those of a phrase
//	DocFreq  []uint64 // of each term, in a collection of NumDocs documents
//	NumDocs  uint64
//	Excluded bool     // the part stands under a minus
type ExplanationPart = exec.Part
