package griffin

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/suggest"
)

// Reorder is the order in which documents are written. Other values are ErrBadInput.
type Reorder string

const (
	// ReorderNone keeps the order in which documents were added. It is the default.
	ReorderNone Reorder = index.ReorderNone
	// ReorderBP renumbers documents by recursive graph bisection, so that similar ones are
	// neighbours: the index is smaller and faster.
	ReorderBP Reorder = index.ReorderBP
)

// FilesOptions configure how IndexFiles reads its input. The zero value recognises everything
// by itself.
type FilesOptions struct {
	// Format is one of Formats; "" recognises it.
	Format string
	// IDField, TitleField and TextField name the parts of JSON and CSV records; "" for the
	// usual names, dotted for members of objects: "meta.author".
	IDField, TitleField, TextField string
	// ExtraFields names the other fields of records to keep, each with the fields below it; nil
	// keeps all.
	ExtraFields []string
	// PDFToText is the program that converts PDF files, pdftotext of poppler or one like it: it gets
	// the arguments -q -enc UTF-8 - -, and the file on its standard input. "": PDF files are skipped.
	PDFToText string
	// Stdin is the input for the path "-"; nil: os.Stdin.
	Stdin io.Reader
	// MaxErrors is the number of bad records to skip before indexing ends with an error; -1:
	// unlimited.
	MaxErrors int
	// Reorder is the order of the new documents; "": ReorderNone.
	Reorder Reorder
	// Progress, if set, is called a few times a second and at the end.
	Progress func(Progress)
	// OnBadRecord, if set, is called for each record that could not be used; the error has file
	// and line.
	OnBadRecord func(error)
	// OnDuplicate, if set, is called for each document that replaces an earlier one of the
	// input; earlier and later are places such as "a.jsonl:7".
	OnDuplicate func(id, earlier, later string)
}

// Progress is the progress of IndexFiles.
type Progress struct {
	// Phase is "read", "merge", "reorder" or "write"; in Index.Merge also "impacts".
	Phase string
	// Done and Total are bytes of input, as stored, while reading and thousandths otherwise; an
	// unknown Total is 0.
	Done, Total int64
	// Docs is the number of documents already indexed, Bytes the size of their uncompressed input.
	Docs, Bytes int64
	BadRecords  int64 // passed over so far
	Elapsed     time.Duration
}

// FilesReport is the result of IndexFiles.
type FilesReport struct {
	Docs       int64         `json:"docs"`        // indexed
	InputBytes int64         `json:"input_bytes"` // of the records, uncompressed
	BadRecords int64         `json:"bad_records"` // passed over
	Duplicates int64         `json:"duplicates"`  // left out for a later document of the input with the same ID
	Replaced   int64         `json:"replaced"`    // documents that the index had and that have the ID of a new one
	Skipped    int64         `json:"skipped"`     // files without text, and records without a document
	Took       time.Duration `json:"took_ns"`
	// SkippedBy counts Skipped by reason. SkippedFiles are the files among them,
	// sorted, at most 10,000.
	SkippedBy    map[string]int64 `json:"skipped_by,omitempty"`
	SkippedFiles []SkippedFile    `json:"skipped_files,omitempty"`
	// Collections are the files that were split into records, in input order.
	Collections []Collection `json:"collections,omitempty"`
	// Notes are remarks for the user: declared fields that no document has, files that could be
	// read in another way.
	Notes []string `json:"notes,omitempty"`
}

// Collection is a file that IndexFiles split into records.
type Collection struct {
	File    string `json:"file"`
	Format  string `json:"format"`
	Records int64  `json:"records"` // good ones
	// ID, Title and Text are the field names of records that became these parts of documents,
	// and Fields the other fields that were kept.
	ID     []string `json:"id,omitempty"`
	Title  []string `json:"title,omitempty"`
	Text   []string `json:"text,omitempty"`
	Fields []string `json:"fields,omitempty"`
	// Numbered counts records without an id; their IDs are file:line, or file:number in a JSON
	// list.
	Numbered int64 `json:"numbered,omitempty"`
	// Recoded counts records that are not UTF-8 and were read as Windows-1252.
	Recoded int64 `json:"recoded,omitempty"`
}

// SkippedFile is a file that IndexFiles left out, and why.
type SkippedFile struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// IndexFiles adds the documents of files and folders, "-" being standard input, and commits
// them all at once. It reads in parallel within Options.IndexMemory. The error wraps ErrLocked
// if this or another process has uncommitted changes.
func (ix *Index) IndexFiles(ctx context.Context, paths []string, opts FilesOptions) (FilesReport, error) {
	began := time.Now()
	reader, err := corpus.Open(paths, corpus.Options{
		Format: opts.Format, IDField: opts.IDField, TitleField: opts.TitleField, TextField: opts.TextField,
		ExtraFields: opts.ExtraFields, DropExtra: dropsExtra(ix.ix.Options()), Stdin: opts.Stdin, PDFToText: opts.PDFToText,
		Weights: ix.ix.Options().Weighted(), Mapped: inverter.Mapped(ix.ix.Options().Mapping),
	})
	if err != nil {
		return FilesReport{}, err
	}
	build := index.BuildOptions{
		MemoryBytes: ix.options.IndexMemory, Threads: ix.options.IndexThreads, MaxErrors: opts.MaxErrors, Reorder: string(opts.Reorder),
	}
	if opts.Progress != nil {
		build.Progress = func(p index.Progress) { opts.Progress(progressOf(p, time.Since(began))) }
	}
	if opts.OnBadRecord != nil {
		build.OnBadRecord = func(e *corpus.RecordError) { opts.OnBadRecord(e) }
	}
	if opts.OnDuplicate != nil {
		build.OnDuplicate = func(id string, earlier, later corpus.Location) {
			opts.OnDuplicate(id, earlier.String(), later.String())
		}
	}
	if err := recoverLog(ctx, ix.ix); err != nil {
		return FilesReport{}, err
	}
	r, err := ix.ix.Build(ctx, reader, build)
	if err != nil {
		return FilesReport{}, fmt.Errorf("index files: %w", err)
	}
	report := FilesReport{
		Docs: r.Docs, InputBytes: r.Bytes, BadRecords: r.BadRecords, Duplicates: r.Duplicates,
		Replaced: r.Replaced, Skipped: r.Skipped, Took: time.Since(began),
	}
	summary := reader.Summary()
	report.SkippedBy, report.Notes = summary.NumSkipped, summary.Notes
	for _, s := range summary.Skipped {
		report.SkippedFiles = append(report.SkippedFiles, SkippedFile(s))
	}
	for _, c := range summary.Collections {
		report.Collections = append(report.Collections, Collection(c))
	}
	if r.Docs > 0 {
		report.Notes = append(report.Notes, absentFields(declaredNames(ix.ix.Options()), summary.Names)...)
	}
	return report, nil
}

// declaredNames are the fields that documents can have.
func declaredNames(o index.Options) []string {
	if o.Mapping == nil {
		return o.Fields
	}
	var names []string
	for _, f := range o.Mapping.Fields() {
		if f.Of == "" && f.Type != mapping.Object && len(o.Mapping.Sources(f.Name)) == 1 { // else others are copied to it
			names = append(names, f.Name)
		}
	}
	return names
}

// absentFields returns a note for each declared field that no document has, except if only the
// title, the default, is declared.
func absentFields(declared, found []string) []string {
	if len(declared) == 1 && declared[0] == "title" {
		return nil
	}
	var notes []string
	for _, name := range declared {
		if slices.Contains(found, name) {
			continue
		}
		note := fmt.Sprintf("no document of the input has the field %q; ", name)
		if len(found) == 0 {
			note += "the documents have no fields"
		} else {
			note += "fields found: " + listFields(found)
		}
		if closest := suggest.Closest(name, found); closest != "" {
			note += fmt.Sprintf("; did you mean %q?", closest)
		}
		notes = append(notes, note)
	}
	return notes
}

// listFields lists at most 20 names.
func listFields(names []string) string {
	const maxListed = 20
	if len(names) <= maxListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
}

func dropsExtra(o index.Options) bool {
	if !o.NoStored || o.Mapping != nil {
		return false
	}
	for _, name := range o.Fields {
		if name != "title" {
			return false
		}
	}
	return true
}

func progressOf(p index.Progress, elapsed time.Duration) Progress {
	out := Progress{Docs: p.Docs, Bytes: p.Bytes, BadRecords: p.BadRecords, Elapsed: elapsed}
	const thousandths = 1000
	switch p.Phase {
	case index.PhaseReading:
		out.Phase, out.Done, out.Total = "read", p.InputRead, p.InputTotal
		return out
	case index.PhaseMerging:
		out.Phase = "merge"
	case index.PhaseReordering:
		out.Phase = "reorder"
	case index.PhaseWriting:
		out.Phase = "write"
	case index.PhaseImpacts:
		out.Phase = "impacts"
	}
	if p.Fraction > 0 {
		out.Done, out.Total = int64(p.Fraction*thousandths), thousandths
	}
	return out
}
