package index

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// typedValues is what documents have in columns, as texts, by id and field.
type typedValues map[string]map[string][]string

// add adds the values that a document has by plain reading of a mapping.
func (w typedValues) add(t testing.TB, m *mapping.Mapping, d *corpus.Document) {
	t.Helper()
	values := map[string][]string{}
	all := d.Extra
	if d.Title != "" {
		all = append([]corpus.Field{{Name: inverter.TitleField, Value: d.Title}}, all...)
	}
	for _, v := range all {
		for _, to := range m.Targets(v.Name) {
			f := to.Field
			switch {
			case f.HasNumbers():
				n, err := f.Number(v.Value)
				check(t, err)
				values[f.Name] = append(values[f.Name], string(f.AppendNumber(nil, n)))
			case f.HasOrdinals():
				b, ok, err := f.Bytes(v.Value)
				check(t, err)
				if text := string(f.AppendBytes(nil, b)); ok && !slices.Contains(values[f.Name], text) {
					values[f.Name] = append(values[f.Name], text)
				}
			}
		}
	}
	w[d.ID] = values
}

// checkColumns compares the columns of an index.
func checkColumns(t testing.TB, ix *Index, want typedValues) {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	if s.NumLive != len(want) {
		t.Fatalf("%d documents, want %d", s.NumLive, len(want))
	}
	for i := range s.Segments {
		v := &s.Segments[i]
		for _, f := range s.Options.Declared() {
			c, ok, err := v.Column(f.Name)
			check(t, err)
			var cursor *column.Cursor
			if ok {
				cursor = c.Cursor()
			}
			for doc := range base.DocID(v.NumDocs()) {
				if v.Live != nil && !v.Live.Has(int(doc)) {
					continue
				}
				id, err := v.ID(doc)
				check(t, err)
				var got []string
				if ok {
					got = columnTexts(t, &f, c, cursor, doc)
				}
				texts := slices.Clone(want[string(id)][f.Name])
				slices.Sort(texts)
				slices.Sort(got)
				if !slices.Equal(got, texts) {
					t.Fatalf("document %s has %q in field %s, want %q", id, got, f.Name, texts)
				}
			}
		}
	}
}

func columnTexts(t testing.TB, f *mapping.Field, c *column.Column, cursor *column.Cursor, doc base.DocID) (texts []string) {
	t.Helper()
	values, err := cursor.Values(doc)
	check(t, err)
	for _, v := range values {
		text := f.AppendNumber(nil, v)
		if c.Kind() == column.Ordinals {
			term, err := c.Term(v)
			check(t, err)
			text = f.AppendBytes(nil, term)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// typedSteps are mappings, each with fields that an index gets after those before.
var typedSteps = []string{
	`{"properties": {"t": {"type": "text"}, "k": {"type": "keyword", "copy_to": "t"}}}`,
	`{"properties": {"n": {"type": "long"}}}`,
	`{"properties": {"title": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 6}}}, "d": {"type": "date"}}}`,
	`{"properties": {"k2": {"type": "keyword", "doc_values": false}, "b": {"type": "boolean"}, "ip": {"type": "ip"}}}`,
	`{"properties": {"g": {"type": "geo_point"}, "f": {"type": "float", "copy_to": "n2"}, "n2": {"type": "byte"}, "t2": {"type": "text"}}}`,
}

// typedDoc has values for all fields, also for those that are not declared: then some that would not fit.
func typedDoc(rng *rand.Rand, m *mapping.Mapping) *corpus.Document {
	d := &corpus.Document{ID: fmt.Sprint(rng.IntN(150)), Text: randomText(rng, rng.IntN(8))}
	if rng.IntN(2) == 0 {
		d.Title = randomText(rng, 1+rng.IntN(2))
	}
	number := func() string { return strconv.Itoa(rng.IntN(20) - 10) }
	values := map[string]func() string{
		"t": func() string { return randomText(rng, 3) }, "k": number, "n": number, "d": func() string { return strconv.Itoa(1960 + rng.IntN(80)) },
		"k2": number, "b": func() string { return strconv.FormatBool(rng.IntN(2) == 0) }, "ip": func() string { return fmt.Sprintf("::%d", rng.IntN(9)) },
		"g": func() string { return number() + "," + number() }, "f": number, "n2": number, "t2": func() string { return randomText(rng, 2) },
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for range rng.IntN(3) {
			v := values[name]()
			if _, ok := m.Field(name); !ok && rng.IntN(3) == 0 {
				v = "junk value"
			}
			d.Extra = append(d.Extra, corpus.Field{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(d.Extra, func(a, b corpus.Field) int { return int(a.Name[0]) - int(b.Name[0]) })
	return d
}

// However typed fields are added, documents have the values of the fields that were declared when they
// were written, files are sound, statistics exact, and the rebuilt index is equal.
func TestTypedFieldsGrow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(sampletest.Rounds(3, 20)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		mem := vfstest.NewMem()
		m := parsed(t, typedSteps[0])
		ix := create(t, mem, Options{Analyzer: "whitespace", Mapping: m, Positions: seed%2 == 0})
		want := typedValues{}
		for step := 0; step < len(typedSteps); {
			w := newWriter(t, ix)
			for range 1 + rng.IntN(40) {
				switch rng.IntN(12) {
				case 0:
					if step++; step < len(typedSteps) {
						add := parsed(t, typedSteps[step])
						check(t, w.AddMapping(add))
						var err error
						m, _, err = m.Updated(add)
						check(t, err)
					}
				case 1:
					id := fmt.Sprint(rng.IntN(150))
					check(t, w.Delete(id))
					delete(want, id)
				default:
					d := typedDoc(rng, m)
					check(t, w.Add(d))
					want.add(t, m, d)
				}
			}
			check(t, w.Commit(t.Context()))
			check(t, w.Close())
			if rng.IntN(3) == 0 {
				o := MergeOptions{MaxSegments: 1 + rng.IntN(3)}
				if rng.IntN(2) == 0 {
					o.Reorder = ReorderBP
				}
				_, err := ix.Merge(t.Context(), o)
				check(t, err)
			}
			if rng.IntN(3) == 0 {
				check(t, ix.Close())
				var err error
				ix, err = Open(mem, ix.Dir())
				check(t, err)
			}
			checkColumns(t, ix, want)
			checkStatistics(t, ix)
			verify(t, ix)
			if c := rebuildAndCompare(t, ix, 0); len(c.Differences) > 0 {
				t.Fatalf("seed %d: rebuilt: %+v", seed, c.Differences)
			}
		}
		check(t, ix.Close())
	}
}

// Records of real data have the values of their JSON in columns, in memory and with temporary files.
func TestStructuredData(t *testing.T) {
	for _, c := range []struct {
		file, mapping string
		memory        int64
	}{
		{"cities", `{"properties": {"name": {"type": "text", "fields": {"raw": {"type": "keyword"}}}, "country": {"type": "keyword"}, "admin": {"type": "keyword"}, "feature": {"type": "keyword"}, "population": {"type": "integer"}, "location": {"type": "geo_point"}}}`, 64 << 20},
		{"debian-packages", `{"properties": {"title": {"type": "text", "fields": {"raw": {"type": "keyword"}}}, "section": {"type": "keyword"}, "size": {"type": "long"}, "installed_size_kib": {"type": "double"}, "tags": {"type": "keyword"}, "depends": {"type": "keyword"}, "essential": {"type": "boolean"}}}`, minMemoryBytes},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(shareddata.Dir(t), "structured", c.file+".jsonl.zst")
			m := parsed(t, c.mapping)
			want := typedValues{}
			lines := bufio.NewScanner(shareddata.Open(t, path))
			lines.Buffer(nil, 1<<20)
			n := sampletest.Rounds(6_000, 1<<30)
			input := filepath.Join(t.TempDir(), c.file+".jsonl")
			var text []byte
			for i := 0; i < n && lines.Scan(); i++ {
				text = append(append(text, lines.Bytes()...), '\n')
				want.addRecord(t, m, lines.Bytes())
			}
			check(t, lines.Err())
			check(t, os.WriteFile(input, text, 0o600))
			reader, err := corpus.Open([]string{input}, corpus.Options{Mapped: inverter.Mapped(m)})
			check(t, err)
			ix, err := Create(vfs.OS, filepath.Join(t.TempDir(), "ix"), Options{Mapping: m, Positions: true})
			check(t, err)
			defer ix.Close()
			report, err := ix.Build(t.Context(), reader, BuildOptions{MemoryBytes: c.memory, Threads: 2})
			check(t, err)
			if spills := c.memory == minMemoryBytes && sampletest.All(); spills && report.Spilled == 0 {
				t.Error("no partial index was spilled")
			}
			if report.BadRecords > 0 || report.Docs != int64(len(want)) {
				t.Fatalf("report %+v of %d documents", report, len(want))
			}
			checkColumns(t, ix, want)
			verify(t, ix)
			if c := rebuildAndCompare(t, ix, 0); len(c.Differences) > 0 {
				t.Fatalf("rebuilt: %+v", c.Differences)
			}
		})
	}
}

// addRecord adds the values of a record by encoding/json.
func (w typedValues) addRecord(t testing.TB, m *mapping.Mapping, line []byte) {
	t.Helper()
	var record map[string]any
	check(t, json.Unmarshal(line, &record))
	d := &corpus.Document{ID: record["id"].(string)}
	for name, v := range record {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, v := range list {
			var text string
			switch v := v.(type) {
			case string:
				text = v
			case float64:
				text = strconv.FormatFloat(v, 'f', -1, 64)
			case bool:
				text = strconv.FormatBool(v)
			case map[string]any:
				text = fmt.Sprintf("%v,%v", v["lat"], v["lon"])
			}
			if _, declared := m.Field(name); declared && text != "" {
				d.Extra = append(d.Extra, corpus.Field{Name: name, Value: text})
			}
		}
	}
	w.add(t, m, d)
}
