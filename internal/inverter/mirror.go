package inverter

import (
	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
)

// mirror saves the inversion of most documents for the default field. If a document's title and text are all that two
// fields have of it, its postings in the default field are theirs: the positions of the text follow the ones of the title.
// The layout of a partial index joins them (mirrorLayout). Documents whose text no field has are mirrored only with
// plainTokens (bare).
type mirror struct {
	// The fields of the documents in starts; 0: no document has one.
	title, text base.FieldID
	// bare: only the default field has the texts of these documents, whose tokens plainTokens keep.
	bare bool
	// starts is, by document, 1 plus the position of its text in the default field; 0, or no entry: the default
	// field was inverted.
	starts  []uint32
	numDocs int // in starts, not 0
}

func (m *mirror) reset() { *m = mirror{starts: m.starts[:0]} }

func (m *mirror) usedBytes() int64 { return 4 * int64(len(m.starts)) }

// has returns whether the default field has the postings of a document from other fields.
func (m *mirror) has(doc uint32) bool { return int(doc) < len(m.starts) && m.starts[doc] != 0 }

func (m *mirror) set(doc, start uint32) {
	m.starts = append(m.starts, make([]uint32, int(doc)+1-len(m.starts))...)
	m.starts[doc] = start + 1
	m.numDocs++
}

// mirrored returns whether fields, or plainTokens, are likely to have the title and the text of a document, which are the
// default field.
func (v *inverter) mirrored(d *corpus.Document) bool {
	likely := v.likelyMirrored(d)
	if !likely || len(d.Title)+len(d.Text) > maxPlainBytes {
		likely = likely && !v.mirror.bare // nothing but plainTokens could have its text
		v.endPlain()
	}
	return likely
}

func (v *inverter) likelyMirrored(d *corpus.Document) bool {
	m := &v.mirror
	if v.schema.TitleWeight > 1 || v.schema.NameField != "" {
		return false
	}
	_, titled := v.ids[TitleField]
	if !v.mirroredBy(&m.title, m.text, d, TitleField) && (titled || d.Title != "") {
		return false
	}
	if d.Text == "" {
		return m.text != 0 || m.bare // else a later document could set it to a field with other values of this one
	}
	for i := range d.Extra {
		if d.Extra[i].Value == d.Text {
			return !m.bare && v.mirroredBy(&m.text, m.title, d, d.Extra[i].Name)
		}
	}
	m.bare = v.plain.on && m.text == 0 // all documents before are bare, too: else a field has their text
	return m.bare
}

// mirroredBy returns whether the values of a name are analysed for field, which it sets if it is 0, and which is not
// other.
func (v *inverter) mirroredBy(field *base.FieldID, other base.FieldID, d *corpus.Document, name string) bool {
	id := v.textField(d, name)
	if *field == 0 && id != other {
		*field = id
	}
	return id != 0 && *field == id
}

// textField returns the field of a name whose values are analysed as the default field's; 0: none.
func (v *inverter) textField(d *corpus.Document, name string) base.FieldID {
	if v.schema.Mapping == nil {
		if id, ok := v.fieldID(d, name); ok {
			return id
		}
		return 0
	}
	targets := v.typed.mapping.Targets(name)
	for i := range targets {
		t := &targets[i]
		if t.Field.Name == name && t.Field.Type == mapping.Text && v.typed.analyzers[t.Number] == nil && (d.Declared == 0 || t.Since+1 < d.Declared) {
			return v.typed.ids[t.Number]
		}
	}
	return 0
}

// addMirrored ends a document that mirrored accepted, after its fields were added. lengths are the tokens of its title
// and text with terms. If fields have other values as well, it inverts the default field.
func (v *inverter) addMirrored(d *corpus.Document, doc uint32, start uint32, title, text uint32) {
	m, main := &v.mirror, &v.fields[0]
	has := func(field base.FieldID, length uint32) bool {
		return field == 0 && length == 0 || field != 0 && v.fields[field].length(doc) == length
	}
	if has(m.title, title) && (m.bare || has(m.text, text)) {
		m.set(doc, start)
		main.addLength(doc, title+text)
		main.numTokens += uint64(title + text)
		if v.plain.on {
			v.plain.end()
		}
		return
	}
	v.endPlain()
	start = 0
	if d.Title != "" {
		tokens := v.analyze(d.Title)
		start = v.addTitle(doc, tokens, v.number(tokens), start)
	}
	tokens := v.analyze(d.Text)
	main.addNumbered(doc, tokens, v.number(tokens), start)
}

// numTerms counts the tokens with terms.
func numTerms(numbers []uint32) (n uint32) {
	for _, number := range numbers {
		if number != noTerm {
			n++
		}
	}
	return n
}

// after returns the position after a text.
func after(tokens []analysis.Token) uint32 {
	if n := len(tokens); n > 0 {
		return tokens[n-1].Position + 1 + positionGap
	}
	return 0
}
