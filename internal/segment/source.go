package segment

import (
	"github.com/griffin-search/griffin/internal/base"
)

// Source is one input of Write: an inverted batch of documents in memory, a
// spilled run of it, a segment to be merged, a CIFF file. Its documents are
// numbered from 0 in their final order.
//
// A Source is for one goroutine, but for this: while one reads an iterator that
// Lists returned, another may call ID, and a third read what Stored returned.
type Source interface {
	// NumDocs is the number of documents, dropped ones included.
	NumDocs() int
	// Dropped tells which documents are left out of the result (deleted, or
	// superseded by a later document with the same id). nil: none.
	Dropped() *Bitmap
	// Lengths returns the number of tokens of each document in a field:
	// [NumDocs]uint32, or nil for a field that the source does not have. It
	// must not be changed.
	Lengths(field base.FieldID) []uint32
	// ID returns the external id of a document, valid until the next call.
	ID(doc int) []byte
	// Stored returns the stored fields of all documents, in order; nil if
	// the source stores none. The caller closes it.
	Stored() (*StoredReader, error)
	// Lists starts an iteration over the posting lists, in rising (field,
	// term bytes) order, no (field, term) twice.
	Lists() (ListIterator, error)
}

// ListIterator steps through the posting lists of a Source.
type ListIterator interface {
	// Next moves to the next list; false at the end or on an error.
	Next() bool
	// Field and Term name the list; Term is valid until Next.
	Field() base.FieldID
	Term() []byte
	// DocFreq is the number of postings of the list, dropped ones included.
	DocFreq() int
	// ReadBlock fills b with the next postings of the list: at least one while
	// there are any, none (b.N == 0) at its end. What is not read is skipped by Next.
	ReadBlock(b *PostingBlock) error
	// Err returns the error that ended the iteration early.
	Err() error
	Close() error
}

// PostingBlock carries up to 128 postings from a Source to Write.
type PostingBlock struct {
	N      int
	DocIDs [128]uint32 // rising
	Freqs  [128]uint32 // each >= 1
	// Positions holds, if the source has positions, for each posting its Freq
	// positions as vbyte gaps (the first is the position itself), one posting
	// after another. Valid until the next ReadBlock.
	Positions []byte
}
