package inverter

import (
	"slices"
	"unsafe"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// positionGap separates a title's last token and its text's first: no phrase matches across.
const positionGap = 64

// fieldInverter inverts one field. A term's state holds its posting in progress; finished ones
// are in its chain in their final encoding (finishPosting).
type fieldInverter struct {
	table     termTable
	states    []termState // by term
	docs      chains
	positions chains
	posStates []positionState // by term; empty without positions
	lengths   []uint32        // by document, up to the last one with the field
	twins     []uint32        // by number of the term in the default field: its number here, plus 1
	numbers   []uint32        // scratch

	withPositions bool
	touched       uint32 // of touch
	last          uint32 // highest position of the last document with tokens
	numTokens     uint64
}

// The state for a term's next token: one or two cache lines.
type termState struct {
	doc     uint32 // of the posting in progress
	freq    uint32 // of the posting in progress
	prevDoc uint32 // one past the document of the last finished posting
	docFreq uint32
	chain   chain
}

type positionState struct {
	last  uint32 // position of the last token in this document
	chain chain
}

func (f *fieldInverter) reset() {
	f.table.reset()
	f.docs.reset()
	f.positions.reset()
	f.states, f.posStates, f.lengths = f.states[:0], f.posStates[:0], f.lengths[:0]
	f.twins = f.twins[:0]
	f.numTokens = 0
}

func (f *fieldInverter) usedBytes() int64 {
	return f.table.usedBytes() + int64(len(f.docs.slab)+len(f.positions.slab)) +
		int64(len(f.states))*int64(unsafe.Sizeof(termState{})) +
		int64(len(f.posStates))*int64(unsafe.Sizeof(positionState{})) + int64(len(f.lengths)+len(f.twins))*4
}

// length is the present number of tokens of a document.
func (f *fieldInverter) length(doc uint32) uint32 {
	if int(doc) >= len(f.lengths) {
		return 0
	}
	return f.lengths[doc]
}

func (f *fieldInverter) addLength(doc, n uint32) {
	if n > 0 {
		f.pad(int(doc) + 1)
		f.lengths[doc] += n
	}
}

// pad adds documents without the field.
func (f *fieldInverter) pad(numDocs int) {
	if n := numDocs - len(f.lengths); n > 0 {
		f.lengths = append(f.lengths, make([]uint32, n)...)
	}
}

// True if another document may not fit into the slabs.
func (f *fieldInverter) full(maxBytes int) bool {
	return len(f.docs.slab) > maxBytes || len(f.positions.slab) > maxBytes || len(f.table.bytes) > maxBytes
}

// addTokens adds tokens to document doc, not before the last one, adds first to positions, and
// skips terms too long for a dictionary.
func (f *fieldInverter) addTokens(doc uint32, tokens []analysis.Token, first uint32) {
	f.numbers = f.numbers[:0]
	for i := range tokens {
		f.numbers = append(f.numbers, f.number(tokens[i].Term))
	}
	f.addNumbered(doc, tokens, f.numbers, first)
}

// noTerm is the number of words that are too short or too long for a dictionary.
const noTerm = ^uint32(0)

// number returns the number of a term, which it adds to the table.
func (f *fieldInverter) number(term []byte) uint32 { return f.numberHashed(term, hashTerm(term)) }

// numberHashed is number for a term whose hash is known.
func (f *fieldInverter) numberHashed(term []byte, hash uint32) uint32 {
	if n := len(term); n == 0 || n > maxTermBytes {
		return noTerm
	}
	n, isNew := f.table.insertHashed(term, hash)
	if isNew {
		f.states = append(f.states, termState{})
		if f.withPositions {
			f.posStates = append(f.posStates, positionState{})
		}
	}
	return n
}

// addTwins is addTokens for tokens that the default field has as well: numbers are of their terms there.
// The table of this field is searched once for each term.
func (f *fieldInverter) addTwins(doc uint32, tokens []analysis.Token, numbers []uint32, first uint32) {
	f.numbers = f.numbers[:0]
	for i, of := range numbers {
		if of == noTerm {
			f.numbers = append(f.numbers, noTerm)
			continue
		}
		if int(of) >= len(f.twins) {
			f.twins = append(f.twins, make([]uint32, int(of)+1-len(f.twins))...)
		}
		if f.twins[of] == 0 {
			f.twins[of] = f.number(tokens[i].Term) + 1
		}
		f.numbers = append(f.numbers, f.twins[of]-1)
	}
	f.addNumbered(doc, tokens, f.numbers, first)
}

// addNumbered is addTokens with the numbers of the terms.
func (f *fieldInverter) addNumbered(doc uint32, tokens []analysis.Token, numbers []uint32, first uint32) {
	length := uint32(0)
	for i, n := range numbers {
		if i+tokensAhead < len(numbers) {
			f.touch(numbers[i+tokensAhead])
		}
		if n == noTerm {
			continue
		}
		length++
		st := &f.states[n]
		if st.freq != 0 && st.doc == doc {
			st.freq++
		} else {
			f.finishPosting(st)
			st.doc, st.freq = doc, 1
			st.docFreq++
			if f.withPositions {
				f.posStates[n].last = 0
			}
		}
		if f.withPositions {
			ps, position := &f.posStates[n], first+tokens[i].Position
			f.positions.putVarint(&ps.chain, position-ps.last)
			ps.last = position
		}
	}
	if n := len(tokens); n > 0 {
		f.last = first + tokens[n-1].Position
	}
	f.addLength(doc, length)
	f.numTokens += uint64(length)
}

// tokensAhead is how many tokens ahead touch is. BenchmarkInvert with positions, 8 runs of each in turn on a busy 2-core
// EPYC: 60 ns a token at best, 154 in the median; without touch 68 and 181.
const tokensAhead = 8

// touch reads the state of a term, so that the processor fetches it while it adds other tokens.
func (f *fieldInverter) touch(n uint32) {
	if n == noTerm {
		return
	}
	f.touched += f.states[n].docFreq
	if f.withPositions {
		f.touched += f.posStates[n].last
	}
}

// finishPosting moves the posting in progress, if any, to its chain.
//
//	posting: varint( (gap-1)<<1 | 1 )            if the frequency is 1
//	         varint( (gap-1)<<1 ) varint(freq)   otherwise
//
// gap is the distance from the previous posting's document, or from -1.
func (f *fieldInverter) finishPosting(st *termState) {
	if st.freq == 0 {
		return
	}
	gap := (st.doc - st.prevDoc) << 1
	if st.freq == 1 {
		f.docs.putVarint(&st.chain, gap|1)
	} else {
		f.docs.putVarint(&st.chain, gap)
		f.docs.putVarint(&st.chain, st.freq)
	}
	st.prevDoc = st.doc + 1
	st.freq = 0
}

// inverter makes one partial index of consecutive documents at a time, for one goroutine.
type inverter struct {
	schema   *Schema
	analyzer analysis.Analyzer
	tokens   []analysis.Token
	fields   []fieldInverter         // by base.FieldID
	ids      map[string]base.FieldID // of the fields but the default one
	docs     docTable
	words    wordNumbers
	mirror   mirror
	plain    plainTokens
	typed    typedFields
	accepted bool // as Options.Accepted

	// Stored documents go to a file at once, or to memory: only the merge reads them.
	fs     vfs.FS
	files  *tempNames
	stored *segment.StoredWriter // of the current partial index, nil before its first document
	name   string                // name of the file of stored
	memory *segment.StoredMemory // stored writes to it instead; nil: to a file
	spare  segment.StoredWriter  // for memory
}

// Schema is a document's indexed data. It does not change.
type Schema struct {
	Analyzer  string
	Analysis  *analysis.Settings // defines it, if it is not registered
	Fields    []string           // those with posting lists; Fields[0] is ""
	Positions bool
	Stored    bool
	// WeightScale is 0 if documents are texts.
	WeightScale float64
	// TitleWeight is how often the default field has the title and, if NameField is not "", the words of the
	// name of the file that this field has; 0: once.
	TitleWeight int
	NameField   string
	// Mapping has all fields but the default one. nil: they are texts.
	Mapping *mapping.Mapping
}

// NumDeclared counts the fields, with the default one.
func (s *Schema) NumDeclared() int {
	if s.Mapping != nil {
		return 1 + len(s.Mapping.Fields())
	}
	return len(s.Fields)
}

// Declared returns the fields but the default one, in the order of declaration.
func (s *Schema) Declared() []mapping.Field {
	if s.Mapping != nil {
		return s.Mapping.Fields()
	}
	return mapping.Texts(s.Fields[1:])
}

// TitleField is the field for titles, besides the default one, if declared.
const TitleField = "title"

// Stored documents go to files of fs named by files.
func newInverter(s *Schema, analyzer analysis.Analyzer, fs vfs.FS, files *tempNames) *inverter {
	v := &inverter{analyzer: analyzer, fs: fs, files: files}
	v.docs.reset()
	v.use(s)
	return v
}

// use changes the schema. Documents that were added keep their fields; the schema has at least these.
func (v *inverter) use(s *Schema) {
	if v.schema == s {
		return
	}
	v.schema, v.ids = s, make(map[string]base.FieldID, len(s.Fields))
	for i, name := range s.Fields[1:] {
		v.ids[name] = base.FieldID(i + 1)
	}
	had := min(len(v.fields), len(s.Fields))
	v.fields = slices.Grow(v.fields[:had], len(s.Fields)-had)[:len(s.Fields)]
	for i := had; i < len(v.fields); i++ {
		v.fields[i].withPositions = s.Positions && !s.isVector(s.Fields[i])
		v.fields[i].reset()
	}
	v.typed.use(s.Mapping, s.Analysis, v.ids)
}

// fieldID returns the number of a field that the document was written with.
func (v *inverter) fieldID(d *corpus.Document, name string) (base.FieldID, bool) {
	id, ok := v.ids[name]
	return id, ok && (d.Declared == 0 || int(id) < d.Declared)
}

func (v *inverter) reset() {
	for i := range v.fields {
		v.fields[i].reset()
	}
	v.docs.reset()
	v.mirror.reset()
	v.plain.reset()
	v.typed.reset()
	clear(v.words.numbers)
}

func (v *inverter) abort() error {
	if v.memory != nil {
		v.memory.Free()
		v.stored, v.memory = nil, nil
	}
	if v.stored == nil {
		return nil
	}
	err := v.stored.Abort()
	v.stored = nil
	return err
}

// storeInMemory makes the stored documents of the next partial index stay in memory.
func (v *inverter) storeInMemory() {
	if v.schema.Stored {
		v.memory, v.stored = segment.NewStoredMemory(), &v.spare
		v.stored.Reset(v.memory)
	}
}

func (v *inverter) store(d *corpus.Document) error {
	if !v.schema.Stored {
		return nil
	}
	if v.stored == nil {
		v.name = v.files.next("stored")
		w, err := segment.NewStoredWriter(v.fs, v.name)
		if err != nil {
			return err
		}
		v.stored = w
	}
	return v.stored.Add(d.Title, d.Text, d.Extra)
}

// closeStored returns the file's name, or the memory; "" and nil for none.
func (v *inverter) closeStored() (name string, memory *segment.StoredMemory, err error) {
	if v.stored == nil {
		return "", nil, nil
	}
	err = v.stored.Close()
	if name, memory = v.name, v.memory; memory != nil {
		name = ""
	}
	v.stored, v.memory = nil, nil
	return name, memory, err
}

func (v *inverter) numDocs() int { return v.docs.len() }

func (v *inverter) usedBytes() int64 {
	n := v.docs.usedBytes() + v.mirror.usedBytes() + v.plain.usedBytes() + v.typed.usedBytes()
	for i := range v.fields {
		n += v.fields[i].usedBytes()
	}
	return n
}

// True if the partial index must end before the next document.
func (v *inverter) full() bool {
	for i := range v.fields {
		if v.fields[i].full(maxSlabBytes) {
			return true
		}
	}
	return v.docs.full(maxPartialDocs, maxSlabBytes) || v.typed.full(maxSlabBytes)
}

// If the error wraps base.ErrBadInput, the document was not added; after any other, v cannot be
// used.
func (v *inverter) add(d *corpus.Document) error {
	if v.typed.err != nil {
		return v.typed.err
	}
	if !v.accepted {
		if err := v.schema.Check(d); err != nil {
			return err
		}
	}
	if err := v.store(d); err != nil {
		return err
	}
	return v.invert(d)
}

// invert is add for a document that was checked and stored.
func (v *inverter) invert(d *corpus.Document) error {
	if v.typed.err != nil {
		return v.typed.err
	}
	doc := uint32(v.docs.len())
	v.docs.add(d.ID, d.Source)
	main := &v.fields[0]
	if v.schema.WeightScale != 0 {
		main.addWeights(doc, d.Vector, v.schema.WeightScale)
		return nil
	}
	if v.schema.Mapping != nil {
		return v.addMapped(d, doc)
	}
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
		if id, ok := v.fieldID(d, TitleField); ok {
			v.addField(id, doc, tokens, numbers)
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
		main.addNumbered(doc, tokens, numbers, next)
	case v.mirror.bare:
		v.plain.addBare(tokens, numbers)
	}
	analyzed := d.Text
	for i := range d.Extra {
		id, ok := v.fieldID(d, d.Extra[i].Name)
		if !ok {
			continue
		}
		if value := d.Extra[i].Value; value != analyzed {
			tokens, numbers, analyzed = v.analyze(value), nil, value
			if mirrored && value == d.Text {
				numbers = v.number(tokens)
			}
		}
		v.addField(id, doc, tokens, numbers)
	}
	if mirrored {
		v.addMirrored(d, doc, next, titleLength, textLength)
	}
	return nil
}

// Not the default field. Repeated values form one text with gaps. numbers are of the terms in the default
// field, nil if unknown.
func (v *inverter) addField(id base.FieldID, doc uint32, tokens []analysis.Token, numbers []uint32) {
	if v.addPlain(id, doc, tokens, numbers) {
		return
	}
	f := &v.fields[id]
	first := uint32(0)
	if f.length(doc) > 0 {
		first = f.last + 1 + positionGap
	}
	if numbers == nil {
		f.addTokens(doc, tokens, first)
		return
	}
	f.addTwins(doc, tokens, numbers, first)
}

// Valid until the next call.
func (v *inverter) analyze(text string) []analysis.Token {
	// An Analyzer only reads, so it can share the string's bytes.
	v.tokens = v.analyzer.Tokens(v.tokens[:0], bytesOf(text))
	return v.tokens
}

// bytesOf shares the memory of a text.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
