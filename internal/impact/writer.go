package impact

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// FormatVersion is the file's version. History:
//
//	1: the first.
const FormatVersion = 1

const kind = "impacts"

// Writer writes a file of impact-ordered lists. After an error, every later call returns it. It
// holds 16 bytes per term and one list in memory.
type Writer struct {
	encoder
	w      *sealed.Writer
	last   []byte // previous term
	places []place
	head   []byte
	err    error
}

// encoder encodes lists, one at a time, in memory that it reuses.
type encoder struct {
	codec   codec.Codec
	options Options
	meta    Meta

	counts    [256]uint32
	docIDs    []uint32 // by decreasing impact, then increasing DocID
	dir, data []byte
}

type place struct{ hash, offset uint64 }

// Create starts a file, valid only after Close. The error wraps base.ErrBadInput if an option
// is invalid.
func Create(fs vfs.FS, name string, o Options) (*Writer, error) {
	e, err := newEncoder(o)
	if err != nil {
		return nil, err
	}
	w := &Writer{encoder: *e}
	w.w, err = sealed.Create(fs, name, kind, FormatVersion)
	return w, err
}

// newEncoder's error wraps base.ErrBadInput if an option is invalid.
func newEncoder(o Options) (*encoder, error) {
	o = o.WithDefaults()
	c, err := codec.Lookup(o.Codec)
	if err != nil {
		return nil, err
	}
	if o.Ranking.Name != RankingExternal && o.Ranking.Name != RankingWeights {
		if err := o.Ranking.Check(); err != nil {
			return nil, err
		}
	}
	if o.NumDocs < 0 || o.NumDocs > base.MaxDocs {
		return nil, fmt.Errorf("impacts of %d documents: %w", o.NumDocs, base.ErrBadInput)
	}
	return &encoder{codec: c, options: o, meta: Meta{
		FormatVersion: FormatVersion, IndexID: o.IndexID, Generation: o.Generation, NumDocs: o.NumDocs,
		Ranking: o.Ranking.Name, K1: o.Ranking.K1, B: o.Ranking.B, Quantizer: o.Quantizer, Codec: c.Name(),
	}}, nil
}

// Add writes a term's list; terms increase in byte order. Postings have increasing DocIDs below
// NumDocs, and impacts from 1 to 255; other input is an error that wraps base.ErrBadInput. A
// term without postings is skipped; arguments are not retained.
func (w *Writer) Add(term []byte, postings []Posting) error {
	if w.err != nil || len(postings) == 0 {
		return w.err
	}
	if w.err = w.add(term, postings); w.err != nil {
		w.err = fmt.Errorf("impacts: term %q: %w", term, w.err)
	}
	return w.err
}

func (w *Writer) add(term []byte, postings []Posting) error {
	if w.meta.NumTerms > 0 && bytes.Compare(term, w.last) <= 0 {
		return fmt.Errorf("not after %q: %w", w.last, base.ErrBadInput)
	}
	if len(term) > maxTermLen {
		return fmt.Errorf("longer than %d bytes: %w", maxTermLen, base.ErrBadInput)
	}
	if err := w.sort(postings); err != nil {
		return err
	}
	w.last = append(w.last[:0], term...)
	w.places = append(w.places, place{hash: xxh3.Hash(term), offset: w.w.Offset()})
	numSegments, maxImpact := w.encode()
	h := binary.AppendUvarint(w.head[:0], uint64(len(term)))
	h = append(h, term...)
	h = binary.AppendUvarint(h, uint64(len(postings)))
	h = append(h, maxImpact, uint8(numSegments))
	h = binary.AppendUvarint(h, uint64(len(w.dir)))
	h = binary.AppendUvarint(h, uint64(len(w.data)))
	w.head = h
	for _, part := range [][]byte{h, w.dir, w.data} {
		if _, err := w.w.Write(part); err != nil {
			return err
		}
	}
	w.meta.NumTerms++
	w.meta.NumPostings += uint64(len(postings))
	return nil
}

func (e *encoder) sort(postings []Posting) error {
	clear(e.counts[:])
	next := int64(0)
	for _, p := range postings {
		if int64(p.DocID) < next || int64(p.DocID) >= int64(e.meta.NumDocs) || p.Impact == 0 {
			return fmt.Errorf("posting of DocID %d with impact %d, after DocID %d of %d documents: %w",
				p.DocID, p.Impact, next-1, e.meta.NumDocs, base.ErrBadInput)
		}
		next = int64(p.DocID) + 1
		e.counts[p.Impact]++
	}
	if cap(e.docIDs) < len(postings) {
		e.docIDs = make([]uint32, len(postings)+len(postings)/4)
	}
	e.docIDs = e.docIDs[:len(postings)]
	var starts [256]uint32
	sum := uint32(0)
	for i := 255; i > 0; i-- {
		starts[i] = sum
		sum += e.counts[i]
	}
	for _, p := range postings {
		e.docIDs[starts[p.Impact]] = uint32(p.DocID)
		starts[p.Impact]++
	}
	return nil
}

func (e *encoder) encode() (numSegments int, maxImpact uint8) {
	e.dir, e.data = e.dir[:0], e.data[:0]
	docIDs := e.docIDs
	before := 256
	for i := 255; i > 0; i-- {
		n := e.counts[i]
		if n == 0 {
			continue
		}
		from := len(e.data)
		form := e.encodeSegment(docIDs[:n])
		size := uint64(len(e.data) - from)
		docIDs = docIDs[n:]
		e.dir = binary.AppendUvarint(e.dir, uint64(before-i))
		e.dir = binary.AppendUvarint(e.dir, uint64(n)<<formBits|uint64(form))
		if form != Raw {
			e.dir = binary.AppendUvarint(e.dir, size)
		}
		maxImpact = max(maxImpact, uint8(i))
		before = i
		numSegments++
		stats := e.meta.forms()[form]
		stats.Segments++
		stats.Postings += uint64(n)
		stats.Bytes += size
	}
	return numSegments, maxImpact
}

func (e *encoder) encodeSegment(docIDs []uint32) Form {
	n := len(docIDs)
	if n < e.options.RawBelow {
		for _, d := range docIDs {
			e.data = binary.LittleEndian.AppendUint32(e.data, d)
		}
		return Raw
	}
	first, last := docIDs[0]/64, docIDs[n-1]/64
	if words := uint64(last-first) + 1; 64*words+32 <= uint64(max(e.options.BitmapBits, 0))*uint64(n) {
		e.data = appendBitmap(e.data, docIDs)
		return Bitmap
	}
	e.data = appendBlocks(e.data, e.codec, docIDs)
	return Blocks
}

// The number of the first word, and the words up to the last document.
func appendBitmap(dst []byte, docIDs []uint32) []byte {
	first, last := docIDs[0]/64, docIDs[len(docIDs)-1]/64
	dst = binary.LittleEndian.AppendUint32(dst, first)
	from := len(dst)
	dst = append(dst, make([]byte, 8*(uint64(last-first)+1))...)
	for _, d := range docIDs {
		dst[from+int(d/8-first*8)] |= 1 << (d % 8)
	}
	return dst
}

// For more than one block and a codec.ListCodec, the encoded list; otherwise all blocks' width
// bytes, then the blocks.
func appendBlocks(dst []byte, c codec.Codec, docIDs []uint32) []byte {
	n := len(docIDs)
	if list, ok := c.(codec.ListCodec); ok && n > codec.BlockLen {
		return list.AppendList(dst, docIDs)
	}
	from := len(dst)
	dst = append(dst, make([]byte, numBlocks(uint32(n)))...)
	last := codec.NoBase
	for i := 0; i*codec.BlockLen < n; i++ {
		block := docIDs[i*codec.BlockLen : min((i+1)*codec.BlockLen, n)]
		var width uint8
		dst, width = c.AppendDocIDs(dst, last, block)
		dst[from+i] = width
		last = block[len(block)-1]
	}
	return dst
}

// Meta returns the description, after Close.
func (w *Writer) Meta() *Meta { return &w.meta }

// Close writes the table of terms and the description and syncs (vfs.FS.SyncDir makes the name
// durable). After an error the file is invalid and may not exist.
func (w *Writer) Close() error {
	if w.err == nil {
		w.err = w.finish()
	}
	if w.err != nil {
		return errors.Join(w.err, w.w.Abort())
	}
	w.err = w.w.Close()
	return w.err
}

// Abort removes the unfinished file; after Close it does nothing.
func (w *Writer) Abort() error { return w.w.Abort() }

func (w *Writer) finish() error {
	w.meta.ListBytes = w.w.Offset()
	if w.meta.ListBytes > maxOffset {
		return fmt.Errorf("impacts: lists of %d bytes, at most %d: %w", w.meta.ListBytes, uint64(maxOffset), base.ErrBadInput)
	}
	if err := w.w.Align(slotBytes); err != nil {
		return err
	}
	slots := table(w.places)
	w.meta.TableBytes = uint64(len(slots)) * slotBytes
	var b []byte
	for _, s := range slots {
		if b = binary.LittleEndian.AppendUint64(b, s); len(b) >= sealed.ChunkLen {
			if _, err := w.w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	meta, err := json.Marshal(&w.meta)
	if err != nil {
		return err
	}
	b = append(b, meta...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(meta)))
	_, err = w.w.Write(b)
	return err
}

// Open addressing, at most two thirds full, filled by term.
func table(places []place) []uint64 {
	n := uint64(1) << bits.Len64(uint64(len(places))+uint64(len(places))/2)
	slots := make([]uint64, n)
	for _, p := range places {
		i := p.hash & (n - 1)
		for ; slots[i] != 0; i = (i + 1) & (n - 1) {
		}
		slots[i] = slot(p.hash, p.offset)
	}
	return slots
}

// A slot has the upper bits of the term's hash, and its list's offset plus one; 0 is empty.
const (
	slotBytes  = 8
	offsetBits = 44
	maxOffset  = 1<<offsetBits - 2
	tagMask    = math.MaxUint64 &^ (1<<offsetBits - 1)
)

func slot(hash, offset uint64) uint64 { return hash&tagMask | (offset + 1) }

// In bytes; analyzers produce shorter terms.
const maxTermLen = 1 << 16
