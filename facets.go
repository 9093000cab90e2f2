package griffin

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/aggregate"
)

// Facet asks for the most frequent values of a field, over all matching documents. Query.Aggregations can
// count more.
type Facet struct {
	Field string
	// Size is the maximum number of values; 0: DefaultFacetSize.
	Size int
}

// DefaultFacetSize is the default of Facet.Size.
const DefaultFacetSize = 10

// FacetValue is a value of a Facet.
type FacetValue struct {
	// Value is a string, of a field of numbers a number.
	Value json.RawMessage `json:"value"`
	// Text is the same for people.
	Text string `json:"-"`
	// Count is the number of documents with it.
	Count int64 `json:"count"`
}

// facetName is no name of a request: it is taken out of the answers.
func facetName(i int) string { return "facet " + strconv.Itoa(i) }

// facetRequests are the aggregations of Query.Facets.
func (q *Query) facetRequests() ([]*aggregate.Request, error) {
	var all []*aggregate.Request
	for i, f := range q.Facets {
		size := f.Size
		if size == 0 {
			size = DefaultFacetSize
		}
		r, err := aggregate.NewTerms(facetName(i), f.Field, size)
		if err != nil {
			return nil, fmt.Errorf("facet %s: %w", f.Field, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// facets are the answers of facetRequests by field.
func (q *Query) facets(results []*aggregate.Result) map[string][]FacetValue {
	out := map[string][]FacetValue{}
	for i, r := range results {
		values := []FacetValue{}
		for _, b := range (Aggregation{r}).Buckets() {
			v := FacetValue{Value: b.KeyJSON, Text: b.Key, Count: b.DocCount}
			if b.KeyJSON[0] != '"' && b.Key != string(b.KeyJSON) { // a date or a boolean has a text
				v.Value, _ = json.Marshal(b.Key) // texts have a JSON form
			}
			values = append(values, v)
		}
		out[q.Facets[i].Field] = values
	}
	return out
}

// ParseFacet parses FIELD or FIELD=N. The error wraps ErrBadInput.
func ParseFacet(text string) (Facet, error) {
	f := Facet{Field: text}
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n < 1 {
			return f, fmt.Errorf("facet %.60s: want FIELD=N, N at least 1: %w", text, ErrBadInput)
		}
		f = Facet{Field: text[:i], Size: n}
	}
	if f.Field == "" {
		return f, fmt.Errorf("facet %.60s: want a field: %w", text, ErrBadInput)
	}
	return f, nil
}

// SortKeys turns a text such as "price:desc, name" into Query.Sort; nil if it is empty.
func SortKeys(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	var keys []any
	for key := range strings.SplitSeq(text, ",") {
		key = strings.TrimSpace(key)
		if name, order, directed := strings.Cut(key, ":"); directed {
			keys = append(keys, map[string]string{name: order})
		} else {
			keys = append(keys, name)
		}
	}
	raw, _ := json.Marshal(keys) // texts have a JSON form
	return raw
}
