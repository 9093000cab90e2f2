package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// formatByExtension are the usual names of collection files, without the
// extension of a compression.
var formatByExtension = map[string]string{
	".jsonl":    formatJSONL,
	".ndjson":   formatJSONL,
	".trectext": formatTRECText,
	".trecweb":  formatTRECWeb,
	".trec":     formatTRECText,
	".tsv":      formatTSV,
	".warc":     formatWARC,
	".wet":      formatWARC,
	".ciff":     formatCIFF,
}

// compressionExtensions are removed from a name before its extension is read.
var compressionExtensions = []string{".gz", ".zst", ".zstd", ".bz2"}

// extension returns the lower-case extension of a path, without the extension of a
// compression.
func extension(path string) string {
	name := strings.ToLower(filepath.Base(path))
	for _, ext := range compressionExtensions {
		if bare, ok := strings.CutSuffix(name, ext); ok {
			name = bare
			break
		}
	}
	return filepath.Ext(name)
}

// errUndetected ends a corpus from standard input or another pipe.
var errUndetected = fmt.Errorf("cannot recognise the format of piped input, name it: %w", base.ErrBadInput)

// detect returns the format of a stream that the user named: formatFolder for a
// file that is one document. A pipe is never one document. note is the reason
// if a file with the name of a collection is one document, "" otherwise.
func detect(path string, head []byte, opts *Options, piped bool) (name, note string, err error) {
	name, note = classify(path, head, opts)
	if name != "" {
		return name, "", nil
	}
	byContent, byName := detectContent(head), formatByExtension[extension(path)]
	switch {
	case byName == formatTSV:
		return byName, "", nil // text that looks like another format is a part of it
	case byContent != "":
		return byContent, "", nil
	case byName != "":
		return byName, "", nil
	case !piped:
		return formatFolder, note, nil
	}
	if columns := bytes.Count(firstLine(head), []byte{'\t'}) + 1; columns == 2 || columns == 4 {
		return formatTSV, "", nil
	}
	return "", "", errUndetected
}

// classify returns the format of a file if its start shows that it is a
// collection whose records make documents; "" if it is one document. note is not
// empty if the file is named as a collection but is not one.
func classify(path string, head []byte, opts *Options) (name, note string) {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	if len(trimmed) == 0 {
		return "", ""
	}
	switch ext := extension(path); {
	case ext == ".ciff":
		return formatCIFF, ""
	case ext == ".csv" || ext == ".tsv":
		if _, rec := newTable(head, path, opts); rec != nil && errors.Is(rec.Err, errWithoutText) {
			return "", fmt.Sprintf("%s is one document: its first row names no title or text column (name the column, or read it as format %s if it has no header row)", Location{File: path}, formatTSV)
		} else if rec != nil {
			return "", oneDocument(path, rec)
		}
		return formatCSV, ""
	case ext == ".jsonl" || ext == ".ndjson":
		if _, rec := tryLines(trimmed, opts); rec != nil {
			return "", oneDocument(path, rec)
		}
		return formatJSONL, ""
	case trimmed[0] == '[' && (ext == ".json" || path == stdinPath):
		inner := bytes.TrimLeft(trimmed[1:], " \t\r\n")
		if len(inner) == 0 || inner[0] != '{' {
			return "", "" // a list of something else
		}
		if _, rec := tryRecord(inner, valueEnd(inner), opts); rec != nil {
			return "", oneDocument(path, rec)
		}
		return formatJSON, ""
	case kindByExtension[ext] != kindUnknown:
		return "", ""
	}
	name = detectContent(head)
	if name == formatJSONL {
		// Such a file may also hold settings or data: records must have an id.
		if r, rec := tryLines(trimmed, opts); rec != nil || r.id == nil {
			return "", ""
		}
	}
	return name, ""
}

// oneDocument is the note about a file that has the name of a collection.
func oneDocument(path string, rec *RecordError) string {
	reason := rec.Err.Error()
	if rec.Field != "" {
		reason = fmt.Sprintf("field %q: %s", rec.Field, reason)
	}
	reason = strings.TrimSuffix(reason, ": "+base.ErrBadInput.Error())
	return fmt.Sprintf("%s is one document: %s", Location{File: path}, reason)
}

// tryLines looks for a record that makes a document among the first lines. The error
// is about the first record.
func tryLines(head []byte, opts *Options) (r roles, rec *RecordError) {
	const maxLines = 10
	for range maxLines {
		end := bytes.IndexByte(head, '\n') + 1
		if end == 0 || len(bytes.TrimSpace(head[:end])) > 0 {
			found, err := tryRecord(head, end, opts)
			if err == nil {
				return found, nil
			}
			if rec == nil {
				rec = err
			}
		}
		if head = head[end:]; end == 0 || len(head) == 0 {
			break
		}
	}
	return r, rec
}

// tryRecord returns the roles of the fields of the JSON record head[:end], or of
// those within head if end is 0: the record is then longer than the part that was
// read.
func tryRecord(head []byte, end int, opts *Options) (roles, *RecordError) {
	isCut := end == 0 && len(head) > sniffBytes/2
	if end == 0 {
		end = len(head)
	}
	var scanner jsonScanner
	fields, rec := scanner.record(bytes.TrimSpace(head[:end]), MaxFields)
	if rec != nil && !isCut {
		return roles{}, rec
	}
	if rec != nil && rec.Field != "" {
		fields = append(fields, field{name: []byte(rec.Field), kind: '"'}) // the field at the cut
	}
	return (&builder{opts: opts}).choose(fields, false /* fold */)
}

// detectContent recognises formats by their first bytes, "" for none.
func detectContent(head []byte) string {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("WARC/")):
		return formatWARC
	case len(trimmed) >= 5 && bytes.EqualFold(trimmed[:5], []byte("<doc>")):
		if bytes.Contains(trimmed, []byte("<DOCHDR>")) {
			return formatTRECWeb
		}
		return formatTRECText
	case bytes.HasPrefix(trimmed, []byte("{")) && isRecord(trimmed):
		return formatJSONL
	}
	return ""
}

// isRecord reports whether the first line is a whole JSON object, or one that is
// longer than the part that was read.
func isRecord(head []byte) bool {
	line := firstLine(head)
	var scanner jsonScanner
	_, rec := scanner.object(line, MaxFields)
	return rec == nil || len(line) == len(head) && len(head) > sniffBytes/2
}

func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return line
}

// mayBe reports whether a file of a folder that is read in one format can be of
// that format.
func (f *format) mayBe(path string, head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(head) == 0 {
		return true
	}
	ext := extension(path)
	switch f.name {
	case formatJSONL:
		return ext == ".jsonl" || ext == ".ndjson" || head[0] == '{'
	case formatJSON:
		return ext == ".json" || head[0] == '[' || head[0] == '{'
	case formatCSV:
		return ext == ".csv" || ext == ".tsv"
	case formatTSV:
		columns := bytes.Count(firstLine(head), []byte{'\t'}) + 1
		return ext == ".tsv" || columns == 2 || columns == 4
	case formatTRECText, formatTRECWeb:
		return bytes.Contains(head, []byte("<DOC>")) || bytes.Contains(head, []byte("<doc>"))
	case formatWARC:
		return bytes.HasPrefix(head, []byte("WARC/"))
	}
	return true
}
