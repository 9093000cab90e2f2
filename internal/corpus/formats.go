package corpus

import (
	"fmt"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

const (
	formatAuto     = "auto"
	formatFolder   = "folder"
	formatJSONL    = "jsonl"
	formatTRECText = "trectext"
	formatTRECWeb  = "trecweb"
	formatJSON     = "json"
	formatCSV      = "csv"
	formatTSV      = "msmarco-tsv"
	formatWARC     = "warc"
	formatMbox     = "mbox"
	formatCIFF     = "ciff" // recognised, but read by package ciff
)

type format struct {
	name, description string
	// split is nil for formats whose files are not split.
	split func(s *stream, r *reader) splitter
}

var formats = []format{
	{formatAuto, "recognise each file by its content and name", nil},
	{formatFolder, "text, Markdown, HTML, source, PDF, Office (docx, xlsx, pptx, odt …) and mail (eml) files, Jupyter notebooks: one document each", nil},
	{formatJSONL, "JSON Lines: one object a line, as BEIR, Anserini and Pyserini write them", splitJSONL},
	{formatJSON, "JSON: a list of objects, or objects that follow one another", splitJSON},
	{formatCSV, "CSV, or TSV in files *.tsv: a header row names the columns", splitCSV},
	{formatTRECText, "TREC text: <DOC> with <DOCNO>, <HEADLINE>, <TEXT> and the like", splitTRECText},
	{formatTRECWeb, "TREC web: <DOC> with <DOCNO>, <DOCHDR> and a page", splitTRECWeb},
	{formatTSV, "MS MARCO, no header row: id, text or id, url, title, body separated by tabs", splitTSV},
	{formatWARC, "WARC and WET: pages and texts of web crawls", splitWARC},
	{formatMbox, "mbox: mail, with from, to, date and the like as fields", splitMbox},
}

// Formats returns the valid Options.Format.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// Describe describes a format in a line, "" if unknown.
func Describe(name string) string {
	for _, f := range formats {
		if f.name == name {
			return f.description
		}
	}
	return ""
}

// findFormat returns an error that wraps base.ErrBadInput for an unknown name.
func findFormat(name string) (*format, error) {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i], nil
		}
	}
	if name == formatCIFF {
		return nil, fmt.Errorf("CIFF files hold posting lists, not documents: import them with: griffin ciff import: %w", base.ErrBadInput)
	}
	return nil, fmt.Errorf("unknown format %q (known: %s): %w", name, strings.Join(Formats(), ", "), base.ErrBadInput)
}

func (r *reader) newBuilder(s *stream) builder {
	return builder{opts: &r.opts, fileID: s.id, into: s.into}
}

func splitJSONL(s *stream, r *reader) splitter {
	return splitLines(s, r, func() lineParser { return &jsonParser{builder: r.newBuilder(s)} })
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
