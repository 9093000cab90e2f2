package rest

import (
	"fmt"
	"strings"
	"testing"
)

func TestCatColumns(t *testing.T) {
	n := newNode(t)
	for i, name := range []string{"b", "a", "c"} {
		for j := range 9 + i { // 9, 10 and 11 documents: a sort of texts is another one
			n.must(201, fmt.Sprintf("PUT /%s/_doc/%d", name, j), `{"n":1}`)
		}
		n.must(200, "POST /"+name+"/_refresh", "")
	}
	for parameters, want := range map[string]string{
		"h=index":                             "a\nb\nc\n",
		"h=index,docs.count":                  "a 10\nb 9\nc 11\n",
		"h=index&s=docs.count":                "b\na\nc\n",
		"h=i&s=dc:desc":                       "c\na\nb\n",
		"h=idx,%20dc&v":                       "idx dc\na   10\nb   9\nc   11\n",
		"h=docs.*&v&s=index:desc":             "docs.count docs.deleted\n11         0\n9          0\n10         0\n",
		"h=index&s=status,health,i:desc":      "c\nb\na\n",
		"h=index,index&s=rep":                 "a a\nb b\nc c\n",
		"h=index,docs.count&format=json&s=dc": `[{"docs.count":"9","index":"b"},{"docs.count":"10","index":"a"},{"docs.count":"11","index":"c"}]` + "\n",
	} {
		if w := n.do("GET /_cat/indices?"+parameters, ""); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d\n%s, want\n%s", parameters, w.Code, w.Body, want)
		}
	}
	for parameters, want := range map[string]string{
		"h=indx":            "unknown column [indx]: there are [health, status, index,",
		"h=":                "unknown column []",
		"h=x*":              "unknown column [x*]",
		"s=indx":            "unknown column [indx]",
		"s=":                "unknown column []",
		"s=index:up":        "[s] has the order [up] of column [index], not asc or desc",
		"h=index&v=perhaps": "[v]",
	} {
		answer := n.must(400, "GET /_cat/indices?"+parameters, "")
		if reason, _ := at(answer, "error.reason").(string); !strings.Contains(reason, want) {
			t.Errorf("%s: %s, want %s", parameters, reason, want)
		}
	}
}
