package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
)

// Verify checks every byte's checksum, then every invariant. The first error wraps
// base.ErrCorrupt and names segment, file, field, term, block or document. progress, if not
// nil, receives bytes.
func (s *Segment) Verify(ctx context.Context, progress func(done, total int64)) error {
	v := &segmentVerifier{s: s, progress: progress, total: 2 * s.meta.SizeBytes()}
	if err := v.verify(ctx); err != nil {
		return fmt.Errorf("segment %s: %w", s.dir, err)
	}
	if progress != nil {
		progress(v.total, v.total)
	}
	return nil
}

// VerifyChecksums checks every byte's checksum, and nothing else. The error wraps base.ErrCorrupt.
func VerifyChecksums(ctx context.Context, s *Segment) error {
	for _, f := range s.files {
		if err := f.Verify(ctx, nil); err != nil {
			return fmt.Errorf("segment %s: %w", s.dir, err)
		}
	}
	return nil
}

// DropPages frees the memory of the segment's files until they are read again. It may run beside readers.
func DropPages(s *Segment) error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.DropPages())
	}
	return err
}

// Checksums and content are half of the progress each.
type segmentVerifier struct {
	s        *Segment
	progress func(done, total int64)
	done     int64
	total    int64
	lengths  [][]uint32
	// The previous list's end in each file.
	postings, positions, frontiers uint64
}

func (v *segmentVerifier) advance(bytes int64) {
	v.done += bytes
	if v.progress != nil {
		v.progress(min(v.done, v.total), v.total)
	}
}

func (v *segmentVerifier) verify(ctx context.Context) error {
	for _, f := range v.s.files {
		if err := f.Verify(ctx, v.advance); err != nil {
			return err
		}
	}
	for f := range v.s.meta.Fields {
		if err := v.verifyLengths(base.FieldID(f)); err != nil {
			return err
		}
	}
	if err := v.s.ids.verify(ctx); err != nil {
		return err
	}
	if err := v.verifyStored(ctx); err != nil {
		return err
	}
	if err := v.s.checkOrder(); err != nil {
		return err
	}
	if err := v.verifyColumns(ctx); err != nil {
		return err
	}
	for f := range v.s.meta.Fields {
		if err := v.verifyField(ctx, base.FieldID(f)); err != nil {
			return err
		}
	}
	return v.verifyEnds()
}

func (v *segmentVerifier) verifyLengths(f base.FieldID) error {
	meta := &v.s.meta.Fields[f]
	numDocs, totalTokens := 0, uint64(0)
	l := &v.s.lengths[f]
	for doc := range v.s.meta.NumDocs {
		n := l.at(base.DocID(doc))
		if n > 0 {
			numDocs++
		}
		totalTokens += uint64(n)
	}
	if numDocs != meta.NumDocs || totalTokens != meta.TotalTokens {
		return fmt.Errorf("%s: field %q: %d tokens in %d documents, but %s has %d tokens in %d documents: %w",
			fileLengths, meta.Name, totalTokens, numDocs, fileMeta, meta.TotalTokens, meta.NumDocs, base.ErrCorrupt)
	}
	if n := l.n % 64; l.unit && n != 0 {
		last, err := l.file.Range(l.end()-8, 8)
		if err != nil {
			return err
		}
		if binary.LittleEndian.Uint64(last)>>n != 0 {
			return fmt.Errorf("%s: field %q: bits of documents from %d on: %w", fileLengths, meta.Name, l.n, base.ErrCorrupt)
		}
	}
	v.lengths = append(v.lengths, v.s.Lengths(f))
	return zeros(l.file, l.end(), min((l.end()+63)&^63, l.file.Len()))
}

func (v *segmentVerifier) verifyStored(ctx context.Context) error {
	r := v.s.stored
	if r == nil {
		return nil
	}
	return r.verify(ctx)
}

func (v *segmentVerifier) verifyField(ctx context.Context, f base.FieldID) error {
	meta := &v.s.meta.Fields[f]
	var numTerms, numPostings uint64
	var last []byte
	var part *partition
	var partTerms, record uint64 // seen in part; offset of the next record in it
	terms := v.s.Terms(f, nil)
	for terms.Next() {
		if numTerms%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		term := terms.Term()
		if part != terms.part {
			if err := endPartition(part, partTerms, record); err != nil {
				return v.s.listError(f, last, err)
			}
			if part, partTerms, record = terms.part, 0, 0; !bytes.Equal(part.first, term) {
				return v.s.listError(f, term, fmt.Errorf("%s: partition begins with %q: %w", fileTerms, part.first, base.ErrCorrupt))
			}
		}
		if numTerms > 0 && bytes.Compare(term, last) <= 0 {
			return v.s.listError(f, term, fmt.Errorf("%s: not after %q: %w", fileTerms, last, base.ErrCorrupt))
		}
		last = append(last[:0], term...)
		if terms.offset != record {
			return v.s.listError(f, term, fmt.Errorf("%s: record at %d, want %d: %w", fileRecords, terms.offset, record, base.ErrCorrupt))
		}
		m, size, err := v.s.dict.record(part, terms.offset)
		if err == nil {
			err = v.verifyList(f, &m)
		}
		if err != nil {
			return v.s.listError(f, term, err)
		}
		record += size
		partTerms++
		numTerms++
		numPostings += uint64(m.DocFreq)
		v.advance(int64(m.Length + m.PosLength + m.FrontierLength))
	}
	if err := terms.Err(); err != nil {
		return err
	}
	if err := endPartition(part, partTerms, record); err != nil {
		return v.s.listError(f, last, err)
	}
	if numTerms != meta.NumTerms || numPostings != meta.NumPostings {
		return fmt.Errorf("field %q: %d terms and %d postings, but %s has %d terms and %d postings: %w",
			meta.Name, numTerms, numPostings, fileMeta, meta.NumTerms, meta.NumPostings, base.ErrCorrupt)
	}
	return nil
}

func endPartition(p *partition, numTerms, records uint64) error {
	if p != nil && (p.numTerms != numTerms || p.recLen != records) {
		return fmt.Errorf("%s: partition of %d terms and %d bytes of records has %d and %d: %w",
			fileTerms, p.numTerms, p.recLen, numTerms, records, base.ErrCorrupt)
	}
	return nil
}

func (v *segmentVerifier) verifyList(f base.FieldID, m *postings.Meta) error {
	s := v.s
	if err := v.place(s.postings, &v.postings, m.Offset, m.Length, 16); err != nil {
		return err
	}
	if err := v.place(s.frontiers, &v.frontiers, m.FrontierOffset, m.FrontierLength, 1); err != nil {
		return err
	}
	hasPositions := s.positions != nil && !s.meta.Fields[f].Weights
	if hasPositions != (m.PosLength > 0) {
		return fmt.Errorf("%d bytes of positions: %w", m.PosLength, base.ErrCorrupt)
	}
	if hasPositions {
		if err := v.place(s.positions, &v.positions, m.PosOffset, m.PosLength, 4); err != nil {
			return err
		}
	}
	var l postings.List
	if err := s.openList(f, m, Positions|Frontiers, &l); err != nil {
		return err
	}
	return l.Verify(v.lengths[f], s.meta.Saturation(f))
}

// place checks that a list directly follows the previous one, except for zeros for
// alignment.
func (v *segmentVerifier) place(file *sealed.File, next *uint64, offset, length, align uint64) error {
	if offset < *next || offset-*next >= align || offset > file.Len() || length > file.Len()-offset {
		return fmt.Errorf("%s: list at %d, %d bytes, the one before ends at %d of %d: %w",
			file.Name(), offset, length, *next, file.Len(), base.ErrCorrupt)
	}
	if err := zeros(file, *next, offset); err != nil {
		return err
	}
	*next = offset + length
	return nil
}

// verifyEnds checks that the lists fill their files, except for alignment.
func (v *segmentVerifier) verifyEnds() error {
	for _, e := range []struct {
		file *sealed.File
		next uint64
	}{{v.s.postings, v.postings}, {v.s.positions, v.positions}, {v.s.frontiers, v.frontiers}} {
		if e.file == nil {
			continue
		}
		if e.file.Len()-e.next >= 16 {
			return fmt.Errorf("%s: %d bytes after the last list: %w", e.file.Name(), e.file.Len()-e.next, base.ErrCorrupt)
		}
		if err := zeros(e.file, e.next, e.file.Len()); err != nil {
			return err
		}
	}
	return nil
}

func zeros(file *sealed.File, from, to uint64) error {
	b, err := file.Range(from, to-from)
	if err != nil {
		return err
	}
	for i, x := range b {
		if x != 0 {
			return fmt.Errorf("%s: byte %d is %#x between lists, want 0: %w", file.Name(), from+uint64(i), x, base.ErrCorrupt)
		}
	}
	return nil
}
