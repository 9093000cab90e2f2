package column

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Verify checks every byte and every rule of the format: writing the values again gives the same
// bytes. progress, if not nil, receives the bytes of each step. The error wraps base.ErrCorrupt,
// or is of ctx.
func (s *Set) Verify(ctx context.Context, progress func(bytes int64)) error {
	same := &comparer{want: s.data.Bytes(), progress: progress}
	if err := s.data.Check(0, uint64(len(same.want))); err != nil {
		return err
	}
	w := NewWriter(same, s.numDocs, Temp{})
	for _, c := range s.columns {
		if err := c.rewrite(ctx, w); err != nil {
			return verifyError(c.fail(err))
		}
	}
	if err := w.Close(); err != nil {
		return verifyError(err)
	}
	if n := len(same.want) - same.offset; n > 0 {
		return corrupt("%d bytes after the columns", n)
	}
	return nil
}

// An error that means bad input in a Writer means damage here.
func verifyError(err error) error {
	if errors.Is(err, base.ErrBadInput) {
		return corrupt("%v", err)
	}
	return err
}

// comparer is a file whose content is known.
type comparer struct {
	want     []byte
	offset   int
	progress func(bytes int64)
	reported int
}

func (c *comparer) Write(p []byte) (int, error) {
	if len(p) > len(c.want)-c.offset || !bytes.Equal(p, c.want[c.offset:c.offset+len(p)]) {
		return 0, corrupt("bytes %d to %d are not those of the values", c.offset, c.offset+len(p))
	}
	c.offset += len(p)
	if c.progress != nil && (c.offset-c.reported >= 1<<20 || c.offset == len(c.want)) {
		c.progress(int64(c.offset - c.reported))
		c.reported = c.offset
	}
	return len(p), nil
}

// rewrite writes the column as it is.
func (c *Column) rewrite(ctx context.Context, w *Writer) error {
	if err := w.begin(c.name); err != nil {
		return err
	}
	v, err := w.newValues(c.name, c.kind)
	if err != nil {
		return err
	}
	var used []uint64 // by ordinal
	if c.kind == Ordinals {
		used = make([]uint64, numWords(c.terms.numTerms))
		d := dictionaryWriter{out: &w.out, start: w.out.offset}
		it := termIterator{d: &c.terms}
		for {
			term, ok, err := it.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if err := d.add(term); err != nil {
				return err
			}
		}
		if v.c.terms, err = d.finish(); err != nil {
			return err
		}
	}
	if err := c.rewriteValues(ctx, v, used); err != nil {
		return err
	}
	for ord := range c.terms.numTerms {
		if used[ord/64]>>(ord%64)&1 == 0 {
			return corrupt("no document has term %d", ord)
		}
	}
	if n := v.c.presence.numWith; n != c.presence.numWith {
		return corrupt("%d documents have values, want %d", n, c.presence.numWith)
	}
	return v.finish()
}

func (c *Column) rewriteValues(ctx context.Context, v *valueWriter, used []uint64) error {
	var ends *risingReader
	if c.multi {
		ends = newRisingReader(&c.ends)
	}
	values := newReader(&c.values)
	var out []int64
	return c.presence.each(nil, func(doc base.DocID, rank uint64) error {
		if rank%(1<<16) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		from, to := rank, rank+1
		if ends != nil {
			var err error
			if from, to, err = ends.span(rank); err != nil {
				return err
			}
		}
		out = out[:0]
		for i := from; i < to; i++ {
			x, err := values.at(i)
			if err != nil {
				return err
			}
			if used != nil {
				used[x/64] |= 1 << (x % 64)
			}
			out = append(out, x)
		}
		if err := v.add(doc, out); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
		return nil
	})
}
