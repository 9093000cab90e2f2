package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Difference is one thing in which an index differs from the one rebuilt from its documents.
type Difference struct {
	// What differs, such as "frequency".
	What string
	// Field, Term and ID, the external id of a document, are the place. HasField tells the default
	// field "" from none.
	HasField  bool
	Field     string
	Term, ID  string
	Got, Want string
}

// Place names field, term and document.
func (d Difference) Place() string {
	var parts []string
	if d.HasField {
		parts = append(parts, fmt.Sprintf("field %q", d.Field))
	}
	if d.Term != "" {
		parts = append(parts, fmt.Sprintf("term %q", d.Term))
	}
	if d.ID != "" {
		parts = append(parts, fmt.Sprintf("document %q", d.ID))
	}
	return strings.Join(parts, ": ")
}

// CompareOptions are the options of Snapshot.Compare.
type CompareOptions struct {
	// MaxDifferences ends the comparison; 0: 1.
	MaxDifferences int
	// Progress, if not nil, receives documents and postings.
	Progress func(done, total int64)
	// SampleTerms and Seed draw terms of the rebuilt index at random.
	SampleTerms int
	Seed        uint64
}

// Comparison is the result of Snapshot.Compare. Without differences, both indexes have the counts.
type Comparison struct {
	Docs, Terms, Postings int64
	// Differences are at most MaxDifferences.
	Differences []Difference
	// Sample has up to SampleTerms terms with equal probabilities, and up to SampleTerms with
	// probabilities that rise with the document frequency.
	Sample []SampledTerm
}

// SampledTerm is a term of a field.
type SampledTerm struct{ Field, Term string }

// Compare compares the live documents of s, and their statistics and lists, with rebuilt, the index
// that s.Rebuild made. A document is identified by its rank in the order of writing.
//
// It reads both once, list by list, in the order of terms, with 4 bytes a document and, for lists of
// reordered segments, 16 MiB. Time grows with the number of segments for each term.
func (s *Snapshot) Compare(ctx context.Context, rebuilt *Snapshot, o CompareOptions) (_ Comparison, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	c := &comparer{ctx: ctx, s: s, rebuilt: rebuilt, options: o, sampler: newTermSampler(o.SampleTerms, o.Seed), maxWindow: defaultWindow}
	c.options.MaxDifferences = max(o.MaxDifferences, 1)
	err = c.compare()
	if errors.Is(err, errEnoughDifferences) {
		err = nil
	}
	if err != nil {
		return Comparison{}, err
	}
	c.result.Sample = c.sampler.terms()
	return c.result, nil
}

var errEnoughDifferences = errors.New("enough differences")

type comparer struct {
	ctx        context.Context
	s, rebuilt *Snapshot
	fresh      *View // of rebuilt; nil without documents
	options    CompareOptions
	ranks      []ranks // by segment of s
	sampler    *termSampler
	result     Comparison
	maxWindow  uint32 // postings of a reordered segment in memory

	done, total, shown int64
}

// ranks are the numbers of a segment's documents among the live ones of the index, in the order of
// writing.
type ranks struct {
	first, end uint32
	byDoc      []uint32 // nil: first + DocID
	reordered  bool
}

// Of a deleted document.
const noRank = 1<<32 - 1

func (r *ranks) of(doc uint32) uint32 {
	if r.byDoc == nil {
		return r.first + doc
	}
	return r.byDoc[doc]
}

func (c *comparer) compare() error {
	if n := len(c.rebuilt.Segments); n > 1 {
		return fmt.Errorf("compare with an index of %d segments: want 1: %w", n, base.ErrBadInput)
	}
	if err := c.countAll(); err != nil {
		return err
	}
	if c.s.NumLive != c.rebuilt.NumLive {
		return c.differ(Difference{What: "number of documents", Got: strconv.Itoa(c.s.NumLive), Want: strconv.Itoa(c.rebuilt.NumLive)})
	}
	if err := c.compareStatistics(); err != nil || c.s.NumLive == 0 {
		return err
	}
	c.fresh = &c.rebuilt.Segments[0]
	if err := c.compareDocuments(); err != nil {
		return err
	}
	for f := range c.s.Fields {
		if err := c.compareLists(base.FieldID(f)); err != nil {
			return err
		}
	}
	c.progress(c.total - c.done)
	return nil
}

// countAll numbers the documents and sets the total of the progress.
func (c *comparer) countAll() error {
	next := uint32(0)
	for i := range c.s.Segments {
		v := &c.s.Segments[i]
		numbers, _, err := v.Written()
		if err != nil {
			return err
		}
		r := ranks{first: next, reordered: numbers != nil}
		if v.Live == nil && numbers == nil {
			next += uint32(v.NumDocs())
		} else {
			r.byDoc = make([]uint32, v.NumDocs())
			for doc := range r.byDoc {
				r.byDoc[doc] = noRank
			}
			if err := v.eachWritten(0, v.NumDocs(), func(doc base.DocID) error {
				r.byDoc[doc] = next
				next++
				return nil
			}); err != nil {
				return err
			}
		}
		r.end = next
		c.ranks = append(c.ranks, r)
		for f := range v.Meta().Fields {
			c.total += int64(v.Meta().Fields[f].NumPostings)
		}
	}
	c.total += int64(next)
	return nil
}

// differ adds a difference and returns an error if there are enough.
func (c *comparer) differ(d Difference) error {
	c.result.Differences = append(c.result.Differences, d)
	if len(c.result.Differences) >= c.options.MaxDifferences {
		return errEnoughDifferences
	}
	return nil
}

// differInts is differ for numbers, if they differ.
func (c *comparer) differInts(at Difference, what string, got, want uint64) error {
	if got == want {
		return nil
	}
	at.What, at.Got, at.Want = what, strconv.FormatUint(got, 10), strconv.FormatUint(want, 10)
	return c.differ(at)
}

const progressStep = 1 << 16

func (c *comparer) progress(n int64) {
	c.done += n
	if c.options.Progress != nil && (c.done-c.shown >= progressStep || c.done >= c.total) {
		c.shown = c.done
		c.options.Progress(min(c.done, c.total), c.total)
	}
}

func (c *comparer) field(f base.FieldID) Difference {
	return Difference{HasField: true, Field: c.s.Fields[f].Name}
}

func (c *comparer) compareStatistics() error {
	for f := range c.s.Fields {
		got, want, at := &c.s.Fields[f], &c.rebuilt.Fields[f], c.field(base.FieldID(f))
		if err := c.differInts(at, "number of documents", got.NumDocs, want.NumDocs); err != nil {
			return err
		}
		if err := c.differInts(at, "number of tokens", got.TotalTokens, want.TotalTokens); err != nil {
			return err
		}
		if err := c.differInts(at, "number of postings", got.NumPostings, want.NumPostings); err != nil {
			return err
		}
	}
	return nil
}

// compareDocuments compares ids, lengths, columns and stored text.
func (c *comparer) compareDocuments() error {
	numFields := len(c.s.Fields)
	for f := range numFields {
		if err := c.fresh.CheckLengths(base.FieldID(f)); err != nil {
			return err
		}
	}
	rank, last := base.DocID(0), uint64(0)
	for i := range c.s.Segments {
		v := &c.s.Segments[i]
		for f := range numFields {
			if err := v.CheckLengths(base.FieldID(f)); err != nil {
				return err
			}
		}
		d := documentComparer{comparer: c, segment: i}
		var err error
		if d.columns, err = c.columnComparers(v); err != nil {
			return err
		}
		err = v.eachWritten(0, v.NumDocs(), func(doc base.DocID) error {
			if rank%1024 == 0 && c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			if err := d.compare(doc, rank, &last); err != nil {
				return err
			}
			rank++
			c.result.Docs++
			c.progress(1)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

type documentComparer struct {
	*comparer
	segment   int
	columns   []columnComparer
	got, want segment.StoredDoc
}

// compare compares a document; last is the number in the log of the one before.
func (d *documentComparer) compare(doc, rank base.DocID, last *uint64) error {
	v := &d.s.Segments[d.segment]
	gotID, err := v.ID(doc)
	if err != nil {
		return err
	}
	wantID, err := d.fresh.ID(rank)
	if err != nil {
		return err
	}
	at := Difference{ID: string(gotID)}
	if string(gotID) != string(wantID) {
		if err := d.differ(Difference{What: fmt.Sprintf("document %d in the order of writing", rank), Got: strconv.Quote(string(gotID)), Want: strconv.Quote(string(wantID))}); err != nil {
			return err
		}
	}
	if err := d.compareLookup(at, doc); err != nil {
		return err
	}
	for f := range d.s.Fields {
		field := base.FieldID(f)
		at.HasField, at.Field = true, d.s.Fields[f].Name
		if err := d.differInts(at, "length", uint64(v.Length(field, doc)), uint64(d.fresh.Length(field, rank))); err != nil {
			return err
		}
	}
	if err := d.compareColumns(at, doc, rank); err != nil {
		return err
	}
	version, err := v.Version(doc)
	if err != nil {
		return err
	}
	if version.Seq != 0 {
		if version.Seq < *last {
			at := Difference{ID: string(gotID), What: "number in the log", Got: strconv.FormatUint(version.Seq, 10), Want: fmt.Sprintf("%d or more, after the document before", *last)}
			if err := d.differ(at); err != nil {
				return err
			}
		}
		*last = version.Seq
	}
	return d.compareStored(v, doc, rank, string(gotID))
}

// compareLookup looks the document up by its id.
func (d *documentComparer) compareLookup(at Difference, doc base.DocID) error {
	view, found, ok, err := d.s.Lookup(at.ID)
	if err != nil || ok && view == d.segment && found == doc {
		return err
	}
	at.What, at.Got, at.Want = "found by its id", "no document", fmt.Sprintf("number %d of segment %s", doc, d.s.Segments[d.segment].Name)
	if ok {
		at.Got = fmt.Sprintf("number %d of segment %s", found, d.s.Segments[view].Name)
	}
	return d.differ(at)
}

func (d *documentComparer) compareStored(v *View, doc, rank base.DocID, id string) error {
	if err := v.Stored(doc, &d.got); err != nil {
		return err
	}
	if err := d.fresh.Stored(rank, &d.want); err != nil {
		return err
	}
	differ := func(what string, got, want any) error {
		return d.differ(Difference{ID: id, What: what, Got: fmt.Sprintf("%.80q", got), Want: fmt.Sprintf("%.80q", want)})
	}
	if string(d.got.Title) != string(d.want.Title) {
		return differ("stored title", d.got.Title, d.want.Title)
	}
	if string(d.got.Text) != string(d.want.Text) {
		return differ("stored text", d.got.Text, d.want.Text)
	}
	if len(d.got.Extra) != len(d.want.Extra) {
		return d.differInts(Difference{ID: id}, "number of stored fields", uint64(len(d.got.Extra)), uint64(len(d.want.Extra)))
	}
	for i, got := range d.got.Extra {
		want := d.want.Extra[i]
		if string(got.Name) != string(want.Name) {
			return differ("name of a stored field", got.Name, want.Name)
		}
		if string(got.Value) != string(want.Value) {
			return differ("stored field "+strconv.Quote(string(got.Name)), got.Value, want.Value)
		}
	}
	return nil
}
