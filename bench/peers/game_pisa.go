package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// pisaGame runs the commands and queries that PISA can, a process for each round.
type pisaGame struct {
	pisaTools
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

func newPisaGame(bin, dir string, queries []gameQuery) *pisaGame {
	p := &pisaGame{
		pisaTools: pisaTools{bin: bin, dir: dir}, queries: queries, least: make(map[pisaRun]pisaTimes),
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

// index builds PISA's index, and writes the queries in the order of the rounds.
func (p *pisaGame) index(ctx context.Context, passages []passage, order []int) error {
	c := newPisaCollection(func(yield func([]string) bool) {
		for i := range passages {
			if !yield(wordsOf(passages[i].Title + " " + passages[i].Text)) {
				return
			}
		}
	})
	if err := p.build(ctx, c); err != nil {
		return err
	}
	for _, w := range p.ways {
		if err := p.writeQueries(w, c.termIDs, order); err != nil {
			return err
		}
	}
	return nil
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
	w.file = p.path(w.name + ".queries")
	return os.WriteFile(w.file, []byte(b.String()), 0o600)
}

// round runs the queries that PISA can, in Griffin and with each of PISA's algorithms for the command.
func (p *pisaGame) round(ctx context.Context, griffin gameEngine, c *gameCommand) error {
	for _, w := range p.ways {
		algorithms := w.algorithms(c)
		if len(algorithms) == 0 || len(w.runs) == 0 {
			continue
		}
		took := make(map[string]pisaTimes)
		for _, a := range append([]string{pisaGriffin}, algorithms...) {
			took[a] = newPisaTimes(len(p.queries))
		}
		for pass := range 1 + pisaPasses {
			for _, i := range w.runs {
				_, d, err := griffin.run(ctx, c, &p.queries[i])
				if err != nil {
					return fmt.Errorf("%s: %s: %w", griffin.name(), p.queries[i].text, err)
				}
				if pass > 0 {
					took[pisaGriffin].add(i, d)
				}
			}
		}
		known := true
		err := p.times(ctx, w.file, max(c.k, 1), algorithms, func(algorithm string, query int, d time.Duration) {
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
			if err := p.record(pisaRun{w, c.name, a}, t); err != nil {
				return err
			}
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

// compare fails unless PISA has Griffin's number of matches. It returns the share of common best hits of each query.
func (p *pisaGame) compare(ctx context.Context, griffin gameEngine, numDocs int, matches []int64) ([]float64, error) {
	shares := make([]float64, len(p.queries))
	for _, w := range p.ways {
		counts, tops := make([]int64, len(p.queries)), make([][]int, len(p.queries))
		if len(w.runs) > 0 {
			outside := false
			err := p.hits(ctx, w.file, numDocs, w.exhaustive, func(query, doc int) {
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
			if counts[i] != matches[i] {
				return nil, fmt.Errorf("%s: PISA's %s finds %d, griffin %d", q.text, w.exhaustive, counts[i], matches[i])
			}
			top, err := griffin.top(ctx, q, gameTop)
			if err != nil {
				return nil, err
			}
			shares[i] = overlap(top, tops[i])
		}
	}
	return shares, nil
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

// cell compares a kind's queries in a command. PISA's algorithm is the one of the least mean.
func (p *pisaGame) cell(kind string, t *gameTimes) pisaCell {
	c := pisaCell{Kind: kind, Command: t.command.name}
	ways, cannot := p.waysOf(kind)
	for _, w := range ways {
		if cannot = pisaNoWords; w.algorithms(t.command) == nil {
			cannot = pisaNoCount
		}
		griffin := p.summary(pisaRun{w, t.command.name, pisaGriffin}, kind)
		for _, a := range w.algorithms(t.command) {
			c.add(a, griffin, p.summary(pisaRun{w, t.command.name, a}, kind))
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

// report compares the engines in each kind and command.
func (p *pisaGame) report(ctx context.Context, g *game, numDocs int) (*pisaReport, error) {
	shares, err := p.compare(ctx, g.engines[0], numDocs, g.matches)
	if err != nil {
		return nil, err
	}
	r := &pisaReport{Encoding: pisaEncoding, BlockSize: pisaBlockSize, Passes: pisaPasses}
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
			r.Cells = append(r.Cells, p.cell(kind, &g.times[i]))
		}
	}
	if len(r.Kinds) == 0 {
		return nil, errors.New("PISA can run no kind of the queries")
	}
	return r, nil
}
