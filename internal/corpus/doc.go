// Package corpus reads documents from files, folders and standard input ("-"):
// text, Markdown, HTML and source files, JSON Lines, JSON lists, CSV and TSV, TREC
// text and TREC web, MS MARCO tab-separated values, WARC and WET. It recognises the
// format of each file by its content and its name, and compressed input (gzip, zstd,
// bzip2) by its first bytes.
//
// It does not analyse text and does not use indexes. CIFF files hold posting lists,
// not documents: package ciff reads them.
//
// Open returns a Reader. Its Next decompresses the input and cuts it into Batches of
// whole records; Batch.Parse does the rest. One goroutine calls Next, any number of
// goroutines parse. Next leaves small files of folders to Parse, so that they are
// opened in parallel too.
//
// Nothing is lost silently. A RecordError with file and line or offset reports each
// malformed record, unreadable file and truncated compressed stream. Summary lists
// the files that were skipped and why, and how the others were split into records.
package corpus
