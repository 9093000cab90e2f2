package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	bm25 *griffin.BM25
}

func newRunCommand(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run INDEX --topics FILE --out RUN",
		Short: "Search a file of topics and write a TREC run",
		Long: `Run searches every topic of a file and writes a run for griffin eval, trec_eval and
similar tools. Topics are TSV (id, tab, text), BEIR JSON lines or TREC topics; the
format is detected. Their text is plain words without operators, unless --syntax is
given.

Evaluation tools order equal scores by document id. To keep Griffin's order, run
writes tied scores one unit in the last place apart; --raw-ties writes them as they
are.`,
		Example: `  griffin run scifact.idx --topics queries.tsv --k 1000 --out bm25.run
  griffin eval --qrels qrels.txt bm25.run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("k1") {
				o.bm25 = &griffin.BM25{K1: o.k1, B: o.b}
			}
			return a.run(cmd.Context(), o, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&o.topics, "topics", "", "topics: TSV, BEIR JSON lines or TREC; - for standard input (required)")
	f.StringVar(&o.part, "part", "title", "fields of TREC topics to search with: title, desc, title+desc")
	f.StringVarP(&o.out, "out", "o", "-", "run file to write, - for standard output")
	f.StringVar(&o.tag, "tag", "griffin", "name of the run, in its last column")
	o.rankingFlags.register(f, 1000)
	o.deviceFlags.register(f, "cpu")
	o.cache.register(f)
	f.BoolVar(&o.syntax, "syntax", false, "parse topics as query syntax: \"phrases\", +, -, …")
	f.BoolVar(&o.rawTies, "raw-ties", false, "write tied scores as they are")
	f.Float32Var(&o.k1, "k1", 0, "BM25's k1 (default: the index's)")
	f.Float32Var(&o.b, "b", 0, "BM25's b (default: the index's)")
	c.MarkFlagsRequiredTogether("k1", "b")
	_ = c.MarkFlagRequired("topics")
	return c
}

func (a *app) run(ctx context.Context, o runOptions, dir string) (err error) {
	if a.json && o.out == "-" {
		return usagef("--json needs --out FILE: without it the run is on standard output")
	}
	o.adjustMode(&o.modeName)
	mode, err := o.rankingFlags.check(!o.syntax)
	if err == nil {
		err = o.deviceFlags.check()
	}
	if err != nil {
		return err
	}
	if mode == griffin.ModeSaat && o.bm25 != nil {
		return usagef("mode saat uses the k1 and b of its impact-ordered lists; make new ones with griffin impacts INDEX --k1 K1 --b B")
	}
	part, err := trec.ParseTopicPart(o.part)
	if err != nil {
		return usageError{err}
	}
	topics, err := readFile(ctx, a.in, o.topics, trec.ReadTopics)
	if err != nil {
		return err
	}
	ix, closeIndex, err := o.openIndex(dir, griffin.RuntimeOptions{CacheBytes: o.cache.bytes()}, griffin.Options{BM25: o.bm25})
	if err != nil {
		return badFlags(err)
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	if err := a.calibrateIndex(ctx, &o.deviceFlags, ix); err != nil {
		return err
	}

	if _, err := a.noteUncommitted(dir); err != nil {
		return err
	}
	q := o.rankingFlags.query(mode)
	q.Load = griffin.LoadIDs
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
			asked := plainQuery(t.Text(part), o.syntax)
			q.Text, q.Node = asked.Text, asked.Node
			results, err := ix.Search(ctx, q)
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
