package corpus

import (
	"fmt"
	"strings"
	"testing"
)

func collectFile(t testing.TB, name, content string, opts Options) (*result, Summary) {
	t.Helper()
	dir := writeFiles(t, map[string]string{name: content})
	t.Chdir(dir)
	r, err := Open([]string{name}, opts)
	if err != nil {
		t.Fatal(err)
	}
	res, err := collect(r)
	if err != nil {
		t.Fatal(err)
	}
	return res, r.Summary()
}

func TestCSV(t *testing.T) {
	for _, c := range []struct {
		name, file, content string
		opts                Options
		want                []Document
	}{
		{
			"usual names", "a.csv", "ID,Title,Text,Author\n1,T,\"a, \"\"b\"\"\nc\",Ada\n2,U,d,\n",
			Options{},
			[]Document{{ID: "1", Title: "T", Text: "a, \"b\"\nc", Extra: []Field{{"Author", "Ada"}}}, {ID: "2", Title: "U", Text: "d"}},
		},
		{
			"other delimiter, mark, CRLF, no last line end", "a.csv", "\ufeffname;description\r\nA;x, y\r\nB;z",
			Options{DropExtra: true},
			[]Document{{ID: "a.csv:2", Title: "A", Text: "x, y"}, {ID: "a.csv:3", Title: "B", Text: "z"}},
		},
		{
			"TSV has no quotes", "a.tsv", "id\ttext\n1\t\"x\n2\ty\" z\n",
			Options{},
			[]Document{{ID: "1", Text: "\"x"}, {ID: "2", Text: "y\" z"}},
		},
		{
			"columns without a name and of one name", "a.csv", "text,,tag,tag\nx,1,2,3\n",
			Options{},
			[]Document{{ID: "a.csv:2", Text: "x", Extra: []Field{{"column2", "1"}, {"tag", "2"}, {"tag", "3"}}}},
		},
		{
			"short rows, blank rows, lines of a record", "a.csv", "id,text,x\n1\n\n,,\n2,\"a\n\nb\",y\n,\n3,c\n",
			Options{},
			[]Document{{ID: "1"}, {ID: "2", Text: "a\n\nb", Extra: []Field{{"x", "y"}}}, {ID: "3", Text: "c"}},
		},
		{
			"named columns", "a.csv", "k,h,abstract,text\n1,H,A,T\n",
			Options{IDField: "k", TitleField: "h", TextField: "abstract"},
			[]Document{{ID: "1", Title: "H", Text: "A", Extra: []Field{{"text", "T"}}}},
		},
		{"Windows-1252", "a.csv", "id,text\n1,caf\xe9\n", Options{}, []Document{{ID: "1", Text: "café"}}},
		{"compressed", "a.csv.gz", gzipped(t, "id,text\n1,x\n"), Options{}, []Document{{ID: "1", Text: "x"}}},
		{"one column", "a.csv", "text\nx\n", Options{}, []Document{{ID: "a.csv:2", Text: "x"}}},
		{"no rows", "a.csv", "id,text", Options{}, nil},
		{"empty", "a.csv", "", Options{Format: formatCSV}, nil},
		{"any name", "a", "id,text\n1,x\n", Options{Format: formatCSV}, []Document{{ID: "1", Text: "x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, _ := collectFile(t, c.file, c.content, c.opts)
			checkBad(t, res.bad)
			checkDocs(t, res.docs, c.want...)
		})
	}
}

func TestCSVErrors(t *testing.T) {
	for _, c := range []struct{ name, row, want string }{
		{"too many columns", "3,x,y\n", "a.csv:3: more columns than the 2 of the header row"},
		{"quote within a field", "3,x\"y\n", `a.csv:3: invalid CSV at line 3, column 4: bare " in non-quoted-field`},
		{"text after a quote", "3,\"x\"y\n", `a.csv:3: invalid CSV at line 3, column 5: extraneous or missing " in quoted-field`},
		{"no id", ",x\n", `a.csv:3: field "id": the id is empty`},
		{"too long", "3," + strings.Repeat("x", 200) + "\n", "a.csv:3: the record is longer than the limit of 150 bytes"},
		{"neither UTF-8 nor Windows-1252", "3,\xff\x01\n", `a.csv:3: field "text": neither UTF-8 nor Windows-1252 text`},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, _ := collectFile(t, "a.csv", "id,text\n1,a\n"+c.row+"2,b\n", Options{MaxRecordBytes: 150})
			checkBad(t, res.bad, c.want)
			if len(res.docs) != 2 {
				t.Errorf("%d documents, want the 2 around the bad row", len(res.docs))
			}
		})
	}
	t.Run("quote that is not closed", func(t *testing.T) {
		res, _ := collectFile(t, "a.csv", "id,text\n1,a\n2,\"b\n3,c\n", Options{})
		checkBad(t, res.bad, "a.csv:3: invalid CSV at line ")
		checkDocs(t, res.docs, Document{ID: "1", Text: "a"})
	})
	t.Run("header row", func(t *testing.T) {
		res, _ := collectFile(t, "a.csv", "x,y\n1,a\n", Options{Format: formatCSV})
		checkBad(t, res.bad, `a.csv:1: neither a title nor a text: none of the fields ["title" "text" "contents" "body" "content"] is there, but "x" "y"`)
	})
}

// Quotes, line ends and delimiters within fields lie at all borders of batches.
func TestCSVBatches(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,text\n")
	var want []string
	for i := range 60_000 {
		text := strings.Repeat(`"a`+"\n,", i%13) + "x"
		want = append(want, text)
		fmt.Fprintf(&b, "%d,\"%s\"\n", i, strings.ReplaceAll(text, `"`, `""`))
	}
	res, summary := collectFile(t, "a.csv", b.String(), Options{})
	checkBad(t, res.bad)
	if len(res.docs) != len(want) {
		t.Fatalf("%d documents, want %d", len(res.docs), len(want))
	}
	line := int64(2)
	for i, d := range res.docs {
		if d.Text != want[i] || d.ID != fmt.Sprint(i) || d.Source.Line != line {
			t.Fatalf("document %d: %q at %v, want %q at line %d", i, d.Text, d.Source, want[i], line)
		}
		line += int64(strings.Count(want[i], "\n")) + 1
	}
	if c := summary.Collections; len(c) != 1 || c[0].Records != int64(len(want)) {
		t.Errorf("collections %+v", c)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("id,text\n1,\"a\"\"b\nc\"\n2,x\n")
	f.Add("text;x\n\"\n")
	f.Fuzz(func(t *testing.T, s string) { fuzzFormat(t, formatCSV, s) })
}
