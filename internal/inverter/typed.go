package inverter

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
)

// typedFields is how the values of an inverter's mapping are inverted.
type typedFields struct {
	mapping *mapping.Mapping
	ids     []base.FieldID   // by place in the mapping; 0: no posting lists
	columns []columnInverter // by place in the mapping
	// analyzers are of the texts that have one of their own, by place in the mapping.
	analyzers []analysis.Analyzer
	// normalizers are of the keywords that have one, by place in the mapping.
	normalizers []*analysis.Normalizer
	tokens      []analysis.Token
	err         error // there is no such analyzer
}

// use changes the mapping to one with other last fields.
func (t *typedFields) use(m *mapping.Mapping, settings *analysis.Settings, ids map[string]base.FieldID) {
	t.mapping = m
	if m == nil {
		return
	}
	fields := m.Fields()
	had := min(len(t.ids), len(fields))
	t.ids = slices.Grow(t.ids[:had], len(fields)-had)[:len(fields)]
	t.analyzers = slices.Grow(t.analyzers[:had], len(fields)-had)[:len(fields)]
	t.normalizers = slices.Grow(t.normalizers[:had], len(fields)-had)[:len(fields)]
	t.columns = slices.Grow(t.columns[:had], len(fields)-had)[:len(fields)]
	for i := range fields {
		f := &fields[i]
		t.ids[i] = 0
		if f.HasTerms() {
			t.ids[i] = ids[f.Name]
		}
		t.analyzers[i] = nil
		if f.Type == mapping.Text && f.Analyzer != "" {
			var err error
			if t.analyzers[i], err = settings.New(f.Analyzer, analysis.Documents); err != nil {
				t.err = fmt.Errorf("field %q: %w", f.Name, err)
			}
		}
		t.normalizers[i] = nil
		if f.Normalizer != "" {
			var err error
			if t.normalizers[i], err = settings.Normalizer(f.Normalizer); err != nil {
				t.err = fmt.Errorf("field %q: %w", f.Name, err)
			}
		}
		t.columns[i].kind = columnKind(f)
		if i >= had {
			t.columns[i].reset()
		}
	}
}

func (t *typedFields) reset() {
	for i := range t.columns {
		t.columns[i].reset()
	}
}

func (t *typedFields) usedBytes() (n int64) {
	for i := range t.columns {
		n += t.columns[i].usedBytes()
	}
	return n
}

// full is as of fieldInverter.
func (t *typedFields) full(maxBytes int) bool {
	for i := range t.columns {
		if t.columns[i].full(maxBytes) {
			return true
		}
	}
	return false
}

// addMapped is the part of add for an index with a mapping.
func (v *inverter) addMapped(d *corpus.Document, doc uint32) error {
	next := uint32(0) // position of the text's first word
	mirrored, titleLength := v.mirrored(d), uint32(0)
	if d.Title != "" {
		tokens := v.analyze(d.Title)
		numbers := v.number(tokens)
		if mirrored {
			next, titleLength = after(tokens), numTerms(numbers)
		} else {
			next = v.addTitle(doc, tokens, numbers, next)
		}
		if _, _, err := v.addTyped(d, doc, TitleField, d.Title, tokens, numbers); err != nil {
			return err
		}
	}
	if name := v.schema.name(d); name != "" {
		tokens := v.analyze(name)
		next = v.addTitle(doc, tokens, v.number(tokens), next)
	}
	tokens := v.analyze(d.Text)
	numbers := v.number(tokens)
	textLength := numTerms(numbers)
	switch {
	case !mirrored:
		v.fields[0].addNumbered(doc, tokens, numbers, next)
	case v.mirror.bare:
		v.plain.addBare(tokens, numbers)
	}
	analyzed := d.Text
	for i := range d.Extra {
		f := &d.Extra[i]
		if f.Value != analyzed {
			tokens, numbers = nil, nil
		}
		if mirrored && tokens == nil && f.Value == d.Text {
			tokens = v.analyze(f.Value)
			numbers = v.number(tokens)
		}
		var err error
		if tokens, numbers, err = v.addTyped(d, doc, f.Name, f.Value, tokens, numbers); err != nil {
			return err
		}
		if tokens != nil {
			analyzed = f.Value
		}
	}
	if mirrored {
		v.addMirrored(d, doc, next, titleLength, textLength)
	}
	return nil
}

// checkMapped returns an error that wraps base.ErrBadInput if a field cannot hold a value.
func (s *Schema) checkMapped(d *corpus.Document) error {
	check := func(name, value string) error {
		if value == "" {
			return nil
		}
		err := s.Mapping.Check(name, value, d.Declared)
		if err == nil {
			err = s.checkNormal(name, value, d.Declared)
		}
		if err != nil {
			return fmt.Errorf("document %q: %w", d.ID, err)
		}
		return nil
	}
	if _, ok := s.Mapping.Field(TitleField); ok && d.Title != "" {
		if err := check(TitleField, d.Title); err != nil {
			return err
		}
	}
	for i := range d.Extra {
		if err := check(d.Extra[i].Name, d.Extra[i].Value); err != nil {
			return err
		}
		if err := s.checkOneVector(d, i); err != nil {
			return err
		}
	}
	return nil
}

// checkNormal returns an error if the normal form of a keyword is too long.
func (s *Schema) checkNormal(name, value string, declared int) error {
	targets := s.Mapping.Targets(name)
	for i := range targets {
		t := &targets[i]
		f := t.Field
		if f.Normalizer == "" || f.Ignores(value) || declared != 0 && t.Since+1 >= declared {
			continue
		}
		n, err := s.Analysis.NormalLength(f.Normalizer, value, mapping.MaxKeywordBytes)
		if err != nil {
			return err
		}
		if n > mapping.MaxKeywordBytes {
			return f.TooLong(value, n)
		}
	}
	return nil
}

// checkOneVector returns an error if a value is a second vector of its field.
func (s *Schema) checkOneVector(d *corpus.Document, i int) error {
	f := &d.Extra[i]
	if !s.isVector(f.Name) || f.Value == "" {
		return nil
	}
	if number, _ := s.Mapping.Number(f.Name); d.Declared != 0 && number+1 >= d.Declared {
		return nil
	}
	for _, before := range d.Extra[:i] {
		if before.Name == f.Name && before.Value != "" {
			return fmt.Errorf("document %q: field %q has several vectors: want one: %w", d.ID, f.Name, base.ErrBadInput)
		}
	}
	return nil
}

// addTyped adds a value of a document to the fields that get it. An empty one is none. tokens and numbers are as of addField
// for the analyzer of the index, nil if it has not analysed the value yet; it returns those that
// are valid afterwards.
func (v *inverter) addTyped(d *corpus.Document, doc uint32, name, value string, tokens []analysis.Token, numbers []uint32) (after []analysis.Token, _ []uint32, err error) {
	if value == "" {
		return tokens, numbers, nil
	}
	targets := v.typed.mapping.Targets(name)
	for i := range targets {
		t := &targets[i]
		if d.Declared != 0 && t.Since+1 >= d.Declared {
			continue
		}
		if t.Field.Type != mapping.Text {
			if err := v.addValue(t, doc, value); err != nil && !v.accepted {
				return nil, nil, fmt.Errorf("document %q: %w", d.ID, err)
			}
			continue
		}
		id := v.typed.ids[t.Number]
		switch own := v.typed.analyzers[t.Number]; {
		case id == 0:
		case own != nil:
			v.typed.tokens = own.Tokens(v.typed.tokens[:0], bytesOf(value))
			v.addField(id, doc, v.typed.tokens, nil)
		default:
			if tokens == nil {
				tokens, numbers = v.analyze(value), nil
			}
			v.addField(id, doc, tokens, numbers)
		}
	}
	return tokens, numbers, nil
}

// addValue adds a value to the posting lists and the column of a field that is not a text.
func (v *inverter) addValue(t *mapping.Target, doc uint32, value string) error {
	if t.Field.Type.Vector() {
		f := &v.fields[v.typed.ids[t.Number]]
		tokens, err := t.Field.Vector(value)
		if err == nil && f.length(doc) == 0 { // else checkOneVector rejects it
			f.addVector(doc, tokens)
		}
		return err
	}
	column := &v.typed.columns[t.Number]
	switch column.kind {
	case numberColumn:
		n, err := t.Field.Number(value)
		if err == nil {
			column.addNumber(doc, n)
		}
		return err
	case noColumn:
		if v.typed.ids[t.Number] == 0 {
			return nil
		}
	}
	var term []byte
	if t.Field.Type == mapping.Keyword {
		if t.Field.Ignores(value) {
			return nil
		}
		if term = bytesOf(value); v.typed.normalizers[t.Number] != nil {
			if term = v.typed.normalizers[t.Number].Normalize(term); len(term) == 0 {
				return nil
			}
		}
		if len(term) > mapping.MaxKeywordBytes {
			return t.Field.TooLong(value, len(term))
		}
	} else {
		var err error
		if term, _, err = t.Field.Bytes(value); err != nil {
			return err
		}
	}
	var n uint32
	if id := v.typed.ids[t.Number]; id != 0 {
		n = v.fields[id].addKeyword(doc, term)
	} else {
		n = column.number(term)
	}
	if column.kind == termColumn {
		column.docs, column.terms = append(column.docs, doc), append(column.terms, n)
	}
	return nil
}

// addKeyword adds a document to the list of a term, once, with position 0. The length of a document with
// keywords is 1. It returns the number of the term, which is not empty.
func (f *fieldInverter) addKeyword(doc uint32, term []byte) uint32 {
	n := f.number(term)
	st := &f.states[n]
	if st.freq != 0 && st.doc == doc {
		return n
	}
	f.finishPosting(st)
	st.doc, st.freq = doc, 1
	st.docFreq++
	if f.withPositions {
		f.positions.putVarint(&f.posStates[n].chain, 0)
	}
	if f.length(doc) == 0 {
		f.addLength(doc, 1)
		f.numTokens++
	}
	return n
}

// columnKindOf is the kind of values in the column of a field.
type columnKindOf uint8

const (
	noColumn columnKindOf = iota
	numberColumn
	termColumn
)

func columnKind(f *mapping.Field) columnKindOf {
	switch {
	case f.HasNumbers():
		return numberColumn
	case f.HasOrdinals():
		return termColumn
	}
	return noColumn
}

// columnInverter collects the values of a field in the order of documents.
type columnInverter struct {
	kind   columnKindOf
	docs   []uint32 // of each value
	values []int64  // of numberColumn
	terms  []uint32 // of termColumn: their numbers in the table of the field's lists, or else in table
	table  termTable
}

func (c *columnInverter) reset() {
	c.docs, c.values, c.terms = c.docs[:0], c.values[:0], c.terms[:0]
	if c.kind == termColumn {
		c.table.reset()
	}
}

func (c *columnInverter) usedBytes() int64 {
	return 4*int64(len(c.docs)+len(c.terms)) + 8*int64(len(c.values)) + c.table.usedBytes()
}

func (c *columnInverter) full(maxBytes int) bool {
	return 8*len(c.docs) > maxBytes || len(c.table.bytes) > maxBytes
}

func (c *columnInverter) addNumber(doc uint32, v int64) {
	c.docs, c.values = append(c.docs, doc), append(c.values, v)
}

func (c *columnInverter) number(term []byte) uint32 {
	if c.table.slots == nil {
		c.table.reset()
	}
	n, _ := c.table.insert(term)
	return n
}
