package main

import (
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/mapping"
)

func newMappingCommand(a *app) *cobra.Command {
	guessed := false
	o := indexOptions{}
	c := &cobra.Command{
		Use:   "mapping INDEX",
		Short: "Show the fields of an index and their types",
		Long: `Mapping prints the fields of an index as a mapping of OpenSearch, in JSON. A new index
gets the same fields with griffin index --mapping FILE.

With --guess, the arguments are files of JSON or CSV records or folders. Mapping reads the
first 10,000 records and prints the types that all their values have: a mapping to check, to
edit and to use.`,
		Example: "  griffin mapping notes.idx\n  griffin mapping --guess wiki-1.jsonl.zst",
		Args: func(cmd *cobra.Command, args []string) error {
			if guessed {
				return cobra.MinimumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if guessed {
				m, err := a.guessMapping(cmd.Context(), &o.files, args)
				if err != nil {
					return err
				}
				return a.printJSON(m)
			}
			for _, name := range []string{"format", "id-field", "title-field", "text-field", "extra-fields", "pdftotext"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s applies with --guess only", name)
				}
			}
			ix, err := openIndex(args[0], griffin.Options{})
			if err != nil {
				return err
			}
			return errors.Join(a.printJSON(ix.Mapping()), ix.Close())
		},
	}
	c.Flags().BoolVar(&guessed, "guess", false, "guess the types of the fields of files")
	o.registerFormat(c.Flags())
	return c
}

// mappingFile is the file of --mapping.
type mappingFile struct {
	name   string
	parsed *griffin.Mapping // nil: none
}

func (f *mappingFile) read() error {
	text, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	if f.parsed, err = griffin.ParseMapping(text); err != nil {
		return usagef("--mapping %s: %s", f.name, base.Message(err))
	}
	return nil
}

// mappedBy returns what reading a corpus has to know of a mapping; nil if it has texts only.
func mappedBy(m *griffin.Mapping) *corpus.Mapped {
	if !slices.ContainsFunc(m.Fields(), func(f griffin.MappedField) bool { return f.Type != "text" }) {
		return nil
	}
	text, err := m.MarshalJSON()
	if err != nil {
		return nil
	}
	parsed, err := mapping.Parse(text)
	if err != nil {
		return nil
	}
	return inverter.Mapped(parsed)
}
