package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
)

// Limits of a guess.
const (
	guessedRecords = 10_000
	guessedValues  = 5_000 // different values of a field that are counted
	maxKeyword     = 200   // characters
)

// guessMapping returns the fields of the first records of files, with the types that their values have.
func (a *app) guessMapping(ctx context.Context, files *griffin.FilesOptions, paths []string) (*griffin.Mapping, error) {
	reader, err := corpus.Open(paths, corpus.Options{
		Format: files.Format, IDField: files.IDField, TitleField: files.TitleField, TextField: files.TextField, PDFToText: files.PDFToText,
		Kinds: true, Mapped: &corpus.Mapped{Any: true}, Stdin: interruptible{ctx, a.in},
	})
	if err != nil {
		return nil, err
	}
	g := guess{byName: map[string]*guessedField{}}
	err = g.read(ctx, reader)
	if err = errors.Join(err, reader.Close()); err != nil {
		return nil, err
	}
	if g.records == 0 && g.bad != nil {
		return nil, fmt.Errorf("no records to guess from: %w", g.bad)
	}
	m, err := mapping.New("", g.fields())
	if err != nil {
		return nil, err
	}
	return griffin.ParseMapping(m.AppendJSON(nil))
}

// guess holds the types that values of records allow for their fields.
type guess struct {
	byName   map[string]*guessedField
	names    []string // in the order in which they were met
	records  int
	bad      error // the first record that cannot be read
	hasTitle bool
}

// guessedField counts the values of a field.
type guessedField struct {
	values, booleans, whole, numbers, dates int
	isPart                                  int // values that are the title or the text
	format                                  string
	different                               map[string]bool
	words, long                             bool // a value has white space; one is too long for a keyword
}

func (g *guess) read(ctx context.Context, reader corpus.Reader) error {
	for g.records < guessedRecords {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = b.Parse(func(d *corpus.Document) error { g.add(d); return nil }, func(e *corpus.RecordError) error {
			if g.bad == nil {
				g.bad = e
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *guess) add(d *corpus.Document) {
	if g.records++; g.records > guessedRecords {
		return
	}
	g.hasTitle = g.hasTitle || d.Title != ""
	for i, x := range d.Extra {
		f := g.byName[x.Name]
		if f == nil {
			f = &guessedField{different: map[string]bool{}}
			g.byName[x.Name] = f
			g.names = append(g.names, x.Name)
		}
		kind := corpus.KindText
		if i < len(d.Kinds) {
			kind = d.Kinds[i]
		}
		if x.Value == d.Title || x.Value == d.Text {
			f.isPart++
		}
		f.add(kind, x.Name, x.Value)
	}
}

func (f *guessedField) add(kind corpus.Kind, name, value string) {
	f.values++
	json := byte(kind)
	if kind == corpus.KindCell {
		json = scalarKind(value)
	}
	for _, d := range mapping.Detect(name, json, value) {
		switch d.Type {
		case mapping.Boolean:
			f.booleans++
		case mapping.Long:
			f.whole++
			f.numbers++
		case mapping.Float:
			f.numbers++
		case mapping.Date:
			f.dates++
			f.format = d.Format
		}
	}
	f.words = f.words || strings.ContainsAny(value, " \t\n")
	f.long = f.long || utf8.RuneCountInString(value) > maxKeyword
	if len(f.different) < guessedValues {
		f.different[value] = true
	}
}

// fields are the fields of a mapping. A pair of numbers x.lat and x.lon is a geo_point. What only repeats titles
// and texts is left out.
func (g *guess) fields() []mapping.Field {
	var fields []mapping.Field
	if g.hasTitle {
		fields = append(fields, mapping.Field{Name: "title"})
	}
	points := map[string]bool{}
	for _, name := range g.names {
		f := g.byName[name]
		if f.isPart == f.values || name == "title" || mapping.CheckName(name) != nil {
			continue
		}
		if point, ok := g.pointOf(name); ok {
			if !points[point] {
				fields = append(fields, mapping.Field{Name: point, Type: mapping.GeoPoint})
			}
			points[point] = true
			continue
		}
		fields = append(fields, f.field(name))
	}
	return fields[:min(len(fields), mapping.MaxFields)]
}

// pointOf returns the point that a number is a part of.
func (g *guess) pointOf(name string) (string, bool) {
	point, part, _ := strings.Cut(name, ".")
	if part != "lat" && part != "lon" {
		return "", false
	}
	lat, lon := g.byName[point+".lat"], g.byName[point+".lon"]
	return point, lat != nil && lon != nil && lat.numbers == lat.values && lon.numbers == lon.values
}

func (f *guessedField) field(name string) mapping.Field {
	out := mapping.Field{Name: name}
	switch f.values {
	case f.booleans:
		out.Type = mapping.Boolean
	case f.whole:
		out.Type = mapping.Long
	case f.numbers:
		out.Type = mapping.Double
	case f.dates:
		out.Type, out.Format = mapping.Date, f.format
	default:
		repeated := len(f.different) <= max(min(10, f.values-1), f.values/2)
		if !f.long && (repeated || !f.words) {
			out.Type = mapping.Keyword
		}
	}
	return out
}
