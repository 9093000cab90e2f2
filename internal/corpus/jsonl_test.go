package corpus

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestJSONLRecords(t *testing.T) {
	for _, c := range []struct {
		name, line string
		opts       Options
		want       Document
	}{
		{
			"BEIR", `{"_id": "7", "title": "T", "text": "a b", "metadata": {"url": "u"}}`,
			Options{},
			Document{ID: "7", Title: "T", Text: "a b"},
		},
		{"Anserini", `{"id": "d1", "contents": "a b"}`, Options{}, Document{ID: "d1", Text: "a b"}},
		{"number as id", `{"id": 12, "text": "x"}`, Options{}, Document{ID: "12", Text: "x"}},
		{"null and empty", `{"id": "1", "title": null, "text": ""}`, Options{}, Document{ID: "1"}},
		{
			"escapes", `{"id": "\u00e9\n", "text": "\"q\" \ud83d\ude00 \/ ü"}`,
			Options{},
			Document{ID: "é\n", Text: "\"q\" 😀 / ü"},
		},
		{
			"best name wins", `{"id": "b", "text": "t", "_id": "a", "contents": "c"}`,
			Options{},
			Document{ID: "a", Text: "t", Extra: []Field{{"id", "b"}, {"contents", "c"}}},
		},
		{
			"extra in order of the record", `{"z": "1", "id": "i", "year": 1999, "open": true, "none": null, "void": "", "text": "t", "list": ["x"], "a": "2"}`,
			Options{},
			Document{ID: "i", Text: "t", Extra: []Field{{"z", "1"}, {"year", "1999"}, {"open", "true"}, {"a", "2"}}},
		},
		{
			"extra chosen", `{"z": "1", "id": "i", "text": "t", "list": [ "x" ], "a": "2"}`,
			Options{ExtraFields: []string{"list", "a"}},
			Document{ID: "i", Text: "t", Extra: []Field{{"list", `[ "x" ]`}, {"a", "2"}}},
		},
		{"extra dropped", `{"z": "1", "id": "i", "text": "t"}`, Options{DropExtra: true}, Document{ID: "i", Text: "t"}},
		{
			"named fields", `{"key": "k", "head": "h", "abstract": "t", "id": "other"}`,
			Options{IDField: "key", TitleField: "head", TextField: "abstract"},
			Document{ID: "k", Title: "h", Text: "t", Extra: []Field{{"id", "other"}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Format = "jsonl"
			res := collectString(t, c.line+"\n", c.opts)
			checkBad(t, res.bad)
			checkDocs(t, res.docs, c.want)
		})
	}
}

func TestJSONLErrors(t *testing.T) {
	for _, c := range []struct {
		line, want string
		opts       Options
	}{
		{line: `{"text": "x"}`, want: `-:2: field "_id": none of the fields ["_id" "id" "docid" "docno"] is there`},
		{line: `{"id": "1"}`, want: `-:2: field "text": none of the fields ["text" "contents" "body" "content"] is there`},
		{line: `{"id": "1", "body": "x"}`, opts: Options{TextField: "abstract"}, want: `-:2: field "abstract": missing`},
		{line: `{"id": "1", "text": "x"}`, opts: Options{TitleField: "title"}, want: `-:2: field "title": missing`},
		{line: `{"id": "", "text": "x"}`, want: `-:2: field "id": the id is empty`},
		{line: `{"id": null, "text": "x"}`, want: `-:2: field "id": not a string nor an integer but null`},
		{line: `{"id": 1.5, "text": "x"}`, want: `-:2: field "id": the number 1.5 is no integer`},
		{line: `{"id": "1", "text": ["x"]}`, want: `-:2: field "text": not a string but a list`},
		{line: `{"id": "1", "title": 3, "text": "x"}`, want: `-:2: field "title": not a string but a number`},
		{line: `{"id": "1", "text": "x", "id": "2"}`, want: `-:2: field "id": invalid JSON at byte 25 of the line: the field occurs twice`},
		{line: `{"id": "1", "text": "x"`, want: `-:2: invalid JSON at byte 23 of the line: the object does not end on its line`},
		{line: `{"id": "1", "text": "x}`, want: `-:2: field "text": invalid JSON at byte`},
		{line: `{"id": "1" "text": "x"}`, want: `-:2: invalid JSON at byte 11 of the line`},
		{line: `{"id": "1", "text": "x"} {}`, want: `-:2: more than one value on the line`},
		{line: "{\"id\": \"1\", \"text\": \"a\xffb\"}", want: `-:2: field "text": invalid JSON at byte 22 of the line: invalid UTF-8`},
		{line: `{"id": "1", "text": "\ud800"}`, want: `-:2: field "text": invalid JSON at byte`},
		{line: "{\"id\": \"1\", \"text\": \"a\x01\"}", want: `-:2: field "text": invalid JSON at byte`},
		{line: `[{"id": "1", "text": "x"}]`, want: `-:2: a record must be an object, this is a list; one JSON value for the whole file can be converted with: jq`},
		{line: `"x"`, want: `-:2: a record must be an object, this is a string`},
		{line: `hello`, want: `-:2: invalid JSON at byte 0 of the line`},
	} {
		t.Run(c.line, func(t *testing.T) {
			good := `{"id": "0", "title": "", "text": "x", "abstract": "y"}`
			c.opts.Format, c.opts.DropExtra = "jsonl", true
			res := collectString(t, good+"\n"+c.line+"\n"+good+"\n", c.opts)
			checkBad(t, res.bad, c.want)
			if len(res.docs) != 2 {
				t.Errorf("%d documents, want the 2 around the bad one", len(res.docs))
			}
		})
	}
}

// TestJSONLAllocations: a document is allocated with its id, and one string
// for all of its text.
func TestJSONLAllocations(t *testing.T) {
	parser := jsonParser{opts: &Options{}}
	line := []byte(`{"id": "12-0", "title": "A \"title\"", "text": "and a text"}`)
	allocs := testing.AllocsPerRun(100, func() {
		if _, rec := parser.parse(line, Location{}); rec != nil {
			t.Fatal(rec)
		}
	})
	if allocs != 3 {
		t.Errorf("%v allocations, want 3", allocs)
	}
}

// FuzzJSONL compares with encoding/json, whose rules are laxer: it takes the
// last of equal names, and replaces invalid UTF-8.
func FuzzJSONL(f *testing.F) {
	for _, s := range []string{
		`{"id": "1", "title": "t\u00e9\n", "text": "x y", "year": 1999, "tags": ["a", {"b": null}]}`,
		`{"_id":"\ud83d\ude00","contents":""}`, `{"id":1,"text":null}`, `{"id":"1","id":"2"}`, `[{}]`, `{"id`, "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		d, rec := (&jsonParser{opts: &Options{}}).parse([]byte(line), Location{Line: 1})
		if rec != nil {
			if rec.Line != 1 || rec.Err == nil {
				t.Fatalf("%+v", rec)
			}
			return
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatalf("%q was accepted: %v", line, err)
		}
		for _, name := range textNames {
			if v, ok := want[name]; ok {
				if s, _ := v.(string); s != d.Text {
					t.Fatalf("text %q, want %q", d.Text, v)
				}
				break
			}
		}
		for _, extra := range d.Extra {
			if s, ok := want[extra.Name].(string); ok && s != extra.Value {
				t.Fatalf("%s: %q, want %q", extra.Name, extra.Value, s)
			}
		}
		if d.ID == "" || !utf8.ValidString(d.ID+d.Title+d.Text) || strings.Contains(d.ID, "\xff") {
			t.Fatalf("%+v", d)
		}
	})
}

func TestJSONLVectors(t *testing.T) {
	lines := `{"id": "1", "contents": "kept", "vector": {"search": 3.5, "##ing": 0, "é\n": 7}, "year": 1999}
{"id": "2", "vector": {}}
`
	res := collectString(t, lines, Options{Format: "jsonl", Weights: true})
	checkBad(t, res.bad)
	checkDocs(
		t, res.docs,
		Document{ID: "1", Text: "kept", Vector: []TermWeight{{"search", 3.5}, {"##ing", 0}, {"é\n", 7}}, Extra: []Field{{"year", "1999"}}},
		Document{ID: "2", Vector: []TermWeight{}},
	)
	for _, c := range []struct{ line, want string }{
		{`{"id": "1", "text": "x"}`, `field "vector": missing`},
		{`{"id": "1", "vector": ["a", 1]}`, `field "vector": not an object`},
		{`{"id": "1", "vector": {"a": "1"}}`, `term "a": the weight is no number`},
		{`{"id": "1", "vector": {"a": -0.5}}`, `term "a": the weight -0.5 is not 0 or more`},
		{`{"id": "1", "vector": {"a": 1e400}}`, `term "a": the weight 1e400 is not`},
		{`{"id": "1", "vector": {"": 1}}`, `an empty term`},
		{`{"id": "1", "vector": {"a": 1, "a": 2}}`, `twice`},
	} {
		res := collectString(t, c.line+"\n", Options{Format: "jsonl", Weights: true})
		if len(res.docs) != 0 || len(res.bad) != 1 || !strings.Contains(res.bad[0], c.want) {
			t.Errorf("%s: %v, %v; want an error with %q", c.line, res.docs, res.bad, c.want)
		}
	}
	// Whoever takes vectors for texts is told.
	res = collectString(t, `{"id": "1", "vector": {"a": 1}}`+"\n", Options{Format: "jsonl"})
	if len(res.bad) != 1 || !strings.Contains(res.bad[0], "index it as weights") {
		t.Errorf("a vector taken for a text: %v", res.bad)
	}
}

func FuzzParseVector(f *testing.F) {
	for _, s := range []string{`{}`, `{"a": 1}`, `{"a": 1.5e3, "b\u00e9": 0}`, `{"a": -1}`, `{"a"`, `[]`, `{"a": 1} {}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		vector, err := ParseVector([]byte(text))
		if err != nil {
			return
		}
		var want map[string]float64
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("ParseVector takes what is no map of numbers: %v", err)
		}
		if len(want) != len(vector) {
			t.Fatalf("%d terms, %d expected", len(vector), len(want))
		}
		for _, v := range vector {
			if want[v.Term] != v.Weight || v.Weight < 0 || !utf8.ValidString(v.Term) {
				t.Fatalf("%q has weight %g, %g expected", v.Term, v.Weight, want[v.Term])
			}
		}
	})
}
