package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
)

type impactsOptions struct {
	ranking string
	k1, b   float32
	bm25    *griffin.BM25 // of k1 and b if they are set
	codec   string
	bits    int
	server  serverFlag
}

func (o *impactsOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.ranking, "ranking", "", "bm25, as in the other modes (default), or atire, as in the search engines ATIRE and JASS")
	f.Float32Var(&o.k1, "k1", 0, "k1 of the ranking, with --b (default: the index's)")
	f.Float32Var(&o.b, "b", 0, "b of the ranking, with --k1 (default: the index's)")
	f.StringVar(&o.codec, "codec", "", "compression of DocIDs: a codec of griffin index (default "+griffin.DefaultImpactCodec+")")
	f.IntVar(&o.bits, "bitmap-bits", 0, "store documents of one impact as a bitmap if that takes at most this many bits per posting; -1: no bitmaps (default 16)")
}

func newImpactsCommand(a *app) *cobra.Command {
	var o impactsOptions
	c := &cobra.Command{
		Use:   "impacts INDEX",
		Short: "Make impact-ordered lists, for mode saat",
		Long: `Impacts makes impact-ordered lists of an index: for each term, its documents ordered
by the term's contribution to their scores, quantised to 8 bits. Mode saat searches
them score at a time. The lists are a file in the index folder, and valid for the
current commit only. After a change of the index, a search computes the lists of its
words, with the same result, until a merge or this command stores them again.

With --server, INDEX is the name of an index on a running server.`,
		Example: `  griffin impacts wiki.idx
  griffin search wiki.idx --mode saat united kingdom
  griffin bench wiki.idx --queries tb05.tsv --mode saat --rho 100000
  griffin impacts wiki.idx --ranking atire --k1 0.9 --b 0.4`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("k1") { // then b, too
				o.bm25 = &griffin.BM25{K1: o.k1, B: o.b}
			}
			if o.server.url != "" {
				return a.impactsOnServer(cmd.Context(), &o, args[0])
			}
			return a.impacts(cmd.Context(), o, args[0])
		},
	}
	o.register(c.Flags())
	o.server.register(c.Flags())
	c.MarkFlagsRequiredTogether("k1", "b")
	return c
}

func (a *app) impacts(ctx context.Context, o impactsOptions, dir string) (err error) {
	start := time.Now()
	ix, err := griffin.Open(dir, griffin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	s, err := a.buildImpacts(ctx, ix, o)
	if err != nil {
		return badFlags(err)
	}
	if a.json {
		return a.printJSON(s)
	}
	printImpacts(a.console, &s)
	a.notef("made in %s; search them: griffin search %s --mode saat QUERY", took(time.Since(start)), dir)
	return nil
}

func (a *app) impactsOnServer(ctx context.Context, o *impactsOptions, index string) error {
	s, err := o.server.open(index)
	if err != nil {
		return err
	}
	began := time.Now()
	stats, err := s.buildImpacts(ctx, o)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(stats)
	}
	printImpacts(a.console, &stats)
	a.notef("made in %s", took(time.Since(began)))
	return nil
}

func (s *serverIndex) buildImpacts(ctx context.Context, o *impactsOptions) (stats griffin.ImpactStats, err error) {
	options := map[string]any{}
	if o.ranking != "" {
		options["ranking"] = o.ranking
	}
	if o.bm25 != nil {
		options["k1"], options["b"] = o.bm25.K1, o.bm25.B
	}
	if o.codec != "" {
		options["codec"] = o.codec
	}
	if o.bits != 0 {
		options["bitmap_bits"] = o.bits
	}
	body, err := json.Marshal(options)
	if err == nil {
		err = s.post(ctx, "/_impacts", body, &stats)
	}
	return stats, err
}

func (a *app) buildImpacts(ctx context.Context, ix *griffin.Index, o impactsOptions) (griffin.ImpactStats, error) {
	bar := a.newProgress()
	defer bar.close()
	return ix.BuildImpacts(ctx, griffin.ImpactOptions{
		Ranking: o.ranking, BM25: o.bm25, Codec: o.codec, BitmapBits: o.bits, Progress: bar.items("impacts", "postings"),
	})
}

func printImpacts(con *console, s *griffin.ImpactStats) {
	if s.Computed {
		con.printf("impact-ordered lists: %s, computed for each query, since the index changed\n", s.Ranking)
		return
	}
	con.printf("impact-ordered lists: %s in %s of %s, %s; %s, codec %s, %.2f bits per posting\n",
		plural(int64(s.Postings), "posting"), plural(int64(s.NumLists), "segment"), plural(int64(s.NumTerms), "term"), sizeOf(s.SizeBytes),
		s.Ranking, s.Codec, s.BitsPerPosting)
}

// noteComputed tells that an index in dir has lost its stored lists, which can be nil.
func (a *app) noteComputed(lists *griffin.ImpactStats, dir string) {
	if lists != nil && lists.Computed {
		a.notef("the index changed, so that mode saat computes the impact-ordered lists of each query; store them again: griffin impacts %s", dir)
	}
}
