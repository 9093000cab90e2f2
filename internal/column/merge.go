package column

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/griffin-search/griffin/internal/base"
)

// Input is a column of one source of a merge.
type Input struct {
	// Column is nil if no document of the source has a value.
	Column *Column
	// Kept are the documents that docs of Merge has of the source; nil: all.
	Kept []uint64
}

// Merge writes a column of the documents of docs, in their new order: the index of their input,
// and their number there. Dictionaries are merged without the terms that no document has. The
// error wraps base.ErrBadInput if the inputs' kinds differ.
func (w *Writer) Merge(ctx context.Context, name string, inputs []Input, docs iter.Seq2[int, base.DocID]) (err error) {
	if err := w.begin(name); err != nil {
		return err
	}
	kind := Kind(0)
	for _, in := range inputs {
		if in.Column == nil {
			continue
		}
		if kind != 0 && in.Column.kind != kind {
			return fmt.Errorf("column %q is of %v and of %v: %w", name, kind, in.Column.kind, base.ErrBadInput)
		}
		kind = in.Column.kind
	}
	if kind == 0 {
		w.open = false
		return nil
	}
	v, err := w.newValues(name, kind)
	if err != nil {
		return err
	}
	m := &columnMerge{w: w, inputs: inputs, terms: make([]*termInput, len(inputs))}
	defer func() {
		for _, in := range m.terms {
			if in != nil {
				err = errors.Join(err, in.ords.file.remove())
			}
		}
	}()
	if kind == Ordinals {
		if err := m.mergeTerms(v); err != nil {
			return err
		}
	}
	if err := m.mergeValues(ctx, v, docs); err != nil {
		return err
	}
	return v.finish()
}

type columnMerge struct {
	w      *Writer
	inputs []Input
	terms  []*termInput // by input; nil for numbers
}

func (m *columnMerge) mergeTerms(v *valueWriter) (err error) {
	var inputs []*termInput
	for i, in := range m.inputs {
		if in.Column == nil {
			continue
		}
		t := &termInput{terms: &termIterator{d: &in.Column.terms}, numTerms: int64(in.Column.terms.numTerms)}
		if in.Kept != nil {
			if t.used, err = in.Column.usedBy(in.Kept); err != nil {
				return err
			}
		}
		m.terms[i] = t
		inputs = append(inputs, t)
	}
	d := dictionaryWriter{out: &m.w.out, start: m.w.out.offset}
	if err := m.w.mergeTerms(inputs, &d); err != nil {
		return v.c.fail(err)
	}
	v.c.terms, err = d.finish()
	return err
}

// usedBy returns the ordinals that documents have.
func (c *Column) usedBy(docs []uint64) ([]uint64, error) {
	used := make([]uint64, numWords(c.terms.numTerms))
	err := c.Scan(docs, func(_ []base.DocID, values []int64) error {
		for _, v := range values {
			used[v/64] |= 1 << (v % 64)
		}
		return nil
	})
	return used, err
}

func (m *columnMerge) mergeValues(ctx context.Context, v *valueWriter, docs iter.Seq2[int, base.DocID]) error {
	cursors := make([]*Cursor, len(m.inputs))
	for i, in := range m.inputs {
		if in.Column != nil {
			cursors[i] = in.Column.Cursor()
		}
	}
	next := base.DocID(0)
	for i, old := range docs {
		doc := next
		next++
		if doc%(1<<14) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if cursors[i] == nil {
			continue
		}
		values, err := cursors[i].Values(old)
		if err != nil {
			return err
		}
		if t := m.terms[i]; t != nil {
			for j, ord := range values {
				values[j] = t.ords.at(ord)
			}
		}
		if err := v.add(doc, values); err != nil {
			return err
		}
	}
	return nil
}
