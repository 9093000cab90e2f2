package rest

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

func TestAppendLine(t *testing.T) {
	m, err := griffin.ParseMapping([]byte(`{"properties": {"n": {"type": "double"}, "deep": {"properties": {"is": {"type": "boolean"}}}, "k": {"type": "keyword"}, "d": {"type": "date"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	lines := NewLines(m)
	for _, tc := range []struct {
		doc  griffin.Document
		want string
	}{
		{griffin.Document{ID: "a\n"}, `{"_id":"a\n"}`},
		{griffin.Document{ID: "1", Title: "t", Text: "x\ny"}, `{"_id":"1","title":"t","text":"x\ny"}`},
		{griffin.Document{ID: "1", Fields: []griffin.Field{{Name: "a", Value: "1"}, {Name: "b.c", Value: "2"}, {Name: "a", Value: "3"}}}, `{"_id":"1","a":["1","3"],"b.c":"2"}`},
		{griffin.Document{ID: "1", Title: "t", Fields: []griffin.Field{{Name: "x", Value: "y"}, {Name: "_source", Value: "{\n \"a\": [1, 2]}"}}}, `{"_id":"1","a":[1,2]}`},
		{griffin.Document{ID: "1", Fields: []griffin.Field{{Name: "_source", Value: "{ }"}}}, `{"_id":"1"}`},
		{griffin.Document{ID: "1", Fields: []griffin.Field{{Name: "n", Value: "-1.5e3"}, {Name: "k", Value: "7"}, {Name: "deep.is", Value: "true"}, {Name: "d", Value: "2024"}, {Name: "n", Value: "012"}}}, `{"_id":"1","n":[-1.5e3,"012"],"k":"7","deep.is":true,"d":"2024"}`},
		{griffin.Document{ID: "1", Fields: []griffin.Field{{Name: "n", Value: " 5\n"}, {Name: "deep.is", Value: "\n"}}}, `{"_id":"1","n":5,"deep.is":"\n"}`},
	} {
		if got := string(lines.Append(nil, &tc.doc)); got != tc.want+"\n" {
			t.Errorf("%+v: got %s, want %s", tc.doc, got, tc.want)
		}
	}
}

func TestExport(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /ix", "")
	if w := n.do("GET /ix/_export", ""); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("an empty index: %d %q", w.Code, w.Body)
	}
	want := ""
	for _, id := range []string{"1", "2", "3"} {
		n.must(201, "PUT /ix/_doc/"+id, `{"n": `+id+`}`)
		if id != "2" {
			want += `{"_id":"` + id + `","n":` + id + "}\n"
		}
	}
	n.must(200, "DELETE /ix/_doc/2", "")
	n.must(200, "POST /ix/_refresh", "")
	server := httptest.NewServer(n.h)
	defer server.Close()
	w := n.do("GET /ix/_export", "")
	if w.Code != 200 || w.Body.String() != want || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/x-ndjson") {
		t.Errorf("got %d %q, want %q", w.Code, w.Body, want)
	}
	n.must(404, "GET /none/_export", "")
}
