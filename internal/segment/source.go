package segment

import (
	"github.com/griffin-search/griffin/internal/base"
)

// Source is one input of Write: documents in memory, a partial index, a segment
// or a CIFF file. Its documents are numbered from 0 in their final order.
//
// A Source is not safe for concurrent use, with one exception: while one
// goroutine reads an iterator of Lists, a second may call ID, and a third may
// read the StoredReader.
type Source interface {
	// NumDocs is the number of documents, including dropped ones.
	NumDocs() int
	// Dropped are the documents to leave out: deleted, or superseded by a later
	// document with the same id. nil: none.
	Dropped() *Bitmap
	// Lengths returns the number of tokens of each document in a field:
	// [NumDocs]uint32, or nil if the source lacks the field. The caller must
	// not change it.
	Lengths(field base.FieldID) []uint32
	// ID returns the external id of a document, valid until the next call.
	ID(doc int) []byte
	// Stored returns the stored fields of all documents, in order, or nil if
	// the source stores none. The caller closes it.
	Stored() (*StoredReader, error)
	// Lists iterates over the posting lists by (field, term bytes), in strictly
	// rising order.
	Lists() (ListIterator, error)
}

// ListIterator iterates over the posting lists of a Source.
type ListIterator interface {
	// Next moves to the next list. It returns false at the end or on an error.
	Next() bool
	// Field and Term identify the list; Term is valid until Next.
	Field() base.FieldID
	Term() []byte
	// DocFreq is the number of postings of the list, including dropped ones.
	DocFreq() int
	// ReadBlock fills b with the next postings of the list. b.N is 0 only at
	// the end. Next skips unread postings.
	ReadBlock(b *PostingBlock) error
	// Err returns the error that stopped the iteration, if any.
	Err() error
	Close() error
}

// PostingBlock carries up to 128 postings from a Source to Write.
type PostingBlock struct {
	N      int
	DocIDs [128]uint32 // rising
	Freqs  [128]uint32 // each >= 1
	// Positions holds the positions of each posting as Freq vbyte gaps; the
	// first gap is the position itself. It is empty if the source lacks
	// positions, and valid until the next ReadBlock.
	Positions []byte
}
