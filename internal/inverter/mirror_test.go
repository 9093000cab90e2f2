package inverter

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

const mirrorMapping = `{"properties": {
	"title": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 64}}},
	"body": {"type": "text"},
	"other": {"type": "text", "copy_to": "body"},
	"own": {"type": "text", "analyzer": "whitespace"},
	"hidden": {"type": "text", "index": false},
	"number": {"type": "long"}
}}`

// The mapping before the last fields were added.
const mirrorMappingBefore = `{"properties": {
	"title": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 64}}},
	"body": {"type": "text"}
}}`

// mirrorDocs returns documents, most of which have their text in a field as well.
func mirrorDocs(rng *rand.Rand, n int, plain bool) []corpus.Document {
	words := func(most int) string {
		var b []string
		for range rng.IntN(most + 1) {
			word := []string{"red", "Blue", "ink-pot", "...", strings.Repeat("x", 1+rng.IntN(9)), fmt.Sprint("w", rng.IntN(300))}[rng.IntN(6)]
			b = append(b, word)
		}
		if rng.IntN(20) == 0 {
			b = append(b, strings.Repeat("long", maxTermBytes)) // no term
		}
		return strings.Join(b, " ")
	}
	docs := make([]corpus.Document, n)
	for i := range docs {
		d := &docs[i]
		d.ID, d.Text = fmt.Sprint(i), words(40)
		if rng.IntN(4) > 0 {
			d.Title = words(6)
		}
		body := "body"
		if !plain && rng.IntN(5) == 0 {
			body = []string{"other", "own", "hidden", "unknown", "title", "number"}[rng.IntN(6)]
		}
		if body != "number" {
			d.Extra = append(d.Extra, corpus.Field{Name: body, Value: d.Text})
		}
		if plain {
			continue
		}
		for range rng.IntN(3) {
			name := []string{"title", "body", "other", "own", "unknown"}[rng.IntN(5)]
			d.Extra = slices.Insert(d.Extra, rng.IntN(len(d.Extra)+1), corpus.Field{Name: name, Value: words(4)})
		}
		if rng.IntN(5) == 0 {
			d.Declared = 1 + rng.IntN(7)
		}
	}
	return docs
}

// bareDocs returns documents whose texts no field has, except for few of some.
func bareDocs(rng *rand.Rand, n int) []corpus.Document {
	docs := mirrorDocs(rng, n, true)
	others := rng.IntN(3) * rng.IntN(2)
	for i := range docs {
		d := &docs[i]
		switch {
		case rng.IntN(100) < others:
		case rng.IntN(4) == 0:
			d.Extra[0] = corpus.Field{Name: []string{"other", "own", "unknown"}[rng.IntN(3)], Value: "red " + d.Title}
		default:
			d.Extra = nil
		}
		if rng.IntN(50) < others {
			d.Extra = append(d.Extra, corpus.Field{Name: "title", Value: "Blue"})
		}
		if rng.IntN(8) == 0 && i > 0 {
			d.Text = ""
		}
	}
	return docs
}

// The default field is the same as without other fields, whose postings it has.
func TestMirrorEqualsInversion(t *testing.T) {
	m, err := mapping.Parse([]byte(mirrorMapping))
	if err != nil {
		t.Fatal(err)
	}
	before, err := mapping.Parse([]byte(mirrorMappingBefore))
	if err != nil {
		t.Fatal(err)
	}
	mirrored, inverted, mixed, ended := 0, 0, 0, 0
	bare, bareEnded := 0, 0
	var w, wantWriter, plainWriter partialWriter // their memory is used again
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 18))
		positions, plain := seed%3 > 0, seed%4 == 0
		docs, isBare := mirrorDocs(rng, 1+rng.IntN(200), plain), seed%4 == 2
		if isBare {
			docs = bareDocs(rng, len(docs))
		}
		s := &Schema{Analyzer: "simple", Fields: append([]string{""}, m.TermFields()...), Positions: positions, Mapping: m}
		if seed%5 == 0 {
			s.Fields, s.Mapping = []string{"", "own", "title", "other", "body"}, nil
		}
		if seed%7 == 0 {
			s.TitleWeight, s.NameField = int(seed%3), []string{"", "body"}[seed%2]
		}
		alone := &Schema{Analyzer: "simple", Fields: []string{""}, Positions: positions, TitleWeight: s.TitleWeight, NameField: s.NameField}
		first := s
		if seed%8 == 1 && s.Mapping != nil {
			first = &Schema{Analyzer: "simple", Fields: append([]string{""}, before.TermFields()...), Positions: positions, Mapping: before, TitleWeight: s.TitleWeight, NameField: s.NameField}
		}
		v := newInverter(first, analyzerOf(t, s), vfs.OS, nil)
		want := newInverter(alone, analyzerOf(t, alone), vfs.OS, nil)
		p := newInverter(first, analyzerOf(t, s), vfs.OS, nil)
		p.plain.enabled = true
		p.plain.reset()
		for i := range docs {
			if i == len(docs)/2 {
				v.use(s)
				p.use(s)
			}
			if err := p.add(&docs[i]); err != nil {
				t.Fatal(err)
			}
			if err := v.add(&docs[i]); err != nil {
				t.Fatal(err)
			}
			if err := want.add(&docs[i]); err != nil {
				t.Fatal(err)
			}
		}
		switch n := v.mirror.numDocs; {
		case n == len(docs):
			mirrored++
		case n == 0:
			inverted++
		default:
			mixed++
		}
		if plain && seed%7 != 0 && v.mirror.numDocs < len(docs)*9/10 {
			t.Errorf("seed %d: %d documents of %d are mirrored", seed, v.mirror.numDocs, len(docs))
		}
		got, err := w.finish(v)
		if err != nil {
			t.Fatal(err)
		}
		expected, err := wantWriter.finish(want)
		if err != nil {
			t.Fatal(err)
		}
		g, e := &got.fields[0], &expected.fields[0]
		if g.numTerms != e.numTerms || g.numTokens != e.numTokens || !slices.Equal(g.lengths, e.lengths) {
			t.Errorf("seed %d: %d terms, %d tokens, want %d, %d, or the lengths differ", seed, g.numTerms, g.numTokens, e.numTerms, e.numTokens)
		}
		if !bytes.Equal(g.lists.data, e.lists.data) || !bytes.Equal(g.positions.data, e.positions.data) {
			t.Errorf("seed %d: other lists or positions", seed)
		}
		if v.mirror.numDocs > 0 && len(v.fields[0].docs.slab) > 0 && v.mirror.numDocs == len(docs) {
			t.Errorf("seed %d: the default field has postings of its own", seed)
		}
		if p.plain.pause > 0 {
			ended++
		}
		switch {
		case isBare && p.plain.on && p.mirror.bare:
			bare++
		case isBare && p.plain.pause > 0:
			bareEnded++
		}
		if !isBare && p.plain.on != (v.mirror.numDocs == len(docs)) {
			t.Errorf("seed %d: plain tokens: %t, with %d mirrored documents of %d", seed, p.plain.on, v.mirror.numDocs, len(docs))
		}
		equalPartials(t, seed, p, &plainWriter, got)
		v.reset()
		want.reset()
		p.reset()
	}
	if mirrored == 0 || mixed < 20 || ended < 20 || bare < 10 || bareEnded < 5 {
		t.Errorf("%d partial indexes are mirrored, %d in part, %d not; %d had plain tokens before others; %d of bare documents, %d before others",
			mirrored, mixed, inverted, ended, bare, bareEnded)
	}
}

// equalPartials compares all fields of an inverter's partial index.
func equalPartials(t *testing.T, seed uint64, v *inverter, w *partialWriter, want *partial) {
	t.Helper()
	got, err := w.finish(v)
	if err != nil {
		t.Fatal(err)
	}
	if plain := v.plain.on && len(v.plain.docs) > 0; plain != (got.plain != nil) {
		t.Errorf("seed %d: plain lists: %t, want %t", seed, got.plain != nil, plain)
	}
	if g, e := listTexts(t, got), listTexts(t, want); !slices.Equal(g, e) {
		t.Errorf("seed %d: other lists", seed)
	}
	equalRegions(t, seed, got, want)
	if got.plain == nil {
		return
	}
	sortPlain(&w.plain.wide, &w.plain, v, w.main, 64)
	encodePlain(&w.plain, &w.plain.wide, got.fields[0].withPositions)
	for i := range want.fields {
		if o := w.plainField(v, base.FieldID(i)); o != nil {
			got.fields[i].lists, got.fields[i].positions = memoryRegion(o.lists), memoryRegion(o.positions)
		}
	}
	got.plain = nil
	equalRegions(t, seed, got, want)
}

// equalRegions compares the encoded lists of partial indexes.
func equalRegions(t *testing.T, seed uint64, got, want *partial) {
	t.Helper()
	plain := got.plain
	got.encodePlain()
	for i := range want.fields {
		g, e := &got.fields[i], &want.fields[i]
		if g.numTerms != e.numTerms || g.numTokens != e.numTokens || !slices.Equal(g.lengths, e.lengths) {
			t.Errorf("seed %d: field %d: %d terms, %d tokens, want %d, %d, or the lengths differ", seed, i, g.numTerms, g.numTokens, e.numTerms, e.numTokens)
		}
		if !bytes.Equal(g.lists.data, e.lists.data) || !bytes.Equal(g.positions.data, e.positions.data) {
			t.Errorf("seed %d: field %d: other lists or positions", seed, i)
		}
	}
	got.plain = plain
}

// listTexts returns the blocks of all lists as text.
func listTexts(t *testing.T, r *partial) (all []string) {
	t.Helper()
	it, err := r.Lists()
	if err != nil {
		t.Fatal(err)
	}
	var b segment.PostingBlock
	for it.Next() {
		all = append(all, fmt.Sprintf("field %d: term %q: %d documents", it.Field(), it.Term(), it.DocFreq()))
		for b.N = 1; b.N > 0; {
			if err := it.ReadBlock(&b); err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("%d %d %x", b.DocIDs[:b.N], b.Freqs[:b.N], b.Positions))
		}
	}
	if err := errors.Join(it.Err(), it.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

// After a partial index that had to change from plain tokens to chains, some begin with chains.
func TestPlainPause(t *testing.T) {
	s := &Schema{Analyzer: "simple", Fields: []string{"", "title", "body"}}
	v := newInverter(s, analyzerOf(t, s), vfs.OS, nil)
	v.plain.enabled = true
	v.plain.reset()
	plain := corpus.Document{ID: "a", Title: "red ink", Text: "blue ink", Extra: []corpus.Field{{Name: "body", Value: "blue ink"}}}
	other := corpus.Document{ID: "b", Text: "green ink", Extra: []corpus.Field{{Name: "unknown", Value: "green ink"}}}
	large := plain
	large.Text = strings.Repeat("ink ", maxPlainBytes/4)
	large.Extra = []corpus.Field{{Name: "body", Value: large.Text}}
	var on []bool
	for i := range 2*plainPause + 7 {
		docs := []*corpus.Document{&plain}
		switch i {
		case 0:
			docs = append(docs, &other)
		case 1 + plainPause:
			docs = append(docs, &large)
		case 2 + 2*plainPause:
			docs[0] = &other // costs nothing
		}
		for _, d := range docs {
			if err := v.add(d); err != nil {
				t.Fatal(err)
			}
		}
		on = append(on, v.plain.on)
		v.reset()
	}
	want := slices.Repeat([]bool{false}, 2*plainPause+3)
	if want = append(want, true, true, true, true); !slices.Equal(on, want) {
		t.Errorf("partial indexes with plain tokens: %t, want %t", on, want)
	}
}

// A document that is too large for arrays is inverted in chains, and so are the bare ones before it.
func TestLargeBareDocument(t *testing.T) {
	s := &Schema{Analyzer: "simple", Fields: []string{"", "title"}, Positions: true}
	docs := []corpus.Document{
		{ID: "a", Title: "red ink", Text: "blue ink"},
		{ID: "b", Title: "green", Text: strings.Repeat("ink ", maxPlainBytes/4)},
		{ID: "c", Title: "ink", Text: "red"},
	}
	plain, chains := newInverter(s, analyzerOf(t, s), vfs.OS, nil), newInverter(s, analyzerOf(t, s), vfs.OS, nil)
	plain.plain.enabled = true
	plain.plain.reset()
	for i := range docs {
		for _, v := range []*inverter{plain, chains} {
			if err := v.add(&docs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if i == 0 && !plain.mirror.bare || i > 0 && plain.plain.on {
			t.Errorf("after document %d: bare %t, plain tokens %t", i, plain.mirror.bare, plain.plain.on)
		}
	}
	want, err := new(partialWriter).finish(chains)
	if err != nil {
		t.Fatal(err)
	}
	equalPartials(t, 0, plain, new(partialWriter), want)
}

// The terms of fields are in order, also without the order of the default field.
func TestMirrorOrder(t *testing.T) {
	m, err := mapping.Parse([]byte(mirrorMapping))
	if err != nil {
		t.Fatal(err)
	}
	s := &Schema{Analyzer: "simple", Fields: append([]string{""}, m.TermFields()...), Mapping: m}
	rng := rand.New(rand.NewPCG(3, 18))
	for range 20 {
		v := newInverter(s, analyzerOf(t, s), vfs.OS, nil)
		docs := mirrorDocs(rng, 50, false)
		for i := range docs {
			if err := v.add(&docs[i]); err != nil {
				t.Fatal(err)
			}
		}
		var w partialWriter
		w.layOut(v)
		for i := range v.fields {
			f := &v.fields[i]
			w.sort(f)
			if got, want := w.keys, f.table.appendSorted(nil, new(termSorter)); !slices.Equal(got, want) {
				t.Fatalf("field %q: %d terms, want %d in order", s.Fields[i], len(got), len(want))
			}
		}
	}
}
