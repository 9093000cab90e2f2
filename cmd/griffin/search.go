package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
)

type searchOptions struct {
	rankingFlags
	deviceFlags
	offset    int
	trace     bool
	count     bool
	explain   string
	noSnippet bool
}

func newSearchCommand(a *app) *cobra.Command {
	var o searchOptions
	c := &cobra.Command{
		Use:   "search INDEX [QUERY…]",
		Short: "Search an index; without a query, at a prompt",
		Long: `Search answers a query with the best documents: title, a passage with the words
found, score and time. Without a query it opens a prompt with history.

Queries: words; "a phrase"; field:word; +required; -excluded; word^2 counts
double; (groups); AND, OR and NOT between them. In mode or, the default, any word
will do; in mode and, all must be there; and+or takes any where all find too few.
Mode saat takes any, too, from impact-ordered lists: see griffin impacts --help.`,
		Example: `  griffin search notes.idx rate limit
  griffin search notes.idx '"rate limit" +http -draft' --k 20
  griffin search notes.idx 'title:parser error^2' --mode and --trace
  griffin search notes.idx rate limit --explain notes/http.md
  griffin search notes.idx                      # a prompt
  griffin search notes.idx --device gpu --trace rate limit`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.search(cmd.Context(), o, args[0], args[1:]) },
	}
	f := c.Flags()
	o.rankingFlags.register(f, griffin.DefaultK)
	o.deviceFlags.register(f, "cpu")
	f.IntVar(&o.offset, "offset", 0, "leave out the best N hits, for further pages")
	f.BoolVar(&o.trace, "trace", false, "show the steps, lists, blocks and times")
	f.BoolVar(&o.count, "count", false, "say how many documents match, in all")
	f.StringVar(&o.explain, "explain", "", "show every term's part of the score of the document with this `ID`")
	f.BoolVar(&o.noSnippet, "no-snippet", false, "show titles only")
	return c
}

func (a *app) search(ctx context.Context, o searchOptions, dir string, words []string) error {
	mode, err := o.rankingFlags.check(false /* plain */)
	if err == nil {
		err = o.deviceFlags.check()
	}
	switch {
	case err != nil:
		return err
	case o.offset < 0 || o.offset > griffin.MaxK-o.k:
		return usagef("--offset %d: must be from 0 to %d less --k", o.offset, griffin.MaxK)
	case o.explain != "" && len(words) == 0:
		return usagef("--explain needs a query")
	}
	open := o.openOptions()
	if o.trace { // a trace has predictions where there are queues: without a GPU, if they are asked for
		open = append(open, griffin.WithConcurrency(0, 0))
	}
	ix, err := griffin.Open(dir, open...)
	if err != nil {
		return err
	}
	defer ix.Close()
	if err := a.calibrateIndex(ctx, &o.deviceFlags, ix); err != nil {
		return err
	}

	opts := append(o.rankingFlags.searchOptions(mode), griffin.WithOffset(o.offset))
	if o.trace {
		opts = append(opts, griffin.WithTrace())
	}
	if o.count {
		opts = append(opts, griffin.WithCount())
	}
	if !o.noSnippet {
		opts = append(opts, griffin.WithSnippets())
	}
	answer := func(query string) error { return a.answer(ctx, ix, query, opts) }
	query := strings.Join(words, " ")
	switch {
	case o.explain != "":
		return a.explain(ctx, ix, query, o.explain, opts)
	case len(words) == 0:
		if isTerminal(a.in) {
			a.notef("%s: type a query, or Ctrl-D to leave", dir)
		}
		return a.prompt(ctx, answer)
	}
	return answer(query)
}

func (a *app) answer(ctx context.Context, ix *griffin.Index, query string, opts []griffin.SearchOption) error {
	results, err := ix.Search(ctx, query, opts...)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(results)
	}
	a.printHits(results)
	if results.Trace != nil {
		a.printf("\n%s", results.Trace)
		a.printTimeline(results.Trace)
	}
	return nil
}

func (a *app) printHits(r *griffin.Results) {
	st := a.style(a.out)
	for _, note := range r.Notes {
		a.printf("%snote: %s%s\n", st.dim, note, st.reset)
	}
	if r.Matches > 0 {
		verb := "match"
		if r.Matches == 1 {
			verb = "matches"
		}
		a.printf("%s%s %s%s\n", st.dim, plural(r.Matches, "document"), verb, st.reset)
	}
	if len(r.Hits) == 0 && r.Missed > 0 {
		a.printf("Nothing found in %s before the budget ended (%s); raise --rho.\n", plural(r.NumDocs, "document"), took(r.Took))
		return
	}
	if len(r.Hits) == 0 {
		a.printf("Nothing found in %s (%s).\n", plural(r.NumDocs, "document"), took(r.Took))
		return
	}
	for i, h := range r.Hits {
		a.printf("%s%2d. %s%s  %s%.3f%s\n", st.title, i+1, cmp.Or(oneLine(h.Title), oneLine(h.ID)), st.reset, st.dim, h.Score, st.reset)
		if h.Title != "" && h.Title != h.ID {
			a.printf("    %s%s%s\n", st.dim, oneLine(h.ID), st.reset)
		}
		if h.Snippet.Text != "" {
			a.printf("%s", wrap(h.Snippet, st, 92, "    "))
		}
	}
	if r.Missed > 0 {
		a.printf("%snote: the budget ended; any score may be up to %g too low%s\n", st.dim, r.Missed, st.reset)
	}
	a.printf("%s%s of %s in %s (%s, %s)%s\n", st.dim, plural(len(r.Hits), "hit"), plural(r.NumDocs, "document"), took(r.Took), r.Mode, r.Traversal, st.reset)
}

// oneLine replaces line breaks and control characters, with which a document
// could steer the terminal, by spaces, and leaves out characters that change the
// direction of writing.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.FieldsFunc(s, unicode.IsControl), " ")
}

// wrap breaks a snippet into indented lines of about the given width, at spaces
// only, and marks the highlighted words. Without colours the marks are asterisks.
func wrap(s griffin.Snippet, st style, width int, indent string) string {
	mark, reset := st.mark, st.reset
	if mark == "" {
		mark, reset = "*", "*"
	}
	var lines, word strings.Builder
	column, wordWidth := 0, 0
	endWord := func() {
		switch {
		case wordWidth == 0:
			return
		case column == 0:
			lines.WriteString(indent)
		case column+1+wordWidth > width:
			lines.WriteString("\n" + indent)
			column = 0
		default:
			lines.WriteByte(' ')
			column++
		}
		lines.WriteString(word.String())
		column += wordWidth
		word.Reset()
		wordWidth = 0
	}
	for text, highlighted := range s.Parts() {
		for i, piece := range strings.Split(oneLine(text), " ") {
			if i > 0 {
				endWord()
			}
			if piece == "" {
				continue
			}
			wordWidth += utf8.RuneCountInString(piece)
			if highlighted {
				piece = mark + piece + reset
			}
			word.WriteString(piece)
		}
	}
	endWord()
	lines.WriteByte('\n')
	return lines.String()
}

func (a *app) explain(ctx context.Context, ix *griffin.Index, query, id string, opts []griffin.SearchOption) error {
	e, err := ix.Explain(ctx, query, id, opts...)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(e)
	}
	id = oneLine(id)
	if e.Matches {
		a.printf("%s scores %.4f in mode %s\n\n", id, e.Score, e.Mode)
	} else {
		a.printf("%s is no answer to the query in mode %s; what it has of it:\n\n", id, e.Mode)
	}
	a.printParts(e.Parts)
	return nil
}

// printParts prints the table of an explanation, and how a score is computed.
func (a *app) printParts(parts []griffin.ExplanationPart) {
	weighted := len(parts) > 0 && parts[0].Scale != 0
	if weighted {
		a.printf("%10s  %-24s %9s %9s %9s\n", "score", "term", "weight", "df", "query's")
	} else {
		a.printf("%10s  %-24s %6s %7s %9s %8s %6s\n", "score", "term", "freq", "length", "df", "idf", "boost")
	}
	for _, p := range parts {
		name := strings.Join(p.Terms, " ")
		if len(p.Terms) > 1 {
			name = `"` + name + `"`
		}
		if p.Field != "" {
			name = p.Field + ":" + name
		}
		if p.Excluded {
			name = "-" + name
		}
		df := make([]string, len(p.DocFreq))
		for i, n := range p.DocFreq {
			df[i] = fmt.Sprint(n)
		}
		if weighted {
			a.printf("%10.4f  %-24s %9g %9s %9g\n", p.Contribution, name, float64(p.Freq)/p.Scale, strings.Join(df, ","), p.Boost)
			continue
		}
		a.printf("%10.4f  %-24s %6d %7d %9s %8.4f %6g\n", p.Contribution, name, p.Freq, p.Length, strings.Join(df, ","), p.IDF, p.Boost)
	}
	switch {
	case weighted:
		a.printf("\nscore = weight · query's weight; the index keeps weights in steps of %g\n", 1/parts[0].Scale)
	case len(parts) > 0:
		p := parts[0]
		a.printf("\nscore = idf · boost · freq / (freq + K),  K = k1·(1 − b + b·length/mean length)\nk1 = %g, b = %g, mean length = %.2f, %s documents\n",
			p.K1, p.B, p.AvgLength, count(p.NumDocs))
	}
}
