// Package corpus reads documents from files, folders and standard input ("-"): text, Markdown,
// HTML and source files, JSON Lines, JSON lists, CSV and TSV, TREC text and web, MS MARCO
// tab-separated values, WARC and WET, mail, Jupyter notebooks, Office documents, and PDF through an external
// program. It recognises formats by content and name, and
// compression (gzip, zstd, bzip2) by the first bytes.
//
// It does not analyse text. CIFF files hold posting lists: package ciff reads them.
//
// Open returns a Reader. Next decompresses the input and cuts it into Batches of whole records;
// Batch.Parse does the rest, including the opening of small files of folders. One goroutine
// calls Next, any number parse.
//
// Nothing is lost silently: a RecordError with file and line or offset reports each malformed
// record, unreadable file and truncated compressed stream, and Summary lists skipped files,
// with reasons, and how others were split.
package corpus
