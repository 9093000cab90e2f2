package corpus

import (
	"fmt"
	"strings"
	"testing"
)

func TestJSONLists(t *testing.T) {
	one, two := Document{ID: "1", Text: "a]\"\\"}, Document{ID: "a.json:2", Text: "b"}
	for _, c := range []struct {
		name, content string
		opts          Options
		want          []Document
	}{
		{"one line", `[{"id":1,"text":"a]\"\\"},{"text":"b"}]`, Options{}, []Document{one, two}},
		{"indented", "\ufeff[\n  {\n    \"id\": 1,\n    \"text\": \"a]\\\"\\\\\"\n  },\n  {\n    \"text\": \"b\"\n  }\n]\n", Options{}, []Document{one, two}},
		{"no list", "{\"id\":1,\n\"text\":\"a]\\\"\\\\\"}\n{\"text\":\n\"b\"}", Options{Format: formatJSON}, []Document{one, two}},
		{"empty", "[ ]", Options{Format: formatJSON}, nil},
		{"nothing", " \n", Options{Format: formatJSON}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, _ := collectFile(t, "a.json", c.content, c.opts)
			checkBad(t, res.bad)
			checkDocs(t, res.docs, c.want...)
		})
	}
}

func TestJSONListErrors(t *testing.T) {
	const good = `{"id":"1","text":"a"}`
	long := `{"id":"2","text":"` + strings.Repeat("x", 2*batchBytes) + `"}`
	for _, c := range []struct {
		name, content, want string
		docs                int
	}{
		{"bad element", "[" + good + ",\n{\"id\":2},\n" + good + "]", "a.json:2 (record 2): neither a title nor a text", 2},
		{"not an object", "[" + good + ", 7, " + good + "]", "a.json:1 (record 2): a record must be an object, this is a number", 2},
		{"invalid element", "[" + good + ", {x}, " + good + "]", "a.json:1 (record 2): invalid JSON at byte 1", 2},
		{"no comma", "[" + good + "\n" + good + "]", "a.json:2 (record 2): the rest of the file is lost: invalid JSON: '{' where a comma", 1},
		{"text after the list", "[" + good + "] x", "a.json:1 (record 2): the rest of the file is lost: invalid JSON: 'x' after the end of the list", 1},
		{"no end of the list", "[" + good + "\n", "a.json:2: the list does not end", 1},
		{"no end of an element", "[" + good + ",{\"id\"", "a.json:1 (record 2): field \"id\": invalid JSON at byte 5: the object does not end", 1},
		{"too long", "[" + good + "," + long + "," + good + "]", "a.json:1 (record 2): the rest of the file is lost: the record is longer than the limit", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, _ := collectFile(t, "a.json", c.content, Options{Format: formatJSON, MaxRecordBytes: batchBytes})
			if c.docs != len(res.docs) || len(res.bad) == 0 || !strings.HasPrefix(res.bad[0], c.want) {
				t.Errorf("%d documents, errors %.200q; want %d and %s", len(res.docs), res.bad, c.docs, c.want)
			}
		})
	}
}

// One element is longer than a batch.
func TestJSONListBatches(t *testing.T) {
	var b strings.Builder
	b.WriteString("[\n")
	const numDocs = 30_000
	for i := range numDocs {
		text := strings.Repeat(`{"[\\`, i%29)
		if i == 1000 {
			text = strings.Repeat("x", 5*batchBytes/2)
		}
		fmt.Fprintf(&b, "{\"id\": %d,\n \"text\": %q},\n", i, text)
	}
	res, summary := collectFile(t, "a.json", strings.TrimSuffix(b.String(), ",\n")+"\n]\n", Options{})
	checkBad(t, res.bad)
	for i, d := range res.docs {
		if d.ID != fmt.Sprint(i) || d.Source.Line != int64(2*i+2) || d.Source.Record != int64(i+1) {
			t.Fatalf("document %d has the id %s and comes from %v", i, d.ID, d.Source)
		}
	}
	if c := summary.Collections; len(res.docs) != numDocs || len(c) != 1 || c[0].Records != numDocs {
		t.Errorf("%d documents, collections %+v", len(res.docs), c)
	}
}

func FuzzJSONList(f *testing.F) {
	f.Add(`[{"id":"1","text":"a"}, {"text": "\"]"}]`)
	f.Add("{\"text\":\"a\"}\n{\"text\":")
	f.Fuzz(func(t *testing.T, s string) { fuzzFormat(t, formatJSON, s) })
}
