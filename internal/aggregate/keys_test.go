package aggregate

import (
	"fmt"
	"testing"
)

// The most frequent terms of one segment are chosen by count, then by term, and have enough documents.
func TestTermsOfOneSegment(t *testing.T) {
	var docs []testDoc
	for tag, n := range []int{2, 5, 1, 3, 3, 1, 5, 2} {
		for range n {
			docs = append(docs, testDoc{number: len(docs), live: true, values: map[string][]string{"tag": {fmt.Sprintf("t%d", tag)}}})
		}
	}
	segments := [][]testDoc{docs}
	ix := testIndex(t, newTestMapping(t), segments)
	for _, c := range []struct {
		parameters, want string
		others           int
	}{
		{`"size": 3`, `{"key":"t1","doc_count":5},{"key":"t6","doc_count":5},{"key":"t3","doc_count":3}`, 9},
		{`"size": 5, "min_doc_count": 3`, `{"key":"t1","doc_count":5},{"key":"t6","doc_count":5},{"key":"t3","doc_count":3},{"key":"t4","doc_count":3}`, 6},
		{`"size": 5, "min_doc_count": 4`, `{"key":"t1","doc_count":5},{"key":"t6","doc_count":5}`, 12},
		{`"size": 2, "min_doc_count": 9`, ``, 22},
		{`"size": 2, "exclude": "t1"`, `{"key":"t6","doc_count":5},{"key":"t3","doc_count":3}`, 9},
	} {
		expect(t, ix, bitmaps(segments, func(*testDoc) bool { return true }), `{"a": {"terms": {"field": "tag", `+c.parameters+`}}}`,
			fmt.Sprintf(`{"a":{"doc_count_error_upper_bound":0,"sum_other_doc_count":%d,"buckets":[%s]}}`, c.others, c.want))
	}
}
