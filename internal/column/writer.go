package column

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Temp configures the temporary files for the data that exceeds a Writer's memory. Zero
// has no limit and no files.
type Temp struct {
	FS  vfs.FS
	Dir string
	// BudgetBytes is the memory for byte strings and for maps of ordinals; a number of more than
	// 32 bits, a bit a document, and half a byte a term are not counted. 0: no limit.
	BudgetBytes int64
}

// Writer writes a file of columns, one after another, in rising order of names. After an error it
// must not be used, except for Close of a column's writer, which removes temporary files. It is
// not safe for concurrent use.
type Writer struct {
	out       output
	numDocs   int
	temp      Temp
	numFiles  int // temporary files made
	begun     bool
	open      bool
	columns   uint64
	last      string
	directory []byte
}

// NewWriter returns a Writer of columns of numDocs documents, which writes from offset 0 of out.
func NewWriter(out io.Writer, numDocs int, temp Temp) *Writer {
	return &Writer{out: output{w: out}, numDocs: numDocs, temp: temp}
}

func (w *Writer) begin(name string) error {
	if w.open {
		return fmt.Errorf("column %q: column %q is not closed: %w", name, w.last, base.ErrBadInput)
	}
	if w.begun && name <= w.last {
		return fmt.Errorf("column %q after %q: %w", name, w.last, base.ErrBadInput)
	}
	w.begun, w.open, w.last = true, true, name
	return nil
}

// Columns is the present number of columns with values.
func (w *Writer) Columns() int { return int(w.columns) }

// Close writes the directory.
func (w *Writer) Close() error {
	if w.open {
		return fmt.Errorf("column %q is not closed: %w", w.last, base.ErrBadInput)
	}
	if err := w.out.align(64); err != nil {
		return err
	}
	at := w.out.offset
	w.directory = binary.LittleEndian.AppendUint64(w.directory, at)
	w.directory = binary.LittleEndian.AppendUint64(w.directory, w.columns)
	return w.out.write(w.directory)
}

// NumberWriter writes a column of numbers.
type NumberWriter struct {
	v      *valueWriter
	sorted []int64
}

// Numbers begins a column. One without a value is left out.
func (w *Writer) Numbers(name string) (*NumberWriter, error) {
	if err := w.begin(name); err != nil {
		return nil, err
	}
	v, err := w.newValues(name, Numbers)
	return &NumberWriter{v: v}, err
}

// Add adds a document's values, in any order. Documents rise.
func (w *NumberWriter) Add(doc base.DocID, values []int64) error {
	if !slices.IsSorted(values) {
		w.sorted = append(w.sorted[:0], values...)
		slices.Sort(w.sorted)
		values = w.sorted
	}
	return w.v.add(doc, values)
}

// Close completes the column.
func (w *NumberWriter) Close() error { return w.v.finish() }

// valueWriter writes the integers of a column.
type valueWriter struct {
	w       *Writer
	c       *Column
	start   uint64
	values  sequenceWriter
	ends    risingWriter
	present []uint64
	next    int64 // the least document to come
}

func (w *Writer) newValues(name string, kind Kind) (*valueWriter, error) {
	if err := w.out.align(64); err != nil {
		return nil, err
	}
	v := &valueWriter{w: w, c: newColumn(nil, w.numDocs), start: w.out.offset}
	v.c.name, v.c.kind = name, kind
	v.values.out, v.ends.gaps.out = &w.out, &w.out
	v.present = make([]uint64, numWords(uint64(w.numDocs)))
	return v, nil
}

// add adds a document's sorted values; ordinals are distinct.
func (v *valueWriter) add(doc base.DocID, values []int64) error {
	if len(values) == 0 {
		return nil
	}
	if int64(doc) < v.next || int64(doc) >= int64(v.w.numDocs) {
		return v.c.fail(fmt.Errorf("document %d of %d, want at least %d: %w", doc, v.w.numDocs, v.next, base.ErrBadInput))
	}
	for i, x := range values {
		if i > 0 && (x < values[i-1] || x == values[i-1] && v.c.kind == Ordinals) {
			return v.c.fail(fmt.Errorf("document %d: value %d after %d: %w", doc, x, values[i-1], base.ErrBadInput))
		}
		if err := v.values.add(x); err != nil {
			return err
		}
	}
	v.next = int64(doc) + 1
	v.present[doc/64] |= 1 << (doc % 64)
	v.c.numValues += uint64(len(values))
	v.c.presence.numWith++
	return v.ends.add(v.c.numValues - 1)
}

func (v *valueWriter) finish() (err error) {
	c := v.c
	v.w.open = false
	if c.presence.numWith == 0 {
		return nil
	}
	if c.values.table, err = v.values.finish(); err != nil {
		return err
	}
	c.lo, c.hi = v.values.lo, v.values.hi
	if err := v.writePresence(); err != nil {
		return err
	}
	if c.multi = c.numValues > c.presence.numWith; c.multi {
		if c.ends.gaps.table, c.ends.starts.table, err = v.ends.finish(); err != nil {
			return err
		}
	}
	c.sizeBytes = v.w.out.offset - v.start
	v.w.directory = c.encode(v.w.directory)
	v.w.columns++
	return nil
}

func (v *valueWriter) writePresence() (err error) {
	p := &v.c.presence
	p.mode = presenceFor(p.numWith, v.w.numDocs)
	switch p.mode {
	case presentList:
		list := risingWriter{gaps: sequenceWriter{out: &v.w.out}}
		for i, w := range v.present {
			for ; w != 0; w &= w - 1 {
				if err := list.add(uint64(64*i + bits.TrailingZeros64(w))); err != nil {
					return err
				}
			}
		}
		p.list.gaps.table, p.list.starts.table, err = list.finish()
		return err
	case presentBitmap:
		if err := v.w.out.align(64); err != nil {
			return err
		}
		p.words = v.w.out.offset
		return v.writeBitmap()
	}
	return nil
}

func (v *valueWriter) writeBitmap() error {
	var ranks []byte
	rank := 0
	buf := make([]byte, 0, 4096)
	for i, w := range v.present {
		if i%(rankDocs/64) == 0 {
			ranks = binary.LittleEndian.AppendUint32(ranks, uint32(rank))
		}
		rank += bits.OnesCount64(w)
		if buf = binary.LittleEndian.AppendUint64(buf, w); len(buf) == cap(buf) || i == len(v.present)-1 {
			if err := v.w.out.write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return v.w.out.write(ranks)
}
