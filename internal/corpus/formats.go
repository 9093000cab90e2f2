package corpus

import (
	"fmt"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Names of the formats.
const (
	formatAuto     = "auto"
	formatFolder   = "folder"
	formatJSONL    = "jsonl"
	formatTRECText = "trectext"
	formatTRECWeb  = "trecweb"
	formatTSV      = "msmarco-tsv"
	formatWARC     = "warc"
	formatCIFF     = "ciff" // recognised, but read by package ciff
)

// format is one way to read a corpus.
type format struct {
	name, description string
	// split returns the splitter of a stream; nil for formats that are not
	// read as streams.
	split func(s *stream, r *reader) splitter
}

var formats = []format{
	{formatAuto, "tell by folder, file name and content", nil},
	{formatFolder, "folder of text, Markdown, HTML and source files, one document each", nil},
	{formatJSONL, "JSON Lines: one object a line, as BEIR, Anserini and Pyserini write them", splitJSONL},
	{formatTRECText, "TREC text: <DOC> with <DOCNO>, <HEADLINE>, <TEXT> and the like", splitTRECText},
	{formatTRECWeb, "TREC web: <DOC> with <DOCNO>, <DOCHDR> and a page", splitTRECWeb},
	{formatTSV, "MS MARCO: id, text or id, url, title, body separated by tabs", splitTSV},
	{formatWARC, "WARC and WET: pages and texts of web crawls", splitWARC},
}

// Formats returns the names that Options.Format may have.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// Describe returns one line about a format, or "" if there is none of that name.
func Describe(name string) string {
	for _, f := range formats {
		if f.name == name {
			return f.description
		}
	}
	return ""
}

// findFormat returns the format of the given name. ErrBadInput if there is none.
func findFormat(name string) (*format, error) {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i], nil
		}
	}
	if name == formatCIFF {
		return nil, fmt.Errorf("CIFF files hold posting lists, not documents: make an index of them with: griffin ciff import: %w", base.ErrBadInput)
	}
	return nil, fmt.Errorf("unknown format %q (known: %s): %w", name, strings.Join(Formats(), ", "), base.ErrBadInput)
}

func splitJSONL(s *stream, r *reader) splitter {
	return splitLines(s, r, func() lineParser { return &jsonParser{opts: &r.opts} })
}

func splitTSV(s *stream, r *reader) splitter {
	return splitLines(s, r, func() lineParser { return &tsvParser{opts: &r.opts} })
}

func splitLines(s *stream, r *reader, newParser func() lineParser) splitter {
	limit := r.opts.MaxRecordBytes
	return newTextSplitter(s, limit, &lineSyntax{limit: limit, newParser: newParser})
}

func splitTRECText(s *stream, r *reader) splitter {
	limit := r.opts.MaxRecordBytes
	return newTextSplitter(s, limit, newTRECSyntax(s, limit, parseTRECText(&r.opts)))
}

func splitTRECWeb(s *stream, r *reader) splitter {
	limit := r.opts.MaxRecordBytes
	return newTextSplitter(s, limit, newTRECSyntax(s, limit, parseTRECWeb(&r.opts)))
}

func splitWARC(s *stream, r *reader) splitter { return newWARCSplitter(s, r) }
