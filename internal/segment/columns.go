package segment

import (
	"context"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/sealed"
)

// Columned is a Source whose documents have columns.
type Columned interface {
	// Columns returns the values by field, in the order of the source's documents; nil: none. They
	// are used until Write returns.
	Columns() (*column.Set, error)
}

// columnBudget bounds the memory of Write for values of columns, which then go to files.
const columnBudget = 64 << 20

// writeColumns merges the columns of all sources, if a kept document has a value.
func (w *writer) writeColumns(ctx context.Context) error {
	sets := make([]*column.Set, len(w.sources))
	var names []string
	for i, s := range w.sources {
		c, ok := s.(Columned)
		if !ok {
			continue
		}
		set, err := c.Columns()
		if err != nil {
			return fmt.Errorf("source %d: %w", i, err)
		}
		if set == nil {
			continue
		}
		if set.NumDocs() != w.maps[i].n {
			return fmt.Errorf("source %d: columns of %d documents for %d: %w", i, set.NumDocs(), w.maps[i].n, base.ErrBadInput)
		}
		sets[i] = set
		names = append(names, set.Names()...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return nil
	}
	f, err := w.create(fileColumns)
	if err != nil {
		return err
	}
	out := column.NewWriter(f, w.numDocs, column.Temp{FS: w.fs, Dir: w.dir, BudgetBytes: columnBudget})
	if err := w.mergeColumns(ctx, out, names, sets); err != nil {
		return abort(err, f)
	}
	if out.Columns() == 0 {
		return f.Abort()
	}
	if err := out.Close(); err != nil {
		return abort(err, f)
	}
	return w.closeFile(fileColumns, f)
}

func (w *writer) mergeColumns(ctx context.Context, out *column.Writer, names []string, sets []*column.Set) error {
	inputs := make([]column.Input, len(sets))
	for i := range inputs {
		if d := w.sources[i].Dropped(); d.Count() > 0 {
			inputs[i].Kept = d.Complement().Words()
		}
	}
	for _, name := range names {
		for i, set := range sets {
			inputs[i].Column, _ = set.Column(name)
		}
		if err := out.Merge(ctx, name, inputs, w.oldDocs()); err != nil {
			return err
		}
	}
	return nil
}

// Columns returns the values of documents by field; nil: none. The first call reads the directory.
func Columns(s *Segment) (*column.Set, error) {
	set, err := s.columns()
	if err != nil {
		return nil, fmt.Errorf("segment %s: %w", s.dir, err)
	}
	return set, nil
}

// Column returns the values of a field, and whether a document, deleted or not, has one. The error
// wraps base.ErrCorrupt.
func (s *Segment) Column(name string) (*column.Column, bool, error) {
	set, err := Columns(s)
	if err != nil {
		return nil, false, err
	}
	c, found := set.Column(name)
	return c, found, nil
}

// A nil file has no columns.
func openColumns(f *sealed.File, numDocs int) (*column.Set, error) {
	if f == nil {
		return nil, nil
	}
	set, err := column.Open(f, numDocs)
	if err == nil && len(set.Names()) == 0 {
		err = fmt.Errorf("no columns: %w", base.ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return set, nil
}

func (v *segmentVerifier) verifyColumns(ctx context.Context) error {
	set, err := v.s.columns()
	if err != nil || set == nil {
		return err
	}
	if err := set.Verify(ctx, v.advance); err != nil {
		return fmt.Errorf("%s: %w", fileColumns, err)
	}
	return nil
}

// Columns implements Columned.
func (r *segmentSource) Columns() (*column.Set, error) { return Columns(r.s) }
