package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

type suggestOptions struct {
	field, mode string
	size        int
}

// suggested is the JSON of "griffin suggest".
type suggested struct {
	Text        string                 `json:"text"`
	Corrections []griffin.PhraseOption `json:"corrections"`
	Words       []griffin.Suggestion   `json:"words"`
	uncommitted
}

func newSuggestCommand(a *app) *cobra.Command {
	var o suggestOptions
	c := &cobra.Command{
		Use:   "suggest INDEX TEXT…",
		Short: "Correct a text by the words of an index",
		Long: `Suggest prints corrections of a text, the best first, and for each word the similar
words of the index with their numbers of documents. A word that a document has is
taken as correct; with --mode popular it can be replaced by more frequent ones.`,
		Example: "  griffin suggest notes.idx rat limti\n  griffin suggest notes.idx parsr --field title --json",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.suggest(cmd.Context(), &o, args[0], strings.Join(args[1:], " "))
		},
	}
	f := c.Flags()
	f.StringVar(&o.field, "field", "", "compare with the words of `FIELD`; default: of titles and texts")
	f.StringVar(&o.mode, "mode", "missing", "words to correct: missing, popular or always")
	f.IntVar(&o.size, "size", 5, "at most `N` corrections, and words for each")
	return c
}

func (a *app) suggest(ctx context.Context, o *suggestOptions, dir, text string) (err error) {
	modes := map[string]griffin.SuggestMode{"missing": griffin.SuggestMissing, "popular": griffin.SuggestPopular, "always": griffin.SuggestAlways}
	mode, ok := modes[o.mode]
	if !ok {
		return usagef("--mode %s: there are missing, popular and always", o.mode)
	}
	if o.size < 1 {
		return usagef("--size %d: must be at least 1", o.size)
	}
	ix, err := openIndex(dir, griffin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	waiting, err := a.noteUncommitted(dir)
	if err != nil {
		return err
	}
	words := griffin.TermSuggest{Text: text, Field: o.field, Mode: mode, Size: o.size, PrefixLength: -1, MinWordLength: 3, MaxTermFreq: 0.1}
	out := suggested{Text: text, uncommitted: waiting}
	if out.Words, err = griffin.NewSuggester(ix).Terms(ctx, words); err != nil {
		return err
	}
	if out.Corrections, err = griffin.NewSuggester(ix).Phrases(ctx, griffin.PhraseSuggest{Candidates: words, Size: o.size, MaxErrors: float64(max(len(out.Words), 1))}); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(out)
	}
	printSuggested(a.console, &out)
	return nil
}

func printSuggested(con *console, s *suggested) {
	st := con.style(con.out)
	if len(s.Corrections) == 0 {
		con.printf("No corrections.\n")
	}
	for _, c := range s.Corrections {
		con.printf("%s%s%s\n", st.bold, oneLine(c.Text), st.reset)
	}
	for _, w := range s.Words {
		var options []string
		for _, o := range w.Options {
			options = append(options, oneLine(o.Text)+" "+st.dim+"("+count(o.Freq)+")"+st.reset)
		}
		if len(options) > 0 {
			con.printf("%s%s:%s %s\n", st.title, oneLine(w.Text), st.reset, strings.Join(options, ", "))
		}
	}
}

type completeOptions struct {
	field, weight string
	size          int
	fuzzy         bool
}

// completed is the JSON of "griffin complete".
type completed struct {
	Completions []griffin.Completion `json:"completions"`
	uncommitted
}

func newCompleteCommand(a *app) *cobra.Command {
	var o completeOptions
	c := &cobra.Command{
		Use:   "complete INDEX TEXT…",
		Short: "Complete the beginning of a value of a field",
		Long: `Complete prints the values of a keyword that begin with a text, in any letter case,
those of the most documents first, with their number; with --weight, those with the
greatest number in another field. The values of a text, such as the title, are read
from the stored documents.`,
		Example: "  griffin complete notes.idx the\n  griffin complete notes.idx thx --field title --fuzzy --json",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.complete(cmd.Context(), &o, args[0], strings.Join(args[1:], " "))
		},
	}
	f := c.Flags()
	f.StringVar(&o.field, "field", "title", "complete the values of `FIELD`")
	f.StringVar(&o.weight, "weight", "", "order by the greatest number in `FIELD` instead of the number of documents")
	f.IntVar(&o.size, "size", 10, "at most `N` values")
	f.BoolVar(&o.fuzzy, "fuzzy", false, "also values whose beginning is similar")
	return c
}

func (a *app) complete(ctx context.Context, o *completeOptions, dir, text string) (err error) {
	if o.size < 1 {
		return usagef("--size %d: must be at least 1", o.size)
	}
	ix, err := openIndex(dir, griffin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	waiting, err := a.noteUncommitted(dir)
	if err != nil {
		return err
	}
	request := griffin.Complete{Text: text, Field: o.field, Weight: o.weight, Size: o.size}
	if o.fuzzy {
		request.Fuzzy = &griffin.Fuzzy{}
	}
	out := completed{uncommitted: waiting}
	if out.Completions, err = griffin.NewSuggester(ix).Complete(ctx, request); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(out)
	}
	st := a.style(a.out)
	for _, c := range out.Completions {
		score := strconv.FormatFloat(c.Score, 'f', -1, 64)
		if c.Score > 1<<53 {
			score = fmt.Sprint(c.Score)
		}
		a.printf("%s%s%s  %s%s%s\n", st.title, oneLine(c.Text), st.reset, st.dim, score, st.reset)
	}
	if len(out.Completions) == 0 {
		a.printf("No values.\n")
	}
	return nil
}

type similarOptions struct {
	fields []string
	k      int
}

func newSimilarCommand(a *app) *cobra.Command {
	var o similarOptions
	c := &cobra.Command{
		Use:   "similar INDEX ID…",
		Short: "Find documents like some documents",
		Long: `Similar searches for the words that are typical of some documents: frequent in them, and
rare in the index. It prints what search prints.`,
		Example: "  griffin similar notes.idx http.md\n  griffin similar notes.idx http.md parser.md --fields title --k 3 --json",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.similar(cmd.Context(), &o, args[0], args[1:])
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.fields, "fields", nil, "compare these fields: `FIELD,…`; default: titles and texts")
	f.IntVar(&o.k, "k", griffin.DefaultK, "number of documents")
	return c
}

func (a *app) similar(ctx context.Context, o *similarOptions, dir string, ids []string) (err error) {
	if o.k < 1 || o.k > griffin.MaxK {
		return usagef("--k %d: must be from 1 to %d", o.k, griffin.MaxK)
	}
	ix, err := openIndex(dir, griffin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	waiting, err := a.noteUncommitted(dir)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := ix.Document(ctx, id); err != nil {
			return err
		}
	}
	like := &query.MoreLikeThis{Fields: o.fields, IDs: ids, MinTermFreq: 1, MinDocFreq: 2}
	return a.answer(ctx, ix, griffin.Query{Node: like, K: o.k, SnippetLength: griffin.DefaultSnippetLength}, &fieldFlags{notes: waiting.notes(dir)})
}
