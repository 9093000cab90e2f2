package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
)

type analyzeOptions struct {
	griffin.AnalyzeOptions
	index    string
	settings string
}

// analyzed is the JSON of "griffin analyze".
type analyzed struct {
	Tokens []griffin.Token `json:"tokens"`
}

func newAnalyzeCommand(a *app) *cobra.Command {
	o := analyzeOptions{}
	c := &cobra.Command{
		Use:   "analyze TEXT…",
		Short: "Show the terms that an analyzer makes of a text",
		Long: `Analyze prints the tokens of a text ("-": of standard input): position, byte
offsets and term. Tokens at one position are alternatives, and a length above 1
says that a token stands for several positions.

The analyzer is --analyzer, by default "standard", or with --index the one of the
index or of its --field. --analysis defines further analyzers, as for griffin index.`,
		Example: `  griffin analyze --analyzer english 'The dogs were running'
  griffin analyze --analyzer code 'net.parseURL(utf8)'
  griffin analyze --index notes.idx --query 'to be or not to be' --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.analyze(&o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.Analyzer, "analyzer", "", "`NAME` of the analyzer")
	f.StringVar(&o.settings, "analysis", "", "JSON `FILE` that defines analyzers")
	f.StringVar(&o.index, "index", "", "use the analyzers of `INDEX`")
	f.StringVar(&o.Field, "field", "", "with --index, use the analyzer of a field")
	f.BoolVar(&o.Query, "query", false, "analyse the text as a query: with synonyms, without stop words that documents keep")
	c.MarkFlagsMutuallyExclusive("index", "analysis")
	c.MarkFlagsMutuallyExclusive("field", "analyzer")
	return c
}

func (a *app) analyze(o *analyzeOptions, args []string) error {
	text := strings.Join(args, " ")
	if len(args) == 1 && text == "-" {
		all, err := io.ReadAll(a.in)
		if err != nil {
			return err
		}
		text = string(all)
	}
	tokens, err := o.tokens(text)
	if err != nil {
		return badFlags(err)
	}
	if a.json {
		return a.printJSON(analyzed{tokens})
	}
	st := a.style(a.out)
	a.printf("%s%8s %6s %6s %6s  %s%s\n", st.bold, "position", "length", "start", "end", "term", st.reset)
	for _, t := range tokens {
		a.printf("%8d %6d %6d %6d  %s\n", t.Position, t.Length, t.Start, t.End, t.Term)
	}
	return nil
}

func (o *analyzeOptions) tokens(text string) ([]griffin.Token, error) {
	if o.index == "" {
		if o.Field != "" {
			return nil, usagef("--field needs --index")
		}
		if o.settings != "" {
			var err error
			if o.Settings, err = griffin.ReadAnalysis(o.settings); err != nil {
				return nil, err
			}
		}
		return griffin.Analyze(text, o.AnalyzeOptions)
	}
	ix, err := openIndex(o.index, griffin.Options{})
	if err != nil {
		return nil, err
	}
	defer ix.Close()
	o.Index = ix
	return griffin.Analyze(text, o.AnalyzeOptions)
}
