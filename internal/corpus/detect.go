package corpus

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Usual extensions of collection files, before a compression's.
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
	".mbox":     formatMbox,
}

// Removed from a name before its extension is read.
var compressionExtensions = []string{".gz", ".zst", ".zstd", ".bz2"}

// extension returns a path's extension in lower case, without a compression's.
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

// errUndetected ends a corpus from a pipe.
var errUndetected = fmt.Errorf("cannot recognise the format of piped input, name it: %w", base.ErrBadInput)

// detect returns the format of a stream that the user named: formatFolder for a file, but never
// a pipe, that is one document. note is the reason if its name is a collection's.
func detect(path string, head []byte, opts *Options, piped bool) (name, note string, err error) {
	if !piped && converterOf(path, head) != nil {
		return formatFolder, "", nil
	}
	name, note, lacks := classify(path, head, opts)
	if name = cmp.Or(name, lacks); name != "" {
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

// classify returns a file's format if its start shows a collection whose records make
// documents, else "". note is set if the file is named as a collection but is not one, and lacks to the format that it would
// have if it had the fields that the options name: read as that format, it is an error, and not one document.
func classify(path string, head []byte, opts *Options) (name, note, lacks string) {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	if len(trimmed) == 0 {
		return "", "", ""
	}
	switch ext := extension(path); {
	case converterOf(path, head) != nil:
		return "", "", ""
	case ext == ".ciff":
		return formatCIFF, "", ""
	case ext == ".csv" || ext == ".tsv":
		if _, rec := newTable(head, path, opts); rec != nil && errors.Is(rec.Err, errWithoutText) {
			return "", fmt.Sprintf("%s is one document: its first row names no title or text column (name the column, or read it as format %s if it has no header row)", Location{File: path}, formatTSV), ""
		} else if rec != nil {
			return "", oneDocument(path, rec), lacking(rec, formatCSV)
		}
		return formatCSV, "", ""
	case ext == ".jsonl" || ext == ".ndjson":
		if _, rec := tryLines(trimmed, opts); rec != nil {
			return "", oneDocument(path, rec), lacking(rec, formatJSONL)
		}
		return formatJSONL, "", ""
	case trimmed[0] == '[' && (ext == ".json" || path == stdinPath):
		inner := bytes.TrimLeft(trimmed[1:], " \t\r\n")
		if len(inner) == 0 || inner[0] != '{' {
			return "", "", "" // a list of something else
		}
		if _, rec := tryRecord(inner, valueEnd(inner), opts); rec != nil {
			return "", oneDocument(path, rec), lacking(rec, formatJSON)
		}
		return formatJSON, "", ""
	case kindByExtension[ext] != kindUnknown:
		return "", "", ""
	}
	name = detectContent(head)
	if name == formatJSONL {
		// Such a file may hold settings or data: records must have an id.
		if r, rec := tryLines(trimmed, opts); rec != nil || r.id == nil {
			return "", "", ""
		}
	}
	return name, "", ""
}

func lacking(rec *RecordError, name string) string {
	if errors.Is(rec.Err, errNamedField) {
		return name
	}
	return ""
}

func oneDocument(path string, rec *RecordError) string {
	reason := rec.Err.Error()
	if rec.Field != "" {
		reason = fmt.Sprintf("field %q: %s", rec.Field, reason)
	}
	reason = strings.TrimSuffix(reason, ": "+base.ErrBadInput.Error())
	return fmt.Sprintf("%s is one document: %s", Location{File: path}, reason)
}

// tryLines looks for a record that makes a document among the first lines. The error is about
// the first record.
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

// tryRecord returns the roles of the fields of the JSON record head[:end], or, if end is 0, of
// those within head: the record is longer than the part that was read.
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

// detectContent recognises formats by their first bytes; "" for others.
func detectContent(head []byte) string {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("WARC/")):
		return formatWARC
	case isMbox(head):
		return formatMbox
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

// isRecord reports whether the first line is a JSON object, or its start if the line is longer
// than head.
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
	case formatMbox:
		return bytes.HasPrefix(head, []byte(fromLine))
	}
	return true
}
