package inverter

import (
	"math/bits"
	"unsafe"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
)

// plainTokens are the tokens of a partial index whose documents are all mirrored, in their order. The layout sorts
// them by term, for the title's, the text's and the default field together (plainLayout, plainLists): no chain grows, and
// the two fields have no tables of terms.
//
// The first document that is not mirrored ends this: all tokens go to the chains of the two fields, or of the default field
// if no other has the texts (mirror.bare).
type plainTokens struct {
	enabled bool
	on      bool // the partial index has such tokens, or no document yet
	pause   int  // partial indexes that use chains, after one that had to change

	numbers   []uint32 // of terms in the default field, by token
	positions []uint32 // in the title or the text, by token
	docs      []plainDoc
	current   plainDoc // whose first token is at the end of docs
	last      uint32   // highest position

	tokens []analysis.Token // scratch
}

// plainDoc is where the tokens of a document end: first the title's, then the text's.
type plainDoc struct{ title, text uint32 }

const (
	// maxPlainBytes bounds the memory for a document: 16 bytes a token.
	maxPlainBytes = 8 << 20
	// plainPause is how many partial indexes use chains after one that had to change to them, which costs time.
	plainPause = 15
)

func (p *plainTokens) reset() {
	if p.pause > 0 {
		p.pause--
	}
	p.on = p.enabled && p.pause == 0
	p.numbers, p.positions, p.docs = p.numbers[:0], p.positions[:0], p.docs[:0]
	p.current, p.last = plainDoc{}, 0
}

func (p *plainTokens) usedBytes() int64 {
	return 8*int64(len(p.numbers)) + int64(len(p.docs))*int64(unsafe.Sizeof(plainDoc{}))
}

// add adds the tokens of the current document's title or text.
func (p *plainTokens) add(tokens []analysis.Token, numbers []uint32) {
	for i, n := range numbers {
		if n != noTerm {
			p.numbers = append(p.numbers, n)
			p.positions = append(p.positions, tokens[i].Position)
		}
	}
	if n := len(tokens); n > 0 {
		p.last = max(p.last, tokens[n-1].Position)
	}
}

// entryBits is how many bits a plainEntry takes.
func (p *plainTokens) entryBits() int {
	return bits.Len32(uint32(len(p.docs)-1)) + 1 + bits.Len32(p.last)
}

// start is the index of the current document's first token.
func (p *plainTokens) start() uint32 {
	if n := len(p.docs); n > 0 {
		return p.docs[n-1].text
	}
	return 0
}

// end ends the current document.
func (p *plainTokens) end() {
	p.docs = append(p.docs, plainDoc{max(p.current.title, p.start()), uint32(len(p.numbers))})
	p.current = plainDoc{}
}

// addBare adds the text of the current document, which no field but the default one has.
func (p *plainTokens) addBare(tokens []analysis.Token, numbers []uint32) {
	p.add(tokens, numbers)
	p.current.text = uint32(len(p.numbers))
}

// addPlain is addField for the fields of mirrored documents. It returns false if it did not add the tokens.
func (v *inverter) addPlain(id base.FieldID, doc uint32, tokens []analysis.Token, numbers []uint32) bool {
	p, f := &v.plain, &v.fields[id]
	if !p.on || id != v.mirror.title && id != v.mirror.text {
		return false
	}
	end := &p.current.title
	if id == v.mirror.text {
		end = &p.current.text
	}
	// A second value of a field, or a title after a text.
	if *end != 0 || numbers == nil || id == v.mirror.title && p.current.text != 0 {
		v.endPlain()
		return false
	}
	length := numTerms(numbers)
	if length == 0 {
		return true
	}
	p.add(tokens, numbers)
	*end = uint32(len(p.numbers))
	f.addLength(doc, length)
	f.numTokens += uint64(length)
	return true
}

// endPlain moves all tokens, including the current document's, to the chains of their fields. The tokens of a current
// document whose text no field has are left out of the default field: it is no longer mirrored.
func (v *inverter) endPlain() {
	p, m := &v.plain, &v.mirror
	if !p.on {
		return
	}
	main := &v.fields[0]
	for i, id := range []base.FieldID{0, m.title, m.text} {
		if id != 0 || i == 0 && m.bare {
			f := &v.fields[id]
			f.lengths, f.numTokens = f.lengths[:0], 0 // are added again
		}
	}
	at := uint32(0)
	read := func(end uint32) (tokens []analysis.Token, numbers []uint32) {
		p.tokens, numbers = p.tokens[:0], p.numbers[at:max(at, end)]
		for i, n := range numbers {
			p.tokens = append(p.tokens, analysis.Token{Term: main.table.term(n), Position: p.positions[int(at)+i]})
		}
		at = max(at, end)
		return p.tokens, numbers
	}
	for doc, d := range append(p.docs, p.current) {
		doc, whole := uint32(doc), doc < len(p.docs)
		if tokens, numbers := read(d.title); len(tokens) > 0 {
			v.fields[m.title].addTwins(doc, tokens, numbers, 0)
			if m.bare && whole {
				main.addNumbered(doc, tokens, numbers, 0)
			}
		}
		switch tokens, numbers := read(d.text); {
		case len(tokens) == 0:
		case !m.bare:
			v.fields[m.text].addTwins(doc, tokens, numbers, 0)
		case whole:
			main.addNumbered(doc, tokens, numbers, m.starts[doc]-1)
		}
	}
	if m.bare {
		m.starts, m.numDocs, m.bare = m.starts[:0], 0, false
	}
	if len(p.docs) > 0 {
		p.pause = plainPause + 1 // reset is called before the next one
	}
	p.on = false
}
