package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// growing is an index whose fields grow while documents, which have values for all fields at any
// time, are added, replaced and deleted.
type growing struct {
	t      *testing.T
	rng    *rand.Rand
	mem    *vfstest.Mem
	ix     *Index
	opts   Options
	fields []string // declared
	// docs are in the order of writing, written as in an index that had all fields
	// from the start.
	docs, written []corpus.Document
	seq           uint64
}

func newGrowing(t *testing.T, seed uint64, opts Options) *growing {
	t.Helper()
	mem := vfstest.NewMem()
	opts.Fields = []string{"title"}
	g := &growing{t: t, rng: rand.New(rand.NewPCG(seed, 3)), mem: mem, ix: create(t, mem, opts), opts: opts, fields: opts.Fields}
	check(t, commitChange(t.Context(), g.ix, nil, nil))
	return g
}

const maxGrowing = 6

// declare returns names of which some are new.
func (g *growing) declare() []string {
	var names []string
	for range g.rng.IntN(3) {
		names = append(names, fmt.Sprintf("f%d", g.rng.IntN(maxGrowing)))
	}
	for _, name := range names {
		if !slices.Contains(g.fields, name) {
			g.fields = append(slices.Clip(g.fields), name)
		}
	}
	return names
}

func (g *growing) document() *corpus.Document {
	d := corpus.Document{ID: fmt.Sprint(g.rng.IntN(200)), Title: randomText(g.rng, g.rng.IntN(3)), Text: randomText(g.rng, g.rng.IntN(12))}
	for f := range maxGrowing {
		for range g.rng.IntN(3) {
			d.Extra = append(d.Extra, corpus.Field{Name: fmt.Sprintf("f%d", f), Value: randomText(g.rng, g.rng.IntN(4))})
		}
	}
	g.remove(d.ID)
	g.docs = append(g.docs, d)
	w := d
	w.Extra = slices.DeleteFunc(slices.Clone(d.Extra), func(f corpus.Field) bool { return !slices.Contains(g.fields, f.Name) })
	g.written = append(g.written, w)
	return &d
}

func (g *growing) remove(id string) {
	same := func(d corpus.Document) bool { return d.ID == id }
	g.docs, g.written = slices.DeleteFunc(g.docs, same), slices.DeleteFunc(g.written, same)
}

// commit changes the index through a Writer.
func (g *growing) commit() {
	g.t.Helper()
	w := newWriter(g.t, g.ix)
	for range 1 + g.rng.IntN(20) {
		switch g.rng.IntN(5) {
		case 0:
			check(g.t, w.AddFields(g.declare()...))
		case 1:
			id := fmt.Sprint(g.rng.IntN(200))
			check(g.t, w.Delete(id))
			g.remove(id)
		default:
			check(g.t, w.Add(g.document()))
		}
	}
	check(g.t, w.Commit(g.t.Context()))
	check(g.t, w.Close())
}

// publish changes the index through a Live, with flushes and merges between.
func (g *growing) publish() {
	g.t.Helper()
	l, err := g.ix.Live()
	check(g.t, err)
	crew, err := inverter.NewCrew(l.Schema(), 2)
	check(g.t, err)
	for range 1 + g.rng.IntN(5) {
		dir, err := l.TempDir()
		check(g.t, err)
		b := crew.NewBatch(inverter.Options{Schema: l.Schema(), FS: g.mem, Dir: dir, MemoryBytes: 1 << 20})
		for range g.rng.IntN(20) {
			g.seq++
			switch g.rng.IntN(5) {
			case 0:
				g.declare()
				b.Use(withFields(b.Schema(), g.fields))
			case 1:
				id := fmt.Sprint(g.rng.IntN(200))
				b.Delete(id)
				g.remove(id)
			default:
				d := *g.document()
				d.Declared = 1 + len(g.fields)
				b.Add(&d, segment.Version{Seq: g.seq, Number: 1}, 50_000)
			}
		}
		partials, err := b.Partials()
		check(g.t, err)
		_, err = l.Publish(g.t.Context(), partials.Sources(), partials.Err, b.Deletes(), &inverter.Schema{Fields: append([]string{""}, g.fields...)}, b.Former(), g.seq)
		check(g.t, err)
		check(g.t, b.Close())
		switch g.rng.IntN(4) {
		case 0:
			_, err = l.Flush(g.t.Context())
		case 1:
			_, err = l.Merge(g.t.Context(), nil, anyNeighbours(g.rng))
		}
		check(g.t, err)
		g.check()
	}
	_, err = l.Flush(g.t.Context())
	check(g.t, err)
	check(g.t, l.Close())
}

// check compares the index with a new one that had all fields from the start.
func (g *growing) check() {
	g.t.Helper()
	checkStatistics(g.t, g.ix)
	opts := g.opts
	opts.Fields = g.fields
	fresh := create(g.t, vfstest.NewMem(), opts)
	defer fresh.Close()
	check(g.t, commitChange(g.t.Context(), fresh, nil, g.written))
	s, err := g.ix.Snapshot()
	check(g.t, err)
	defer s.Release()
	f, err := fresh.Snapshot()
	check(g.t, err)
	defer f.Release()
	if !slices.Equal(s.Fields, f.Fields) || s.NumLive != f.NumLive {
		g.t.Fatalf("%d documents with statistics %+v, want %d with %+v", s.NumLive, s.Fields, f.NumLive, f.Fields)
	}
	got, want := dump(g.t, g.ix), dump(g.t, fresh)
	for i := range want {
		if !g.opts.NoStored {
			want[i].Extra = g.docs[i].Extra // all are stored
		}
	}
	if slices.ContainsFunc(s.Segments, func(v View) bool { return v.isReordered() }) {
		got, want = byID(got), byID(want)
	}
	sameDocs(g.t, got, want)
}

// However the fields of an index grow, it equals one that had them from the start, its files are
// sound, and it equals the index rebuilt from its stored documents.
func TestFieldsGrow(t *testing.T) {
	t.Parallel()
	fewer := 0
	for seed := range uint64(6) {
		g := newGrowing(t, seed, Options{Analyzer: "whitespace", NoStored: seed%3 == 2, Positions: seed%2 == 0})
		for range 6 {
			if g.rng.IntN(3) == 0 {
				g.publish()
			} else {
				g.commit()
			}
			if g.rng.IntN(4) == 0 {
				o := MergeOptions{MaxSegments: 1 + g.rng.IntN(3)}
				if g.rng.IntN(2) == 0 {
					o.Reorder = ReorderBP
				}
				_, err := g.ix.Merge(t.Context(), o)
				check(t, err)
			}
			if g.rng.IntN(3) == 0 {
				check(t, g.ix.Close())
				var err error
				g.ix, err = Open(g.mem, g.ix.Dir())
				check(t, err)
			}
			g.check()
			verify(t, g.ix)
			s, err := g.ix.Snapshot()
			check(t, err)
			for i := range s.Segments {
				if len(s.Segments[i].Meta().Fields) < len(s.Fields) {
					fewer++
				}
			}
			s.Release()
			if !g.opts.NoStored {
				if c := rebuildAndCompare(t, g.ix, 0); len(c.Differences) > 0 {
					t.Fatalf("seed %d: rebuilt: %+v", seed, c.Differences)
				}
			}
		}
		check(t, g.ix.Close())
	}
	if fewer == 0 {
		t.Error("no segment has fewer fields than its index")
	}
}

// A title is only in the default field before "title" is declared. Rebuild knows that, also if the
// segments are merged.
func TestTitleFieldGrows(t *testing.T) {
	mem := vfstest.NewMem()
	ix := create(t, mem, Options{Fields: []string{}})
	defer ix.Close()
	docs := []corpus.Document{{ID: "1", Title: "red fox"}, {ID: "2", Title: "red hen"}, {ID: "3", Title: "red owl"}}
	check(t, commitChange(t.Context(), ix, nil, docs[:2]))
	w := newWriter(t, ix)
	check(t, w.AddFields("title"))
	check(t, w.Add(&docs[2]))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	_, err := ix.Merge(t.Context(), MergeOptions{})
	check(t, err)
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	if got := s.Fields[1]; got != (FieldStats{Name: "title", NumDocs: 3, TotalTokens: 2, NumPostings: 2}) || s.Fields[0].TotalTokens != 6 || len(s.Segments) != 1 {
		t.Errorf("statistics %+v", s.Fields)
	}
	if c := rebuildAndCompare(t, ix, 0); len(c.Differences) > 0 {
		t.Errorf("rebuilt: %+v", c.Differences)
	}
	// Documents before the first one with the field count as written before it was declared.
	check(t, commitChange(t.Context(), ix, nil, []corpus.Document{{ID: "4", Title: "blue jay"}}))
	s2, err := ix.Snapshot()
	check(t, err)
	defer s2.Release()
	d, err := s2.declarations()
	check(t, err)
	if len(d.first) != 1 || d.first[0] != (writeOrder{0, 2}) || d.of(writeOrder{0, 1}) != 1 || d.of(writeOrder{0, 2}) != 2 || d.of(writeOrder{1, 0}) != 2 {
		t.Errorf("declarations %+v", d)
	}
}

// Fields of a Writer that are rolled back, or whose commit fails, are not declared; a commit of
// fields alone is one.
func TestFieldsOfWriter(t *testing.T) {
	mem := vfstest.NewMem()
	ix := create(t, mem, Options{})
	defer ix.Close()
	check(t, commitChange(t.Context(), ix, nil, []corpus.Document{{ID: "1", Text: "fox"}}))
	names := func() string { return strings.Join(ix.Options().Fields, " ") }
	w := newWriter(t, ix)
	defer w.Close()
	check(t, w.AddFields("a", "title", "a"))
	check(t, w.Rollback())
	check(t, w.Add(&corpus.Document{ID: "2", Extra: []corpus.Field{{Name: "a", Value: "x"}}}))
	check(t, w.Commit(t.Context()))
	if names() != "title" {
		t.Errorf("fields %q after a rollback", names())
	}
	check(t, w.AddFields("b", "c"))
	if names() != "title" {
		t.Errorf("fields %q before the commit", names())
	}
	generation := ix.currentManifest().Generation
	check(t, w.Commit(t.Context()))
	if names() != "title b c" || ix.currentManifest().Generation != generation+1 {
		t.Errorf("fields %q in generation %d", names(), ix.currentManifest().Generation)
	}
	check(t, w.AddFields("b"))
	check(t, w.Commit(t.Context()))
	if got := ix.currentManifest().Generation; got != generation+1 {
		t.Errorf("generation %d after fields that are declared", got)
	}
	reader, err := Open(mem, ix.Dir())
	check(t, err)
	defer reader.Close()
	check(t, w.AddFields("d"))
	check(t, w.Commit(t.Context()))
	if changed, err := reader.Refresh(); err != nil || !changed || strings.Join(reader.Options().Fields, " ") != "title b c d" {
		t.Errorf("a reader has the fields %q: %t, %v", reader.Options().Fields, changed, err)
	}
}

func TestFieldsThatCannotBeAdded(t *testing.T) {
	many := make([]string, base.MaxFields-2)
	for i := range many {
		many[i] = fmt.Sprint("f", i)
	}
	ix := create(t, vfstest.NewMem(), Options{})
	defer ix.Close()
	w := newWriter(t, ix)
	defer w.Close()
	for name, names := range map[string][]string{
		"empty": {""}, "space": {"a b"}, "long": {strings.Repeat("a", mapping.MaxNameBytes+1)}, "too many": append([]string{"x"}, many...),
	} {
		err := w.AddFields(names...)
		if !errors.Is(err, base.ErrBadInput) || errors.Is(err, base.ErrTooManyFields) != (name == "too many") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	check(t, w.AddFields(many...))
	check(t, w.AddFields(many...))
	if err := w.AddFields("x"); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("field number %d: error %v", base.MaxFields, err)
	}
	check(t, w.Add(&corpus.Document{ID: "1", Text: "a", Extra: []corpus.Field{{Name: "f0", Value: "b"}, {Name: many[len(many)-1], Value: "c"}}}))
	check(t, w.Commit(t.Context()))
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	if n := len(s.Fields); n != base.MaxFields || s.Fields[n-1].NumPostings != 1 || s.Fields[2].NumPostings != 1 {
		t.Errorf("%d fields, the last %+v", n, s.Fields[n-1])
	}
	verify(t, ix)
	weights := create(t, vfstest.NewMem(), Options{WeightScale: 10})
	defer weights.Close()
	ww := newWriter(t, weights)
	defer ww.Close()
	if err := ww.AddFields("a"); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("an index of weights: error %v", err)
	}
}

// A manifest of version 3 has the number of added fields; a segment can lack only these.
func TestManifestOfGrownFields(t *testing.T) {
	m := testManifest(t)
	_, err := m.addFields(&inverter.Schema{Fields: []string{"", "a", "b", "title"}})
	check(t, err)
	data, err := m.encode()
	check(t, err)
	if !strings.HasPrefix(string(data), "griffin-manifest 3 ") || !strings.Contains(string(data), `"grown": 2`) {
		t.Errorf("manifest %s", data)
	}
	for _, grown := range []int{-1, 4} {
		m.Grown = grown
		data, err := m.encode()
		check(t, err)
		if _, err := parseManifest(data); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("grown %d: error %v", grown, err)
		}
	}
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, []corpus.Document{{ID: "1", Text: "fox"}}))
	check(t, ix.Close())
	changeManifest(t, mem, func(m *manifest) { m.Options.Fields, m.Grown = []string{"title", "a"}, 1 })
	opened, err := Open(mem, "ix")
	check(t, err)
	check(t, opened.Close())
	changeManifest(t, mem, func(m *manifest) { m.Options.Fields, m.Grown = []string{"title", "a", "b"}, 1 })
	if _, err := Open(mem, "ix"); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("a segment without a first field: error %v", err)
	}
}

// withFields returns a schema with other texts.
func withFields(s *inverter.Schema, names []string) *inverter.Schema {
	other := *s
	other.Fields = append([]string{""}, names...)
	return &other
}

// A batch takes fields between its documents, in the memory of a worker that had other fields.
func TestCrewChangesFields(t *testing.T) {
	schema := &inverter.Schema{Analyzer: "whitespace", Fields: []string{"", "title"}}
	crew, err := inverter.NewCrew(schema, 1)
	check(t, err)
	mem := vfstest.NewMem()
	check(t, mem.MkdirAll("tmp"))
	for round := range 2 {
		for _, fields := range [][]string{{"a", "b"}, nil, {"c"}} {
			b := crew.NewBatch(inverter.Options{Schema: schema, FS: mem, Dir: "tmp", MemoryBytes: 1 << 20})
			b.Use(withFields(schema, append([]string{"title"}, fields...)))
			b.Add(&corpus.Document{ID: "1", Text: "t", Extra: []corpus.Field{{Name: "a", Value: "x y"}, {Name: "c", Value: "z"}}}, segment.Version{Seq: 1}, 10)
			partials, err := b.Partials()
			check(t, err)
			src := partials.Sources()[0]
			want := []uint32{1, 0, 0}
			switch len(fields) {
			case 2:
				want[2] = 2
			case 1:
				want[2] = 1
			}
			for f, n := range want {
				got := src.Lengths(base.FieldID(f))
				if (n > 0) != (len(got) == 1) || n > 0 && got[0] != n {
					t.Errorf("round %d, fields %q: lengths of field %d are %d, want %d", round, fields, f, got, n)
				}
			}
			check(t, b.Close())
		}
	}
	a, err := analysis.New("whitespace")
	check(t, err)
	b := inverter.NewBatch(inverter.Options{Schema: schema, FS: mem, Dir: "tmp", MemoryBytes: 1 << 20}, a)
	defer b.Close()
	b.Use(withFields(schema, []string{"title", "a"}))
	if len(schema.Fields) != 2 || len(b.Schema.Fields) != 3 {
		t.Errorf("the schema of the batch has %q, that of the caller %q", b.Schema.Fields, schema.Fields)
	}
}
