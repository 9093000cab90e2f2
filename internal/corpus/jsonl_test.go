package corpus

import (
	"encoding/json"
	"fmt"
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
			Document{ID: "7", Title: "T", Text: "a b", Extra: []Field{{"metadata.url", "u"}}},
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
			Document{ID: "i", Text: "t", Extra: []Field{{"z", "1"}, {"year", "1999"}, {"open", "true"}, {"list", "x"}, {"a", "2"}}},
		},
		{
			"extra chosen", `{"z": "1", "id": "i", "text": "t", "list": [ "x" ], "a": "2"}`,
			Options{ExtraFields: []string{"list", "a"}},
			Document{ID: "i", Text: "t", Extra: []Field{{"list", "x"}, {"a", "2"}}},
		},
		{
			"lists are several values", `{"id": "i", "text": "t", "author": ["Bob", "Ada", null, ["Eve"], 7, false, ""], "none": [], "void": {}}`,
			Options{},
			Document{ID: "i", Text: "t", Extra: []Field{{"author", "Bob"}, {"author", "Ada"}, {"author", "Eve"}, {"author", "7"}, {"author", "false"}}},
		},
		{
			"objects are dotted names", `{"id": "i", "text": "t", "meta": {"author": "A", "place": {"lat": 1.50, "lon": -2e3}}, "meta.author": "B"}`,
			Options{},
			Document{ID: "i", Text: "t", Extra: []Field{{"meta.author", "A"}, {"meta.place.lat", "1.50"}, {"meta.place.lon", "-2e3"}, {"meta.author", "B"}}},
		},
		{
			"lists of objects combine", `{"id": "i", "text": "t", "authors": [{"name": "A\n", "age": 1}, {"name": ["B", "C"]}]}`,
			Options{},
			Document{ID: "i", Text: "t", Extra: []Field{{"authors.name", "A\n"}, {"authors.age", "1"}, {"authors.name", "B"}, {"authors.name", "C"}}},
		},
		{
			"a name chooses the values below it", `{"id": "i", "text": "t", "meta": {"a": "1", "b": ["2", "3"]}, "metal": "4", "x": "5"}`,
			Options{ExtraFields: []string{"meta"}},
			Document{ID: "i", Text: "t", Extra: []Field{{"meta.a", "1"}, {"meta.b", "2"}, {"meta.b", "3"}}},
		},
		{
			"title and text of several values", `{"id": "i", "title": ["A", 2], "text": ["one", "two", null]}`,
			Options{},
			Document{ID: "i", Title: "A 2", Text: "one\ntwo"},
		},
		{"empty list as text", `{"id": "i", "text": []}`, Options{}, Document{ID: "i"}},
		{
			"nested parts", `{"meta": {"key": "k"}, "doc": {"head": "h", "body": "b"}}`,
			Options{IDField: "meta.key", TitleField: "doc.head", TextField: "doc.body"},
			Document{ID: "k", Title: "h", Text: "b"},
		},
		{"title alone", `{"id": "i", "title": "t"}`, Options{}, Document{ID: "i", Title: "t"}},
		{"no id", `{"text": "t"}`, Options{}, Document{ID: "-:1", Text: "t"}},
		{
			"other names of the text", `{"id": "i", "title": "t", "summary": "s", "name": "n"}`,
			Options{},
			Document{ID: "i", Title: "t", Text: "s", Extra: []Field{{"summary", "s"}, {"name", "n"}}},
		},
		{
			"other names of both", `{"id": "i", "name": "n", "description": "d"}`,
			Options{},
			Document{ID: "i", Title: "n", Text: "d", Extra: []Field{{"name", "n"}, {"description", "d"}}},
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
		{line: `{"text": "x"}`, want: `-:2: field "key": missing`, opts: Options{IDField: "key"}},
		{line: `{"id": "1"}`, want: `-:2: neither a title nor a text: none of the fields ["title" "text" "contents" "body" "content"] is there, but "id"`},
		{line: `{"id": "1", "meta": {"a": 1, "b": [2, 3]}}`, want: `-:2: neither a title nor a text: none of the fields ["title" "text" "contents" "body" "content"] is there, but "id" "meta.a" "meta.b"`},
		{line: `{"id": "1", "text": {"en": "x"}}`, want: `-:2: neither a title nor a text: none of the fields ["title" "text" "contents" "body" "content"] is there, but "id" "text.en"`},
		{line: `{"id": "1", "doc": {"en": "x"}}`, opts: Options{TextField: "doc"}, want: `-:2: field "doc": an object, with the field "doc.en" for example`},
		{line: `{"id": ["1", "2"], "text": "x"}`, want: `-:2: field "id": the id has more than one value`},
		{line: `{"id": [], "text": "x"}`, want: `-:2: field "id": neither a string nor an integer but a list`},
		{line: `{"id": "1", "text": "x", "a": {"b": 1, "b": 2}}`, want: `-:2: field "a.b": invalid JSON at byte 39: the field occurs twice`},
		{line: `{"id": "1", "text": "x", "a": ` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`},
		{line: `{"id": "1", "text": "x", "a": ` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, want: `-:2: field "a": more than 64 lists and objects within one another`},
		{line: `{"id": "1", "text": "x", "a": ` + strings.Repeat(`{"b":`, 64) + "1" + strings.Repeat("}", 64) + `}`, want: `-:2: field "a.b.b`},
		{line: `{"id": "1", "body": "x"}`, opts: Options{TextField: "abstract"}, want: `-:2: field "abstract": missing`},
		{line: `{"id": "1", "text": "x"}`, opts: Options{TitleField: "title"}, want: `-:2: field "title": missing`},
		{line: `{"id": "", "text": "x"}`, want: `-:2: field "id": the id is empty`},
		{line: `{"id": null, "text": "x"}`, want: `-:2: field "id": neither a string nor an integer but null`},
		{line: `{"id": 1.5, "text": "x"}`, want: `-:2: field "id": the number 1.5 is not an integer`},
		{line: `{"id": "1", "text": "x", "id": "2"}`, want: `-:2: field "id": invalid JSON at byte 25: the field occurs twice`},
		{line: `{"id": "1", "text": "x"`, want: `-:2: invalid JSON at byte 23: the object does not end`},
		{line: `{"id": "1", "text": "x}`, want: `-:2: field "text": invalid JSON at byte`},
		{line: `{"id": "1" "text": "x"}`, want: `-:2: invalid JSON at byte 11`},
		{line: `{"id": "1", "text": "x"} {}`, want: `-:2: more than one value on the line`},
		{line: "{\"id\": \"1\", \"text\": \"a\xffb\"}", want: `-:2: field "text": invalid JSON at byte 22: invalid UTF-8`},
		{line: `{"id": "1", "text": "\ud800"}`, want: `-:2: field "text": invalid JSON at byte`},
		{line: "{\"id\": \"1\", \"text\": \"a\x01\"}", want: `-:2: field "text": invalid JSON at byte`},
		{line: `[{"id": "1", "text": "x"}]`, want: `-:2: a record must be an object, this is a list; read a file that holds one list of records as format json`},
		{line: `"x"`, want: `-:2: a record must be an object, this is a string`},
		{line: `hello`, want: `-:2: invalid JSON at byte 0`},
		{line: `not json`, want: `-:2: invalid JSON at byte 1`},
		{line: `null`, want: `-:2: a record must be an object, this is null`},
		{line: `true story`, want: `-:2: invalid JSON at byte 5`},
		{line: `2026-11-26 started`, want: `-:2: invalid JSON at byte 11`},
		{line: `"a", 1`, want: `-:2: invalid JSON at byte 3`},
		{line: `[INFO] started`, want: `-:2: invalid JSON at byte 1`},
		{line: `[`, want: `-:2: a record must be an object, this is a list; read a file`},
		{line: `[{"id": "1", "id": "2"}]`, want: `-:2: a record must be an object, this is a list; read a file`},
	} {
		t.Run(c.line, func(t *testing.T) {
			good := `{"id": "0", "title": "", "text": "x", "abstract": "y", "key": "0", "doc": "z"}`
			c.opts.Format, c.opts.DropExtra = "jsonl", true
			res := collectString(t, good+"\n"+c.line+"\n"+good+"\n", c.opts)
			if c.want == "" {
				checkBad(t, res.bad)
				return
			}
			checkBad(t, res.bad, c.want)
			if len(res.docs) != 2 {
				t.Errorf("%d documents, want the 2 around the bad one", len(res.docs))
			}
		})
	}
}

// A document allocates its id and one string for all of its text.
func TestJSONLAllocations(t *testing.T) {
	parser := jsonParser{builder: builder{opts: &Options{}}}
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

// encoding/json accepts more: it takes the last of equal names and replaces invalid UTF-8.
func FuzzJSONL(f *testing.F) {
	for _, s := range []string{
		`{"id": "1", "title": "t\u00e9\n", "text": "x y", "year": 1999, "tags": ["a", {"b": null}]}`,
		`{"_id":"\ud83d\ude00","contents":""}`, `{"id":1,"text":null}`, `{"id":"1","id":"2"}`, `[{}]`, `{"id`, "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		d, rec := (&jsonParser{builder: builder{opts: &Options{}}}).parse([]byte(line), Location{Line: 1})
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
		t.Run(c.line, func(t *testing.T) {
			res := collectString(t, c.line+"\n", Options{Format: "jsonl", Weights: true})
			if len(res.docs) != 0 || len(res.bad) != 1 || !strings.Contains(res.bad[0], c.want) {
				t.Errorf("%s: %v, %v; want an error with %q", c.line, res.docs, res.bad, c.want)
			}
		})
	}
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

// The parser must refuse a million fields at the first beyond the limit.
func TestTooManyFields(t *testing.T) {
	const numFields = 1_000_000
	var record, vector strings.Builder
	record.WriteString(`{"id":"1","text":"x"`)
	vector.WriteString(`{"a":1`)
	for i := range numFields {
		fmt.Fprintf(&record, `,"f%07d":%d`, i, i%10)
		fmt.Fprintf(&vector, `,"f%07d":%d`, i, i%10)
	}
	record.WriteString("}")
	vector.WriteString("}")
	const memberBytes = len(`,"f0000000":0`)

	t.Run("record", func(t *testing.T) {
		parser := jsonParser{builder: builder{opts: &Options{}}}
		_, rec := parser.parse([]byte(record.String()), Location{File: "a.jsonl", Line: 7})
		if want := `a.jsonl:7: field "f0065534": the record has more than 65536 values: bad input`; rec == nil || rec.Error() != want {
			t.Fatalf("error %v, want %s", rec, want)
		}
		if n := len(parser.scanner.fields); n != MaxFields {
			t.Errorf("%d fields were read, want %d", n, MaxFields)
		}
		if read, most := parser.scanner.dec.InputOffset(), int64((MaxFields+1)*memberBytes); read > most {
			t.Errorf("%d bytes of %d were read, want at most %d", read, record.Len(), most)
		}
	})
	t.Run("elements of a list", func(t *testing.T) {
		parser := jsonParser{builder: builder{opts: &Options{}}}
		const start, element = `{"id":"1","text":"x","tags":[`, `7,`
		line := start + strings.Repeat(element, numFields) + "7]}"
		_, rec := parser.parse([]byte(line), Location{File: "a.jsonl", Line: 7})
		if want := `a.jsonl:7: field "tags": the record has more than 65536 values: bad input`; rec == nil || rec.Error() != want {
			t.Fatalf("error %v, want %s", rec, want)
		}
		if read, most := parser.scanner.dec.InputOffset(), int64(len(start)+MaxFields*len(element)); read > most {
			t.Errorf("%d bytes of %d were read, want at most %d", read, len(line), most)
		}
	})
	t.Run("vector", func(t *testing.T) {
		var scanner jsonScanner
		_, rec := parseVector(&scanner, []byte(vector.String()))
		if rec == nil || !strings.Contains(rec.Error(), "more than 262144 values") {
			t.Fatalf("error %v", rec)
		}
		if read, most := scanner.dec.InputOffset(), int64((maxVectorTerms+1)*memberBytes); read > most {
			t.Errorf("%d bytes of %d were read, want at most %d", read, vector.Len(), most)
		}
	})
	t.Run("TREC text", func(t *testing.T) {
		var b strings.Builder
		b.WriteString("<DOC><DOCNO>1</DOCNO>")
		for range MaxFields + 1 {
			b.WriteString("<A>x</A>")
		}
		b.WriteString("</DOC>")
		res := collectString(t, b.String(), Options{})
		checkBad(t, res.bad, `-:1: field "A": the record has more than 65536 values`)
	})
}
