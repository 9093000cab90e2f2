package base

// DocID is the internal number of a document: dense, 0-based, in index order.
// Within a segment DocIDs are local to it; a search adds the segment's base.
type DocID uint32

// NoDocID is past every document: a cursor that has run out stands there.
// It is never the number of a document.
const NoDocID DocID = 1<<32 - 1

// MaxDocs is how many documents one index may hold, in all its segments.
const MaxDocs = 1<<32 - 2

// FieldID numbers the fields of an index in order of declaration. Field 0 is
// the default field, which holds the text of the whole document.
type FieldID uint8

// MaxFields is how many fields, the default one included, an index may have.
const MaxFields = 64
