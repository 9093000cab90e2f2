package impact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Index is an open file of impact-ordered lists, or lists that are computed when Find asks for
// them (NewComputed). All methods but Close are safe for concurrent use. Results of a file point
// into its mapping and are valid until Close.
type Index struct {
	file      *sealed.File // nil: computed
	computed  *computed
	meta      Meta
	codec     codec.Codec
	listCodec codec.ListCodec
	table     uint64 // offset
	numSlots  uint64
}

// Open maps a file and reads its description; the rest is checked on first access, or by
// Verify. The error wraps base.ErrCorrupt, base.ErrVersion or an error of the file system.
func Open(fs vfs.FS, name string) (*Index, error) {
	f, err := sealed.Open(fs, name, kind, FormatVersion)
	if err != nil {
		return nil, err
	}
	x := &Index{file: f}
	if err := x.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return x, nil
}

func (x *Index) open() error {
	n := x.file.Len()
	if n < 4 {
		return fmt.Errorf("%d bytes: %w", n, base.ErrCorrupt)
	}
	tail, err := x.file.Range(n-4, 4)
	if err != nil {
		return err
	}
	size := uint64(binary.LittleEndian.Uint32(tail))
	if size > n-4 {
		return fmt.Errorf("description of %d bytes in %d: %w", size, n, base.ErrCorrupt)
	}
	data, err := x.file.Range(n-4-size, size)
	if err != nil {
		return err
	}
	m, err := parseMeta(data)
	if err != nil {
		return err
	}
	x.meta = *m
	x.table = (m.ListBytes + slotBytes - 1) &^ (slotBytes - 1)
	x.numSlots = m.TableBytes / slotBytes
	if m.ListBytes > maxOffset || m.TableBytes > n || x.table+m.TableBytes != n-4-size {
		return fmt.Errorf("lists of %d bytes, a table of %d and a description of %d in %d: %w", m.ListBytes, m.TableBytes, size, n, base.ErrCorrupt)
	}
	if x.codec, err = codec.Lookup(m.Codec); err != nil {
		return err
	}
	x.listCodec, _ = x.codec.(codec.ListCodec)
	return nil
}

// Close unmaps the file, or forgets computed lists.
func (x *Index) Close() error {
	if x.computed != nil {
		x.computed.forget()
		return nil
	}
	return x.file.Close()
}

// Meta returns the description, not to be modified.
func (x *Index) Meta() *Meta { return &x.meta }

// NumDocs is above all DocIDs.
func (x *Index) NumDocs() int { return x.meta.NumDocs }

// SizeBytes is the file's size.
func (x *Index) SizeBytes() int64 { return x.file.SizeBytes() }

// Find makes l a term's list and reports whether it exists. In a file, it verifies checksums on
// first access and does not allocate. The error wraps base.ErrCorrupt, or is of Compute. l is
// undefined unless found.
func (x *Index) Find(term []byte, l *List) (found bool, err error) {
	if x.computed != nil {
		return x.computed.find(x, term, l)
	}
	hash := xxh3.Hash(term)
	tag := hash & tagMask
	i := hash & (x.numSlots - 1)
	for range x.numSlots {
		b, err := x.file.Range(x.table+i*slotBytes, slotBytes)
		if err != nil {
			return false, err
		}
		s := binary.LittleEndian.Uint64(b)
		if s == 0 {
			return false, nil
		}
		if s&tagMask == tag {
			got, _, err := x.list(s&^tagMask-1, l)
			if err != nil {
				return false, err
			}
			if string(got) == string(term) {
				return true, nil
			}
		}
		i = (i + 1) & (x.numSlots - 1)
	}
	return false, nil
}

func (x *Index) list(offset uint64, l *List) (term []byte, end uint64, err error) {
	if offset >= x.meta.ListBytes {
		return nil, 0, fmt.Errorf("%s: list at %d of %d bytes: %w", x.file.Name(), offset, x.meta.ListBytes, base.ErrCorrupt)
	}
	// The term's length, then the rest up to the directory.
	const lengths = 4 * binary.MaxVarintLen64
	rest := x.meta.ListBytes - offset
	head, err := x.file.Range(offset, min(rest, lengths))
	if err != nil {
		return nil, 0, err
	}
	r := reader{src: head}
	termLen := r.uint(maxTermLen)
	if used := uint64(len(head) - len(r.src)); !r.bad {
		if head, err = x.file.Range(offset, min(rest, used+termLen+lengths)); err != nil {
			return nil, 0, err
		}
		if uint64(len(head)) < used+termLen+2 {
			r.bad = true
		} else {
			term = head[used : used+termLen]
			r.src = head[used+termLen:]
		}
	}
	*l = List{index: x, offset: offset}
	l.DocFreq = uint32(r.uint(math.MaxUint32))
	if !r.bad && len(r.src) >= 2 {
		l.Max, l.numSegments, r.src = r.src[0], int(r.src[1]), r.src[2:]
	}
	dirLen := r.uint(rest)
	l.dataLen = r.uint(rest)
	begin := offset + uint64(len(head)-len(r.src))
	if r.bad || dirLen+l.dataLen > x.meta.ListBytes-begin || int64(l.DocFreq) > int64(x.meta.NumDocs) || l.DocFreq == 0 || l.numSegments == 0 {
		return nil, 0, fmt.Errorf("%s: list at %d: header: %w", x.file.Name(), offset, base.ErrCorrupt)
	}
	body, err := x.file.Range(begin, dirLen+l.dataLen)
	if err != nil {
		return nil, 0, err
	}
	l.directory = body[:dirLen]
	return term, begin + dirLen + l.dataLen, nil
}

// Lists iterates over all lists of a file by term.
func (x *Index) Lists() *ListIterator { return &ListIterator{index: x} }

// ListIterator is not safe for concurrent use.
type ListIterator struct {
	index *Index
	next  uint64 // offset
	at    uint64
	term  []byte
	list  List
	err   error
}

// Next advances and reports whether there is a valid list.
func (it *ListIterator) Next() bool {
	if it.err != nil || it.next >= it.index.meta.ListBytes {
		return false
	}
	it.at = it.next
	it.term, it.next, it.err = it.index.list(it.at, &it.list)
	return it.err == nil
}

// Term returns the list's term, not to be modified.
func (it *ListIterator) Term() []byte { return it.term }

// List is valid until Next.
func (it *ListIterator) List() *List { return &it.list }

// Err returns the error that ended the iteration.
func (it *ListIterator) Err() error { return it.err }
