package spelling

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/automaton"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
)

// CompleteOptions are for Complete.
type CompleteOptions struct {
	// Edits is the number of edits of the beginning, of which the first PrefixLength characters are
	// equal. NoSwaps: swapped neighbours count as two.
	Edits, PrefixLength int
	NoSwaps             bool
	// Weight is a field of numbers, whose greatest value in the documents of a value is its weight; "":
	// the weight is the number of documents. Decode turns a number of the column into a weight.
	Weight string
	Decode func(int64) float64
	// Size bounds the values.
	Size int
}

// Completion is a value of the field.
type Completion struct {
	Value string
	// Edits of the beginning.
	Edits  int
	Weight float64
	// DocFreq is the number of live documents.
	DocFreq uint64
	// Best is the document with the greatest weight, of these the one written first.
	Segment int
	Doc     base.DocID

	rank uint32
}

// Complete returns the values that begin with a text in any letter case: those with the fewest edits first, of
// these the ones of the greatest weight, then in byte order. The error is the context's, or wraps
// base.ErrCorrupt.
func (d *Dictionary) Complete(ctx context.Context, text string, o *CompleteOptions) ([]Completion, error) {
	return d.complete(text, o, func(number int, values map[string]*Completion) error {
		return d.completeIn(ctx, number, text, o, values)
	})
}

// complete ranks what add finds in each segment.
func (d *Dictionary) complete(text string, o *CompleteOptions, add func(segment int, values map[string]*Completion) error) ([]Completion, error) {
	if !utf8.ValidString(text) || o.Size == 0 {
		return nil, nil
	}
	values := map[string]*Completion{}
	for i := range d.snapshot.Segments {
		if err := add(i, values); err != nil {
			return nil, err
		}
	}
	all := make([]Completion, 0, len(values))
	for value, c := range values {
		c.Value = value
		if o.Edits > 0 {
			c.Edits = automaton.BeginningEdits(text, value, o.Edits, !o.NoSwaps)
		}
		all = append(all, *c)
	}
	base.Sort(all, func(x, y Completion) int {
		return cmp.Or(cmp.Compare(x.Edits, y.Edits), cmp.Compare(y.Weight, x.Weight), strings.Compare(x.Value, y.Value))
	})
	return all[:min(len(all), o.Size)], nil
}

// completer reads the values of a segment.
type completer struct {
	view    *index.View
	segment int
	ranks   []uint32
	weights *column.Cursor
	options *CompleteOptions
	cursor  postings.Cursor
}

func (d *Dictionary) completer(number int, o *CompleteOptions) (*completer, error) {
	view := &d.snapshot.Segments[number]
	c := &completer{view: view, segment: number, options: o}
	var err error
	if c.ranks, _, err = view.Written(); err != nil || o.Weight == "" {
		return c, err
	}
	weights, found, err := view.Column(o.Weight)
	if err != nil {
		return nil, err
	}
	if found {
		c.weights = weights.Cursor()
	}
	return c, nil
}

func (d *Dictionary) completeIn(ctx context.Context, number int, text string, o *CompleteOptions, values map[string]*Completion) error {
	c, err := d.completer(number, o)
	if err != nil {
		return err
	}
	view := c.view
	it := segment.TermsMatching(view.Segment, d.field, nil, automaton.NewBeginning(text, o.Edits, o.PrefixLength, !o.NoSwaps))
	for n := 0; it.Next(); n++ {
		if n%64 == 63 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := segment.OpenList(view.Segment, it, &d.list); err != nil {
			return err
		}
		v := values[string(it.Term())]
		if v == nil {
			v = &Completion{}
		}
		if err := c.add(v, &d.list); err != nil {
			return err
		}
		if v.DocFreq > 0 {
			values[string(it.Term())] = v
		}
	}
	return it.Err()
}

// add counts the documents of a list for a value.
func (c *completer) add(v *Completion, l *postings.List) error {
	if c.options.Weight == "" {
		return c.addAll(v, l)
	}
	c.cursor.Reset(l, nil)
	for c.cursor.NextBlock() != base.NoDocID {
		for _, d := range c.cursor.BlockDocIDs() {
			doc := base.DocID(d)
			if c.view.Live != nil && !c.view.Live.Has(int(doc)) {
				continue
			}
			if err := c.addDocument(v, doc); err != nil {
				return err
			}
		}
	}
	return c.cursor.Err()
}

// addAll counts all live documents. Unless an earlier segment has the first of them, it looks for it.
func (c *completer) addAll(v *Completion, l *postings.List) error {
	first := v.DocFreq == 0
	if v.DocFreq += c.view.Deletions.DocFreq(l); v.DocFreq == 0 {
		return nil
	}
	if v.Weight = float64(v.DocFreq); !first {
		return nil
	}
	c.cursor.Reset(l, nil)
	found := false
	for doc := c.cursor.NextGEQ(0); doc != base.NoDocID; doc = c.cursor.NextGEQ(doc + 1) {
		if c.view.Live != nil && !c.view.Live.Has(int(doc)) {
			continue
		}
		if !found || c.ranks[doc] < c.ranks[v.Doc] {
			v.Segment, v.Doc, found = c.segment, doc, true
		}
		if c.ranks == nil {
			break
		}
	}
	return c.cursor.Err()
}

func (c *completer) addDocument(v *Completion, doc base.DocID) error {
	weight := 0.0
	if c.weights != nil {
		numbers, err := c.weights.Values(doc)
		if err != nil {
			return err
		}
		if len(numbers) > 0 {
			weight = c.options.Decode(numbers[len(numbers)-1])
		}
	}
	rank := uint32(doc)
	if c.ranks != nil {
		rank = c.ranks[doc]
	}
	if c.options.Weight == "" {
		weight = v.Weight // the first document is the best
	}
	if v.DocFreq == 0 || weight > v.Weight || weight == v.Weight && v.Segment == c.segment && rank < v.rank {
		v.Weight, v.Segment, v.Doc, v.rank = weight, c.segment, doc, rank
	}
	v.DocFreq++
	if c.options.Weight == "" {
		v.Weight = float64(v.DocFreq)
	}
	return nil
}
