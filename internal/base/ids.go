package base

// DocID is the internal number of a document: dense, 0-based, in index order,
// local to a segment; a search adds the segment's base.
type DocID uint32

// NoDocID is greater than every DocID, and never one: an exhausted cursor returns it.
const NoDocID DocID = 1<<32 - 1

// MaxDocs bounds the documents of an index, over all segments.
const MaxDocs = 1<<32 - 2

// FieldID numbers the fields in order of declaration. Field 0, the default,
// holds the text of the whole document.
type FieldID uint16

// MaxFields includes the default field.
const MaxFields = 1 + 1000

// ListID identifies a posting list of a segment, or an impact-ordered list of an index.
type ListID uint64
