package ciff

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Writer writes a CIFF file: NewWriter, WriteList and WriteDoc for the announced numbers of
// records, Close.
type Writer struct {
	out      *bufio.Writer
	header   Header
	numLists int32
	numDocs  int32
	buf      []byte
	err      error // sticky
}

// NewWriter writes the header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("ciff: header: %w: %w", ErrInvalid, err)
	}
	wr := &Writer{out: bufio.NewWriterSize(w, windowBytes), header: h}
	wr.buf = h.append(wr.buf)
	return wr, wr.message(wr.buf)
}

// WriteList writes the next posting list; ErrInvalid if it is invalid.
func (w *Writer) WriteList(l *PostingsList) error {
	if w.err != nil {
		return w.err
	}
	if err := w.checkList(l); err != nil {
		return fmt.Errorf("ciff: posting list %d (term %.80q): %w: %w", w.numLists, l.Term, ErrInvalid, err)
	}
	b := w.buf[:0]
	if l.Term != "" {
		b = protowire.AppendTag(b, listTerm, protowire.BytesType)
		b = protowire.AppendString(b, l.Term)
	}
	b = appendInt(b, listDF, int64(len(l.Postings)))
	b = appendInt(b, listCF, l.CollFreq())
	size, previous := int64(len(b)), int32(0)
	for _, p := range l.Postings {
		n := postingBytes(p.DocID-previous, p.TF)
		size += 1 + int64(protowire.SizeBytes(n))
		previous = p.DocID
	}
	if size > math.MaxInt32 {
		return fmt.Errorf("ciff: posting list %d (term %.80q): %w: %d bytes exceed the maximum size of a message", w.numLists, l.Term, ErrInvalid, size)
	}
	w.buf = b
	var length [10]byte
	w.write(protowire.AppendVarint(length[:0], uint64(size)))
	w.write(b)
	previous = 0
	for _, p := range l.Postings {
		b = protowire.AppendTag(b[:0], listPostings, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(postingBytes(p.DocID-previous, p.TF)))
		b = appendInt(b, postingDocID, int64(p.DocID-previous))
		b = appendInt(b, postingTF, int64(p.TF))
		w.write(b)
		previous = p.DocID
	}
	w.numLists++
	return w.err
}

func (w *Writer) checkList(l *PostingsList) error {
	switch {
	case w.numLists == w.header.NumPostingsLists:
		return fmt.Errorf("the header announces %d lists", w.header.NumPostingsLists)
	case !utf8.ValidString(l.Term):
		return fmt.Errorf("the term is not UTF-8")
	case len(l.Term) > maxStringBytes:
		return fmt.Errorf("the term has %d bytes", len(l.Term))
	}
	previous := int32(-1)
	for i, p := range l.Postings {
		if p.DocID <= previous || p.DocID >= w.header.NumDocs || p.TF < 1 {
			return fmt.Errorf("posting %d: docid %d after %d of %d, term frequency %d", i, p.DocID, previous, w.header.NumDocs, p.TF)
		}
		previous = p.DocID
	}
	return nil
}

// WriteDoc writes the next document record; ErrInvalid if it is invalid or posting lists are
// missing.
func (w *Writer) WriteDoc(d *DocRecord) error {
	if w.err != nil {
		return w.err
	}
	err := d.check(w.numDocs)
	switch {
	case err != nil:
	case w.numLists < w.header.NumPostingsLists:
		err = fmt.Errorf("only %d of %d posting lists were written", w.numLists, w.header.NumPostingsLists)
	case w.numDocs == w.header.NumDocs:
		err = fmt.Errorf("the header announces %d documents", w.header.NumDocs)
	case !utf8.ValidString(d.CollectionDocID):
		err = fmt.Errorf("the id is not UTF-8")
	case len(d.CollectionDocID) > maxStringBytes:
		err = fmt.Errorf("the id has %d bytes", len(d.CollectionDocID))
	}
	if err != nil {
		return fmt.Errorf("ciff: document record %d: %w: %w", w.numDocs, ErrInvalid, err)
	}
	b := appendInt(w.buf[:0], docDocID, int64(d.DocID))
	b = protowire.AppendTag(b, docCollectionDocID, protowire.BytesType)
	b = protowire.AppendString(b, d.CollectionDocID)
	b = appendInt(b, docDocLength, int64(d.DocLength))
	w.buf = b
	w.numDocs++
	return w.message(b)
}

// Close flushes, but does not close the underlying writer; ErrInvalid if records are missing.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if w.numLists != w.header.NumPostingsLists || w.numDocs != w.header.NumDocs {
		return fmt.Errorf("ciff: %w: %d of %d posting lists and %d of %d document records were written",
			ErrInvalid, w.numLists, w.header.NumPostingsLists, w.numDocs, w.header.NumDocs)
	}
	return w.out.Flush()
}

func (w *Writer) message(b []byte) error {
	var length [10]byte
	w.write(protowire.AppendVarint(length[:0], uint64(len(b))))
	w.write(b)
	return w.err
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
}

func postingBytes(gap, tf int32) int {
	n := 1 + protowire.SizeVarint(uint64(tf))
	if gap > 0 {
		n += 1 + protowire.SizeVarint(uint64(gap))
	}
	return n
}

// Zero is omitted.
func appendInt(b []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
}

func (h *Header) append(b []byte) []byte {
	b = appendInt(b, headerVersion, int64(h.Version))
	b = appendInt(b, headerNumPostingsLists, int64(h.NumPostingsLists))
	b = appendInt(b, headerNumDocs, int64(h.NumDocs))
	b = appendInt(b, headerTotalPostingsLists, int64(h.TotalPostingsLists))
	b = appendInt(b, headerTotalDocs, int64(h.TotalDocs))
	b = appendInt(b, headerTotalTerms, h.TotalTermsInCollection)
	if h.AverageDocLength != 0 {
		b = protowire.AppendTag(b, headerAverageDocLength, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, math.Float64bits(h.AverageDocLength))
	}
	if h.Description != "" {
		b = protowire.AppendTag(b, headerDescription, protowire.BytesType)
		b = protowire.AppendString(b, h.Description)
	}
	return b
}
