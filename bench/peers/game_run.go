package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// gameOptions are the options of -game.
type gameOptions struct {
	queries string
	warmUp  time.Duration
	runs    int
	times   string
	pisa    string // the folder of PISA's commands
	bp      bool   // also in BP order
}

// A warm-up ends when no round of steadyRounds was faster by a 50th than all before, so that Java's compiler is done.
const (
	steadyRounds = 4
	steadyShare  = 50
)

// gameTop is the number of hits that are compared.
const gameTop = 10

func runGame(ctx context.Context, o options, work string) (err error) {
	queries, err := readGame(o.game.queries)
	if err != nil {
		return err
	}
	g := &game{gameOptions: o.game, engines: o.gameEngines(), queries: queries, order: rand.New(rand.NewPCG(2, 0)).Perm(len(queries))}
	if o.game.pisa != "" {
		bin, err := filepath.Abs(o.game.pisa)
		if err != nil {
			return err
		}
		g.pisa = newPisaGame(newPisaOrders(bin, work, g.engines[0], o.game.bp), queries)
		if err := g.pisa.check(); err != nil {
			return err
		}
	}
	in, err := writeSubset(filepath.Join(work, "passages.jsonl"), o.passages, o.docs)
	if err != nil {
		return err
	}
	passages, _, err := readPassages(in.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	r := &gameReport{
		Time: time.Now().UTC().Truncate(time.Second), Command: command(), Machine: thisMachine(), NumDocs: len(passages),
		NumQueries: len(queries), Runs: o.game.runs, WarmUp: o.game.warmUp.Seconds(),
	}
	if err := g.build(ctx, work, passages, r); err != nil {
		return err
	}
	if err := g.play(ctx, r); err != nil {
		return err
	}
	r.write(os.Stdout)
	if o.game.times != "" {
		if err := g.writeTimes(o.game.times); err != nil {
			return err
		}
	}
	if o.json != "" {
		if err := writeJSON(o.json, r); err != nil {
			return err
		}
	}
	if o.check {
		return r.fastEnough()
	}
	return nil
}

// gameEngines are Griffin, and Lucene if its class path is given, or bleve if there is no other peer.
func (o *options) gameEngines() []gameEngine {
	engines := []gameEngine{new(griffinGame)}
	switch {
	case o.lucene != "":
		return append(engines, &luceneGame{luceneProcess{java: strings.Fields(o.java), jar: o.lucene}})
	case o.game.pisa == "":
		return append(engines, new(bleveGame))
	}
	return engines
}

// game is a measurement of engines.
type game struct {
	gameOptions
	engines []gameEngine
	pisa    *pisaGame // nil: without
	queries []gameQuery
	order   []int       // in which each round has the queries
	times   []gameTimes // by command
	matches []int64     // by query
}

// gameTimes are of a command.
type gameTimes struct {
	command *gameCommand
	least   [][]time.Duration // by engine, query
}

func (g *game) close() (err error) {
	for _, e := range g.engines {
		err = errors.Join(err, e.close())
	}
	if g.pisa != nil {
		for _, o := range g.pisa.orders[1:] {
			err = errors.Join(err, o.griffin.close())
		}
	}
	return err
}

// build makes the engines' indexes.
func (g *game) build(ctx context.Context, work string, passages []passage, r *gameReport) error {
	for _, e := range g.engines {
		r.Engines = append(r.Engines, e.name())
		if err := e.build(ctx, filepath.Join(work, strings.Fields(e.name())[0]), passages); err != nil {
			return fmt.Errorf("%s: %w", e.name(), err)
		}
	}
	if g.pisa != nil {
		if err := g.pisa.index(ctx, work, passages, g.order); err != nil {
			return err
		}
	}
	runtime.GC()
	return nil
}

func (g *game) play(ctx context.Context, r *gameReport) (err error) {
	g.matches = make([]int64, len(g.queries))
	for i := range gameCommands {
		if err := g.measure(ctx, &gameCommands[i]); err != nil {
			return err
		}
	}
	if len(g.engines) > 1 {
		err = g.compare(ctx, r)
	}
	if err != nil || g.pisa == nil {
		return err
	}
	for _, o := range g.pisa.orders {
		report, err := g.pisa.report(ctx, o, g, r.NumDocs)
		if err != nil {
			return err
		}
		if o.name == orderBP {
			r.PISABP = report
		} else {
			r.PISA = report
		}
	}
	return nil
}

// compare reports on Griffin and its peer in this process or Lucene's.
func (g *game) compare(ctx context.Context, r *gameReport) error {
	overlaps, err := g.overlaps(ctx)
	if err != nil {
		return err
	}
	kinds := gameKinds(g.queries)
	for _, kind := range append(kinds, gameAll) {
		k := gameKind{Name: kind}
		for i := range g.queries {
			if kind == gameAll || g.queries[i].kind == kind {
				k.add(g.matches[i], overlaps[i])
			}
		}
		r.Kinds = append(r.Kinds, k.mean())
		for i := range g.times {
			r.Cells = append(r.Cells, g.cell(kind, &g.times[i]))
		}
	}
	return nil
}

func (g *game) cell(kind string, t *gameTimes) gameCell {
	c := gameCell{Kind: kind, Command: t.command.name}
	for e := range g.engines {
		var some []time.Duration
		for i := range g.queries {
			if kind == gameAll || g.queries[i].kind == kind {
				some = append(some, t.least[e][i])
			}
		}
		c.Latency = append(c.Latency, latency.Summarize(some))
	}
	c.Ratio = float64(c.Latency[1].Mean) / float64(c.Latency[0].Mean)
	return c
}

// measure warms each engine up with a command and runs its rounds, by turns.
func (g *game) measure(ctx context.Context, c *gameCommand) error {
	recorders := make([]*latency.Recorder, len(g.engines))
	for i, e := range g.engines {
		recorders[i] = latency.NewRecorder(len(g.queries), g.runs)
		if err := g.heat(ctx, e, c); err != nil {
			return fmt.Errorf("%s: %w", e.name(), err)
		}
	}
	answers := make([][]int64, len(g.engines))
	for run := range g.runs {
		for i, e := range g.engines {
			took, answer, err := g.round(ctx, e, c)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name(), err)
			}
			for q, d := range took {
				recorders[i].Record(q, run, d)
			}
			answers[i] = answer
		}
		if g.pisa != nil {
			if err := g.pisa.round(ctx, run, c); err != nil {
				return err
			}
		}
	}
	if err := g.agree(c, answers); err != nil {
		return err
	}
	t := gameTimes{command: c}
	for _, r := range recorders {
		t.least = append(t.least, r.Minima())
	}
	g.times = append(g.times, t)
	return nil
}

// heat runs rounds for the warm-up time, and until they are steady.
func (g *game) heat(ctx context.Context, e gameEngine, c *gameCommand) error {
	least, steady := time.Duration(0), 0
	for began := time.Now(); steady < steadyRounds || time.Since(began) < g.warmUp; {
		took, _, err := g.round(ctx, e, c)
		if err != nil {
			return err
		}
		sum := time.Duration(0)
		for _, d := range took {
			sum += d
		}
		if steady++; least == 0 || sum < least-least/steadyShare {
			least, steady = sum, 0
		}
	}
	return nil
}

// round runs each query once, after one whose time does not count: the other engine had the processor.
func (g *game) round(ctx context.Context, e gameEngine, c *gameCommand) (took []time.Duration, answers []int64, err error) {
	took, answers = make([]time.Duration, len(g.queries)), make([]int64, len(g.queries))
	if _, _, err = e.run(ctx, c, &g.queries[g.order[len(g.order)-1]]); err != nil {
		return nil, nil, err
	}
	for _, i := range g.order {
		if answers[i], took[i], err = e.run(ctx, c, &g.queries[i]); err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", c.name, g.queries[i].text, err)
		}
	}
	return took, answers, nil
}

// agree compares the answers of the engines.
func (g *game) agree(c *gameCommand, answers [][]int64) error {
	for i := range g.queries {
		for e := range answers {
			if a, want := answers[e][i], answers[0][i]; a != want {
				return fmt.Errorf("%s %s: %s answers %d, %s %d", c.name, g.queries[i].text, g.engines[e].name(), a, g.engines[0].name(), want)
			}
		}
		if !c.counts {
			continue
		}
		if before, n := g.matches[i], answers[0][i]; before > 0 && before != n {
			return fmt.Errorf("%s %s: %d, another command %d", c.name, g.queries[i].text, n, before)
		}
		g.matches[i] = answers[0][i]
	}
	return nil
}

// overlaps returns for each query the share of the second engine's best hits that are among the first's.
func (g *game) overlaps(ctx context.Context) ([]float64, error) {
	shares := make([]float64, len(g.queries))
	for i := range g.queries {
		var tops [2][]int
		for e := range tops {
			var err error
			if tops[e], err = g.engines[e].top(ctx, &g.queries[i], gameTop); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", g.engines[e].name(), g.queries[i].text, err)
			}
		}
		if want := int(min(g.matches[i], gameTop)); len(tops[0]) != want || len(tops[1]) != want {
			return nil, fmt.Errorf("%s: %d and %d hits of %d matches", g.queries[i].text, len(tops[0]), len(tops[1]), g.matches[i])
		}
		shares[i] = overlap(tops[0], tops[1])
	}
	return shares, nil
}

// overlap of nothing is 1.
func overlap(a, b []int) float64 {
	if len(b) == 0 {
		return 1
	}
	common := 0
	for _, doc := range b {
		if slices.Contains(a, doc) {
			common++
		}
	}
	return float64(common) / float64(len(b))
}

// writeTimes writes a line for each command and query: both, the kind, the matches and the engines' microseconds.
func (g *game) writeTimes(path string) error {
	var b strings.Builder
	for _, t := range g.times {
		for i := range g.queries {
			q := &g.queries[i]
			fmt.Fprintf(&b, "%s\t%s\t%s\t%d", t.command.name, q.kind, q.text, g.matches[i])
			for e := range t.least {
				fmt.Fprintf(&b, "\t%.2f", float64(t.least[e][i].Nanoseconds())/1000)
			}
			b.WriteByte('\n')
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
