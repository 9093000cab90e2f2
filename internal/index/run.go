package index

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// run is a part of a corpus, inverted: contiguous documents, numbered from 0,
// with their sorted posting lists. Its bytes are in memory or spilled to a
// file; lengths stay in memory, since a segment needs them all at a time.
//
// A posting list as it lies in lists[field] and, with positions, positions[field]:
//
//	lists:      | varint shared | varint suffix n | suffix | varint DocFreq | varint bytes | postings ... |
//	positions:  | varint bytes | gaps ... |
//
// shared is how many bytes the term has in common with the one before.
// Postings are those of fieldInverter.finishPosting; a position is the varint of
// its distance from the one before in the document, or from 0.
type run struct {
	schema    *schema
	numDocs   int
	fields    []runField
	idBytes   section
	idEnds    section // u32 little endian
	hashes    section // idHash: u64, u32 little endian; sorted
	places    section
	stored    string // file of stored documents, "" if none
	fs        vfs.FS
	dropped   *segment.Bitmap
	streamBuf int // window of a stream of a spilled section

	ids       []byte // loaded by ID
	idOffsets []byte
	err       error // of a method that cannot return one
}

type runField struct {
	numTerms    int
	numPostings uint64
	numTokens   uint64
	lists       section
	positions   section
	lengths     []uint32
}

// sizeBytes is how many bytes the run's sections have.
func (r *run) sizeBytes() int64 {
	n := r.idBytes.size + r.idEnds.size + r.hashes.size + r.places.size
	for i := range r.fields {
		n += r.fields[i].lists.size + r.fields[i].positions.size
	}
	return n
}

// spilled tells whether the run's bytes are in a file.
func (r *run) spilled() bool { return r.idEnds.file != nil }

// sections returns all sections, in the order in which they are spilled.
func (r *run) sections() []*section {
	all := []*section{&r.idBytes, &r.idEnds, &r.hashes, &r.places}
	for i := range r.fields {
		all = append(all, &r.fields[i].lists, &r.fields[i].positions)
	}
	return all
}

// detach moves a run from the inverter's memory, which is used again, to its
// own, of the exact size.
func (r *run) detach() {
	slab := make([]byte, r.sizeBytes())
	for _, s := range r.sections() {
		n := copy(slab, s.data)
		s.data, slab = slab[:n:n], slab[n:]
	}
	r.detachLengths()
}

func (r *run) detachLengths() {
	for i := range r.fields {
		r.fields[i].lengths = append([]uint32(nil), r.fields[i].lengths...)
	}
}

// spill writes the sections to w, which stands at offset of file, and leaves
// them there. It returns the offset after them.
func (r *run) spill(w io.Writer, file io.ReaderAt, offset int64) (int64, error) {
	for _, s := range r.sections() {
		if _, err := w.Write(s.data); err != nil {
			return 0, err
		}
		*s = section{file: file, offset: offset, size: s.size}
		offset += s.size
	}
	r.detachLengths()
	return offset, nil
}

// runWriter lays a finished inverter out as a run. Its memory is used again.
type runWriter struct {
	keys   []termKey
	buf    []byte
	hashes []byte
	ends   []byte
}

// finish returns the inverter's documents as a run whose memory belongs to
// the inverter and to w: detach or spill it before either is used again.
func (w *runWriter) finish(v *inverter) (*run, error) {
	stored, err := v.closeStored()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(v.docs.hashes, compareHash)
	r := &run{schema: v.schema, numDocs: v.numDocs(), fields: make([]runField, len(v.fields)), fs: v.fs, stored: stored}
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
		r.fields[i] = runField{
			numTerms: f.table.len(), numPostings: f.numPostings, numTokens: f.numTokens, lengths: f.lengths,
			lists:     memorySection(w.buf[starts[2*i]:starts[2*i+1]]),
			positions: memorySection(w.buf[starts[2*i+1]:starts[2*i+2]]),
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
	r.idBytes, r.idEnds = memorySection(v.docs.idBytes), memorySection(w.ends)
	r.hashes, r.places = memorySection(w.hashes), memorySection(v.docs.places.bytes)
	return r, nil
}

func (w *runWriter) appendLists(f *fieldInverter) {
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

func (w *runWriter) appendPositions(f *fieldInverter) {
	for _, k := range w.keys {
		c := &f.posStates[k.number].chain
		w.buf = binary.AppendUvarint(w.buf, uint64(f.positions.size(c)))
		w.buf = f.positions.appendTo(w.buf, c)
	}
}

var _ segment.Source = (*run)(nil)

// NumDocs implements segment.Source.
func (r *run) NumDocs() int { return r.numDocs }

// Dropped implements segment.Source.
func (r *run) Dropped() *segment.Bitmap { return r.dropped }

// Lengths implements segment.Source.
func (r *run) Lengths(field base.FieldID) []uint32 { return r.fields[field].lengths }

// ID implements segment.Source. The ids of a spilled run are read at the first
// call and forgotten after the last document's, since Write asks for them in
// order; if reading fails, ids are empty and r.err says so.
func (r *run) ID(doc int) []byte {
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

func (r *run) loadIDs() {
	if r.ids, r.err = r.idBytes.load(); r.err == nil {
		r.idOffsets, r.err = r.idEnds.load()
	}
}

// readID returns the id of any document, without loading those of the others.
func (r *run) readID(doc uint32) (string, error) {
	first := max(int64(doc), 1) - 1
	ends, err := r.idEnds.part(4*first, 4*(int64(doc)+1-first))
	if err != nil {
		return "", err
	}
	start, end := uint32(0), binary.LittleEndian.Uint32(ends[len(ends)-4:])
	if doc > 0 {
		start = binary.LittleEndian.Uint32(ends)
	}
	if start > end {
		return "", errRun
	}
	id, err := r.idBytes.part(int64(start), int64(end-start))
	return string(id), err
}

// Stored implements segment.Source.
func (r *run) Stored() (*segment.StoredReader, error) {
	if r.stored == "" {
		return nil, nil
	}
	return segment.OpenStored(r.fs, r.stored)
}
