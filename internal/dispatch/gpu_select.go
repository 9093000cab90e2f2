package dispatch

import (
	"context"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
)

// FieldOrder is an order of documents by a field, and by DocID if their values are equal.
type FieldOrder struct {
	Field string
	K     int
	// Desc puts the greatest values first, NoneFirst documents without a value, which are last otherwise.
	Desc, NoneFirst bool
	// Ties wants all documents with the Kth's value.
	Ties bool
	// After, if not nil, leaves out documents before a place in the order.
	After *FieldAfter
}

// FieldAfter is a place in a FieldOrder: of a value, or of the documents without one.
type FieldAfter struct {
	None   bool
	Number int64
	Term   []byte // of a keyword, in place of Number
	// Inclusive keeps documents with this value.
	Inclusive bool
}

// in returns the place in a segment, and whether documents can be there.
func (a *FieldAfter) in(c *column.Column, desc bool) (at pipeline.After, found bool, err error) {
	at = pipeline.After{None: a.None, Value: a.Number, Inclusive: a.Inclusive}
	if a.None || c.Kind() != column.Ordinals {
		return at, true, nil
	}
	ord, found, err := c.Lookup(a.Term)
	if at.Value = ord; !found { // between two terms
		at.Inclusive = true
		if desc {
			at.Value--
		}
	}
	return at, found, err
}

// Selected are documents that have the best K of each segment among them, and the number of all matches.
type Selected struct {
	Matches  int64
	Segments [][]base.DocID // of the segment, rising; of small segments all matches
	// AtAfter is the number of documents with the value of FieldOrder.After, without small segments, counted up to more than
	// pipeline.MaxK.
	AtAfter int
}

// SelectByField finds on the GPU the documents among which are the best matches of a query by a field. If the CPU
// should do it, s is nil and refusal is the reason. The error is the context's, or wraps base.ErrCorrupt.
func SelectByField(ctx context.Context, q *Query, sc *Scratch, by FieldOrder) (s *Selected, refusal string, err error) {
	t := selecting{tallying: tallying{query: q, sc: sc, fields: []string{by.Field}}, by: by}
	if refusal = t.refusal(); refusal != "" {
		return nil, refusal, nil
	}
	switch {
	case by.K < 1:
		return nil, cpuNothing, nil
	case by.K > pipeline.MaxK:
		return nil, cpuK, nil
	}
	refusal, err = t.all(ctx, (*pipeline.Ordinals).Orders, func(v *pipeline.View) bool { return v.HasSelect(t.request(0)) }, t.run)
	if refusal != "" || err != nil {
		return nil, refusal, err
	}
	return &Selected{t.counts.Matches, t.docs, t.atAfter}, "", nil
}

type selecting struct {
	tallying
	by      FieldOrder
	after   []pipeline.After // by segment, without columns zero
	found   []bool           // whether documents of the segment can be there
	docs    [][]base.DocID
	atAfter int
}

func (t *selecting) request(stage int) *pipeline.Select {
	q := t.stages[stage]
	q.K = t.by.K
	return &pipeline.Select{Query: &q, Columns: t.columns, Rising: !t.by.Desc, NoneFirst: t.by.NoneFirst, Ties: t.by.Ties, After: t.after}
}

// run selects in a stage. An error of the GPU is a refusal.
func (t *selecting) run(ctx context.Context, v *pipeline.View, stage int) (refusal string, err error) {
	q := t.query
	if err := t.makeMasks(ctx); err != nil {
		return "", err
	}
	if err := t.findAfter(); err != nil {
		return "", err
	}
	one := t.request(stage)
	if err := v.Select(ctx, one, nil); err != nil {
		return "", err
	}
	if one.Err != nil {
		return one.Err.Error(), nil //nolint:nilerr // the CPU sorts then
	}
	t.counts.Matches, t.docs = 0, make([][]base.DocID, len(one.Segments))
	for i := range one.Segments {
		t.counts.Matches += one.Segments[i].Matches
		for _, d := range one.Segments[i].Docs {
			t.docs[i] = append(t.docs[i], base.DocID(d))
		}
		slices.Sort(t.docs[i])
	}
	if err := t.countAtAfter(ctx); err != nil {
		return "", err
	}
	for _, i := range q.gpu.small {
		if err := plan.StageMatches(ctx, &q.Plan, &t.sc.Scratch, stage, i, t.addSmall); err != nil {
			return "", err
		}
	}
	return "", nil
}

// findAfter finds the places of FieldOrder.After.
func (t *selecting) findAfter() (err error) {
	if t.by.After == nil {
		return nil
	}
	t.after, t.found = make([]pipeline.After, len(t.columns)), make([]bool, len(t.columns))
	for i := range t.columns {
		if c := t.columns[i].Column; c != nil && err == nil {
			t.after[i], t.found[i], err = t.by.After.in(c, t.by.Desc)
		}
	}
	return err
}

// countAtAfter sets atAfter.
func (t *selecting) countAtAfter(ctx context.Context) error {
	t.atAfter = 0
	const between = 4096 // documents, for which a look at the context does not count
	for i, docs := range t.docs {
		if len(docs) == 0 || t.after == nil || !t.found[i] {
			continue
		}
		cursor, at := t.columns[i].Column.Cursor(), &t.after[i]
		for n, d := range docs {
			if t.atAfter > pipeline.MaxK { // too many for a GPU
				return nil
			}
			if n%between == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			v, ok, err := cursor.Value(d)
			if err != nil {
				return err
			}
			if ok != at.None && (!ok || v == at.Value) {
				t.atAfter++
			}
		}
	}
	return nil
}

// addSmall takes all matches of a segment that is on no device.
func (t *selecting) addSmall(segment int, words []uint64) error {
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			t.docs[segment] = append(t.docs[segment], base.DocID(64*i+bits.TrailingZeros64(w)))
		}
	}
	t.counts.Matches += int64(len(t.docs[segment]))
	return nil
}
