package base

// DocID is the internal number of a document: dense, 0-based, in index order.
// Within a segment DocIDs are local to it; a search adds the segment's base.
type DocID uint32

// NoDocID is greater than every DocID: an exhausted cursor returns it. It is never the
// number of a document.
const NoDocID DocID = 1<<32 - 1

// MaxDocs is the maximum number of documents of an index, over all its segments.
const MaxDocs = 1<<32 - 2

// FieldID numbers the fields of an index in order of declaration. Field 0 is
// the default field, which holds the text of the whole document.
type FieldID uint8

// MaxFields is the maximum number of fields of an index, including the default field.
const MaxFields = 64

// ListID identifies a posting list, or an impact-ordered list, within its file: no two lists of a
// segment, and no two impact-ordered lists of an index, have the same.
type ListID uint64
