package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

const everything = `{
	"dynamic": "strict",
	"properties": {
		"title": {"type": "text", "analyzer": "english", "search_analyzer": "simple", "boost": 2, "copy_to": ["all"],
			"fields": {"keyword": {"type": "keyword", "ignore_above": 256}, "raw": {"type": "text", "analyzer": "whitespace"}}},
		"all": {"type": "text"},
		"tags": {"type": "keyword", "null_value": "none", "doc_values": false, "copy_to": "all"},
		"size": {"type": "long", "null_value": 0},
		"count": {"type": "integer", "index": false},
		"small": {"type": "short"},
		"tiny": {"type": "byte"},
		"price": {"type": "double", "fields": {"whole": {"type": "long"}}},
		"ratio": {"type": "float", "null_value": "0.5"},
		"sold": {"type": "boolean", "null_value": false},
		"made": {"type": "date", "format": "yyyy-MM-dd||epoch_millis", "null_value": "1970-01-01"},
		"host": {"type": "ip", "null_value": "::"},
		"at": {"properties": {"place": {"type": "geo_point", "null_value": {"lat": 1, "lon": 2}}, "deep": {"type": "object", "properties": {"er": {"type": "keyword"}}}}},
		"free": {"type": "object"},
		"dotted.name": {"type": "text", "index": false}
	}
}`

func parse(t testing.TB, text string) *Mapping {
	t.Helper()
	m, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func text(s string) *string { return &s }

func TestParse(t *testing.T) {
	m := parse(t, everything)
	want := []Field{
		{Name: "title", Analyzer: "english", SearchAnalyzer: "simple", Boost: 2, CopyTo: []string{"all"}},
		{Name: "title.keyword", Type: Keyword, Of: "title", IgnoreAbove: 256},
		{Name: "title.raw", Of: "title", Analyzer: "whitespace"},
		{Name: "all"},
		{Name: "tags", Type: Keyword, NullValue: text("none"), NoDocValues: true, CopyTo: []string{"all"}},
		{Name: "size", Type: Long, NullValue: text("0")},
		{Name: "count", Type: Integer, NoIndex: true},
		{Name: "small", Type: Short},
		{Name: "tiny", Type: Byte},
		{Name: "price", Type: Double},
		{Name: "price.whole", Type: Long, Of: "price"},
		{Name: "ratio", Type: Float, NullValue: text("0.5")},
		{Name: "sold", Type: Boolean, NullValue: text("false")},
		{Name: "made", Type: Date, Format: "yyyy-MM-dd||epoch_millis", NullValue: text("1970-01-01")},
		{Name: "host", Type: IP, NullValue: text("::")},
		{Name: "at.place", Type: GeoPoint, NullValue: text("1,2")},
		{Name: "at.deep.er", Type: Keyword},
		{Name: "free", Type: Object},
		{Name: "dotted.name", NoIndex: true},
	}
	if m.Dynamic() != DynamicStrict || len(m.Fields()) != len(want) {
		t.Fatalf("dynamic %q, %d fields, want %d", m.Dynamic(), len(m.Fields()), len(want))
	}
	for i, f := range m.Fields() {
		if !f.equal(&want[i]) {
			t.Errorf("%+v, want %+v", f, want[i])
		}
		got, ok := m.Field(f.Name)
		n, _ := m.Number(f.Name)
		if !ok || got.Name != f.Name || n != i {
			t.Errorf("field %s is not found", f.Name)
		}
	}
	if _, ok := m.Field("nothing"); ok {
		t.Error("a field that is not declared")
	}
	if got, want := m.TermFields(), []string{"title", "title.keyword", "title.raw", "all", "tags", "at.deep.er"}; !slices.Equal(got, want) {
		t.Errorf("fields with lists: %q, want %q", got, want)
	}
	for name, want := range map[string]bool{"at": true, "at.deep": true, "free": true, "dotted": true, "title": false, "at.place": false, "a": false} {
		if m.IsObject(name) != want {
			t.Errorf("%s is an object: %t", name, !want)
		}
	}
	for name, want := range map[string]string{"title.keyword": "title", "title.x.y": "title", "at.place.lat": "at.place", "at.deep": "", "free.x": "", "x": ""} {
		got := ""
		if f := m.Around(name); f != nil {
			got = f.Name
		}
		if got != want {
			t.Errorf("%s is within %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"title": "title 0 title.keyword 1 title.raw 2 all 3", "tags": "tags 4 all 4", "price": "price 9 price.whole 10", "all": "all 3",
		"title.keyword": "", "at": "", "free": "", "nothing": "",
	} {
		got := ""
		for _, to := range m.Targets(name) {
			got += fmt.Sprintf(" %s %d", to.Field.Name, to.Since)
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("values of %s go to%s, want %s", name, got, want)
		}
	}
	if got := m.Subs("title"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("multi-fields %d", got)
	}
	wrapped := parse(t, `{"mappings":`+everything+`}`)
	if !wrapped.Equal(m) {
		t.Error("a body of an index")
	}
	if empty := parse(t, `{}`); len(empty.Fields()) != 0 || string(empty.AppendJSON(nil)) != "{}" {
		t.Error("an empty mapping")
	}
}

func TestColumnsOfFields(t *testing.T) {
	for _, c := range []struct {
		field                    Field
		terms, numbers, ordinals bool
	}{
		{Field{Type: Text}, true, false, false},
		{Field{Type: Text, NoIndex: true}, false, false, false},
		{Field{Type: Keyword}, true, false, true},
		{Field{Type: Keyword, NoIndex: true}, false, false, true},
		{Field{Type: Keyword, NoDocValues: true}, true, false, false},
		{Field{Type: Long}, false, true, false},
		{Field{Type: Date, NoDocValues: true}, false, true, false},
		{Field{Type: Boolean, NoIndex: true}, false, true, false},
		{Field{Type: Double, NoIndex: true, NoDocValues: true}, false, false, false},
		{Field{Type: GeoPoint}, false, true, false},
		{Field{Type: IP}, false, false, true},
		{Field{Type: IP, NoIndex: true, NoDocValues: true}, false, false, false},
		{Field{Type: Object}, false, false, false},
	} {
		f := &c.field
		if f.HasTerms() != c.terms || f.HasNumbers() != c.numbers || f.HasOrdinals() != c.ordinals {
			t.Errorf("%+v: %t %t %t", f, f.HasTerms(), f.HasNumbers(), f.HasOrdinals())
		}
	}
}

func TestParseErrors(t *testing.T) {
	property := func(text string) string { return `{"properties": {"f": ` + text + `}}` }
	for _, c := range []struct{ text, want string }{
		{``, "JSON object"},
		{`[]`, "JSON object"},
		{`{"properties": 5}`, "[properties]"},
		{`{"properties": {}} x`, "bytes after"},
		{`{"dynamic": "maybe"}`, "[dynamic]"},
		{`{"_source": {"enabled": false}}`, "[_source :"},
		{`{"properties": {"f": {"type": "text"}, "f": {"type": "text"}}}`, "f"},
		{property(`5`), "[f]"},
		{property(`{}`), "no type specified for field [f]"},
		{property(`{"type": "flat_object"}`), "No handler for type [flat_object] declared on field [f]"},
		{property(`{"type": 5}`), "[type] of field [f]"},
		{property(`{"type": "sparse_vector", "index": false}`), "unknown parameter [index]"},
		{property(`{"type": "sparse_vector", "weight_scale": 0}`), "[weight_scale] of field [f]"},
		{property(`{"type": "sparse_vector", "weight_scale": 1e9}`), "[weight_scale] of field [f]"},
		{property(`{"type": "rank_features", "positive_score_impact": false}`), "unknown parameter [positive_score_impact]"},
		{property(`{"type": "text", "fields": {"x": {"type": "sparse_vector"}}}`), "multi-field"},
		{property(`{"type": "sparse_vector", "fields": {"x": {"type": "keyword"}}}`), "unknown parameter [fields]"},
		{`{"properties": {"v": {"type": "sparse_vector"}, "f": {"type": "text", "copy_to": "v"}}}`, "a vector"},
		{property(`{"type": "text", "doc_values": true}`), "unknown parameter [doc_values]"},
		{property(`{"type": "text", "similarity": "BM25"}`), "unknown parameter [similarity]"},
		{property(`{"type": "long", "format": "yyyy"}`), "unknown parameter [format]"},
		{property(`{"type": "long", "coerce": false}`), "unknown parameter [coerce]"},
		{property(`{"type": "long", "null_value": "five"}`), "[null_value]"},
		{property(`{"type": "byte", "null_value": 200}`), "out of range"},
		{property(`{"type": "long", "null_value": [1]}`), "[null_value] of field [f]"},
		{property(`{"type": "keyword", "ignore_above": -1}`), "[ignore_above]"},
		{property(`{"type": "keyword", "ignore_above": "many"}`), "[ignore_above] of field [f]"},
		{property(`{"type": "keyword", "index": "maybe"}`), "[index] of field [f]"},
		{property(`{"type": "keyword", "boost": 0}`), "[boost]"},
		{property(`{"type": "keyword", "boost": -1}`), "[boost]"},
		{property(`{"type": "date", "format": "QQQ"}`), "[format] of field [f]"},
		{property(`{"type": "date", "format": ""}`), "[format] of field [f]"},
		{property(`{"type": "keyword", "copy_to": "g"}`), "there is no field [g]"},
		{property(`{"type": "keyword", "copy_to": "f.x", "fields": {"x": {"type": "text"}}}`), "multi-field"},
		{property(`{"type": "keyword", "fields": {"x": {"type": "text", "copy_to": "f"}}}`), "[copy_to] of the multi-field [f.x]"},
		{property(`{"type": "keyword", "fields": {"x": {"type": "text", "fields": {"y": {"type": "text"}}}}}`), "unknown parameter [fields]"},
		{property(`{"type": "keyword", "fields": {"x": {"properties": {}}}}`), "multi-field"},
		{property(`{"type": "keyword", "fields": {"x.y": {"type": "text"}}}`), "dot"},
		{property(`{"type": "keyword", "fields": {"x": {"type": "keyword", "null_value": "n"}}}`), "[null_value]"},
		{property(`{"type": "keyword", "properties": {}}`), "unknown parameter [properties]"},
		{property(`{"type": "object", "enabled": false}`), "unknown parameter [enabled]"},
		{`{"properties": {"f": {"type": "long"}, "f.x": {"type": "long"}}}`, "within field [f]"},
		{`{"properties": {"f..x": {"type": "long"}}}`, "empty part"},
		{`{"properties": {".f": {"type": "long"}}}`, "empty part"},
		{`{"properties": {"a b": {"type": "long"}}}`, "field name"},
		{`{"properties": {"": {"type": "long"}}}`, "field name"},
		{strings.Repeat(`{"properties": {"o": `, 25) + `{"type": "text"}` + strings.Repeat(`}}`, 25), "nested"},
	} {
		_, err := Parse([]byte(c.text))
		if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	var many strings.Builder
	for i := range MaxFields + 1 {
		fmt.Fprintf(&many, `,"f%d": {"type": "long"}`, i)
	}
	if _, err := Parse([]byte(`{"properties": {` + many.String()[1:] + `}}`)); !errors.Is(err, base.ErrTooManyFields) {
		t.Errorf("%d fields: %v", MaxFields+1, err)
	}
}

// random returns a mapping whose multi-fields and objects are declared one after another.
func random(rng *rand.Rand) []Field {
	var fields []Field
	pick := func(f *Field) {
		f.Type = []Type{Text, Keyword, Long, Integer, Short, Byte, Double, Float, Boolean, Date, IP, GeoPoint}[rng.IntN(12)]
		null := map[Type]string{Keyword: "x\"y", Long: "-5", Byte: "7", Double: "1.5e3", Boolean: "true", Date: "2024", IP: "::1", GeoPoint: "1.5,2"}
		if v, ok := null[f.Type]; ok && f.Of == "" && rng.IntN(3) == 0 {
			f.NullValue = &v
		}
		f.NoIndex = rng.IntN(4) == 0
		f.NoDocValues = f.Type != Text && rng.IntN(4) == 0
		switch {
		case f.Type == Text && rng.IntN(2) == 0:
			f.Analyzer, f.SearchAnalyzer = "simple", "english"
		case f.Type == Keyword && rng.IntN(2) == 0:
			f.IgnoreAbove = 1 + rng.IntN(300)
		case f.Type == Date && rng.IntN(2) == 0:
			f.Format = "yyyy||epoch_millis"
		}
		if f.Type != GeoPoint && rng.IntN(4) == 0 {
			f.Boost = 2.5
		}
	}
	var object func(prefix string, depth int)
	object = func(prefix string, depth int) {
		for i := range 1 + rng.IntN(4) {
			name := fmt.Sprintf("%sf%d", prefix, i)
			if depth < 3 && rng.IntN(4) == 0 {
				object(name+".", depth+1)
				continue
			}
			f := Field{Name: name}
			if pick(&f); rng.IntN(4) == 0 && len(fields) > 0 && fields[0].Of == "" {
				f.CopyTo = []string{fields[0].Name}
			}
			fields = append(fields, f)
			for j := range rng.IntN(3) {
				s := Field{Name: fmt.Sprintf("%s.s%d", name, j), Of: name}
				pick(&s)
				fields = append(fields, s)
			}
		}
	}
	object("", 0)
	return fields
}

// A mapping is read back from both encodings, and the second time nothing is added.
func TestEncodings(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	all := []*Mapping{parse(t, everything)}
	for range 500 {
		m, err := New([]Dynamic{"", DynamicTrue, DynamicFalse, DynamicStrict}[rng.IntN(4)], random(rng))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	for _, m := range all {
		if back := parse(t, string(m.AppendJSON(nil))); !back.Equal(m) {
			t.Fatalf("%s\nis read as\n%s", m.AppendJSON(nil), back.AppendJSON(nil))
		}
		encoded, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back := new(Mapping)
		if err := json.Unmarshal(encoded, back); err != nil || !back.Equal(m) {
			t.Fatalf("%s: %v", encoded, err)
		}
		if _, added, err := m.Updated(back); err != nil || added != nil {
			t.Fatalf("%s: added %v, %v", encoded, added, err)
		}
	}
	for _, bad := range []string{`{}`, `{"fields":[{"name":"a","kind":"text"}]}`, `{"fields":[{"name":"a","type":"vector"}]}`, `{"fields":[{"name":"a"},{"name":"a"}]}`, `{"fields":[],"more":1}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(Mapping)); (err == nil) != (bad == `{}`) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Texts within texts are from before there were types.
func TestTextsWithinTexts(t *testing.T) {
	m, err := New("", Texts([]string{"a", "a.b", "c.d", "a.b.c"}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(m.AppendJSON(nil)), `{"properties":{"a":{"type":"text"},"a.b":{"type":"text"},"c":{"properties":{"d":{"type":"text"}}},"a.b.c":{"type":"text"}}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !parse(t, string(m.AppendJSON(nil))).Equal(m) {
		t.Error("it is not read back")
	}
	if !Plain(m.Fields()) || Plain(parse(t, everything).Fields()) {
		t.Error("Plain")
	}
}

func TestUpdated(t *testing.T) {
	const now = `{"properties": {"a": {"type": "text", "analyzer": "simple"}, "k": {"type": "keyword", "ignore_above": 10}, "o": {"properties": {"n": {"type": "long"}}}}}`
	for _, c := range []struct{ update, want string }{
		{`{}`, now},
		{now, now},
		{
			`{"properties": {"z": {"type": "date"}, "o": {"properties": {"m": {"type": "ip"}}}, "k": {"type": "keyword", "ignore_above": 10, "fields": {"t": {"type": "text"}}}}}`,
			`{"properties": {"a": {"type": "text", "analyzer": "simple"}, "k": {"type": "keyword", "ignore_above": 10, "fields": {"t": {"type": "text"}}}, "o": {"properties": {"n": {"type": "long"}, "m": {"type": "ip"}}}, "z": {"type": "date"}}}`,
		},
		{`{"properties": {"o": {"type": "object"}}}`, now},
		{
			`{"properties": {"a": {"type": "text", "analyzer": "simple", "search_analyzer": "whitespace", "boost": 2, "copy_to": "k"}, "k": {"type": "keyword"}}}`,
			`{"properties": {"a": {"type": "text", "analyzer": "simple", "search_analyzer": "whitespace", "boost": 2, "copy_to": "k"}, "k": {"type": "keyword"}, "o": {"properties": {"n": {"type": "long"}}}}}`,
		},
		{
			`{"properties": {"z": {"type": "date", "copy_to": ["k", "o.n"]}, "a": {"type": "text", "analyzer": "simple", "copy_to": "z"}}}`,
			`{"properties": {"a": {"type": "text", "analyzer": "simple", "copy_to": "z"}, "k": {"type": "keyword", "ignore_above": 10}, "o": {"properties": {"n": {"type": "long"}}}, "z": {"type": "date", "copy_to": ["k", "o.n"]}}}`,
		},
		{`{"properties": {"a": {"type": "long"}}}`, "mapper [a] cannot be changed from type [text] to [long]"},
		{`{"properties": {"a": {"properties": {"b": {"type": "text"}}}}}`, "mapper [a] cannot be changed from type [text] to [object]"},
		{`{"properties": {"o": {"type": "text"}}}`, "mapper [o] cannot be changed from type [object] to [text]"},
		{`{"properties": {"a": {"type": "text"}}}`, "Mapper for [a] conflicts with existing mapper:\n\tCannot update parameter [analyzer] from [simple] to [default]"},
		{`{"properties": {"k": {"type": "keyword", "ignore_above": 11, "index": false, "null_value": "n", "boost": 2}}}`, "Mapper for [k] conflicts with existing mapper:\n\tCannot update parameter [index] from [true] to [false]\n\tCannot update parameter [null_value] from [null] to [n]"},
		{`{"properties": {"o": {"properties": {"n": {"type": "long", "doc_values": false}}}}}`, "Mapper for [o.n] conflicts with existing mapper:\n\tCannot update parameter [doc_values] from [true] to [false]"},
	} {
		m := parse(t, now)
		update, err := ParseUpdate([]byte(c.update))
		if err != nil {
			t.Fatal(err)
		}
		merged, _, err := m.Updated(update)
		if err != nil {
			var conflict *ConflictError
			if !errors.As(err, &conflict) || !errors.Is(err, base.ErrBadInput) || conflict.Reason != c.want {
				t.Errorf("%s: %v, want %s", c.update, err, c.want)
			}
			continue
		}
		if want := parse(t, c.want); string(merged.AppendJSON(nil)) != string(want.AppendJSON(nil)) {
			t.Errorf("%s: %s, want %s", c.update, merged.AppendJSON(nil), want.AppendJSON(nil))
		}
		for i, f := range m.Fields() { // they keep their places
			if merged.Fields()[i].Name != f.Name {
				t.Errorf("%s: field %d is %s, was %s", c.update, i, merged.Fields()[i].Name, f.Name)
			}
		}
	}
}

func TestRevisions(t *testing.T) {
	m := parse(t, `{"properties": {"a": {"type": "text", "boost": 2}, "k": {"type": "keyword"}}}`)
	for _, c := range []struct {
		update   string
		changes  int
		revision uint64
		shape    uint64
	}{
		{`{"properties": {"a": {"type": "text", "boost": 2}}}`, 0, 0, 0},
		{`{"properties": {"b": {"type": "long"}}}`, 1, 0, 0},
		{`{"properties": {"a": {"type": "text"}}}`, 1, 1, 0},
		{`{"properties": {"a": {"type": "text", "boost": 3}, "c": {"type": "date"}}}`, 2, 2, 0},
		{`{"properties": {"k": {"type": "keyword", "ignore_above": 5}}}`, 1, 3, 3},
		{`{"properties": {"a": {"type": "text"}}}`, 1, 4, 3},
	} {
		next, changes, err := m.Updated(parse(t, c.update))
		if err != nil || len(changes) != c.changes || next.Revision() != c.revision || next.Shape() != c.shape {
			t.Fatalf("%s: %v, %v, revision %d, shape %d", c.update, changes, err, next.Revision(), next.Shape())
		}
		again, err := m.Revised(changes) // as from a log
		if err != nil || !again.Equal(next) || again.Revision() != next.Revision() || again.Shape() != next.Shape() {
			t.Fatalf("%s: %v", c.update, err)
		}
		text, err := json.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		read := new(Mapping)
		if err := json.Unmarshal(text, read); err != nil || read.Revision() != c.revision || read.Shape() != c.shape {
			t.Fatalf("%s: %v", text, err)
		}
		m = next
	}
	former := new(Mapping)
	if err := json.Unmarshal([]byte(`{"revision":4,"reshaped":true,"fields":[]}`), former); err != nil || former.Shape() != 4 {
		t.Errorf("of a former program: shape %d, %v", former.Shape(), err)
	}
	if err := json.Unmarshal([]byte(`{"revision":4,"shape":5,"fields":[]}`), former); err == nil {
		t.Error("a shape above the revision is accepted")
	}
}

func TestCheck(t *testing.T) {
	m := parse(t, `{"properties": {"n": {"type": "byte"}, "k": {"type": "keyword", "copy_to": "n"}, "o": {"properties": {"d": {"type": "date"}}}, "t": {"type": "text"}}}`)
	for _, c := range []struct {
		name, value string
		declared    int
		want        string
	}{
		{"n", "5", 0, ""},
		{"n", "x", 0, `field "n" of type byte cannot hold "x": not a number`},
		{"n", "x", 2, `field "n" of type byte cannot hold "x": not a number`},
		{"n", "x", 1, ""},
		{"k", "x", 0, `field "n" of type byte cannot hold "x": not a number`},
		{"k", "x", 2, ""},
		{"k", "7", 0, ""},
		{"o", "x", 0, `field "o" of type object cannot hold "x": want an object`},
		{"o.d", "2024", 0, ""},
		{"o.d.e", "x", 0, `field "o.d" of type date cannot hold "x": it is in an object, as o.d.e`},
		{"t.x", "x", 0, ""},
		{"t", "x", 0, ""},
		{"u", "x", 0, ""},
	} {
		err := m.Check(c.name, c.value, c.declared)
		if got := fmt.Sprint(err); (err != nil || c.want != "") && (got != c.want || !errors.Is(err, base.ErrBadInput)) {
			t.Errorf("%s: %q with %d fields: %v, want %s", c.name, c.value, c.declared, err, c.want)
		}
	}
	if err := m.WithDynamic(DynamicStrict).Check("u", "x", 0); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), `"u"`) {
		t.Errorf("a strict mapping: %v", err)
	}
}

func TestAppendField(t *testing.T) {
	m := parse(t, everything)
	f, _ := m.Field("title")
	const want = `{"type":"text","analyzer":"english","search_analyzer":"simple","boost":2,"copy_to":["all"],"fields":{"keyword":{"type":"keyword","ignore_above":256},"raw":{"type":"text","analyzer":"whitespace"}}}`
	if got := string(m.AppendField(nil, f)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// checkDetection splits a mapping, and detects values with its rules.
func checkDetection(t *testing.T, text []byte) {
	t.Helper()
	rest, d, err := SplitDetection(text, nil)
	if err != nil {
		if !errors.Is(err, base.ErrBadInput) {
			t.Fatal(err)
		}
		return
	}
	if d == nil {
		return
	}
	again, same, err := SplitDetection(d.AppendMembers(rest), nil)
	if err != nil || string(again) != string(rest) || string(same.AppendMembers([]byte("{}"))) != string(d.AppendMembers([]byte("{}"))) {
		t.Fatalf("%s: %s and %s, then %s, %v", text, rest, d.AppendMembers([]byte("{}")), again, err)
	}
	for _, value := range []struct {
		kind byte
		text string
	}{{'"', "2024-01-01"}, {'"', "12"}, {'"', "words"}, {'0', "1"}, {'0', "1.5"}, {'t', "true"}} {
		fields, err := d.Scalar("a.b_at", value.kind, value.text)
		if err != nil && !errors.Is(err, base.ErrBadInput) || err == nil && len(fields) == 0 {
			t.Fatalf("%s: %q has the fields %v, %v", text, value.text, fields, err)
		}
	}
	if _, _, err := d.Whole("a.b_at"); err != nil && !errors.Is(err, base.ErrBadInput) {
		t.Fatal(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(`{"properties": {"a.b": {"type": "geo_point", "null_value": [1, 2]}}}`))
	f.Add([]byte(`{"dynamic_templates": [{"a": {"match": "*_at", "match_mapping_type": "date", "mapping": {"type": "date", "fields": {"{name}": {"type": "keyword"}}}}}],
		"numeric_detection": true, "date_detection": "true", "dynamic_date_formats": ["yyyy"], "properties": {"a": {"type": "long"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		checkDetection(t, text)
		m, err := Parse(text)
		if err != nil {
			if !errors.Is(err, base.ErrBadInput) {
				t.Fatal(err)
			}
			return
		}
		back, err := Parse(m.AppendJSON(nil))
		if err != nil {
			t.Fatalf("%s: %v", m.AppendJSON(nil), err)
		}
		if len(back.Fields()) != len(m.Fields()) || back.Dynamic() != m.Dynamic() {
			t.Fatalf("%s: %d fields, want %d", m.AppendJSON(nil), len(back.Fields()), len(m.Fields()))
		}
		for _, field := range m.Fields() {
			if got, ok := back.Field(field.Name); !ok || !got.equal(&field) {
				t.Fatalf("%s: field %s", m.AppendJSON(nil), field.Name)
			}
		}
		if _, added, err := m.Updated(back); err != nil || added != nil {
			t.Fatal(added, err)
		}
	})
}

func FuzzValue(f *testing.F) {
	for _, value := range []string{"-1.5e3", "2024-03-05T07:08:09Z", "10.0.0.1", "1.5,-2", "true", "9223372036854775807", `{"a": 1.5, "b": 0.004}`} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for kind := range numTypes {
			field := Field{Name: "f", Type: kind}
			if err := field.Check(value); err != nil {
				var e *ValueError
				if !errors.As(err, &e) || e.Value != value {
					t.Fatalf("%s: %v", kind, err)
				}
				continue
			}
			switch {
			case kind.Numeric():
				v, _ := field.Number(value)
				printed := string(field.AppendNumber(nil, v))
				again, err := field.Number(printed)
				if err != nil || again != v && kind != GeoPoint {
					t.Fatalf("%s: %q is %d, printed %q, and read as %d, %v", kind, value, v, printed, again, err)
				}
			case kind.Vector():
				tokens, err := field.Vector(value)
				seen := map[string]bool{}
				for _, token := range tokens {
					if token.Stored < 1 || token.Stored > MaxStoredWeight || token.Token == "" || seen[token.Token] {
						t.Fatalf("%q: token %+v", value, token)
					}
					seen[token.Token] = true
				}
				if err != nil {
					t.Fatalf("%q: %v", value, err)
				}
			case kind == IP:
				b, _, _ := field.Bytes(value)
				again, _, err := field.Bytes(string(field.AppendBytes(nil, b)))
				if err != nil || string(again) != string(b) {
					t.Fatalf("%q: %x, %x, %v", value, b, again, err)
				}
			}
		}
	})
}

// The fields of an update may copy to fields of the other mapping, which must have them.
func TestUpdateCopiesTo(t *testing.T) {
	const text = `{"properties": {"z": {"type": "text", "copy_to": "k"}}}`
	if _, err := Parse([]byte(text)); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("no field k: %v", err)
	}
	update, err := ParseUpdate([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := update.Complete(); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "there is no field [k]") {
		t.Errorf("Complete: %v", err)
	}
	if got := string(update.AppendJSON(nil)); got != `{"properties":{"z":{"type":"text","copy_to":["k"]}}}` {
		t.Errorf("JSON %s", got)
	}
	for now, want := range map[string]string{
		`{"properties": {"a": {"type": "text"}}}`:                                       "there is no field [k]",
		`{"properties": {"k": {"properties": {"n": {"type": "long"}}}}}`:                "there is no field [k]",
		`{"properties": {"k": {"type": "sparse_vector"}}}`:                              "a vector",
		`{"properties": {"k": {"type": "keyword", "fields": {"t": {"type": "text"}}}}}`: "",
	} {
		merged, changes, err := parse(t, now).Updated(update)
		switch {
		case want != "":
			if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", now, err, want)
			}
		case err != nil || merged.Complete() != nil || len(changes) != 1:
			t.Errorf("%s: %v, %v", now, err, changes)
		default:
			var names []string
			for _, to := range merged.Targets("z") {
				names = append(names, to.Field.Name)
			}
			if !slices.Equal(names, []string{"z", "k", "k.t"}) {
				t.Errorf("%s: z goes to %v", now, names)
			}
		}
	}
}
