package segment

import (
	"github.com/griffin-search/griffin/internal/base"
)

// Source is one input of Write, with documents numbered from 0 in final order. It is not safe
// for concurrent use, except that beside an iterator of Lists, one goroutine may call ID and
// one read the StoredReader.
type Source interface {
	// NumDocs includes dropped documents.
	NumDocs() int
	// Dropped are documents to leave out, deleted or superseded by a later one with the id;
	// nil: none.
	Dropped() *Bitmap
	// Lengths returns each document's tokens in a field: [NumDocs]uint32, not to be changed, or
	// nil without the field. In a field of Options.UnitLengths, not 0 means a value.
	Lengths(field base.FieldID) []uint32
	// ID returns an external id, valid until the next call.
	ID(doc int) []byte
	// Order returns each document's number in the order in which the documents were written, a
	// permutation, not to be changed; nil: their order here.
	Order() ([]uint32, error)
	// Stored returns all documents' stored fields, in the order of Order, for the caller to
	// close, or nil.
	Stored() (*StoredReader, error)
	// Lists iterates by (field, term bytes), strictly rising.
	Lists() (ListIterator, error)
}

// Novel is a Source that knows of some documents that no other source, and no segment, has their id.
type Novel interface {
	Source
	// IsNew may be false for a new id. It is safe beside the other methods.
	IsNew(doc int) bool
}

// ListIterator iterates over a Source's posting lists.
type ListIterator interface {
	// Next moves to the next list, skipping unread postings; false at the end or on an error.
	Next() bool
	// Field and Term identify the list; Term is valid until Next.
	Field() base.FieldID
	Term() []byte
	// DocFreq includes dropped postings.
	DocFreq() int
	// ReadBlock fills b with the list's next postings. b.N is 0 only at the end.
	ReadBlock(b *PostingBlock) error
	// Err returns the error that stopped the iteration.
	Err() error
	Close() error
}

// PostingBlock carries up to 128 postings to Write.
type PostingBlock struct {
	N      int
	DocIDs [128]uint32 // rising
	Freqs  [128]uint32 // each >= 1
	// Positions holds each posting's positions as Freq vbyte gaps, the first from 0, valid
	// until the next ReadBlock; empty without positions.
	Positions []byte
}
