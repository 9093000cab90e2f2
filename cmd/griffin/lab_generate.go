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
}

func newLabGenerateCommand(a *app) *cobra.Command {
	var o labGenerateOptions
	c := &cobra.Command{
		Use:   "generate --like NAME --from INDEX --queries LOG --out INDEX",
		Short: "Make a large collection with published statistics out of a real index",
		Long: `Generate makes an index of up to tens of millions of documents, composed of those
of a real one so that terms co-occur as they do there. It keeps the terms of the
queries that it draws from a log, and writes them beside the index, to
INDEX.queries.tsv. Of learned sparse models documents and queries are vectors of
weights, with all their terms. What is published of the collection stands in the
report beside what was reached. The same index, log and seed make the same
collection.

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
	f.StringVar(&o.like, "like", "", "collection to be like (required)")
	f.StringVar(&o.from, "from", "", "index to make it of (required)")
	f.StringVar(&o.queries, "queries", "", "query log: TSV, JSON lines or TREC topics (required)")
	f.StringVarP(&o.out, "out", "o", "", "folder of the new index (required)")
	f.StringVar(&o.order, "order", string(collection.Crawl), "order of the documents: crawl, rank or random")
	f.StringVar(&o.codec, "codec", "simdbp", "how posting lists are compressed")
	f.IntVar(&o.docs, "docs", 0, "documents, 0 for as many as published")
	f.IntVar(&o.draw, "draw", 0, "queries to draw from the log, 0 for as many as published")
	f.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	f.IntVar(&o.threads, "threads", 0, "processors to use, 0 for all")
	f.BoolVar(&o.replace, "replace", false, "put it in the place of the index that is there")
	for _, name := range []string{"like", "from", "queries", "out"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

func describedPresets() string {
	var b strings.Builder
	for _, name := range collection.Names() {
		p, _ := collection.Lookup(name) // it has a name of the list
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
	err = a.buildIndex(o.out, o.replace, func(dir string) error {
		report, err = collection.Generate(ctx, vfs.OS, dir, source, log, collection.Options{
			Like: like, Order: order, Seed: o.seed, NumDocs: o.docs, NumQueries: o.draw, Codec: o.codec, Threads: o.threads,
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
	a.printGenerated(o.out, queries, report, time.Since(start))
	return nil
}

func (a *app) printGenerated(out, queries string, r *collection.Report, elapsed time.Duration) {
	a.printf("%s and %s of %s in %s → %s\n", plural(r.NumDocs, "document"), plural(r.NumPostings, "posting"), plural(r.NumTerms, "term"), took(elapsed), out)
	a.printf("%s → %s\n\n", plural(r.NumQueries, "query"), queries)
	a.printf("%-32s %14s %14s\n", "", "published", "reached")
	for _, s := range r.Reached {
		published := "-"
		if s.Paper != 0 {
			published = fmt.Sprintf("%.6g", s.Paper)
		}
		a.printf("%-32s %14s %14.6g\n", s.What, published, s.Reached)
	}
	a.printf("\n%-32s %14s %14s %14s\n", "postings of a list", "lists", "contraction", "R²")
	for _, c := range r.Lists {
		to := "…"
		if c.To > 0 {
			to = count(c.To)
		}
		a.printf("%-32s %14s %14.4f %14.4f\n", count(c.From)+" to "+to, count(c.Lists), c.Ratio, c.R2)
	}
	if r.Span > 0 {
		a.printf("\na document is made of %.1f of the source's, with %.0f %% of their postings: %.0f tokens\n", r.Span, 100*r.Keep, r.MeanLength)
	}
}
