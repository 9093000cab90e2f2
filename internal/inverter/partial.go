package inverter

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// partial is a partial index: consecutive documents, numbered from 0, with sorted posting
// lists, in memory or in a spill file. Lengths stay in memory: a segment needs all at once.
//
// Encoding of a posting list in lists[field] and, with positions, positions[field]:
//
//	lists:      | varint shared | varint suffix n | suffix | varint DocFreq | varint bytes | postings ... |
//	positions:  | varint bytes | gaps ... |
//
// shared is the common prefix with the previous term. fieldInverter.finishPosting defines
// postings; a position is the varint of its distance from the document's previous one, or from
// 0.
type partial struct {
	schema    *Schema
	numDocs   int
	fields    []partialField
	plain     *plainLists[uint32] // of fields without regions, in memory; nil: none
	idBytes   region
	idEnds    region // u32 little endian
	hashes    region // idHash: u64, u32 little endian; sorted
	locations region
	versions  []segment.Version // nil: none
	isNew     []bool            // by document; nil: unknown
	columns   columns
	stored    string                // file of stored documents, "" if none
	memory    *segment.StoredMemory // stored documents; nil: in the file
	fs        vfs.FS
	dropped   *segment.Bitmap
	streamBuf int // window of a stream of a spilled region

	ids       []byte // loaded by ID
	idOffsets []byte
	err       error // of methods without an error result
}

type partialField struct {
	numTerms  int
	numTokens uint64
	lists     region
	positions region
	lengths   []uint32 // nil if no document has the field
	// withPositions: its lists have positions.
	withPositions bool
}

func (r *partial) sizeBytes() int64 {
	n := r.idBytes.size + r.idEnds.size + r.hashes.size + r.locations.size + r.columns.size
	for i := range r.fields {
		n += r.fields[i].lists.size + r.fields[i].positions.size
	}
	if r.memory != nil {
		n += r.memory.SizeBytes()
	}
	return n + r.plain.sizeBytes()
}

// free ends the use of stored documents in memory.
func (r *partial) free() {
	if r.memory != nil {
		r.memory.Free()
		r.memory = nil
	}
}

// spillStored moves stored documents from memory to a file.
func (r *partial) spillStored(name string) error {
	if r.memory == nil {
		return nil
	}
	defer r.free()
	r.stored = name
	return r.memory.Save(r.fs, name)
}

func (r *partial) spilled() bool { return r.idEnds.file != nil }

func (r *partial) regions() []*region {
	all := []*region{&r.idBytes, &r.idEnds, &r.hashes, &r.locations}
	for i := range r.fields {
		all = append(all, &r.fields[i].lists, &r.fields[i].positions)
	}
	return all
}

// detach copies r out of the inverter's reusable memory.
func (r *partial) detach() {
	r.plain = r.plain.clone()
	size := int64(0)
	for _, s := range r.regions() {
		size += s.size
	}
	slab := make([]byte, size)
	for _, s := range r.regions() {
		n := copy(slab, s.data)
		s.data, slab = slab[:n:n], slab[n:]
	}
	r.detachLengths()
}

// encodePlain makes regions of plain lists.
func (r *partial) encodePlain() {
	if r.plain == nil {
		return
	}
	var l plainLayout
	encodePlain(&l, r.plain, r.fields[0].withPositions)
	for i := range r.fields {
		if o := l.field(r.plain.title, r.plain.text, base.FieldID(i)); o != nil {
			r.fields[i].lists, r.fields[i].positions = memoryRegion(o.lists), memoryRegion(o.positions)
		}
	}
	r.plain = nil
}

func (r *partial) detachLengths() {
	for i := range r.fields {
		r.fields[i].lengths = append([]uint32(nil), r.fields[i].lengths...)
	}
}

// spill appends the regions to w at offset of file, frees their memory, and returns the new
// offset.
func (r *partial) spill(w io.Writer, file io.ReaderAt, offset int64) (int64, error) {
	r.encodePlain()
	for _, s := range r.regions() {
		if _, err := w.Write(s.data); err != nil {
			return 0, err
		}
		*s = region{file: file, offset: offset, size: s.size}
		offset += s.size
	}
	r.detachLengths()
	return offset, nil
}

// partialWriter keeps its memory for inverters' partial indexes.
type partialWriter struct {
	main   []keyed // of the default field
	keys   []keyed
	sorter termSorter
	buf    []byte
	refs   [2][]listRef // of the fields that the default field mirrors: title and text, by term
	mirror mirrorLayout
	plain  plainLayout
	hashes []byte
	ends   []byte
}

// finish returns documents in memory of the inverter and of w: detach or spill them before
// either is used again.
func (w *partialWriter) finish(v *inverter) (*partial, error) {
	stored, memory, err := v.closeStored()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(v.docs.hashes, keyed.Compare)
	r := &partial{schema: v.schema, numDocs: v.numDocs(), fields: make([]partialField, len(v.fields)), fs: v.fs, stored: stored, memory: memory}
	w.buf = w.buf[:0]
	spans, plain := w.layOut(v)
	r.plain = plain
	for i := range v.fields {
		f := &v.fields[i]
		if f.numTokens > 0 {
			f.pad(r.numDocs)
		}
		p := partialField{numTerms: f.table.len(), numTokens: f.numTokens, lengths: f.lengths, withPositions: f.withPositions}
		if n, ok := r.plain.numTermsOf(base.FieldID(i)); ok {
			p.numTerms = n
		} else if o := w.plainField(v, base.FieldID(i)); o != nil {
			p.numTerms, p.lists, p.positions = o.numTerms, memoryRegion(o.lists), memoryRegion(o.positions)
		} else if m := &w.mirror; i == 0 && v.mirror.numDocs > 0 {
			p.numTerms, p.lists, p.positions = m.numTerms, memoryRegion(m.lists), memoryRegion(m.positions)
		} else {
			p.lists, p.positions = memoryRegion(w.buf[spans[i].lists:spans[i].positions]), memoryRegion(w.buf[spans[i].positions:spans[i].end])
		}
		r.fields[i] = p
	}
	w.hashes, w.ends = w.hashes[:0], w.ends[:0]
	for _, h := range v.docs.hashes {
		w.hashes = binary.LittleEndian.AppendUint64(w.hashes, h.Key)
		w.hashes = binary.LittleEndian.AppendUint32(w.hashes, h.Number)
	}
	for _, end := range v.docs.idEnds {
		w.ends = binary.LittleEndian.AppendUint32(w.ends, end)
	}
	r.idBytes, r.idEnds = memoryRegion(v.docs.idBytes), memoryRegion(w.ends)
	r.hashes, r.locations = memoryRegion(w.hashes), memoryRegion(v.docs.locations.bytes)
	if len(v.docs.versions) > 0 {
		r.versions = slices.Clone(v.docs.versions)
	}
	return r, r.columns.encode(v)
}

// listSpan is where buf has the lists and positions of a field.
type listSpan struct{ lists, positions, end int }

// layOut encodes the lists of all fields, except the fields in plain. The default field is the last, because it can
// mirror others.
func (w *partialWriter) layOut(v *inverter) (spans []listSpan, plain *plainLists[uint32]) {
	w.main = v.fields[0].table.appendSorted(w.main[:0], &w.sorter)
	spans = make([]listSpan, len(v.fields))
	if len(v.plain.docs) > 0 && v.plain.on {
		plain = w.plain.layOut(v, w.main)
	}
	for i := 1; i < len(v.fields); i++ {
		if w.plainField(v, base.FieldID(i)) != nil {
			continue
		}
		f := &v.fields[i]
		var refs []listRef
		if base.FieldID(i) == v.mirror.title {
			refs = w.makeRefs(0, f)
		} else if base.FieldID(i) == v.mirror.text {
			refs = w.makeRefs(1, f)
		}
		w.sort(f)
		spans[i] = w.appendField(f, w.keys, refs)
	}
	switch {
	case w.plainField(v, 0) != nil:
	case v.mirror.numDocs > 0:
		w.appendMirrored(v)
	default:
		spans[0] = w.appendField(&v.fields[0], w.main, nil)
	}
	return spans, plain
}

// plainField returns the lists of a field if the inverter has its tokens, nil otherwise.
func (w *partialWriter) plainField(v *inverter, id base.FieldID) *plainField {
	if !v.plain.on || len(v.plain.docs) == 0 {
		return nil
	}
	return w.plain.field(v.mirror.title, v.mirror.text, id)
}

func (w *partialWriter) makeRefs(i int, f *fieldInverter) []listRef {
	n := f.table.len()
	w.refs[i] = slices.Grow(w.refs[i][:0], n)[:n]
	return w.refs[i]
}

// sort sets keys to the terms of a field. Most have all of them from the default field, in whose order they are.
func (w *partialWriter) sort(f *fieldInverter) {
	w.keys = w.keys[:0]
	if len(f.twins) > 0 {
		for _, k := range w.main {
			if int(k.Number) < len(f.twins) && f.twins[k.Number] != 0 {
				w.keys = append(w.keys, keyed{Key: k.Key, Number: f.twins[k.Number] - 1})
			}
		}
	}
	if len(w.keys) < f.table.len() {
		w.keys = f.table.appendSorted(w.keys[:0], &w.sorter)
	}
}

// appendField appends the lists of terms, then their positions. refs, if not nil, gets where they are.
func (w *partialWriter) appendField(f *fieldInverter, keys []keyed, refs []listRef) (s listSpan) {
	s.lists = len(w.buf)
	var previous []byte
	for _, k := range keys {
		term, st := f.table.term(k.Number), &f.states[k.Number]
		f.finishPosting(st)
		size := f.docs.size(&st.chain)
		w.buf = appendListHeader(w.buf, previous, term, st.docFreq, size)
		if refs != nil {
			refs[k.Number] = listRef{docs: len(w.buf), docBytes: uint32(size), docFreq: st.docFreq}
		}
		w.buf = f.docs.appendTo(w.buf, &st.chain)
		previous = term
	}
	s.positions = len(w.buf)
	if f.withPositions {
		for _, k := range keys {
			c := &f.posStates[k.Number].chain
			size := f.positions.size(c)
			w.buf = binary.AppendUvarint(w.buf, uint64(size))
			if refs != nil {
				refs[k.Number].positions, refs[k.Number].positionLen = len(w.buf), uint32(size)
			}
			w.buf = f.positions.appendTo(w.buf, c)
		}
	}
	s.end = len(w.buf)
	return s
}

// appendListHeader appends a term with its document frequency and the size of its postings.
func appendListHeader(dst, previous, term []byte, docFreq uint32, size int) []byte {
	shared := 0
	for shared < min(len(previous), len(term)) && previous[shared] == term[shared] {
		shared++
	}
	dst = appendVarint(dst, uint64(shared))
	dst = appendVarint(dst, uint64(len(term)-shared))
	dst = append(dst, term[shared:]...)
	dst = appendVarint(dst, uint64(docFreq))
	return appendVarint(dst, uint64(size))
}

// appendMirrored encodes the default field, after the fields that it mirrors.
func (w *partialWriter) appendMirrored(v *inverter) {
	f, l := &v.fields[0], &w.mirror
	l.reset(v)
	var previous []byte
	for _, k := range w.main {
		st := &f.states[k.Number]
		f.finishPosting(st)
		l.own.docs, l.own.positions = f.docs.appendTo(l.own.docs[:0], &st.chain), l.own.positions[:0]
		if l.withPositions {
			l.own.positions = f.positions.appendTo(l.own.positions, &f.posStates[k.Number].chain)
		}
		l.join(l.own, w.twin(v, 0, v.mirror.title, k.Number), w.twin(v, 1, v.mirror.text, k.Number))
		if l.docFreq == 0 {
			continue
		}
		term := f.table.term(k.Number)
		l.lists = append(appendListHeader(l.lists, previous, term, l.docFreq, len(l.docs)), l.docs...)
		if l.withPositions {
			l.positions = append(appendVarint(l.positions, uint64(len(l.gaps))), l.gaps...)
		}
		l.numTerms++
		previous = term
	}
}

// twin returns the list of a field with refs for a term of the default field.
func (w *partialWriter) twin(v *inverter, i int, field base.FieldID, number uint32) (l encodedList) {
	if field == 0 || int(number) >= len(v.fields[field].twins) {
		return l
	}
	n := v.fields[field].twins[number]
	if n == 0 {
		return l
	}
	ref := &w.refs[i][n-1]
	l.docs, l.docFreq = w.buf[ref.docs:ref.docs+int(ref.docBytes)], ref.docFreq
	if w.mirror.withPositions {
		l.positions = w.buf[ref.positions : ref.positions+int(ref.positionLen)]
	}
	return l
}

var (
	_ segment.Versioned = (*partial)(nil)
	_ segment.Novel     = (*partial)(nil)
)

// HasVersions implements segment.Versioned.
func (r *partial) HasVersions() bool { return r.versions != nil }

// Version implements segment.Versioned.
func (r *partial) Version(doc int) segment.Version { return r.versions[doc] }

// IsNew implements segment.Novel.
func (r *partial) IsNew(doc int) bool { return r.isNew != nil && r.isNew[doc] }

func (r *partial) NumDocs() int { return r.numDocs }

func (r *partial) Dropped() *segment.Bitmap { return r.dropped }

func (r *partial) Lengths(field base.FieldID) []uint32 {
	if int(field) >= len(r.fields) {
		return nil
	}
	return r.fields[field].lengths
}

// The first call reads spilled ids, the last document's frees them, since Write asks in order.
// After a read error, ids are empty and r.err is set.
func (r *partial) ID(doc int) []byte {
	if r.ids == nil && r.err == nil {
		r.loadIDs()
	}
	if r.err != nil {
		return nil
	}
	start := uint32(0)
	if doc > 0 {
		start = binary.LittleEndian.Uint32(r.idOffsets[4*doc-4:])
	}
	id := r.ids[start:binary.LittleEndian.Uint32(r.idOffsets[4*doc:])]
	if doc == r.numDocs-1 {
		r.ids, r.idOffsets = nil, nil
	}
	return id
}

func (r *partial) loadIDs() {
	if r.ids, r.err = r.idBytes.load(); r.err == nil {
		r.idOffsets, r.err = r.idEnds.load()
	}
}

func (r *partial) readID(doc uint32) (string, error) {
	first := max(int64(doc), 1) - 1
	ends, err := r.idEnds.bytes(4*first, 4*(int64(doc)+1-first))
	if err != nil {
		return "", err
	}
	start, end := uint32(0), binary.LittleEndian.Uint32(ends[len(ends)-4:])
	if doc > 0 {
		start = binary.LittleEndian.Uint32(ends)
	}
	if start > end {
		return "", errPartial
	}
	id, err := r.idBytes.bytes(int64(start), int64(end-start))
	return string(id), err
}

func (r *partial) Order() ([]uint32, error) { return nil, nil }

func (r *partial) Stored() (*segment.StoredReader, error) {
	if r.memory != nil {
		return r.memory.Open()
	}
	if r.stored == "" {
		return nil, nil
	}
	return segment.OpenStored(r.fs, r.stored)
}
