package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// pisaGame runs the commands and queries that PISA can, a process for each round.
type pisaGame struct {
	orders  []*pisaOrder // the passages' order first
	queries []gameQuery
	forms   []pisaForm // by query
	ways    []*pisaWay
	least   map[pisaRun]pisaTimes
}

// pisaForm is a query as PISA may run it.
type pisaForm struct {
	words  []string
	all    bool // all words are required
	any    bool // no word is; one word is both
	cannot string
}

// pisaWay is a way to match queries, and the algorithms for it.
type pisaWay struct {
	name            string
	ranked, counted []string
	exhaustive      string // the algorithm that ranks all matches
	file            string // of queries, in the order of the rounds
	runs            []int  // the queries in file
}

// pisaRun are the rounds of an algorithm of PISA, or of Griffin with the same queries.
type pisaRun struct {
	order              *pisaOrder
	way                *pisaWay
	command, algorithm string
}

const pisaGriffin = "griffin" // the algorithm of Griffin

const noTime = time.Duration(-1)

// Reasons why PISA has no result.
const (
	pisaNoPositions = "no positions"
	pisaNoNegation  = "no excluded words"
	pisaNoMixture   = "no required and optional words in one query"
	pisaNoCount     = "no algorithm both ranks and counts"
	pisaNoForm      = "its queries need several algorithms"
	pisaNoWords     = "words that do not occur"
)

func newPisaGame(orders []*pisaOrder, queries []gameQuery) *pisaGame {
	p := &pisaGame{
		orders: orders, queries: queries, least: make(map[pisaRun]pisaTimes),
		ways: []*pisaWay{
			{name: "and", ranked: []string{"ranked_and", "block_max_ranked_and"}, counted: []string{"and"}, exhaustive: "ranked_and"},
			{name: "or", ranked: []string{"maxscore", "block_max_maxscore", "wand", "block_max_wand", "ranked_or"}, counted: []string{"or"}, exhaustive: "ranked_or"},
		},
	}
	for i := range queries {
		p.forms = append(p.forms, queries[i].pisa())
	}
	return p
}

func (q *gameQuery) pisa() (f pisaForm) {
	required, excluded, phrase := 0, 0, false
	q.clauses(func(occur byte, words []string) {
		f.words = append(f.words, words[0])
		phrase = phrase || len(words) > 1
		switch occur {
		case '+':
			required++
		case '-':
			excluded++
		}
	})
	f.all, f.any = required == len(f.words) || len(f.words) == 1, required == 0 || len(f.words) == 1
	switch {
	case phrase:
		f.cannot = pisaNoPositions
	case excluded > 0:
		f.cannot = pisaNoNegation
	case !f.all && !f.any:
		f.cannot = pisaNoMixture
	}
	return f
}

// suits reports whether the algorithms of w can run the query.
func (w *pisaWay) suits(f *pisaForm) bool {
	return f.cannot == "" && (w.name == "and" && f.all || w.name == "or" && f.any)
}

// algorithms are those for a command, none if PISA has none.
func (w *pisaWay) algorithms(c *gameCommand) []string {
	switch {
	case c.k == 0:
		return w.counted
	case c.counts:
		return nil
	}
	return w.ranked
}

// writeQueries writes lines of a query's number and its terms' numbers. PISA ignores unknown words. So a query that requires one, or
// that has no other, is left out.
func (p *pisaGame) writeQueries(w *pisaWay, termIDs map[string]int, order []int) error {
	var b strings.Builder
	for _, i := range order {
		f := &p.forms[i]
		if !w.suits(f) {
			continue
		}
		var ids strings.Builder
		known := 0
		for _, word := range f.words {
			if id, ok := termIDs[word]; ok {
				fmt.Fprintf(&ids, " %d", id)
				known++
			}
		}
		if known == 0 || w.name == "and" && known < len(f.words) {
			continue
		}
		fmt.Fprintf(&b, "%d:%s\n", i, ids.String()[1:])
		w.runs = append(w.runs, i)
	}
	w.file = p.orders[0].path(w.name + ".queries")
	return os.WriteFile(w.file, []byte(b.String()), 0o600)
}

// round runs the queries that PISA can, in each order in Griffin and then with each of PISA's algorithms for the command. Every second
// turn takes the orders the other way round.
func (p *pisaGame) round(ctx context.Context, turn int, c *gameCommand) error {
	orders := slices.Clone(p.orders)
	if turn%2 == 1 {
		slices.Reverse(orders)
	}
	for _, w := range p.ways {
		if len(w.algorithms(c)) == 0 || len(w.runs) == 0 {
			continue
		}
		for _, o := range orders {
			if err := p.roundOfGriffin(ctx, o, w, c); err != nil {
				return err
			}
		}
		for _, o := range orders {
			if err := p.roundOfPisa(ctx, o, w, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pisaGame) roundOfGriffin(ctx context.Context, o *pisaOrder, w *pisaWay, c *gameCommand) error {
	took := newPisaTimes(len(p.queries))
	for pass := range 1 + pisaPasses {
		for _, i := range w.runs {
			_, d, err := o.griffin.run(ctx, c, &p.queries[i])
			if err != nil {
				return fmt.Errorf("%s: %s: %w", o.griffin.name(), p.queries[i].text, err)
			}
			if pass > 0 {
				took.add(i, d)
			}
		}
	}
	return p.record(pisaRun{o, w, c.name, pisaGriffin}, took)
}

func (p *pisaGame) roundOfPisa(ctx context.Context, o *pisaOrder, w *pisaWay, c *gameCommand) error {
	algorithms, took := w.algorithms(c), make(map[string]pisaTimes)
	for _, a := range algorithms {
		took[a] = newPisaTimes(len(p.queries))
	}
	known := true
	err := o.times(ctx, w.file, max(c.k, 1), algorithms, func(algorithm string, query int, d time.Duration) {
		if t := took[algorithm]; query >= 0 && query < len(t) {
			t.add(query, d)
		} else {
			known = false
		}
	})
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("PISA's %s has times of other queries or algorithms", pisaQueries)
	}
	for a, t := range took {
		if err := p.record(pisaRun{o, w, c.name, a}, t); err != nil {
			return err
		}
	}
	return nil
}

// pisaTimes are the least times by query, noTime of a query that did not run.
type pisaTimes []time.Duration

func newPisaTimes(n int) pisaTimes {
	t := make(pisaTimes, n)
	for i := range t {
		t[i] = noTime
	}
	return t
}

func (t pisaTimes) add(query int, took time.Duration) {
	if t[query] == noTime || took < t[query] {
		t[query] = took
	}
}

func (p *pisaGame) record(r pisaRun, took pisaTimes) error {
	if p.least[r] == nil {
		p.least[r] = newPisaTimes(len(p.queries))
	}
	for _, i := range r.way.runs {
		if took[i] == noTime {
			return fmt.Errorf("PISA's %s has no time of %s for %s", pisaQueries, r.algorithm, p.queries[i].text)
		}
		p.least[r].add(i, took[i])
	}
	return nil
}

// waysOf returns the ways for all queries of a kind, or why there is none.
func (p *pisaGame) waysOf(kind string) (ways []*pisaWay, cannot string) {
	cannot = pisaNoForm
	for _, w := range p.ways {
		suits := true
		for i := range p.queries {
			if f := &p.forms[i]; p.queries[i].kind == kind && !w.suits(f) {
				suits = false
				if f.cannot != "" {
					cannot = f.cannot
				}
			}
		}
		if suits {
			ways = append(ways, w)
		}
	}
	return ways, cannot
}
