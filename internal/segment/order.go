package segment

import (
	"context"
	"fmt"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

// writtenOrder is the checked order of a reordered segment.
type writtenOrder struct {
	once          sync.Once
	order, docs   []uint32
	orderVerified error
}

// Written returns each document's number in the order in which the documents were written, and
// the documents by that number; nil if DocIDs are that order. The first call checks checksums;
// Verify checks that the numbers are a permutation.
func (s *Segment) Written() (numbers, docs []uint32, err error) {
	if s.order == nil {
		return nil, nil, nil
	}
	w := &s.written
	w.once.Do(func() { w.order, w.docs, w.orderVerified = s.readOrder() })
	if w.orderVerified != nil {
		return nil, nil, fmt.Errorf("segment %s: %w", s.dir, w.orderVerified)
	}
	return w.order, w.docs, nil
}

// Version 1 has no inverse.
func (s *Segment) readOrder() (numbers, docs []uint32, err error) {
	if err := s.order.check(); err != nil {
		return nil, nil, err
	}
	numbers = s.order.values()
	if s.inverse == nil {
		docs, err = invert(numbers)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.order.file.Name(), err)
		}
		return numbers, docs, nil
	}
	if err := s.inverse.check(); err != nil {
		return nil, nil, err
	}
	return numbers, s.inverse.values(), nil
}

// checkOrder checks that order and inverse agree, so that both are permutations.
func (s *Segment) checkOrder() error {
	numbers, docs, err := s.Written()
	if err != nil {
		return err
	}
	for doc, n := range numbers {
		if int64(n) >= int64(len(docs)) || int64(docs[n]) != int64(doc) {
			return fmt.Errorf("%s: document %d: number %d is of another one: %w", s.order.file.Name(), doc, n, base.ErrCorrupt)
		}
	}
	return nil
}

// invert returns an error that wraps base.ErrCorrupt if numbers are not a permutation.
func invert(numbers []uint32) ([]uint32, error) {
	inverse, seen := make([]uint32, len(numbers)), NewBitmap(len(numbers))
	for doc, n := range numbers {
		if int64(n) >= int64(len(numbers)) || !seen.Set(int(n)) {
			return nil, fmt.Errorf("document %d: number %d: not a permutation: %w", doc, n, base.ErrCorrupt)
		}
		inverse[n] = uint32(doc)
	}
	return inverse, nil
}

func (w *writer) collectOrders() error {
	w.orders = make([][]uint32, len(w.sources))
	for i, s := range w.sources {
		order, err := s.Order()
		if err == nil && order != nil && len(order) != w.maps[i].n {
			err = fmt.Errorf("order of %d documents for %d: %w", len(order), w.maps[i].n, base.ErrBadInput)
		}
		if err != nil {
			return fmt.Errorf("source %d: %w", i, err)
		}
		w.orders[i] = order
	}
	return nil
}

// droppedNumbers are the dropped documents of a source by their numbers in the order of writing;
// nil: none.
func (w *writer) droppedNumbers(source int) *Bitmap {
	m, order := &w.maps[source], w.orders[source]
	if m.table == nil {
		return nil
	}
	drop := NewBitmap(m.n)
	for doc, id := range m.table {
		switch {
		case id != dropped:
		case order != nil:
			drop.Set(int(order[doc]))
		default:
			drop.Set(doc)
		}
	}
	return drop
}

// writeOrder writes the order and its inverse if DocIDs are not in the order of writing.
func (w *writer) writeOrder(context.Context) error {
	reordered := w.newID != nil
	for _, order := range w.orders {
		reordered = reordered || order != nil
	}
	if !reordered {
		return nil
	}
	numbers := make([]uint32, w.numDocs) // by new DocID
	first := 0                           // the source's first document, without Options.Order
	for i := range w.sources {
		number := w.keptNumbers(i)
		next := first
		_ = w.maps[i].kept(func(doc int) error {
			id := next
			if w.newID != nil {
				id = int(w.newID[next])
			}
			numbers[id] = uint32(first) + number(doc)
			next++
			return nil
		})
		first = next
	}
	inverse, err := invert(numbers)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name   string
		values []uint32
	}{{fileOrder, numbers}, {fileInverse, inverse}} {
		if err := w.writeFile(f.name, func(out *sealed.Writer) error { return writeUint32s(out, f.values) }); err != nil {
			return err
		}
	}
	return nil
}

// keptNumbers returns a function from a kept document of a source to its rank among the kept ones
// in the order of writing.
func (w *writer) keptNumbers(source int) func(doc int) uint32 {
	order := w.orders[source]
	number := func(doc int) uint32 { return uint32(doc) }
	if order != nil {
		number = func(doc int) uint32 { return order[doc] }
	}
	drop := w.droppedNumbers(source)
	if drop == nil {
		return number
	}
	ranks := make([]uint32, drop.Len())
	rank := uint32(0)
	for n := range ranks {
		ranks[n] = rank
		if !drop.Has(n) {
			rank++
		}
	}
	return func(doc int) uint32 { return ranks[number(doc)] }
}
