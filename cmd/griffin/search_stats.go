package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
)

func newStatsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "stats INDEX",
		Short:   "Show documents, fields, sizes and bits per posting of an index",
		Example: "  griffin stats notes.idx\n  griffin stats --json notes.idx",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ix, err := openIndex(args[0], griffin.Options{})
			if err != nil {
				return err
			}
			defer ix.Close()
			waiting, err := a.noteUncommitted(args[0])
			if err != nil {
				return err
			}
			s, err := ix.Stats()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(struct {
					griffin.Stats
					uncommitted
				}{s, waiting})
			}
			printStats(a.console, s)
			return nil
		},
	}
}

func printStats(con *console, s griffin.Stats) {
	st := con.style(con.out)
	con.printf("%s%s%s", st.bold, plural(s.NumDocs, "document"), st.reset)
	if s.DeletedDocs > 0 {
		con.printf(" (and %s deleted, not yet merged away)", count(s.DeletedDocs))
	}
	con.printf(", %s, generation %d\n", sizeOf(s.SizeBytes), s.Generation)
	ranking := fmt.Sprintf("BM25 k1=%g b=%g", s.K1, s.B)
	if s.WeightScale != 0 {
		ranking = fmt.Sprintf("weights times %g", s.WeightScale)
	}
	if s.TitleWeight > 1 {
		ranking += fmt.Sprintf(", titles count %d times", s.TitleWeight)
	}
	con.printf("analyzer %s, codec %s, positions %s, stored text %s, %s\n\n",
		s.Analyzer, s.Codec, yesNo(s.Positions), yesNo(s.Stored), ranking)

	con.printf("%s%-12s %14s %14s %14s %12s %10s%s\n", st.bold, "field", "documents", "tokens", "postings", "terms", "length", st.reset)
	for _, f := range s.Fields {
		con.printf("%-12s %14s %14s %14s %12s %10.2f\n", cmp.Or(f.Name, "(default)"),
			count(f.NumDocs), count(f.NumTokens), count(f.NumPostings), count(f.NumTerms), f.AvgLength)
	}
	printColumns(con, s.Columns)

	con.printf("\n%s%-12s %12s %8s%s\n", st.bold, "part", "size", "share", st.reset)
	parts := slices.SortedFunc(maps.Keys(s.Parts), func(x, y string) int {
		return cmp.Or(cmp.Compare(s.Parts[y], s.Parts[x]), cmp.Compare(x, y))
	})
	for _, p := range parts {
		con.printf("%-12s %12s %7.1f%%\n", p, sizeOf(s.Parts[p]), 100*float64(s.Parts[p])/float64(max(s.SizeBytes, 1)))
	}
	con.printf("\n%.2f bits per posting\n", s.BitsPerPosting)
	if s.Impacts != nil {
		printImpacts(con, s.Impacts)
	}

	if len(s.Segments) > 1 {
		con.printf("\n%s%-16s %14s %10s %12s%s\n", st.bold, "segment", "documents", "deleted", "size", st.reset)
		for _, g := range s.Segments {
			con.printf("%-16s %14s %10s %12s\n", g.Name, count(g.NumDocs), count(g.DeletedDocs), sizeOf(g.SizeBytes))
		}
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func printColumns(con *console, columns []griffin.ColumnStats) {
	if len(columns) == 0 {
		return
	}
	st := con.style(con.out)
	con.printf("\n%s%-24s %-10s %14s %14s %12s  %s%s\n", st.bold, "column", "type", "documents", "values", "size", "content", st.reset)
	for _, c := range columns {
		content := ""
		switch {
		case c.NumTerms > 0:
			content = plural(int(c.NumTerms), "term")
		case c.Min != "":
			content = c.Min + " to " + c.Max
		}
		con.printf("%-24s %-10s %14s %14s %12s  %s\n", c.Name, c.Type, count(c.NumDocs), count(c.NumValues), sizeOf(c.SizeBytes), content)
	}
}
