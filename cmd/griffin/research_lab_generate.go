//go:build !nolab

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/trec"
)

type labGenerateOptions struct {
	like       string
	from       string
	queries    string
	out        string
	order      string
	codec      string
	docs, draw int
	seed       uint64
	threads    int
	replace    bool
	typed      bool
}

func newLabGenerateCommand(a *app) *cobra.Command {
	var o labGenerateOptions
	c := &cobra.Command{
		Use:   "generate --like NAME --from INDEX --queries LOG --out INDEX",
		Short: "Generate a large collection from a real index",
		Long: `Generate makes an index of up to tens of millions of documents with the published
statistics of a collection. It composes them from the documents of a real index, so
that terms co-occur as they do there. It keeps only the terms of queries that it draws
from a log, and writes the queries to INDEX.queries.tsv. For learned sparse models,
documents and queries are vectors of weights with all their terms. The report compares
the published statistics with those of the result. The same index, log and seed give
the same collection.

Collections:
` + describedPresets() + `
Orders: crawl (sites, each with its topics), rank (by a rank of sites and chance) and
random; all three have the same documents.`,
		Example: "  griffin lab generate --like gov2 --from wiki.idx --queries tb05.tsv --out gov2.idx\n" +
			"  griffin lab generate --like gov --order random --docs 100000 --from wiki.idx --queries tb06.tsv --out govr.idx\n" +
			"  griffin lab generate --like splade --from wiki.idx --queries tb06.tsv --out splade.idx",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.labGenerate(cmd.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.like, "like", "", "collection to imitate (required)")
	f.StringVar(&o.from, "from", "", "index to compose it from (required)")
	f.StringVar(&o.queries, "queries", "", "query log: TSV, JSON lines or TREC topics (required)")
	f.StringVarP(&o.out, "out", "o", "", "folder of the new index (required)")
	f.StringVar(&o.order, "order", string(collection.Crawl), "order of the documents: crawl, rank or random")
	f.StringVar(&o.codec, "codec", "simdbp", "compression of posting lists")
	f.IntVar(&o.docs, "docs", 0, "documents; 0: the published number")
	f.IntVar(&o.draw, "draw", 0, "queries to draw from the log; 0: the published number")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all random choices")
	f.IntVar(&o.threads, "threads", 0, "processors to use; 0: all")
	f.BoolVar(&o.typed, "typed", false, "give documents a keyword of 1,000 values, a date and a number: kind, day, number")
	f.BoolVar(&o.replace, "replace", false, "replace the existing index")
	for _, name := range []string{"like", "from", "queries", "out"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

func describedPresets() string {
	var b strings.Builder
	for _, name := range collection.Names() {
		p, _ := collection.Lookup(name) // the name is valid
		fmt.Fprintf(&b, "  %-10s %s\n", name, joinWrapped(strings.Fields(p.Says), strings.Repeat(" ", 13)))
	}
	return b.String()
}

func (a *app) labGenerate(ctx context.Context, o labGenerateOptions) error {
	like, err := collection.Lookup(o.like)
	if err != nil {
		return badFlags(err)
	}
	order, err := collection.ParseOrder(o.order)
	if err != nil {
		return badFlags(err)
	}
	log, err := readFile(ctx, a.in, o.queries, trec.ReadTopics)
	if err != nil {
		return err
	}
	source, err := openSnapshot(o.from)
	if err != nil {
		return err
	}
	defer source.Release()
	start := time.Now()
	bar := a.newProgress()
	var report *collection.Report
	err = buildIndex(o.out, o.replace, func(dir string) error {
		report, err = collection.Generate(ctx, vfs.OS, dir, source, log, collection.Options{
			Like: like, Order: order, Seed: o.seed, NumDocs: o.docs, NumQueries: o.draw, Codec: o.codec, Typed: o.typed, Threads: o.threads,
			Progress: func(phase string, done, total int64) { bar.show(phase, done, total, o.like) },
		})
		return err
	})
	bar.close()
	if err != nil {
		return err
	}
	queries := o.out + ".queries.tsv"
	if err := a.writeFile(queries, func(w io.Writer) error { return report.WriteQueries(w) }); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"out": o.out, "queries_out": queries, "report": report, "took_ns": time.Since(start)})
	}
	printGenerated(a.console, o.out, queries, report, time.Since(start))
	return nil
}

func printGenerated(con *console, out, queries string, r *collection.Report, elapsed time.Duration) {
	con.printf("%s and %s of %s in %s → %s\n", plural(r.NumDocs, "document"), plural(r.NumPostings, "posting"), plural(r.NumTerms, "term"), took(elapsed), out)
	con.printf("%s → %s\n\n", plural(r.NumQueries, "query"), queries)
	con.printf("%-32s %14s %14s\n", "", "published", "reached")
	for _, s := range r.Reached {
		published := "-"
		if s.Paper != 0 {
			published = fmt.Sprintf("%.6g", s.Paper)
		}
		con.printf("%-32s %14s %14.6g\n", s.What, published, s.Reached)
	}
	con.printf("\n%-32s %14s %14s %14s\n", "postings of a list", "lists", "contraction", "R²")
	for _, c := range r.Lists {
		to := "…"
		if c.To > 0 {
			to = count(c.To)
		}
		con.printf("%-32s %14s %14.4f %14.4f\n", count(c.From)+" to "+to, count(c.Lists), c.Ratio, c.R2)
	}
	if r.Span > 0 {
		con.printf("\na document is made of %.1f of the source's, with %.0f %% of their postings: %.0f tokens\n", r.Span, 100*r.Keep, r.MeanLength)
	}
}
