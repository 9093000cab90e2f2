package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// OrdinalWriter writes a column of ordinals from byte strings. It keeps the distinct ones and
// about a byte a value in memory, up to the budget; then it writes them to a temporary file and
// begins anew.
type OrdinalWriter struct {
	w      *Writer
	name   string
	next   int64 // the least document to come
	run    *ordinalRun
	runs   []*ordinalRun // in files
	failed bool
}

// ordinalRun is the values of consecutive documents.
type ordinalRun struct {
	ids   map[string]uint32
	terms []string // by id
	first int64    // least document
	next  int64    // one past the last document
	// For each document: the gap from next, the number of values, their ids (varints). In a
	// file, ids are ordinals of the run.
	values  []byte
	bytes   int64 // of ids and terms
	scratch []uint32

	// In a file: the terms with their lengths, then the values.
	file     *tempFile
	numTerms int64
	termsLen int
}

// Ordinals begins a column. One without a value is left out.
func (w *Writer) Ordinals(name string) (*OrdinalWriter, error) {
	if err := w.begin(name); err != nil {
		return nil, err
	}
	return &OrdinalWriter{w: w, name: name, run: newRun(0)}, nil
}

func newRun(first int64) *ordinalRun {
	return &ordinalRun{ids: map[string]uint32{}, first: first, next: first}
}

// The map's entry and the header of the string, about.
const termOverhead = 64

// Add adds a document's values, in any order; repeated ones count once. Documents rise.
func (o *OrdinalWriter) Add(doc base.DocID, values [][]byte) error {
	if len(values) == 0 {
		return nil
	}
	if int64(doc) < o.next || int64(doc) >= int64(o.w.numDocs) {
		return fmt.Errorf("column %q: document %d of %d, want at least %d: %w", o.name, doc, o.w.numDocs, o.next, base.ErrBadInput)
	}
	for _, v := range values {
		if len(v) > MaxTermLen {
			return fmt.Errorf("column %q: document %d: value of %d bytes, more than %d: %w", o.name, doc, len(v), MaxTermLen, base.ErrBadInput)
		}
	}
	o.next = int64(doc) + 1
	o.run.add(doc, values)
	if o.w.temp.BudgetBytes > 0 && o.run.bytes+int64(len(o.run.values)) > o.w.temp.BudgetBytes {
		return o.spill()
	}
	return nil
}

func (r *ordinalRun) add(doc base.DocID, values [][]byte) {
	ids := r.scratch[:0]
	for _, v := range values {
		id, found := r.ids[string(v)]
		if !found {
			id = uint32(len(r.terms))
			term := string(v)
			r.ids[term] = id
			r.terms = append(r.terms, term)
			r.bytes += int64(len(term)) + termOverhead
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	r.values = binary.AppendUvarint(r.values, uint64(int64(doc)-r.next))
	r.values = binary.AppendUvarint(r.values, uint64(len(ids)))
	for _, id := range ids {
		r.values = binary.AppendUvarint(r.values, uint64(id))
	}
	r.next = int64(doc) + 1
	r.scratch = ids
}

// sorted returns the ids by term, and the position of each id.
func (r *ordinalRun) sorted() (ids, positions []uint32) {
	ids = make([]uint32, len(r.terms))
	for i := range ids {
		ids[i] = uint32(i)
	}
	slices.SortFunc(ids, func(a, b uint32) int { return strings.Compare(r.terms[a], r.terms[b]) })
	positions = make([]uint32, len(ids))
	for at, id := range ids {
		positions[id] = uint32(at)
	}
	return ids, positions
}

// each calls f with each document and its ids.
func (r *ordinalRun) each(values []byte, f func(doc base.DocID, ids []int64) error) (err error) {
	next := r.first
	var ids []int64
	for len(values) > 0 {
		var gap, n, id uint64
		if gap, values, err = uvarint(values); err == nil {
			n, values, err = uvarint(values)
		}
		ids = ids[:0]
		for range n {
			if err != nil {
				return err
			}
			id, values, err = uvarint(values)
			ids = append(ids, int64(id))
		}
		if err != nil {
			return err
		}
		next += int64(gap) + 1
		if err := f(base.DocID(next-1), ids); err != nil {
			return err
		}
	}
	return nil
}

func (o *OrdinalWriter) spill() (err error) {
	r := o.run
	defer func() { o.failed = o.failed || err != nil }()
	o.run = newRun(r.next)
	if r.file, err = o.w.createTemp(); err != nil {
		return err
	}
	o.runs = append(o.runs, r)
	ids, positions := r.sorted()
	r.numTerms = int64(len(ids))
	var buf []byte
	for _, id := range ids {
		buf = binary.AppendUvarint(buf[:0], uint64(len(r.terms[id])))
		buf = append(buf, r.terms[id]...)
		r.termsLen += len(buf)
		if err := r.file.write(buf); err != nil {
			return err
		}
	}
	next := r.first
	err = r.each(r.values, func(doc base.DocID, ids []int64) error {
		buf = binary.AppendUvarint(buf[:0], uint64(int64(doc)-next))
		next = int64(doc) + 1
		buf = binary.AppendUvarint(buf, uint64(len(ids)))
		for _, id := range ids {
			buf = binary.AppendUvarint(buf, uint64(positions[id]))
		}
		return r.file.write(buf)
	})
	r.ids, r.terms, r.values, r.scratch, r.bytes = nil, nil, nil, nil, 0
	if err != nil {
		return err
	}
	_, err = r.file.bytes()
	return err
}

// Close completes the column and removes temporary files. It is to be called also after an error
// of Add.
func (o *OrdinalWriter) Close() (err error) {
	defer func() {
		for _, r := range o.runs {
			err = errors.Join(err, r.file.remove())
		}
	}()
	o.w.open = false
	if o.next == 0 || o.failed {
		return nil
	}
	if len(o.runs) == 0 {
		return o.closeInMemory()
	}
	if len(o.run.values) > 0 {
		if err := o.spill(); err != nil {
			return err
		}
	}
	return o.mergeRuns()
}

func (o *OrdinalWriter) closeInMemory() error {
	v, err := o.w.newValues(o.name, Ordinals)
	if err != nil {
		return err
	}
	ids, positions := o.run.sorted()
	d := dictionaryWriter{out: &o.w.out, start: o.w.out.offset}
	for _, id := range ids {
		if err := d.add([]byte(o.run.terms[id])); err != nil {
			return err
		}
	}
	if v.c.terms, err = d.finish(); err != nil {
		return err
	}
	if err := o.run.each(o.run.values, func(doc base.DocID, ids []int64) error {
		for i, id := range ids {
			ids[i] = int64(positions[id])
		}
		slices.Sort(ids)
		return v.add(doc, ids)
	}); err != nil {
		return err
	}
	return v.finish()
}

func (o *OrdinalWriter) mergeRuns() (err error) {
	v, err := o.w.newValues(o.name, Ordinals)
	if err != nil {
		return err
	}
	inputs := make([]*termInput, len(o.runs))
	defer func() {
		for _, in := range inputs {
			err = errors.Join(err, in.ords.file.remove())
		}
	}()
	contents := make([][]byte, len(o.runs))
	for i, r := range o.runs {
		inputs[i] = &termInput{numTerms: r.numTerms}
	}
	for i, r := range o.runs {
		if contents[i], err = r.file.bytes(); err != nil {
			return err
		}
		inputs[i].terms = &runTerms{left: contents[i][:r.termsLen]}
	}
	d := dictionaryWriter{out: &o.w.out, start: o.w.out.offset}
	if err := o.w.mergeTerms(inputs, &d); err != nil {
		return err
	}
	if v.c.terms, err = d.finish(); err != nil {
		return err
	}
	for i, r := range o.runs {
		ords := &inputs[i].ords
		if err := r.each(contents[i][r.termsLen:], func(doc base.DocID, ids []int64) error {
			for i, id := range ids {
				ids[i] = ords.at(id)
			}
			slices.Sort(ids)
			return v.add(doc, ids)
		}); err != nil {
			return err
		}
	}
	return v.finish()
}

// runTerms reads the terms of a run's file.
type runTerms struct{ left []byte }

func (t *runTerms) next() (term []byte, ok bool, err error) {
	if len(t.left) == 0 {
		return nil, false, nil
	}
	n, rest, err := uvarint(t.left)
	if err != nil || n > uint64(len(rest)) {
		return nil, false, corrupt("term of %d bytes in %d", n, len(rest))
	}
	t.left = rest[n:]
	return rest[:n], true, nil
}
