package residency

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// nameColumn notes the name of an uploaded column.
func (p *Shard) nameColumn(number int, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.columns == nil {
		p.columns = map[int]string{}
	}
	p.columns[number] = name
}

// HotColumns returns the names of the columns that are resident for shards, sorted.
func HotColumns(d *Device, shards []*Shard) (names []string) {
	for _, p := range shards {
		p.mu.Lock()
		for number, name := range p.columns {
			if d.hasColumn(p, number) {
				names = append(names, name)
			}
		}
		p.mu.Unlock()
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// PrepareColumns uploads columns to a shard of s while there is free memory, until ctx ends or the device is lost. It
// evicts nothing. It returns the number of columns; errors are as of Prepare, joined: after one of a column it goes on
// with the others.
func PrepareColumns(ctx context.Context, d *Device, p *Shard, s *Segment, names []string) (columns int, err error) {
	if s.Segment == nil || len(names) == 0 {
		return 0, nil
	}
	set, err := segment.Columns(s.Segment)
	if err != nil || set == nil {
		return 0, err
	}
	var errs []error
	for _, name := range names {
		if ended := cmp.Or(ctx.Err(), d.Lost()); ended != nil {
			return columns, errors.Join(append(errs, ended)...)
		}
		of := Ordinals{Name: name, Number: slices.Index(set.Names(), name)}
		of.Column, _ = set.Column(name)
		if of.Column == nil || !of.Counts() && !of.Orders() {
			continue
		}
		there, err := prepareColumn(d, p, &of)
		if err != nil {
			errs = append(errs, fmt.Errorf("column %q: %w", name, err))
		}
		if there {
			columns++
		}
	}
	return columns, errors.Join(errs...)
}

func prepareColumn(d *Device, p *Shard, of *Ordinals) (there bool, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	q := &d.preparer
	end := q.begin(d)
	defer end()
	var counts Counts
	e, err := q.u.ordinals(p, of, &counts, ifFree)
	if e == nil || err != nil {
		return false, d.Note(err)
	}
	e.Unpin()
	return true, d.Note(q.u.stream.Synchronize())
}
