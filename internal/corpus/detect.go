package corpus

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// formatByExtension are the names that collection files go by, without the
// ending of a compression.
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

// compressionExtensions are stripped from a name before its extension is looked at.
var compressionExtensions = []string{".gz", ".zst", ".zstd", ".bz2"}

// extension returns the lower-case extension of a path, that of a compression left out.
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
var errUndetected = fmt.Errorf("cannot tell the format of piped input: name it: %w", base.ErrBadInput)

// detect tells the format of a stream by the start of its content and by its
// name; formatFolder means that it is one document. A pipe is not taken for one.
func detect(path string, s *stream, piped bool) (string, error) {
	head, err := s.Peek(sniffBytes)
	if len(head) == 0 && err != nil {
		head = nil // an empty or unreadable file: its reader will say so
	}
	named := formatByExtension[extension(path)]
	if byContent := detectContent(head); byContent != "" {
		if named == formatTSV || named == formatCIFF {
			return named, nil // what looks like something else is its text
		}
		return byContent, nil
	}
	if named != "" {
		return named, nil
	}
	if piped {
		if columns := bytes.Count(firstLine(head), []byte{'\t'}) + 1; columns == 2 || columns == 4 {
			return formatTSV, nil
		}
		return "", errUndetected
	}
	return formatFolder, nil
}

// detectContent recognises formats that show in their first bytes, "" if none does.
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

// isRecord tells whether the first line is a whole JSON object, or one that is
// longer than the part that was read.
func isRecord(head []byte) bool {
	line := firstLine(head)
	var scanner jsonScanner
	_, rec := scanner.object(line)
	return rec == nil || len(line) == len(head) && len(head) > sniffBytes/2
}

func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return line
}
