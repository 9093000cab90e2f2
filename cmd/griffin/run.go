package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/trec"
)

type runOptions struct {
	topics    string
	part      string
	out       string
	tag       string
	mode      string
	traversal string
	syntax    bool
	rawTies   bool
	k         int
	k1, b     float32
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
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), cmd, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.topics, "topics", "", "topics: TSV, BEIR JSON lines or TREC; - for standard input (required)")
	f.StringVar(&o.part, "part", "title", "part of TREC topics to search with: title, desc, title+desc")
	f.StringVarP(&o.out, "out", "o", "-", "run file to write, - for standard output")
	f.StringVar(&o.tag, "tag", "griffin", "name of the run, its last column")
	f.StringVar(&o.mode, "mode", "or", "what words ask for: or, and, and+or")
	f.StringVar(&o.traversal, "traversal", "", "algorithm by name (default: the mode's)")
	f.IntVarP(&o.k, "k", "k", 1000, "hits a topic")
	f.BoolVar(&o.syntax, "syntax", false, "topics are queries with \"phrases\", +, -, and so on")
	f.BoolVar(&o.rawTies, "raw-ties", false, "write tied scores as they are")
	f.Float32Var(&o.k1, "k1", 0.9, "BM25's k1 (default: the index's)")
	f.Float32Var(&o.b, "b", 0.4, "BM25's b (default: the index's)")
	_ = c.MarkFlagRequired("topics")
	return c
}

// bm25Override returns an Open option if --k1 or --b was given.
func bm25Override(cmd *cobra.Command, k1, b float32) ([]griffin.Option, error) {
	given1, givenB := cmd.Flags().Changed("k1"), cmd.Flags().Changed("b")
	if given1 != givenB {
		return nil, usagef("--k1 and --b go together: give both")
	}
	if !given1 {
		return nil, nil
	}
	return []griffin.Option{griffin.WithBM25(k1, b)}, nil
}

func (a *app) run(ctx context.Context, cmd *cobra.Command, o runOptions, dir string) error {
	mode, err := griffin.ParseMode(o.mode)
	if err != nil {
		return usageError{err}
	}
	part, err := trec.ParseTopicPart(o.part)
	if err != nil {
		return usageError{err}
	}
	topics, err := readFile(o.topics, trec.ReadTopics)
	if err != nil {
		return err
	}
	openOptions, err := bm25Override(cmd, o.k1, o.b)
	if err != nil {
		return err
	}
	ix, err := griffin.Open(dir, openOptions...)
	if err != nil {
		return err
	}
	defer ix.Close()

	opts := []griffin.SearchOption{griffin.WithK(o.k), griffin.WithMode(mode), griffin.WithTraversal(o.traversal), griffin.WithIDsOnly()}
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
				return fmt.Errorf("topic %s: %w", t.ID, err)
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
	if a.json && o.out != "-" {
		return a.printJSON(map[string]any{"topics": len(topics), "hits": hits, "no_result": empty, "took_ns": elapsed, "run": o.out})
	}
	a.notef("%s topics, %s hits in %s; %d topics without a hit", count(len(topics)), count(hits), took(elapsed), empty)
	return nil
}
