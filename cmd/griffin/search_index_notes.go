package main

import (
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
)

// maxNotes limits the files of one kind that notes name.
const maxNotes = 10

// noteOptions choose the notes about the input.
type noteOptions struct{ verbose, listSkipped bool }

// noteInput reports split and skipped files, all of them with verbose, and the notes of the
// index.
func noteInput(con *console, r griffin.FilesReport, verbose bool) {
	limit := maxNotes
	if verbose {
		limit = max(len(r.Collections), len(r.Notes))
	}
	for _, c := range r.Collections[:min(limit, len(r.Collections))] {
		con.notef("%s", describeCollection(c))
	}
	if more := len(r.Collections) - limit; more > 0 {
		con.notef("%s more were split into records (--verbose lists them)", plural(more, "file"))
	}
	for _, note := range r.Notes[:min(limit, len(r.Notes))] {
		con.notef("note: %s", note)
	}
	if more := len(r.Notes) - limit; more > 0 {
		con.notef("%s more (--verbose lists them)", plural(more, "note"))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.SkippedBy)) {
		con.notef("skipped: %s: %s", reason, count(r.SkippedBy[reason]))
		if !verbose {
			continue
		}
		for _, s := range r.SkippedFiles {
			if s.Reason == reason {
				con.notef("  %s", s.File)
			}
		}
	}
}

// listSkipped prints the files that were left out.
func listSkipped(con *console, r griffin.FilesReport) {
	for _, s := range r.SkippedFiles {
		con.printf("skipped: %s: %s\n", s.File, s.Reason)
	}
	if more := r.Skipped - int64(len(r.SkippedFiles)); more > 0 {
		con.printf("skipped: %s, and files beyond the first 10,000\n", plural(more, "record"))
	}
}

// findPDFToText looks for the program that converts PDF files: the named one, or pdftotext if that is
// installed.
func findPDFToText(program *string) error {
	if *program == "" {
		*program, _ = exec.LookPath("pdftotext") // without it, PDF files are skipped
		return nil
	}
	found, err := exec.LookPath(*program)
	if err != nil {
		return usagef("--pdftotext %s: no such program: install poppler-utils, or name another converter", *program)
	}
	*program = found
	return nil
}

func describeCollection(c griffin.Collection) string {
	var parts []string
	add := func(part string, names []string) {
		if len(names) > 0 {
			parts = append(parts, part+": "+shortList(names))
		}
	}
	add("id", c.ID)
	add("title", c.Title)
	add("text", c.Text)
	add("fields", c.Fields)
	if c.Numbered > 0 {
		parts = append(parts, plural(c.Numbered, "record")+" without an id numbered")
	}
	if c.Recoded > 0 {
		parts = append(parts, plural(c.Recoded, "record")+" read as Windows-1252")
	}
	line := c.File + ": " + plural(c.Records, "record") + " of format " + c.Format
	if len(parts) > 0 {
		line += " (" + strings.Join(parts, "; ") + ")"
	}
	return line
}

func shortList(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + count(len(names)-most) + " more"
}
