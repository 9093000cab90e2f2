package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
)

type searchOptions struct {
	rankingFlags
	deviceFlags
	fieldFlags
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
		Short: "Search an index; without a query, open a prompt",
		Long: `Search prints the best documents for a query: title, a passage with the words
found, and score. Without a query it opens a prompt with history. If nothing is
found, it suggests queries with corrected words.

Queries: words; "a phrase"; field:word; +required; -excluded; word^2 (double
weight); (groups); AND, OR and NOT. Quote a query with an excluded word, or write --
before it.

Modes (--mode):
  or      documents with any of the words (the default)
  and     documents with all of the words
  and+or  as and; if fewer than --k documents match, as or
  saat    as or, from impact-ordered lists (griffin impacts makes them)`,
		Example: `  griffin search notes.idx rate limit
  griffin search notes.idx '"rate limit" +http -draft' --k 20
  griffin search notes.idx 'title:parser error^2' --mode and --trace
  griffin search notes.idx rate limit --explain http.md
  griffin search notes.idx rate limit --filter title:http --sort _doc:desc
  griffin search notes.idx                      # a prompt
  griffin search notes.idx --device gpu --trace rate limit`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.search(cmd.Context(), o, args[0], args[1:]) },
	}
	f := c.Flags()
	o.rankingFlags.register(f, griffin.DefaultK)
	o.deviceFlags.register(f, "cpu")
	o.fieldFlags.register(f)
	f.IntVar(&o.offset, "offset", 0, "skip the best `N` hits, for further pages")
	f.BoolVar(&o.trace, "trace", false, "show the steps of the search, with lists, blocks and times")
	f.BoolVar(&o.count, "count", false, "count all matching documents")
	f.StringVar(&o.explain, "explain", "", "show how each term adds to the score of the document with this `ID`")
	f.BoolVar(&o.noSnippet, "no-snippet", false, "show titles only")
	return c
}

func (a *app) search(ctx context.Context, o searchOptions, dir string, words []string) (err error) {
	o.adjustMode(&o.modeName)
	mode, err := o.rankingFlags.check(false /* plain */)
	if err == nil {
		err = o.deviceFlags.check()
	}
	if err == nil {
		err = o.fieldFlags.check()
	}
	switch {
	case err != nil:
		return err
	case o.offset < 0 || o.offset > griffin.MaxK-o.k:
		return usagef("--offset %d: must be from 0 to %d minus --k", o.offset, griffin.MaxK)
	case o.explain != "" && len(words) == 0:
		return usagef("--explain needs a query")
	}
	var r griffin.RuntimeOptions
	if o.trace { // a trace has predictions only where there are queues
		r.Limits = &griffin.Limits{}
	}
	ix, closeIndex, err := o.openIndex(dir, r, griffin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	if err := a.calibrateIndex(ctx, &o.deviceFlags, ix); err != nil {
		return err
	}

	waiting, err := a.noteUncommitted(dir)
	if err != nil {
		return err
	}
	o.fieldFlags.notes = waiting.notes(dir)
	q := o.rankingFlags.query(mode)
	q.Text, q.Offset, q.Trace, q.Count, q.Suggest = strings.Join(words, " "), o.offset, o.trace, o.count, true
	if !o.noSnippet {
		q.SnippetLength = griffin.DefaultSnippetLength
	}
	if err := o.fieldFlags.apply(&q, ix); err != nil {
		return err
	}
	answer := func(text string) error {
		if err := o.fieldFlags.query(&q, ix, text); err != nil {
			return err
		}
		return a.answer(ctx, ix, q, &o.fieldFlags)
	}
	switch {
	case o.explain != "":
		if err := o.fieldFlags.query(&q, ix, q.Text); err != nil {
			return err
		}
		return a.explain(ctx, ix, q, o.explain)
	case len(words) == 0:
		if isTerminal(a.in) {
			a.notef("%s: type a query, :help for help, or Ctrl-D to leave", dir)
		}
		return (&prompt{console: a.console, answer: answer}).run(ctx)
	}
	return answer(q.Text)
}

func (a *app) answer(ctx context.Context, ix *griffin.Index, q griffin.Query, fields *fieldFlags) error {
	results, err := ix.Search(ctx, q)
	if err != nil {
		return fields.explain(err)
	}
	fields.noteMissing(results, ix)
	if a.json {
		fields.leave(results)
		results.Notes = append(fields.notes, results.Notes...)
		return a.printJSON(results)
	}
	if len(results.Hits) == 0 && results.Missed == 0 && q.Offset > 0 {
		return a.printBeyond(ctx, ix, q)
	}
	printHits(a.console, results, q.Offset, fields)
	printFacets(a.console, q.Facets, results)
	if results.Trace != nil {
		a.printf("\n%s", results.Trace)
		printTimeline(a.console, results.Trace)
	}
	return nil
}

// printBeyond prints the number of matches, for an offset beyond the last one.
func (a *app) printBeyond(ctx context.Context, ix *griffin.Index, q griffin.Query) error {
	offset := q.Offset
	q.Offset, q.Count, q.Trace, q.Suggest = 0, true, false, false
	results, err := ix.Search(ctx, q)
	if err != nil {
		return err
	}
	if len(results.Hits) == 0 {
		printHits(a.console, results, 0, nil)
		return nil
	}
	a.printf("No hits beyond --offset %s: %s in all.\n", count(offset), plural(results.Matches, "document"))
	return nil
}

// offset hits come before the first. fields, if not nil, are printed too.
func printHits(con *console, r *griffin.Results, offset int, fields *fieldFlags) {
	st := con.style(con.out)
	for _, note := range r.Notes {
		con.printf("%snote: %s%s\n", st.dim, note, st.reset)
	}
	if r.Matches > 0 {
		verb := "match"
		if r.Matches == 1 {
			verb = "matches"
		}
		con.printf("%s%s %s%s\n", st.dim, plural(r.Matches, "document"), verb, st.reset)
	}
	if len(r.Hits) == 0 && r.Missed > 0 {
		con.printf("Nothing found in %s before the budget ended (%s); raise --rho.\n", plural(r.NumDocs, "document"), took(r.Took))
		return
	}
	if len(r.Hits) == 0 {
		con.printf("Nothing found in %s (%s).\n", plural(r.NumDocs, "document"), took(r.Took))
		if len(r.Suggestions) > 0 {
			con.printf("Did you mean: %s%s%s?\n", st.bold, oneLine(strings.Join(r.Suggestions, st.reset+", "+st.bold)), st.reset)
		}
		return
	}
	for i := range r.Hits {
		h := &r.Hits[i]
		con.printf("%s%2d. %s%s  %s%.3f%s\n", st.title, offset+i+1, cmp.Or(oneLine(h.Title), oneLine(h.ID)), st.reset, st.dim, h.Score, st.reset)
		if h.Title != "" && h.Title != h.ID {
			con.printf("    %s%s%s\n", st.dim, oneLine(h.ID), st.reset)
		}
		if h.Snippet.Text != "" {
			con.printf("%s", wrap(h.Snippet, st, 92, "    "))
		}
		if fields != nil {
			fields.printFields(con, h)
		}
	}
	if r.Missed > 0 {
		con.printf("%snote: the budget ended; any score may be up to %g too low%s\n", st.dim, r.Missed, st.reset)
	}
	counted := ""
	if r.CountedBy != "" {
		counted = "; matches counted by " + r.CountedBy
	}
	con.printf("%s%s shown, %s searched in %s (%s, %s%s)%s\n", st.dim, plural(len(r.Hits), "hit"), plural(r.NumDocs, "document"), took(r.Took), r.Mode, r.Traversal, counted, st.reset)
}

// oneLine replaces line breaks and control characters and removes changes of the writing
// direction, so that a document cannot control the terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.FieldsFunc(s, unicode.IsControl), " ")
}

// wrap breaks a snippet at spaces into indented lines and marks highlighted words, without
// colours by asterisks.
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

func (a *app) explain(ctx context.Context, ix *griffin.Index, q griffin.Query, id string) error {
	e, err := ix.Explain(ctx, q, id)
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
	printParts(a.console, e.Parts)
	return nil
}

func printParts(con *console, parts []griffin.ExplanationPart) {
	terms := slices.DeleteFunc(slices.Clone(parts), func(p griffin.ExplanationPart) bool { return p.Query != "" })
	weighted := len(terms) > 0 && terms[0].Scale != 0
	if weighted {
		con.printf("%10s  %-24s %9s %9s %9s\n", "score", "term", "weight", "df", "query's")
	} else {
		con.printf("%10s  %-24s %6s %7s %9s %8s %6s\n", "score", "term", "freq", "length", "df", "idf", "boost")
	}
	for i := range parts {
		printPart(con, &parts[i], weighted)
	}
	switch {
	case weighted:
		con.printf("\nscore = weight · query's weight; the index keeps weights in steps of %g\n", 1/terms[0].Scale)
	case len(terms) > 0:
		p := terms[0]
		con.printf("\nscore = idf · boost · freq / (freq + K),  K = k1·(1 − b + b·length/mean length)\nk1 = %g, b = %g, mean length = %.2f, %s documents\n",
			p.K1, p.B, p.AvgLength, count(p.NumDocs))
	}
}

func printPart(con *console, p *griffin.ExplanationPart, weighted bool) {
	name := strings.Join(p.Terms, " ")
	switch {
	case p.Query != "":
		name = p.Query
	case len(p.Terms) > 1:
		name = `"` + name + `"`
	}
	if p.Field != "" {
		name = p.Field + ":" + name
	}
	if len(p.Combined) > 0 {
		name = combinedFields(p.Combined) + ":" + name
	}
	if p.Excluded {
		name = "-" + name
	}
	if p.Query != "" {
		con.printf("%10.4f  %s\n", p.Contribution, oneLine(name))
		for _, f := range p.Functions {
			if f.Applies {
				con.printf("%12s%g = %s\n", "", f.Value, oneLine(f.Function))
			}
		}
		return
	}
	df := make([]string, len(p.DocFreq))
	for i, n := range p.DocFreq {
		df[i] = fmt.Sprint(n)
	}
	if weighted {
		con.printf("%10.4f  %-24s %9g %9s %9g\n", p.Contribution, name, float64(p.Freq)/p.Scale, strings.Join(df, ","), p.Boost)
		return
	}
	freq := fmt.Sprint(p.Freq)
	if p.SloppyFreq > 0 {
		freq = fmt.Sprintf("%.3f", p.SloppyFreq)
	}
	length := fmt.Sprint(p.Length)
	if len(p.Combined) > 0 {
		freq, length = fmt.Sprintf("%g", p.SloppyFreq), fmt.Sprintf("%g", p.CombinedLength)
	}
	con.printf("%10.4f  %-24s %6s %7s %9s %8.4f %6g\n", p.Contribution, name, freq, length, strings.Join(df, ","), p.IDF, p.Boost)
}

// combinedFields is {title^2 body}.
func combinedFields(fields []griffin.CombinedField) string {
	var names []string
	for _, f := range fields {
		name := cmp.Or(f.Field, "*")
		if f.Weight != 1 {
			name += fmt.Sprintf("^%g", f.Weight)
		}
		names = append(names, name)
	}
	return "{" + strings.Join(names, " ") + "}"
}
