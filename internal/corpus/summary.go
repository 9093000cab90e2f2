package corpus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
)

// Summary describes how a corpus was read.
type Summary struct {
	// Collections are the files that were split, in corpus order.
	Collections []Collection
	// Names are the documents' field names, sorted, at most MaxFields. "title" is among them if
	// a document has a title.
	Names []string
	// Skipped are the files left out, sorted, at most MaxListedFiles. NumSkipped counts all
	// files and records by reason.
	Skipped    []SkippedFile
	NumSkipped map[string]int64
	// Notes are remarks on files that could be read in another way, sorted, at most
	// MaxListedFiles.
	Notes []string
}

// MaxListedFiles bounds a Summary's lists.
const MaxListedFiles = 10_000

// Collection is a file that was split into records.
type Collection struct {
	File, Format string
	Records      int64 // good ones
	// ID, Title and Text are the fields that became these parts; empty for formats without
	// named fields.
	ID, Title, Text []string
	// Fields are the other kept names, sorted.
	Fields []string
	// Numbered counts records without an id; theirs are file:number.
	Numbered int64
	// Recoded counts records read as Windows-1252, not UTF-8.
	Recoded int64
}

// SkippedFile was left out.
type SkippedFile struct{ File, Reason string }

// Reasons to leave out a file or a record, besides notOfFormat.
const (
	skippedHidden = "hidden"
	skippedIndex  = "an index of Griffin"
	skippedDevice = "neither a file nor a folder"
	skippedLink   = "a link to a file that was read under its own name"
	skippedBinary = "not text"
	skippedEmpty  = "empty"
	skippedCIFF   = "posting lists (import them with: griffin ciff import)"
	skippedRecord = "records without a document"
	skippedNoText = "no text in it"
	skippedPDF    = "PDF (needs the program pdftotext, of the package poppler-utils)"
)

func notOfFormat(name string) string { return "not of format " + name }

// summary is safe for concurrent use.
type summary struct {
	records atomic.Int64 // skipped

	mu          sync.Mutex
	collections []*collection
	names       map[string]bool
	skipped     []SkippedFile
	numSkipped  map[string]int64
	notes       []string
}

func (s *summary) skip(file, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.numSkipped == nil {
		s.numSkipped = map[string]int64{}
	}
	s.numSkipped[reason]++
	if len(s.skipped) < MaxListedFiles {
		s.skipped = append(s.skipped, SkippedFile{file, reason})
	}
}

func (s *summary) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notes) < MaxListedFiles {
		s.notes = append(s.notes, text)
	}
}

func (s *summary) total() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.records.Load()
	for _, count := range s.numSkipped {
		n += count
	}
	return n
}

func (s *summary) collection(in input, format string) *collection {
	c := &collection{number: in.number, Collection: Collection{File: in.path, Format: format}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collections = append(s.collections, c)
	return c
}

func (s *summary) result() Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Summary{Names: slices.Sorted(maps.Keys(s.names)), NumSkipped: map[string]int64{}}
	maps.Copy(out.NumSkipped, s.numSkipped)
	if n := s.records.Load(); n > 0 {
		out.NumSkipped[skippedRecord] = n
	}
	out.Skipped = slices.Clone(s.skipped)
	base.Sort(out.Skipped, func(a, b SkippedFile) int { return cmp.Compare(a.File, b.File) })
	out.Notes = slices.Clone(s.notes)
	base.SortStable(s.collections, func(a, b *collection) int { return cmp.Compare(a.number, b.number) })
	for _, c := range s.collections {
		out.Collections = append(out.Collections, c.result())
		if note := c.note(); note != "" && len(out.Notes) < MaxListedFiles {
			out.Notes = append(out.Notes, note)
		}
	}
	slices.Sort(out.Notes)
	return out
}

type collection struct {
	number int // of the input

	mu sync.Mutex
	Collection
	names map[string]bool

	short      int64
	firstShort Location
}

// note returns a remark on the records, or "".
func (c *collection) note() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.short == 0 {
		return ""
	}
	return fmt.Sprintf("%s: rows with fewer cells than the header row: %d, the first at line %d; the missing cells are empty", c.File, c.short, c.firstShort.Line)
}

func (c *collection) result() Collection {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.Collection
	out.ID, out.Title, out.Text = slices.Sorted(slices.Values(c.ID)), slices.Sorted(slices.Values(c.Title)), slices.Sorted(slices.Values(c.Text))
	out.Fields = slices.Sorted(maps.Keys(c.names))
	return out
}

// tally counts one batch's documents, for one goroutine.
type tally struct {
	records int64
	titled  bool
	last    []string // names of the fields of the last document
	names   map[string]bool
}

func (t *tally) add(d *Document) {
	t.records++
	t.titled = t.titled || d.Title != ""
	for i := range d.Extra {
		name := d.Extra[i].Name
		if i < len(t.last) && t.last[i] == name {
			continue // most records have the fields of the one before
		}
		t.last = append(t.last[:min(i, len(t.last))], name)
		t.names = addName(t.names, name)
	}
}

func addName(names map[string]bool, name string) map[string]bool {
	if names == nil {
		names = map[string]bool{}
	}
	if len(names) < MaxFields {
		names[name] = true
	}
	return names
}

// c is nil for files that are documents.
func (s *summary) merge(t *tally, c *collection) {
	if c != nil {
		c.mu.Lock()
		c.Records += t.records
		for name := range t.names {
			c.names = addName(c.names, name)
		}
		c.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.titled {
		s.names = addName(s.names, "title")
	}
	for name := range t.names {
		s.names = addName(s.names, name)
	}
}

func (s *summary) counted(b *Batch, c *collection) *Batch {
	parse := b.Parse
	b.Parse = func(doc func(*Document) error, bad func(*RecordError) error) error {
		var t tally
		defer s.merge(&t, c)
		return parse(func(d *Document) error { t.add(d); return doc(d) }, bad)
	}
	return b
}

type roleTally struct {
	id, title, text   []string
	numbered, recoded int64

	short      int64    // rows with fewer cells than the header row
	firstShort Location // of the batch
}

func (t *roleTally) addShort(at Location) {
	if t.short++; t.short == 1 {
		t.firstShort = at
	}
}

func (t *roleTally) add(r *roles) {
	addRole(&t.id, r.id)
	addRole(&t.title, r.title)
	addRole(&t.text, r.text)
}

// The last name is looked at first.
func addRole(names *[]string, name []byte) {
	if n := len(*names); name == nil || n > 0 && (*names)[n-1] == string(name) {
		return
	}
	if !slices.Contains(*names, string(name)) {
		*names = append(*names, string(name))
	}
}

func (c *collection) addRoles(t *roleTally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, role := range []struct {
		to    *[]string
		names []string
	}{{&c.ID, t.id}, {&c.Title, t.title}, {&c.Text, t.text}} {
		for _, name := range role.names {
			addRole(role.to, []byte(name))
		}
	}
	c.Numbered += t.numbered
	c.Recoded += t.recoded
	if t.short > 0 && (c.short == 0 || t.firstShort.Line < c.firstShort.Line) {
		c.firstShort = t.firstShort
	}
	c.short += t.short
}
