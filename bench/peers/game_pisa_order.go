package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/griffin-search/griffin"
)

// The orders of the documents.
const (
	orderNatural = "natural" // of the passages
	orderBP      = "bp"      // of recursive graph bisection, which each engine does itself
)

// pisaOrder is an order of the documents, in which both engines have an index.
type pisaOrder struct {
	pisaTools
	name    string
	griffin gameEngine
}

// newPisaOrders returns the passages' order, in which natural is Griffin, and with bp BP order.
func newPisaOrders(bin, work string, natural gameEngine, bp bool) []*pisaOrder {
	orders := []*pisaOrder{{pisaTools{bin, filepath.Join(work, "pisa")}, orderNatural, natural}}
	if bp {
		orders = append(orders, &pisaOrder{pisaTools{bin, filepath.Join(work, "pisa-bp")}, orderBP, &griffinGame{reorder: griffin.ReorderBP}})
	}
	return orders
}

func (p *pisaGame) check() error {
	if len(p.orders) > 1 {
		return p.orders[0].check(pisaReorder)
	}
	return p.orders[0].check()
}

// index builds PISA's indexes and Griffin's of BP order, and writes the queries in the order of the rounds. Griffin's index of the
// passages' order exists. Terms have the same numbers in both of PISA's indexes.
func (p *pisaGame) index(ctx context.Context, work string, passages []passage, order []int) error {
	c := newPisaCollection(func(yield func([]string) bool) {
		for i := range passages {
			if !yield(wordsOf(passages[i].Title + " " + passages[i].Text)) {
				return
			}
		}
	})
	if err := p.orders[0].build(ctx, c); err != nil {
		return err
	}
	for _, o := range p.orders[1:] {
		if err := o.reorder(ctx, &p.orders[0].pisaTools); err != nil {
			return err
		}
		if err := o.griffin.build(ctx, filepath.Join(work, "griffin-"+o.name), passages); err != nil {
			return fmt.Errorf("griffin in %s order: %w", o.name, err)
		}
	}
	for _, w := range p.ways {
		if err := p.writeQueries(w, c.termIDs, order); err != nil {
			return err
		}
	}
	return nil
}
