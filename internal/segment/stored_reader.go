package segment

import (
	"context"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// StoredReader reads stored documents, safe for concurrent use; a StoredDoc is not.
type StoredReader struct {
	file    storedContent
	owned   bool   // Close closes file
	dir     []byte // numBlocks entries, valid after checkDir
	dirOff  uint64 // offset of dir in the payload
	numDocs int
	order   *array // each document's number in the file; nil: the DocID
	serial  uint64 // of this reader in the process
}

// OpenStored opens a StoredWriter's file.
func OpenStored(fs vfs.FS, name string) (*StoredReader, error) {
	file, err := sealed.Open(fs, name, fileStored, storedVersion)
	if err != nil {
		return nil, err
	}
	r, err := newStoredReader(file)
	if err != nil {
		return nil, closing(err, file)
	}
	r.owned = true
	return r, nil
}

func newStoredReader(file storedContent) (*StoredReader, error) {
	n := file.Len()
	if n < storedTrailerLen {
		return nil, fmt.Errorf("%s: no trailer: %w", file.Name(), base.ErrCorrupt)
	}
	trailer, err := file.Range(n-storedTrailerLen, storedTrailerLen)
	if err != nil {
		return nil, err
	}
	numBlocks, numDocs := binary.LittleEndian.Uint64(trailer), binary.LittleEndian.Uint64(trailer[8:])
	if numBlocks > (n-storedTrailerLen)/storedEntryLen || numDocs > base.MaxDocs || (numDocs == 0) != (numBlocks == 0) || numBlocks > numDocs {
		return nil, fmt.Errorf("%s: %d documents in %d blocks: %w", file.Name(), numDocs, numBlocks, base.ErrCorrupt)
	}
	r := &StoredReader{
		file: file, dirOff: n - storedTrailerLen - numBlocks*storedEntryLen, numDocs: int(numDocs), serial: storedReaders.Add(1),
	}
	r.dir = file.Bytes()[r.dirOff : n-storedTrailerLen]
	return r, nil
}

// NumDocs is the number of documents.
func (r *StoredReader) NumDocs() int { return r.numDocs }

// Close closes a file of OpenStored. A Segment's or Source's StoredReader lives until the
// Segment is closed: Close does nothing.
func (r *StoredReader) Close() error {
	if !r.owned {
		return nil
	}
	return r.file.Close()
}

// A directory entry with values derived from the next.
type storedBlock struct {
	frame   []byte
	first   int // first document's number in the file
	numDocs int
	rawLen  int
}

func (r *StoredReader) checkDir() error { return r.file.Check(r.dirOff, uint64(len(r.dir))) }

func (r *StoredReader) numBlocks() int { return len(r.dir) / storedEntryLen }

func (r *StoredReader) firstDoc(block int) int {
	return int(binary.LittleEndian.Uint32(r.dir[block*storedEntryLen+8:]))
}

// block verifies the bytes. It requires checkDir.
func (r *StoredReader) block(i int) (storedBlock, error) {
	entry := r.dir[i*storedEntryLen:]
	offset, end, next := binary.LittleEndian.Uint64(entry), r.dirOff, r.numDocs
	b := storedBlock{first: r.firstDoc(i), rawLen: int(binary.LittleEndian.Uint32(entry[12:]))}
	if i+1 < r.numBlocks() {
		end, next = binary.LittleEndian.Uint64(entry[storedEntryLen:]), r.firstDoc(i+1)
	}
	// The limit on rawLen exceeds any zstd frame's expansion, but bounds the memory that a corrupt length can allocate.
	if offset > end || end > r.dirOff || b.first >= next || next > r.numDocs || i == 0 && (b.first != 0 || offset != 0) ||
		uint64(b.rawLen) > (end-offset)<<15 || b.rawLen > 2*maxStoredDoc {
		return b, fmt.Errorf("%s: block %d: directory entry: %w", r.file.Name(), i, base.ErrCorrupt)
	}
	b.numDocs = next - b.first
	var err error
	b.frame, err = r.file.Range(offset, end-offset)
	return b, err
}

func (b *storedBlock) decode(scratch *[]byte) (raw []byte, err error) {
	// With spare bytes the decoder copies words.
	const spare = 64
	if cap(*scratch) < b.rawLen+spare {
		*scratch = make([]byte, 0, b.rawLen+b.rawLen/8+spare)
	}
	raw, err = decompress((*scratch)[:0:b.rawLen+spare], b.frame)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, base.ErrCorrupt)
	}
	if len(raw) != b.rawLen {
		return nil, fmt.Errorf("%d bytes, want %d: %w", len(raw), b.rawLen, base.ErrCorrupt)
	}
	if b.numDocs > len(raw) { // each size takes a byte or more
		return nil, fmt.Errorf("%d documents in %d bytes: %w", b.numDocs, len(raw), base.ErrCorrupt)
	}
	return raw, nil
}

func (b *storedBlock) doc(raw []byte, i int) ([]byte, error) {
	if i >= b.numDocs {
		return nil, fmt.Errorf("document %d of the %d of a block: %w", i, b.numDocs, base.ErrCorrupt)
	}
	r := byteReader{src: raw}
	start, size := 0, 0
	for j := range b.numDocs {
		n := r.count()
		if j < i {
			start += n
		} else if j == i {
			size = n
		}
	}
	r.take(start)
	doc := r.take(size)
	if r.bad {
		return nil, fmt.Errorf("sizes of documents: %w", base.ErrCorrupt)
	}
	return doc, nil
}

// Get reads a document into d. It decompresses about 8 KiB, unless the last document of d was in the same block or
// several searches read it. It allocates nothing once d has grown, except for blocks that are kept.
func (r *StoredReader) Get(doc base.DocID, d *StoredDoc) error {
	if int64(doc) >= int64(r.numDocs) {
		return fmt.Errorf("%s: document %d of %d: %w", r.file.Name(), doc, r.numDocs, base.ErrBadInput)
	}
	number, err := r.order.at(doc)
	if err != nil {
		return err
	}
	if err := r.checkDir(); err != nil {
		return err
	}
	n := r.numBlocks()
	i := sort.Search(n, func(i int) bool { return r.firstDoc(i) > int(number) }) - 1
	if i < 0 || int(number) >= r.numDocs {
		return fmt.Errorf("%s: document %d: no block holds it: %w", r.file.Name(), doc, base.ErrCorrupt)
	}
	b, err := r.block(i)
	if err != nil {
		return err
	}
	var raw []byte
	if err = r.load(&b, i, d); err == nil {
		raw, err = b.doc(d.raw, int(number)-b.first)
	}
	if err == nil {
		err = d.decode(raw)
	}
	if err != nil {
		return fmt.Errorf("%s: block %d: document %d: %w", r.file.Name(), i, doc, err)
	}
	return nil
}

// load makes d.raw the block of a number.
func (r *StoredReader) load(b *storedBlock, number int, d *StoredDoc) (err error) {
	if d.of == r && d.number == number {
		return nil
	}
	d.of = nil
	if d.raw = storedBlocks.find(r.serial, number); d.raw == nil {
		if d.raw, err = b.decode(&d.block); err != nil {
			return err
		}
		storedBlocks.offer(r.serial, number, d.raw)
	}
	d.of, d.number = r, number
	return nil
}

// Blocks are verified, but still compressed.
func (r *StoredReader) eachBlock(ctx context.Context, f func(i int, b *storedBlock) error) error {
	if err := r.checkDir(); err != nil {
		return err
	}
	for i := range r.numBlocks() {
		if i%64 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		b, err := r.block(i)
		if err != nil {
			return err
		}
		if err := f(i, &b); err != nil {
			return fmt.Errorf("%s: block %d: %w", r.file.Name(), i, err)
		}
	}
	return nil
}

func (b *storedBlock) eachDoc(raw []byte, f func(i int, doc []byte) error) error {
	sizes := byteReader{src: raw}
	for range b.numDocs {
		sizes.uvarint()
	}
	docs := byteReader{src: sizes.src, bad: sizes.bad}
	sizes.src = raw
	for i := range b.numDocs {
		doc := docs.take(sizes.count())
		if docs.bad || sizes.bad {
			return fmt.Errorf("document %d: size: %w", i, base.ErrCorrupt)
		}
		if err := f(i, doc); err != nil {
			return err
		}
	}
	if len(docs.src) != 0 {
		return fmt.Errorf("bytes after the documents: %w", base.ErrCorrupt)
	}
	return nil
}

func (r *StoredReader) verify(ctx context.Context) error {
	var d StoredDoc
	return r.eachBlock(ctx, func(_ int, b *storedBlock) error {
		raw, err := b.decode(&d.block)
		if err != nil {
			return err
		}
		return b.eachDoc(raw, func(i int, doc []byte) error {
			if err := d.decode(doc); err != nil {
				return fmt.Errorf("document %d: %w", b.first+i, err)
			}
			return nil
		})
	})
}
