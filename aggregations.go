package griffin

import (
	"encoding/json"
	"iter"

	"github.com/griffin-search/griffin/internal/aggregate"
)

// Aggregations are the answers to Query.Aggregations, by name. They encode to the JSON of OpenSearch.
type Aggregations struct{ results []*aggregate.Result }

// Aggregation is the answer to one aggregation.
type Aggregation struct{ result *aggregate.Result }

// Bucket is a set of documents of an aggregation.
type Bucket struct {
	// Key is a term, a number, a date in its format, or a range such as "10.0-20.0".
	Key string
	// KeyJSON is the key as JSON has it: a string, a number, of multi_terms a list, of composite an
	// object; nil if there is none.
	KeyJSON  json.RawMessage
	DocCount int64
	// Values are further numbers: "from" and "to" of ranges, "score" and "bg_count" of
	// significant_terms.
	Values map[string]float64
	// Aggregations are those within it.
	Aggregations Aggregations
}

// Get returns the answer of that name.
func (a Aggregations) Get(name string) (_ Aggregation, ok bool) {
	for _, r := range a.results {
		if r.Name == name {
			return Aggregation{r}, true
		}
	}
	return Aggregation{}, false
}

// All iterates over the answers in the order of the request.
func (a Aggregations) All() iter.Seq2[string, Aggregation] {
	return func(yield func(string, Aggregation) bool) {
		for _, r := range a.results {
			if !yield(r.Name, Aggregation{r}) {
				return
			}
		}
	}
}

// IsZero reports whether there are none.
func (a Aggregations) IsZero() bool { return len(a.results) == 0 }

// MarshalJSON implements json.Marshaler.
func (a Aggregations) MarshalJSON() ([]byte, error) {
	return a.AppendJSON(nil, false, func(dst []byte, h *Hit, _ json.RawMessage) []byte {
		one, _ := json.Marshal(h) // a Hit has a JSON form
		return append(dst, one...)
	}), nil
}

// AppendJSON appends the JSON of OpenSearch. typed is its parameter typed_keys. hit appends a document of a
// top_hits, whose request it gets.
func (a Aggregations) AppendJSON(dst []byte, typed bool, hit func(dst []byte, h *Hit, request json.RawMessage) []byte) []byte {
	return aggregate.AppendJSON(dst, a.results, typed, func(dst []byte, h *aggregate.Hits) []byte {
		return appendTopHits(dst, h, hit)
	})
}

// Type is the type of the request, such as "terms".
func (a Aggregation) Type() string { return a.result.Type }

// DocCount is the number of documents of an aggregation with one bucket: filter, missing and global; of
// others it is 0.
func (a Aggregation) DocCount() int64 { return max(a.result.DocCount, 0) }

// Others is the number of documents in buckets of terms and multi_terms that the answer leaves out.
func (a Aggregation) Others() int64 { return max(a.result.SumOther, 0) }

// Buckets returns the buckets in order.
func (a Aggregation) Buckets() []Bucket {
	out := make([]Bucket, len(a.result.Buckets))
	for i := range out {
		b := &a.result.Buckets[i]
		out[i] = Bucket{Key: b.Text, KeyJSON: b.KeyJSON(), DocCount: b.DocCount, Values: valuesOf(b.Values), Aggregations: Aggregations{b.Aggs}}
	}
	return out
}

// Values returns the numbers of a metric by name: "value", the names of stats, or percents such as "99.0". A
// number that there is not, such as the least of nothing, is missing.
func (a Aggregation) Values() map[string]float64 { return valuesOf(a.result.Values) }

func valuesOf(list []aggregate.Value) map[string]float64 {
	var out map[string]float64
	for _, v := range list {
		if v.None {
			continue
		}
		if out == nil {
			out = map[string]float64{}
		}
		out[v.Name] = v.Value
	}
	return out
}

// Value returns the number "value" of a metric; false if there is none.
func (a Aggregation) Value() (float64, bool) {
	v, ok := a.Values()["value"]
	return v, ok
}

// Hits returns the documents of top_hits.
func (a Aggregation) Hits() []Hit {
	if a.result.Hits == nil {
		return nil
	}
	return a.result.Hits.Docs.(topDocs).hits
}

// AfterKey is the JSON of the last key of a composite, for its next page; nil if there is none.
func (a Aggregation) AfterKey() json.RawMessage { return a.result.After }

// Aggregations returns those within an aggregation with one bucket.
func (a Aggregation) Aggregations() Aggregations { return Aggregations{a.result.Aggs} }
