package segment

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Deletions are the deleted documents of a segment and what these contribute to its statistics, so
// that searches use the statistics of the live documents. Nil stands for none. Reading is safe
// for concurrent use.
type Deletions struct {
	live   *Bitmap
	fields []FieldDeletions
	lists  listCounts
}

// FieldDeletions are the tokens and postings of deleted documents in a field.
type FieldDeletions struct{ Tokens, Postings uint64 }

// Live are the documents not deleted; nil: all.
func (d *Deletions) Live() *Bitmap {
	if d == nil {
		return nil
	}
	return d.live
}

// Field returns a field's share of the deleted documents; 0 of a field that the segment has not.
func (d *Deletions) Field(f base.FieldID) FieldDeletions {
	if d == nil || int(f) >= len(d.fields) {
		return FieldDeletions{}
	}
	return d.fields[f]
}

// DocFreq is the number of live documents in a list of the segment. It takes constant expected
// time and does not allocate.
func (d *Deletions) DocFreq(l *postings.List) uint64 {
	n := uint64(l.DocFreq)
	if d == nil || n == 0 {
		return n
	}
	return n - min(n, uint64(d.lists.find(listKey(l.ID()))))
}

// With adds docs, live documents of d, and the counts of their lists and fields. It leaves d unchanged.
func (d *Deletions) With(docs *Bitmap, counts *ListCounts) *Deletions {
	next := &Deletions{fields: slices.Clone(counts.fields)}
	if d == nil {
		next.live = docs.Complement()
	} else {
		next.live = d.live.Minus(docs)
	}
	if d == nil {
		next.lists = next.lists.with(counts.sorted())
		return next
	}
	for f := range next.fields {
		next.fields[f].Tokens += d.fields[f].Tokens
		next.fields[f].Postings += d.fields[f].Postings
	}
	next.lists = d.lists.with(counts.sorted())
	return next
}

// ListCounts collects the contributions of a set of documents to the lists and fields of a segment.
type ListCounts struct {
	fields []FieldDeletions
	lists  []listCount // in any order, each list once
}

// NewListCounts returns counts of 0 for a segment.
func (s *Segment) NewListCounts() *ListCounts {
	return &ListCounts{fields: make([]FieldDeletions, len(s.meta.Fields))}
}

// Add adds the number of the documents in a list, which is added once.
func (c *ListCounts) Add(f base.FieldID, l *postings.List, count uint32) {
	c.lists = append(c.lists, listCount{listKey(l.ID()), count})
	c.fields[f].Postings += uint64(count)
}

// AddTokens adds the lengths of the documents in a field.
func (c *ListCounts) AddTokens(f base.FieldID, tokens uint64) { c.fields[f].Tokens += tokens }

func (c *ListCounts) sorted() []listCount {
	base.Sort(c.lists, func(a, b listCount) int { return cmp.Compare(a.key, b.key) })
	return c.lists
}

// CountDocs reads the lists of the segment, and returns what docs contribute. It decodes the
// postings near docs, in the worst case all of the segment.
func (s *Segment) CountDocs(ctx context.Context, docs *Bitmap) (*ListCounts, error) {
	counts := s.NewListCounts()
	if err := s.CountTokens(docs, counts); err != nil {
		return nil, err
	}
	numbers := docs.Members()
	var list postings.List
	var cursor postings.Cursor
	for f := range s.meta.Fields {
		field := base.FieldID(f)
		terms := s.Terms(field, nil)
		for n := 0; terms.Next(); n++ {
			if n%1024 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			m, err := terms.Meta()
			if err == nil {
				err = s.openList(field, &m, 0, &list)
			}
			if err == nil {
				var count uint32
				if count, err = countIn(&list, &cursor, docs, numbers); count > 0 {
					counts.Add(field, &list, count)
				}
			}
			if err != nil {
				return nil, s.listError(field, terms.Term(), err)
			}
		}
		if err := terms.Err(); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// CountTokens adds the lengths of docs to counts.
func (s *Segment) CountTokens(docs *Bitmap, counts *ListCounts) error {
	for f := range s.meta.Fields {
		field := base.FieldID(f)
		if err := s.CheckLengths(field); err != nil {
			return err
		}
		sum := uint64(0)
		for _, doc := range docs.Members() {
			sum += uint64(s.Length(field, doc))
		}
		counts.AddTokens(field, sum)
	}
	return nil
}

// Postings per document above which a list is searched for each document instead of decoded.
const countSearchRatio = 32

// countIn counts the documents of docs, whose numbers are rising, in a list.
func countIn(l *postings.List, c *postings.Cursor, docs *Bitmap, numbers []base.DocID) (count uint32, err error) {
	c.Reset(l, nil)
	if int(l.DocFreq) < countSearchRatio*len(numbers) {
		for c.NextBlock() != base.NoDocID {
			for _, d := range c.BlockDocIDs() {
				count += uint32(docs.words[d/64] >> (d % 64) & 1)
			}
		}
		return count, c.Err()
	}
	for _, d := range numbers {
		at := c.NextGEQ(d)
		if at == d {
			count++
		}
		if at == base.NoDocID {
			break
		}
	}
	return count, c.Err()
}

const (
	kindDeletions = "bitmap"
	// History: 1, the bitmap alone; 2, with counts.
	deletionsVersion = 2
)

// append appends the encoded deletions, all numbers little endian:
//
//	+--------------+--------------+-------------------------+-------------+----------------------+
//	| bitmap bytes | bitmap       | per field: tokens u64,  | lists u64   | per list: key u64,   |
//	| u64          |              | postings u64            |             | count u32, by key    |
//	+--------------+--------------+-------------------------+-------------+----------------------+
func (d *Deletions) append(dst []byte) []byte {
	live := d.live.AppendTo(nil)
	dst = append(binary.LittleEndian.AppendUint64(dst, uint64(len(live))), live...)
	for _, f := range d.fields {
		dst = binary.LittleEndian.AppendUint64(dst, f.Tokens)
		dst = binary.LittleEndian.AppendUint64(dst, f.Postings)
	}
	return d.lists.append(dst)
}

// Save writes the deletions to a sealed file, syncs it, and returns the checksum that LoadDeletions
// takes.
func (d *Deletions) Save(fs vfs.FS, name string) (sum uint32, err error) {
	w, err := sealed.Create(fs, name, kindDeletions, deletionsVersion)
	if err != nil {
		return 0, err
	}
	payload := d.append(nil)
	_, _ = w.Write(payload) // Close returns its error
	return crc32.Checksum(payload, castagnoli), w.Close()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// LoadDeletions reads Save's file for the segment. The counts of a file of version 1 are computed
// from the lists, which can take seconds. The error wraps base.ErrCorrupt if the file is damaged,
// or is of another segment or sum.
func (s *Segment) LoadDeletions(fs vfs.FS, name string, sum uint32) (*Deletions, error) {
	f, err := sealed.Open(fs, name, kindDeletions, deletionsVersion)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	payload, err := f.Range(0, f.Len())
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(payload, castagnoli) != sum {
		return nil, fmt.Errorf("%s: of another index, or an older one: %w", name, base.ErrCorrupt)
	}
	var d *Deletions
	if f.Version() == 1 {
		d, err = s.deletionsOf(payload)
	} else {
		d, err = decodeDeletions(payload, len(s.meta.Fields))
	}
	if err == nil && d.live.Len() != s.meta.NumDocs {
		err = fmt.Errorf("bitmap over %d documents, the segment has %d: %w", d.live.Len(), s.meta.NumDocs, base.ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// deletionsOf counts the deletions of an encoded bitmap.
func (s *Segment) deletionsOf(bitmap []byte) (*Deletions, error) {
	live, err := DecodeBitmap(bitmap)
	if err != nil {
		return nil, err
	}
	if live.Len() != s.meta.NumDocs {
		return &Deletions{live: live}, nil
	}
	deleted := live.Complement()
	counts, err := s.CountDocs(context.Background(), deleted)
	if err != nil {
		return nil, err
	}
	return (*Deletions)(nil).With(deleted, counts), nil
}

func decodeDeletions(src []byte, numFields int) (*Deletions, error) {
	bad := func(what string) error { return fmt.Errorf("%s: %w", what, base.ErrCorrupt) }
	if len(src) < 8 {
		return nil, bad("no bitmap")
	}
	size := binary.LittleEndian.Uint64(src)
	src = src[8:]
	if size > uint64(len(src)) {
		return nil, bad("bitmap")
	}
	d := &Deletions{fields: make([]FieldDeletions, numFields)}
	var err error
	if d.live, err = DecodeBitmap(src[:size]); err != nil {
		return nil, err
	}
	src = src[size:]
	if len(src) < 16*numFields+8 {
		return nil, bad("counts of fields")
	}
	for f := range d.fields {
		d.fields[f] = FieldDeletions{Tokens: binary.LittleEndian.Uint64(src), Postings: binary.LittleEndian.Uint64(src[8:])}
		src = src[16:]
	}
	n := binary.LittleEndian.Uint64(src)
	src = src[8:]
	var ok bool
	if d.lists, ok = decodeListCounts(src, n); !ok {
		return nil, bad("counts of lists: not in order, 0, or of another number")
	}
	return d, nil
}

// VerifyDeletions counts the documents that d deletes again. The error wraps base.ErrCorrupt if the
// counts differ.
func (s *Segment) VerifyDeletions(ctx context.Context, d *Deletions) error {
	if d == nil {
		return nil
	}
	counts, err := s.CountDocs(ctx, d.live.Complement())
	if err != nil {
		return err
	}
	want := (&listCounts{}).with(counts.sorted())
	if !slices.Equal(d.lists.keys, want.keys) || !slices.Equal(d.lists.counts, want.counts) || !slices.Equal(d.lists.large, want.large) ||
		!slices.Equal(d.fields, counts.fields) {
		at := 0
		for at < min(want.len(), d.lists.len()) && d.lists.keys[at] == want.keys[at] && d.lists.at(at) == want.at(at) {
			at++
		}
		return fmt.Errorf("counts of deleted documents: %d lists, want %d, the first %d equal: %w", d.lists.len(), want.len(), at, base.ErrCorrupt)
	}
	return nil
}

// Tokens returns the added lengths of a field.
func (c *ListCounts) Tokens(f base.FieldID) uint64 { return c.fields[f].Tokens }
