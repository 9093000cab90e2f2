// Package interchange moves inverted indexes between Griffin's segments and the
// Common Index File Format of package ciff, both ways without loss of what both
// can hold: the lists of the default field, document lengths and external ids.
//
// A CIFF file has no further fields, no positions and no stored documents; what
// an index has of them is not exported, and an imported one has none. The terms
// are taken over as they are: to find anything, the index must analyse queries
// as the exporter analysed its documents.
//
// Import side: Source makes a file a segment.Source, for index.Index.Import.
// Export side: Export writes the live documents of segments to a ciff.Writer.
// Both stream and hold one posting list at a time, and some bytes a document.
package interchange
