package rest

import (
	"fmt"
	"strings"
	"testing"
)

// A bulk request with an operation that has no index is an error as a whole, as in OpenSearch. If operations before it have taken
// effect, since there were too many to wait for the end of the request, the answer has their number.
func TestBulkWithoutIndex(t *testing.T) {
	const named, without = `{"index":{"_index":"a"}}` + "\n{}\n", `{"index":{}}` + "\n{}\n"
	for body, want := range map[string]struct {
		operation, effect int
	}{
		without:                                       {1, 0},
		named + without + named:                       {2, 0},
		`{"delete":{"_id":"1"}}` + "\n":               {1, 0},
		`{"index":{"_index":""}}` + "\n{}":            {1, 0},
		strings.Repeat(named, batchItems+1) + without: {batchItems + 2, batchItems},
	} {
		n := newNode(t)
		answer := n.must(400, "POST /_bulk", body)
		reason := fmt.Sprintf("Validation Failed: 1: index is missing; in operation %d; ", want.operation)
		if want.effect == 0 {
			reason += "none of the operations has taken effect"
			if strings.Contains(body, named) {
				reason += ", but index [a] was made"
			}
		} else {
			reason += fmt.Sprintf("the first %d operations have taken effect", want.effect)
		}
		if at(answer, "error.type") != typeValidation || at(answer, "error.reason") != reason {
			t.Errorf("%.60q: %v, want %s", body, answer["error"], reason)
		}
		if want.effect > 0 || strings.Contains(body, named) {
			n.must(200, "POST /a/_refresh", "")
			if got := at(n.must(200, "GET /a/_count", ""), "count"); got != float64(want.effect) {
				t.Errorf("%.60q: %v documents, want %d", body, got, want.effect)
			}
		}
		n.must(200, "POST /a/_bulk", without) // the path names one
	}
}

// The error names the indexes that were made for operations without effect, and no others.
func TestBulkMadeIndexes(t *testing.T) {
	const bad = `{"index":{}}` + "\n{}\n"
	named := func(name string) string { return `{"index":{"_index":"` + name + `"}}` + "\n{}\n" }
	for body, want := range map[string]string{
		`{"delete":{"_index":"a","_id":"1"}}` + "\n" + bad: "none of the operations has taken effect",
		named("there") + bad:                                                   "none of the operations has taken effect",
		named("a") + named("a") + bad:                                          "none of the operations has taken effect, but index [a] was made",
		named("b") + named("there") + named("a") + bad:                         "none of the operations has taken effect, but 2 indexes were made, the first is [b]",
		strings.Repeat(named("a"), batchItems) + named("b") + named("a") + bad: fmt.Sprintf("the first %d operations have taken effect, but index [b] was made", batchItems),
	} {
		n := newNode(t)
		n.must(200, "PUT /there", "")
		answer := n.must(400, "POST /_bulk", body)
		reason, _ := at(answer, "error.reason").(string)
		if _, effect, _ := strings.Cut(reason, "; in operation"); !strings.HasSuffix(effect, "; "+want) {
			t.Errorf("%.80q: %s, want %s", body, reason, want)
		}
		for _, name := range []string{"a", "b"} {
			status := 404
			if strings.Contains(body, named(name)) {
				status = 200
			}
			n.must(status, "GET /"+name, "")
		}
	}
}
