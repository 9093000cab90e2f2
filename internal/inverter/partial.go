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
	idBytes   region
	idEnds    region // u32 little endian
	hashes    region // idHash: u64, u32 little endian; sorted
	locations region
	versions  []segment.Version // nil: none
	isNew     []bool            // by document; nil: unknown
	columns   columns
	stored    string // file of stored documents, "" if none
	fs        vfs.FS
	dropped   *segment.Bitmap
	streamBuf int // window of a stream of a spilled region

	ids       []byte // loaded by ID
	idOffsets []byte
	err       error // of methods without an error result
}

type partialField struct {
	numTerms    int
	numPostings uint64
	numTokens   uint64
	lists       region
	positions   region
	lengths     []uint32 // nil if no document has the field
	// withPositions: its lists have positions.
	withPositions bool
}

func (r *partial) sizeBytes() int64 {
	n := r.idBytes.size + r.idEnds.size + r.hashes.size + r.locations.size + r.columns.size
	for i := range r.fields {
		n += r.fields[i].lists.size + r.fields[i].positions.size
	}
	return n
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
	slab := make([]byte, r.sizeBytes()-r.columns.size)
	for _, s := range r.regions() {
		n := copy(slab, s.data)
		s.data, slab = slab[:n:n], slab[n:]
	}
	r.detachLengths()
}

func (r *partial) detachLengths() {
	for i := range r.fields {
		r.fields[i].lengths = append([]uint32(nil), r.fields[i].lengths...)
	}
}

// spill appends the regions to w at offset of file, frees their memory, and returns the new
// offset.
func (r *partial) spill(w io.Writer, file io.ReaderAt, offset int64) (int64, error) {
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
	keys   []termKey
	buf    []byte
	hashes []byte
	ends   []byte
}

// finish returns documents in memory of the inverter and of w: detach or spill them before
// either is used again.
func (w *partialWriter) finish(v *inverter) (*partial, error) {
	stored, err := v.closeStored()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(v.docs.hashes, compareHash)
	r := &partial{schema: v.schema, numDocs: v.numDocs(), fields: make([]partialField, len(v.fields)), fs: v.fs, stored: stored}
	w.buf = w.buf[:0]
	starts := make([]int, 0, 2*len(v.fields)+1)
	for i := range v.fields {
		f := &v.fields[i]
		w.keys = f.table.appendSorted(w.keys[:0])
		starts = append(starts, len(w.buf))
		w.appendLists(f)
		starts = append(starts, len(w.buf))
		if f.withPositions {
			w.appendPositions(f)
		}
	}
	starts = append(starts, len(w.buf))
	for i := range v.fields {
		f := &v.fields[i]
		if f.numTokens > 0 {
			f.pad(r.numDocs)
		}
		r.fields[i] = partialField{
			numTerms: f.table.len(), numPostings: f.numPostings, numTokens: f.numTokens, lengths: f.lengths, withPositions: f.withPositions,
			lists:     memoryRegion(w.buf[starts[2*i]:starts[2*i+1]]),
			positions: memoryRegion(w.buf[starts[2*i+1]:starts[2*i+2]]),
		}
	}
	w.hashes, w.ends = w.hashes[:0], w.ends[:0]
	for _, h := range v.docs.hashes {
		w.hashes = binary.LittleEndian.AppendUint64(w.hashes, h.hash)
		w.hashes = binary.LittleEndian.AppendUint32(w.hashes, h.doc)
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

func (w *partialWriter) appendLists(f *fieldInverter) {
	var previous []byte
	for _, k := range w.keys {
		term, st := f.table.term(k.number), &f.states[k.number]
		f.finishPosting(st)
		shared := 0
		for shared < min(len(previous), len(term)) && previous[shared] == term[shared] {
			shared++
		}
		w.buf = binary.AppendUvarint(w.buf, uint64(shared))
		w.buf = binary.AppendUvarint(w.buf, uint64(len(term)-shared))
		w.buf = append(w.buf, term[shared:]...)
		w.buf = binary.AppendUvarint(w.buf, uint64(st.docFreq))
		w.buf = binary.AppendUvarint(w.buf, uint64(f.docs.size(&st.chain)))
		w.buf = f.docs.appendTo(w.buf, &st.chain)
		previous = term
	}
}

func (w *partialWriter) appendPositions(f *fieldInverter) {
	for _, k := range w.keys {
		c := &f.posStates[k.number].chain
		w.buf = binary.AppendUvarint(w.buf, uint64(f.positions.size(c)))
		w.buf = f.positions.appendTo(w.buf, c)
	}
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
	if r.stored == "" {
		return nil, nil
	}
	return segment.OpenStored(r.fs, r.stored)
}
