package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/trec"
)

type runOptions struct {
	rankingFlags
	deviceFlags
	cache   cacheFlag
	topics  string
	part    string
	out     string
	tag     string
	syntax  bool
	rawTies bool
	k1, b   float32

	bm25 []griffin.Option
}

func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run INDEX --topics FILE --out RUN",
		Short: "Answer a file of topics and write a TREC run",
		Long: `Run answers every topic of a file and writes a run that griffin eval, trec_eval
and others read. Topics are TSV (id, tab, text), BEIR JSON lines, or TREC topics,
recognised by themselves. Their text is taken as plain words: no character in it
is an operator, unless --syntax is given.

A run file cannot hold an order among equal scores, and evaluation tools break ties
by document id. So that what is evaluated is the ranking that Griffin gives, tied
scores are written apart by one unit in the last place; --raw-ties leaves them.`,
		Example: `  griffin run scifact.idx --topics queries.tsv --k 1000 --out bm25.run
  griffin eval --qrels qrels.txt bm25.run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("k1") {
				o.bm25 = []griffin.Option{griffin.WithBM25(o.k1, o.b)}
			}
			return a.run(cmd.Context(), o, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&o.topics, "topics", "", "topics: TSV, BEIR JSON lines or TREC; - for standard input (required)")
	f.StringVar(&o.part, "part", "title", "part of TREC topics to search with: title, desc, title+desc")
	f.StringVarP(&o.out, "out", "o", "-", "run file to write, - for standard output")
	f.StringVar(&o.tag, "tag", "griffin", "name of the run, its last column")
	o.rankingFlags.register(f, 1000)
	o.deviceFlags.register(f, "cpu")
	o.cache.register(f)
	f.BoolVar(&o.syntax, "syntax", false, "topics are queries with \"phrases\", +, -, and so on")
	f.BoolVar(&o.rawTies, "raw-ties", false, "write tied scores as they are")
	f.Float32Var(&o.k1, "k1", 0, "BM25's k1 (default: the index's)")
	f.Float32Var(&o.b, "b", 0, "BM25's b (default: the index's)")
	c.MarkFlagsRequiredTogether("k1", "b")
	_ = c.MarkFlagRequired("topics")
	return c
}

func (a *app) run(ctx context.Context, o runOptions, dir string) error {
	if a.json && o.out == "-" {
		return usagef("--json needs --out FILE: without it the run is on standard output")
	}
	mode, err := o.rankingFlags.check(!o.syntax)
	if err == nil {
		err = o.deviceFlags.check()
	}
	if err != nil {
		return err
	}
	if mode == griffin.ModeSaat && len(o.bm25) > 0 {
		return usagef("--k1 and --b are those that impacts were computed with: griffin impacts INDEX --k1 K1 --b B makes them anew")
	}
	part, err := trec.ParseTopicPart(o.part)
	if err != nil {
		return usageError{err}
	}
	topics, err := readFile(ctx, a.in, o.topics, trec.ReadTopics)
	if err != nil {
		return err
	}
	ix, err := griffin.Open(dir, slices.Concat(o.openOptions(), o.bm25, []griffin.Option{o.cache.option()})...)
	if err != nil {
		return badFlags(err)
	}
	defer ix.Close()
	if err := a.calibrateIndex(ctx, &o.deviceFlags, ix); err != nil {
		return err
	}

	opts := append(o.rankingFlags.searchOptions(mode), griffin.WithIDsOnly())
	if !o.syntax {
		opts = append(opts, griffin.WithPlainWords())
	}
	ties := trec.TiesKeepOrder
	if o.rawTies {
		ties = trec.TiesAsScored
	}
	start := time.Now()
	var hits, empty int
	err = a.writeFile(o.out, func(w io.Writer) error {
		run, err := trec.NewRunWriter(w, o.tag, ties)
		if err != nil {
			return err
		}
		for _, t := range topics {
			results, err := ix.Search(ctx, t.Text(part), opts...)
			if err != nil {
				return fmt.Errorf("%s: topic %s: %w", o.topics, t.ID, err)
			}
			entries := make([]trec.RunEntry, len(results.Hits))
			for i, h := range results.Hits {
				entries[i] = trec.RunEntry{DocNo: h.ID, Score: h.Score}
			}
			hits += len(entries)
			if len(entries) == 0 {
				empty++
			}
			if err := run.WriteRanking(t.ID, entries); err != nil {
				return fmt.Errorf("topic %s: %w", t.ID, err)
			}
		}
		return run.Flush()
	})
	if err != nil {
		return err
	}
	elapsed := time.Since(start)
	if a.json {
		return a.printJSON(map[string]any{"topics": len(topics), "hits": hits, "no_result": empty, "took_ns": elapsed, "run": o.out})
	}
	a.notef("%s, %s in %s; %s without a hit", plural(len(topics), "topic"), plural(hits, "hit"), took(elapsed), plural(empty, "topic"))
	return nil
}
