package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

// External ids: payload of a file of kind "ids", little endian, n documents, g = ceil(n/65536)
// groups:
//
//	0      8           8+8g         +4n                     4-aligned   +12n
//	+------+-----------+------------+-----------+-----------+-----------+
//	| n    | group     | end of     | bytes of  | zeros 0..3| hash table|
//	|      | starts 8  | each id 4  | the ids   |           |           |
//	+------+-----------+------------+-----------+-----------+-----------+
//
// Ids are in DocID order. starts[d/65536] is the offset of the group's first id in the bytes;
// ends[d] is the end of d's id, relative to that. The table has hash u64 (xxh3-64 of the id)
// and DocID u32 for each document, sorted.
const (
	idsVersion  = 1
	idsHeader   = 8
	idGroupLen  = 1 << 16
	hashEntry   = 12
	maxIDLen    = 1<<16 - 1 // a group's ids take less than 2^32 bytes
	hashPassLen = 4 << 20   // ids whose hashes are sorted in one pass: 64 MiB
)

type idTable struct {
	file   *sealed.File
	n      uint64
	ends   uint64 // offset of the ends in the payload
	bytes  uint64 // offset of the ids
	hashes uint64 // offset of the table
	once   idFilterOnce
}

func newIDTable(file *sealed.File, numDocs int) (*idTable, error) {
	t := &idTable{file: file, n: uint64(numDocs)}
	head, err := file.Range(0, min(idsHeader, file.Len()))
	if err != nil {
		return nil, err
	}
	if len(head) < idsHeader || binary.LittleEndian.Uint64(head) != t.n {
		return nil, fmt.Errorf("%s: not the ids of %d documents: %w", file.Name(), numDocs, base.ErrCorrupt)
	}
	t.ends = idsHeader + 8*((t.n+idGroupLen-1)/idGroupLen)
	t.bytes = t.ends + 4*t.n
	if file.Len() < t.bytes+hashEntry*t.n {
		return nil, fmt.Errorf("%s: too short for %d documents: %w", file.Name(), numDocs, base.ErrCorrupt)
	}
	t.hashes = file.Len() - hashEntry*t.n
	return t, nil
}

// id returns a slice of the file; doc is in [0, n).
func (t *idTable) id(doc uint64) ([]byte, error) {
	startOff, endOff := idsHeader+8*(doc/idGroupLen), t.ends+4*doc
	group, err := t.file.Range(startOff, 8)
	if err != nil {
		return nil, err
	}
	begin := uint64(0)
	if doc%idGroupLen != 0 {
		b, err := t.file.Range(endOff-4, 4)
		if err != nil {
			return nil, err
		}
		begin = uint64(binary.LittleEndian.Uint32(b))
	}
	b, err := t.file.Range(endOff, 4)
	if err != nil {
		return nil, err
	}
	end := uint64(binary.LittleEndian.Uint32(b))
	start, size := binary.LittleEndian.Uint64(group), t.hashes-t.bytes
	if begin > end || end-begin > maxIDLen || start > size || end > size-start {
		return nil, fmt.Errorf("%s: document %d: place of its id: %w", t.file.Name(), doc, base.ErrCorrupt)
	}
	id, err := t.file.Range(t.bytes+start+begin, end-begin)
	return id[:len(id):len(id)], err
}

func (t *idTable) entry(i uint64) (hash uint64, doc uint32, err error) {
	b, err := t.file.Range(t.hashes+hashEntry*i, hashEntry)
	if err != nil {
		return 0, 0, err
	}
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:]), nil
}

// lookup returns the document of an id. Of equal ids, which the index prevents, it returns the last.
func (t *idTable) lookup(id []byte, h IDHash) (doc base.DocID, found bool, err error) {
	if f := t.filter(1); f != nil && !f.has(h) {
		return 0, false, nil
	}
	hash := uint64(h)
	i, err := t.search(hash)
	if err != nil {
		return 0, false, err
	}
	for ; i < t.n; i++ {
		h, d, err := t.entry(i)
		if err != nil || h != hash {
			return doc, found, err
		}
		if uint64(d) >= t.n {
			return 0, false, fmt.Errorf("%s: entry %d of the table: document %d of %d: %w", t.file.Name(), i, d, t.n, base.ErrCorrupt)
		}
		stored, err := t.id(uint64(d))
		if err != nil {
			return 0, false, err
		}
		if bytes.Equal(stored, id) {
			doc, found = base.DocID(d), true
		}
	}
	return doc, found, nil
}

// search returns the first entry whose hash is at least the given one. Hashes are uniform: it
// starts at the expected entry, doubles its steps (about log2 sqrt(n)), then bisects.
func (t *idTable) search(hash uint64) (uint64, error) {
	if t.n == 0 {
		return 0, nil
	}
	guess, _ := bits.Mul64(hash, t.n)
	h, _, err := t.entry(guess)
	if err != nil {
		return 0, err
	}
	// Invariant: entries before low are < hash, from high on >= hash.
	low, high := uint64(0), t.n
	if h < hash {
		low = guess + 1
		for step := uint64(16); low+step < t.n; step *= 2 {
			if h, _, err = t.entry(low + step); err != nil {
				return 0, err
			}
			if h >= hash {
				high = low + step
				break
			}
			low += step + 1
		}
	} else {
		high = guess
		for step := uint64(16); high > step; step *= 2 {
			if h, _, err = t.entry(high - step); err != nil {
				return 0, err
			}
			if h < hash {
				low = high - step + 1
				break
			}
			high -= step
		}
	}
	for low < high {
		mid := low + (high-low)/2
		if h, _, err = t.entry(mid); err != nil {
			return 0, err
		}
		if h < hash {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, nil
}

// writeIDs writes the part before the hash table. id is called for all documents in order, several times;
// results must stay valid until the next call.
func writeIDs(w *sealed.Writer, n int, id func(doc int) []byte) error {
	head := binary.LittleEndian.AppendUint64(nil, uint64(n))
	total := uint64(0)
	for d := range n {
		if d%idGroupLen == 0 {
			head = binary.LittleEndian.AppendUint64(head, total)
		}
		size := len(id(d))
		if size > maxIDLen {
			return fmt.Errorf("document %d: id of %d bytes, the limit is %d: %w", d, size, maxIDLen, base.ErrBadInput)
		}
		total += uint64(size)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	end := uint32(0) // relative to the start of the group
	for d := range n {
		if d%idGroupLen == 0 {
			end = 0
		}
		end += uint32(len(id(d)))
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], end)
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	for d := range n {
		if _, err := w.Write(id(d)); err != nil {
			return err
		}
	}
	return w.Align(4)
}

// writeHashTable sorts hashes in passes of about hashPassLen ids, each over a range of
// hashes, so that memory does not grow with n.
func writeHashTable(ctx context.Context, w io.Writer, n int, id func(doc int) []byte) error {
	passes := uint64(n/hashPassLen + 1)
	entries := make([]base.Keyed, 0, uint64(n)/passes+uint64(n)/passes/8)
	var buf []byte
	for pass := range passes {
		entries = entries[:0]
		for d := range n {
			hash := xxh3.Hash(id(d))
			if of, _ := bits.Mul64(hash, passes); of == pass {
				entries = append(entries, base.Keyed{Key: hash, Number: uint32(d)})
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		slices.SortFunc(entries, base.Keyed.Compare)
		for chunk := range slices.Chunk(entries, 4096) {
			buf = buf[:0]
			for _, e := range chunk {
				buf = binary.LittleEndian.AppendUint64(buf, e.Key)
				buf = binary.LittleEndian.AppendUint32(buf, e.Number)
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// verify checks that ids fill their bytes and that the table is sorted and maps each id
// to its document. Duplicates are an error.
func (t *idTable) verify(ctx context.Context) error {
	next := t.bytes
	seen := NewBitmap(int(t.n))
	var lastHash uint64
	for i := range t.n {
		if i%(1<<16) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		id, err := t.id(i)
		if err != nil {
			return err
		}
		if uint64(len(id)) > t.hashes-next || len(id) > 0 && &id[0] != &t.file.Bytes()[next] {
			return fmt.Errorf("%s: document %d: its id is not where the one before ends: %w", t.file.Name(), i, base.ErrCorrupt)
		}
		next += uint64(len(id))
		hash, doc, err := t.entry(i)
		if err != nil {
			return err
		}
		if hash < lastHash || uint64(doc) >= t.n || !seen.Set(int(doc)) {
			return fmt.Errorf("%s: entry %d of the table: not in order, or document %d again: %w", t.file.Name(), i, doc, base.ErrCorrupt)
		}
		lastHash = hash
		found, ok, err := t.lookupOf(uint64(doc), hash)
		if err != nil {
			return err
		}
		if !ok || uint64(found) != uint64(doc) {
			return fmt.Errorf("%s: entry %d of the table: document %d: hash is not its id's, or document %d has the same id: %w", t.file.Name(), i, doc, found, base.ErrCorrupt)
		}
	}
	if pad := t.hashes - next; pad > 3 || t.hashes%4 != 0 {
		return fmt.Errorf("%s: %d bytes between ids and table: %w", t.file.Name(), pad, base.ErrCorrupt)
	}
	return zeros(t.file, next, t.hashes)
}

func (t *idTable) lookupOf(doc, hash uint64) (base.DocID, bool, error) {
	id, err := t.id(doc)
	if err != nil {
		return 0, false, err
	}
	if xxh3.Hash(id) != hash {
		return 0, false, nil
	}
	return t.lookup(id, IDHash(hash))
}
