package living

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/internal/wal"
)

// growth is a store whose fields grow, and the tokens that each document has in each field: those that
// were declared when it was written.
type growth struct {
	rng    *rand.Rand
	fields []string
	typed  bool                         // fields from f4 on are not texts
	tokens map[string]map[string]uint32 // by id, field
	values map[string][]corpus.Field    // by id: those of declared fields
}

func (g *growth) declare(names []string) []mapping.Field {
	fields := mapping.Texts(names)
	for i, name := range names {
		if !slices.Contains(g.fields, name) {
			g.fields = append(g.fields, name)
		}
		if g.typed {
			fields[i] = typedField(name)
		}
	}
	return fields
}

// typedField is the declaration of f0 to f7 where fields have types.
func typedField(name string) mapping.Field {
	f := mapping.Field{Name: name}
	switch name {
	case "f4":
		f.Type = mapping.Long
	case "f5":
		f.Type = mapping.Keyword
	case "f6":
		f.Type = mapping.Date
	case "f7":
		f.NoIndex = true
	}
	return f
}

// value returns a value that the field of a name can hold.
func (g *growth) value(name string) string {
	if !g.typed {
		return text(g.rng)
	}
	switch typedField(name).Type {
	case mapping.Long:
		return strconv.Itoa(g.rng.IntN(1000))
	case mapping.Date:
		return fmt.Sprint(1900 + g.rng.IntN(200))
	}
	return text(g.rng)
}

// op returns an operation that may declare fields.
func (g *growth) op() Op {
	var names []string
	for g.rng.IntN(8) == 0 {
		names = append(names, fmt.Sprint("f", g.rng.IntN(8)))
	}
	if g.rng.IntN(10) == 0 {
		return Op{Kind: Declare, Fields: g.declare(names)}
	}
	d := &corpus.Document{ID: fmt.Sprint(g.rng.IntN(60))}
	if g.rng.IntN(6) == 0 {
		delete(g.tokens, d.ID)
		delete(g.values, d.ID)
		return Op{Kind: Delete, Doc: d}
	}
	fields := g.declare(names)
	has := map[string]uint32{}
	var values []corpus.Field
	for range g.rng.IntN(5) {
		name := fmt.Sprint("f", g.rng.IntN(8))
		value := g.value(name)
		d.Extra = append(d.Extra, corpus.Field{Name: name, Value: value})
		if slices.Contains(g.fields, name) {
			has[name] += uint32(len(strings.Fields(value)))
			values = append(values, corpus.Field{Name: name, Value: value})
		}
	}
	g.tokens[d.ID], g.values[d.ID] = has, values
	return Op{Doc: d, Fields: fields}
}

func (g *growth) check(t *testing.T, ix *index.Index) {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	declared := s.Options.Declared()[1:] // the first is the title
	if len(declared) != len(g.fields) {
		t.Fatalf("fields %v, want %q", declared, g.fields)
	}
	for i, f := range declared {
		if want := g.fields[i]; f.Name != want || g.typed && f.Type != typedField(want).Type {
			t.Fatalf("field %d is %s of type %s, want %s", i, f.Name, f.Type, want)
		}
	}
	seen := map[string]bool{}
	for i := range s.Segments {
		v := &s.Segments[i]
		for doc := range base.DocID(v.NumDocs()) {
			if v.Live != nil && !v.Live.Has(int(doc)) {
				continue
			}
			id, err := v.ID(doc)
			check(t, err)
			seen[string(id)] = true
			g.checkColumns(t, v, doc, string(id), declared)
			for f, name := range g.fields {
				if declared[f].Type != mapping.Text || declared[f].NoIndex {
					continue
				}
				field := base.FieldID(1 + slices.Index(s.Options.Fields, name))
				check(t, v.CheckLengths(field))
				if got, want := v.Length(field, doc), g.tokens[string(id)][name]; got != want {
					t.Fatalf("document %s has %d tokens in field %s, want %d", id, got, name, want)
				}
			}
		}
	}
	if want := slices.Sorted(maps.Keys(g.tokens)); !slices.Equal(slices.Sorted(maps.Keys(seen)), want) {
		t.Fatalf("documents %q, want %q", slices.Sorted(maps.Keys(seen)), want)
	}
}

// checkColumns compares the values of a document in columns with those that were written.
func (g *growth) checkColumns(t *testing.T, v *index.View, doc base.DocID, id string, declared []mapping.Field) {
	t.Helper()
	for i := range declared {
		f := &declared[i]
		if !f.HasNumbers() && !f.HasOrdinals() {
			continue
		}
		var want, got []string
		for _, value := range g.values[id] {
			if value.Name != f.Name {
				continue
			}
			text := value.Value
			if f.HasNumbers() {
				n, err := f.Number(text)
				check(t, err)
				text = string(f.AppendNumber(nil, n))
			}
			want = append(want, text)
		}
		c, ok, err := v.Column(f.Name)
		check(t, err)
		if ok {
			values, err := c.Cursor().Values(doc)
			check(t, err)
			for _, n := range values {
				if f.HasNumbers() {
					got = append(got, string(f.AppendNumber(nil, n)))
					continue
				}
				term, err := c.Term(n)
				check(t, err)
				got = append(got, string(term))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if f.HasOrdinals() {
			want = slices.Compact(want)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("document %s has %q in field %s, want %q", id, got, f.Name, want)
		}
	}
}

// Documents have the fields that were declared when they were written, also after crashes at any
// time, with commits of some of the log.
func TestFieldsGrow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(sampletest.Rounds(4, 20)) {
		opts := Options{RefreshInterval: -1, CheckpointBytes: int64(seed % 2)}
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		s := open(t, mem, ix, opts)
		g := &growth{rng: rand.New(rand.NewPCG(seed, 1)), typed: seed/2%2 == 1, tokens: map[string]map[string]uint32{}, values: map[string][]corpus.Field{}}
		for range 40 {
			ops := make([]Op, 1+g.rng.IntN(6))
			for i := range ops {
				ops[i] = g.op()
			}
			results, err := s.Apply(t.Context(), ops)
			check(t, err)
			for i, r := range results {
				if r.Err != nil || (r.Outcome == Declared) != (ops[i].Kind == Declare) {
					t.Fatalf("operation %+v: %+v", ops[i], r)
				}
			}
			switch g.rng.IntN(6) {
			case 0:
				check(t, s.Refresh(t.Context()))
				g.check(t, ix)
			case 1:
				check(t, s.Flush(t.Context()))
			case 2:
				check(t, s.Merge(t.Context(), 1+g.rng.IntN(3)))
			case 3: // a crash
				crashed := mem.Clone()
				check(t, errors.Join(s.Close(t.Context()), ix.Close()))
				mem = crashed
				ix, err = index.Open(mem, "ix")
				check(t, err)
				s = open(t, mem, ix, opts)
				g.check(t, ix)
			}
		}
		check(t, s.Close(t.Context()))
		g.check(t, ix)
		snapshot, err := ix.Snapshot()
		check(t, err)
		check(t, snapshot.Verify(t.Context(), nil))
		snapshot.Release()
		check(t, ix.Close())
	}
}

// An operation whose fields cannot be declared fails alone, and an operation that conflicts declares
// nothing.
func TestFieldsThatCannotBeDeclared(t *testing.T) {
	mem := vfstest.NewMem()
	ix := create(t, mem, "ix")
	defer ix.Close()
	s := open(t, mem, ix, Options{RefreshInterval: -1})
	defer s.Close(t.Context())
	many := make([]string, base.MaxFields-3) // the default field and the title are declared
	for i := range many {
		many[i] = fmt.Sprint("m", i)
	}
	doc := func(id string) *corpus.Document { return &corpus.Document{ID: id, Text: "x"} }
	results, err := s.Apply(t.Context(), []Op{
		{Doc: doc("1"), Fields: mapping.Texts([]string{"a b"})},
		{Doc: doc("2"), Fields: mapping.Texts(many)},
		{Doc: doc("3"), Fields: mapping.Texts([]string{"last", "one-too-many"})},
		{Kind: Create, Doc: doc("2"), Fields: mapping.Texts([]string{"conflict"})},
		{Doc: doc("4"), Fields: mapping.Texts([]string{"last", "last", "m0"})},
		{Kind: Declare, Fields: mapping.Texts([]string{"no-room"})},
		{Kind: Declare, Fields: mapping.Texts([]string{"m1", "last"})},
	})
	check(t, err)
	for i, want := range []error{base.ErrBadInput, nil, base.ErrTooManyFields, ErrConflict, nil, base.ErrTooManyFields, nil} {
		if !errors.Is(results[i].Err, want) || want == nil && results[i].Err != nil || results[i].Err != nil && results[i].Outcome != Failed {
			t.Errorf("operation %d: %+v, want error %v", i, results[i], want)
		}
	}
	if results[4].Version.Seq != 2 || results[6].Outcome != Declared {
		t.Errorf("results %+v", results)
	}
	if err := s.AddFields(t.Context(), "more"); !errors.Is(err, base.ErrTooManyFields) {
		t.Errorf("error %v", err)
	}
	check(t, s.AddFields(t.Context(), "title", "m5"))
	check(t, s.Refresh(t.Context()))
	if got := ix.Options().Fields; len(got) != base.MaxFields-1 || got[len(got)-1] != "last" {
		t.Errorf("%d fields, the last %q", len(got), got[len(got)-1])
	}
}

// Fields that the log did not take are not declared.
func TestFieldsOfFailedGroup(t *testing.T) {
	mem := vfstest.NewMem()
	ix := create(t, mem, "ix")
	defer ix.Close()
	full := false
	faulty := &faultyLog{FS: mem, fails: func() bool { return full }}
	s := open(t, faulty, ix, Options{RefreshInterval: -1})
	check(t, s.AddFields(t.Context(), "a"))
	full = true
	if _, err := s.Apply(t.Context(), []Op{{Doc: &corpus.Document{ID: "1"}, Fields: mapping.Texts([]string{"b"})}, {Kind: Declare, Fields: mapping.Texts([]string{"b"})}}); err == nil {
		t.Fatal("no error of a full log")
	}
	full = false
	check(t, s.AddFields(t.Context(), "c"))
	check(t, s.Refresh(t.Context()))
	if got := strings.Join(ix.Options().Fields, " "); got != "title a c" {
		t.Errorf("fields %q", got)
	}
	check(t, s.Close(context.Background()))
}

// faultyLog has no room for the log at times.
type faultyLog struct {
	vfs.FS
	fails func() bool
}

func (f *faultyLog) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	return &faultyFile{file, f}, err
}

type faultyFile struct {
	vfs.File
	fs *faultyLog
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if f.fs.fails() {
		return 0, wal.ErrFull
	}
	return f.File.Write(b)
}

// encodeTexts encodes the names of texts.
func encodeTexts(names []string) []byte {
	encoded, _, _ := encodeFields(mapping.Texts(names))
	return encoded
}

// encodeTyped encodes the field n, a byte.
func encodeTyped(t testing.TB) []byte {
	t.Helper()
	encoded, typed, err := encodeFields([]mapping.Field{{Name: "n", Type: mapping.Byte}})
	if err != nil || !typed {
		t.Fatal(typed, err)
	}
	return encoded
}

func TestFieldRecords(t *testing.T) {
	d := &corpus.Document{ID: "1", Title: "a"}
	body := encode(7, d)
	marked, _ := encodeAny(7, &corpus.Document{ID: "1", Title: "a", Text: "\"a text of some length\"\n", Extra: []corpus.Field{{Name: "x", Value: `a text of some length\"\n`}, {Name: "y", Value: "a text of some length\"\n"}}})
	for _, c := range []struct {
		kind    byte
		payload []byte
		names   string
		err     error
	}{
		{recordFields, encodeTexts([]string{"a", "bb"}), "a bb", nil},
		{recordFieldsIndex, append(encodeTexts([]string{"a"}), body...), "a", nil},
		{recordIndex, body, "", nil},
		{recordFields, append(encodeTexts([]string{"a"}), 1), "", base.ErrCorrupt},
		{recordFields, []byte{200, 1, 'a'}, "", base.ErrCorrupt},
		{recordFields, []byte{1, 9, 'a'}, "", base.ErrCorrupt},
		{recordFieldsIndex, encodeTexts([]string{"a"}), "a", base.ErrCorrupt},
		{recordTyped, encodeTyped(t), "n:byte", nil},
		{recordTypedIndex, append(encodeTyped(t), body...), "n:byte", nil},
		{recordTyped, append(encodeTyped(t), 1), "", base.ErrCorrupt},
		{recordTypedIndex, encodeTyped(t), "n:byte", base.ErrCorrupt},
		{recordTyped, []byte("\x0b[{\"name\":1}]"), "", base.ErrCorrupt},
		{recordTyped, []byte("\x0f[{\"what\":\"n\"}]"), "", base.ErrCorrupt},
		{recordTyped, []byte("\x7f[]"), "", base.ErrCorrupt},
		{recordMarked, marked, "", nil},
		{recordFieldsMarked, append(encodeTexts([]string{"a"}), marked...), "a", nil},
		{recordTypedMarked, append(encodeTyped(t), marked...), "n:byte", nil},
		{recordFieldsMarked, encodeTexts([]string{"a"}), "a", base.ErrCorrupt},
		{recordRevised, encodeTyped(t), "n:byte", nil},
		{recordRevised, append(encodeTyped(t), body...), "n:byte", base.ErrCorrupt},
		{12, body, "", base.ErrVersion},
		{0, body, "", base.ErrVersion},
	} {
		fields, kind, rest, err := cutFields(c.kind, c.payload)
		var names []string
		for _, f := range fields {
			if f.Type != mapping.Text {
				f.Name += ":" + f.Type.String()
			}
			names = append(names, f.Name)
		}
		if err == nil && kind != 0 {
			var number uint64
			var got *corpus.Document
			if number, got, err = decodeRecord(kind, rest); err == nil && (number != 7 || got.ID != "1" || got.Title != "a") {
				t.Errorf("type %d: number %d of %+v", c.kind, number, got)
			}
		}
		if !errors.Is(err, c.err) || err == nil && strings.Join(names, " ") != c.names {
			t.Errorf("type %d, %q: fields %q, error %v, want %q, %v", c.kind, c.payload, names, err, c.names, c.err)
		}
	}
	f := newFields(index.Options{Fields: []string{}})
	if _, _, err := f.redo(&wal.Entry{Type: recordFields, Payload: encodeTexts([]string{"a b"})}); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("a name that is not valid: error %v", err)
	}
	invalid, _, err := encodeFields([]mapping.Field{{Name: "n", Type: mapping.Long, Format: "yyyy"}})
	check(t, err)
	if _, _, err := f.redo(&wal.Entry{Type: recordTyped, Payload: invalid}); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("a field that is not valid: error %v", err)
	}
	for _, kind := range []byte{0, 12, 255} {
		r := &wal.Entry{Type: kind, Payload: body}
		if _, _, err := f.redo(r); !errors.Is(err, base.ErrVersion) {
			t.Errorf("redo of type %d: error %v", kind, err)
		}
		if err := new(versions).replay(r); !errors.Is(err, base.ErrVersion) {
			t.Errorf("type %d, which a checkpoint has: error %v", kind, err)
		}
	}
}
