// Package interchange converts inverted indexes between Griffin's segments and the Common
// Index File Format of package ciff, without loss of the data that both support: the lists
// of the default field, document lengths and external ids.
//
// A CIFF file has no other fields, no positions and no stored documents. Export omits them;
// an imported index has none. Terms are imported unchanged: the index must analyse queries
// as the exporter analysed its documents.
//
// Import: Source makes a file a segment.Source, for index.Index.Import. Export: Export
// writes the live documents of segments to a ciff.Writer. Both stream and hold one posting
// list at a time, plus some bytes per document.
package interchange
