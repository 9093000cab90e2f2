package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// compare fails unless both engines have Griffin's number of matches in the passages' order. It returns the share of common best hits of each query.
func (p *pisaGame) compare(ctx context.Context, o *pisaOrder, numDocs int, matches []int64) ([]float64, error) {
	shares := make([]float64, len(p.queries))
	for _, w := range p.ways {
		counts, tops := make([]int64, len(p.queries)), make([][]int, len(p.queries))
		if len(w.runs) > 0 {
			outside := false
			err := o.hits(ctx, w.file, numDocs, w.exhaustive, func(query, doc int) {
				if outside = outside || query < 0 || query >= len(counts); outside {
					return
				}
				if counts[query]++; counts[query] <= gameTop {
					tops[query] = append(tops[query], doc)
				}
			})
			if err != nil {
				return nil, err
			}
			if outside {
				return nil, fmt.Errorf("PISA's %s has hits of other queries", pisaEvaluate)
			}
		}
		for i := range p.queries {
			q := &p.queries[i]
			if !w.suits(&p.forms[i]) {
				continue
			}
			n, _, err := o.griffin.run(ctx, &gameCommand{counts: true}, q)
			if err != nil {
				return nil, err
			}
			if counts[i] != matches[i] || n != matches[i] {
				return nil, fmt.Errorf("%s: in %s order, PISA's %s finds %d, griffin %d, and %d matched before", q.text, o.name, w.exhaustive, counts[i], n, matches[i])
			}
			top, err := o.griffin.top(ctx, q, gameTop)
			if err != nil {
				return nil, err
			}
			shares[i] = overlap(top, tops[i])
		}
	}
	return shares, nil
}

// cell compares a kind's queries in a command. PISA's algorithm is the one of the least mean.
func (p *pisaGame) cell(o *pisaOrder, kind string, t *gameTimes) pisaCell {
	c := pisaCell{Kind: kind, Command: t.command.name}
	ways, cannot := p.waysOf(kind)
	for _, w := range ways {
		if cannot = pisaNoWords; w.algorithms(t.command) == nil {
			cannot = pisaNoCount
		}
		griffin := p.summary(pisaRun{o, w, t.command.name, pisaGriffin}, kind)
		for _, a := range w.algorithms(t.command) {
			c.add(a, griffin, p.summary(pisaRun{o, w, t.command.name, a}, kind))
		}
	}
	if c.Algorithm == "" {
		c.Cannot = cannot
		var griffin []time.Duration
		for i := range p.queries {
			if p.queries[i].kind == kind {
				griffin = append(griffin, t.least[0][i])
			}
		}
		c.Queries, c.Latency = len(griffin), []latency.Summary{latency.Summarize(griffin)}
	}
	return c
}

// summary is of the times of a kind's queries that ran.
func (p *pisaGame) summary(r pisaRun, kind string) latency.Summary {
	var took []time.Duration
	for i, d := range p.least[r] {
		if p.queries[i].kind == kind && d != noTime {
			took = append(took, d)
		}
	}
	return latency.Summarize(took)
}

// report compares the engines in each kind and command. Cells without a result are only in the report of the first order.
func (p *pisaGame) report(ctx context.Context, o *pisaOrder, g *game, numDocs int) (*pisaReport, error) {
	shares, err := p.compare(ctx, o, numDocs, g.matches)
	if err != nil {
		return nil, err
	}
	r := &pisaReport{Order: o.name, Encoding: pisaEncoding, BlockSize: pisaBlockSize, Passes: pisaPasses}
	for _, kind := range gameKinds(g.queries) {
		k := gameKind{Name: kind}
		for i := range g.queries {
			if g.queries[i].kind == kind {
				k.add(g.matches[i], shares[i])
			}
		}
		if ways, _ := p.waysOf(kind); len(ways) > 0 {
			r.Kinds = append(r.Kinds, k.mean())
		}
		for i := range g.times {
			if c := p.cell(o, kind, &g.times[i]); c.Cannot == "" || o == p.orders[0] {
				r.Cells = append(r.Cells, c)
			}
		}
	}
	if len(r.Kinds) == 0 {
		return nil, errors.New("PISA can run no kind of the queries")
	}
	return r, nil
}
